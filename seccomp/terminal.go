package seccomp

import "slices"

// The requests of a terminal that programs use (ioctl_tty(2)): its modes, size, process groups and queues.
const (
	tcgets, tcsets, tcsetsw, tcsetsf     = 0x5401, 0x5402, 0x5403, 0x5404
	tcsbrk, tcxonc, tcflsh               = 0x5409, 0x540a, 0x540b
	tiocsctty                            = 0x540e
	tiocgpgrp, tiocspgrp, tiocgsid       = 0x540f, 0x5410, 0x5429
	tiocoutq, tiocgwinsz, tiocswinsz     = 0x5411, 0x5413, 0x5414
	tcgets2, tcsets2, tcsetsw2, tcsetsf2 = 0x802c542a, 0x402c542b, 0x402c542c, 0x402c542d // of glibc 2.42
)

// WithTerminal returns p with the requests of a terminal that an interactive program needs. A filter sees no more
// than the number of a descriptor, so it allows them on each: any file but a terminal answers ENOTTY, and the only
// terminal that a sandbox has is the one of its program, whose other side the agent holds (TTY-01). TIOCSCTTY takes a
// terminal that is nobody's; a shell makes it for the program, too. To take another session's, it needs
// CAP_SYS_ADMIN. What types into a terminal (TIOCSTI, TIOCLINUX), loads a line discipline (TIOCSETD) or opens another
// terminal (TIOCGPTPEER, TIOCCONS) stays refused.
func WithTerminal(p Profile) Profile {
	return Extend(p, nil, anyOf("ioctl", 1, "the terminal of an interactive program: TCGETS TCSETS TCSBRK TCXONC TCFLSH "+
		"TIOCSCTTY TIOCGPGRP TIOCSPGRP TIOCGSID TIOCOUTQ TIOCGWINSZ TIOCSWINSZ",
		tcgets, tcsets, tcsetsw, tcsetsf, tcsbrk, tcxonc, tcflsh, tiocsctty, tiocgpgrp, tiocspgrp, tiocgsid, tiocoutq,
		tiocgwinsz, tiocswinsz, tcgets2, tcsets2, tcsetsw2, tcsetsf2))
}

// AllowsTerminal reports whether p lets a program set the modes of a terminal.
func AllowsTerminal(p Profile) bool {
	nr := slices.Index(p.Arch.table(), "ioctl")
	call := Call{Nr: int32(nr), Arch: p.Arch.Audit(), Args: [6]uint64{1: tcsets}}
	return NewModel(p).Decide(call).Action.Open()
}
