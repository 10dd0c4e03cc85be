package api

// The exit codes for results without an exit code of the program: see Exit.
const (
	exitCompile  = 1
	exitTime     = 124 // as in timeout(1)
	exitSignal   = 128 // plus the signal
	exitCanceled = 130 // 128 + SIGINT
	exitMemory   = 137 // 128 + SIGKILL
	exitOutput   = 153 // 128 + SIGXFSZ
	exitDenied   = 159 // 128 + SIGSYS
)

// Exit returns the exit code for r, with which brig run exits and which /execute answers. It is
// the program's own, or one that stands for the verdict; a program can exit with such a code too.
// Zero means that the program ended well.
func (r Result) Exit() int {
	switch r.Verdict {
	case CPULimit, WallLimit:
		return exitTime
	case MemoryLimit:
		return exitMemory
	case OutputLimit:
		return exitOutput
	case Denied:
		return exitDenied
	case Canceled:
		return exitCanceled
	case Signaled:
		return exitSignal + r.Signal
	case OK:
		return 0
	case CompileError:
		return exitCompile
	}

	return r.ExitCode
}
