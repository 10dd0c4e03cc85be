package linux

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// A Seqpacket is one end of a SOCK_SEQPACKET pair: datagrams arrive whole, in order, with
// descriptors attached. A read returns end of file when the peer is gone.
type Seqpacket struct {
	File *os.File // non-blocking
}

// SeqpacketPair makes two connected ends: ours, non-blocking, and the peer's, an ordinary blocking
// descriptor to be passed on. Both are close-on-exec. polled ends wait in Go's network poller. The
// others are for a poller of the agent, and must not wake Go's as well.
func SeqpacketPair(polled bool) (ours Seqpacket, peer *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return Seqpacket{}, nil, os.NewSyscallError("socketpair", err)
	}

	peer = os.NewFile(uintptr(fds[1]), "seqpacket-peer")
	own := os.NewFile(uintptr(fds[0]), "seqpacket") // blocking still, so not polled

	// One start message must fit whatever the host's default is (net.core.wmem_default).
	if err := errors.Join(
		unix.SetsockoptInt(fds[0], unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 512<<10),
		unix.SetNonblock(fds[0], true),
	); err != nil {
		return Seqpacket{}, nil, errors.Join(err, own.Close(), peer.Close())
	}
	if polled {
		if own, err = PolledCopy(own); err != nil {
			return Seqpacket{}, nil, errors.Join(err, peer.Close())
		}
	}

	return Seqpacket{own}, peer, nil
}

// Close closes our end; the peer reads end of file.
func (s Seqpacket) Close() error { return s.File.Close() }

// Send writes one datagram with files attached. The caller keeps ownership of the files.
func (s Seqpacket) Send(msg []byte, files ...*os.File) error {
	var oob []byte
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = FD(f)
		}
		oob = unix.UnixRights(fds...)
	}

	conn, err := s.File.SyscallConn()
	if err != nil {
		return err
	}

	var sendErr error
	err = conn.Write(func(sock uintptr) bool {
		sendErr = IgnoringEINTR(func() error { return unix.Sendmsg(int(sock), msg, oob, nil, unix.MSG_NOSIGNAL) })
		return !errors.Is(sendErr, unix.EAGAIN)
	})
	return errors.Join(err, os.NewSyscallError("sendmsg", sendErr))
}

// Recv waits for one datagram of exactly len(buf) bytes and at most one file.
// io.EOF means that the peer is gone.
func (s Seqpacket) Recv(buf []byte) (*os.File, error) {
	conn, err := s.File.SyscallConn()
	if err != nil {
		return nil, err
	}

	var file *os.File
	var recvErr error
	err = conn.Read(func(sock uintptr) bool {
		file, recvErr = RecvOnce(int(sock), buf)
		return !errors.Is(recvErr, unix.EAGAIN)
	})
	if err != nil {
		return file, err // the wait failed; an empty socket is not an error by itself
	}
	return file, recvErr
}

// RecvOnce is recv without waiting: EAGAIN when nothing is there.
func RecvOnce(sock int, buf []byte) (*os.File, error) {
	oob := make([]byte, unix.CmsgSpace(4))
	var n, oobn, flags int
	err := IgnoringEINTR(func() (err error) {
		n, oobn, flags, _, err = unix.Recvmsg(sock, buf, oob, unix.MSG_CMSG_CLOEXEC|unix.MSG_DONTWAIT)
		return err
	})
	var file *os.File
	if oobn > 0 {
		if msgs, perr := unix.ParseSocketControlMessage(oob[:oobn]); perr == nil && len(msgs) == 1 {
			if fds, perr := unix.ParseUnixRights(&msgs[0]); perr == nil && len(fds) == 1 {
				file = os.NewFile(uintptr(fds[0]), "received")
			}
		}
	}

	switch {
	case err != nil:
		return file, os.NewSyscallError("recvmsg", err)
	case n == 0 && oobn == 0:
		return nil, io.EOF
	case n == len(buf) && file == nil && flags&unix.MSG_CTRUNC != 0:
		// The kernel drops a descriptor that it cannot give a number to (net/core/scm.c,
		// scm_detach_fds), and reports no more than that.
		return nil, fmt.Errorf("recvmsg: no free file descriptor number for the received descriptor: %w", unix.EMFILE)
	case n != len(buf) || flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0:
		return file, fmt.Errorf("BUG: recvmsg: datagram of %d bytes, flags %#x; want %d bytes", n, flags, len(buf))
	}

	return file, nil
}

// PolledCopy returns a copy of f, a non-blocking descriptor, whose reads and
// writes wait in Go's network poller and end when it is closed. It closes f.
func PolledCopy(f *os.File) (*os.File, error) {
	c, err := Copy(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return c, nil
}

// Copy returns another descriptor of f's file.
func Copy(f *os.File) (*os.File, error) {
	n, err := unix.FcntlInt(uintptr(FD(f)), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, os.NewSyscallError("fcntl F_DUPFD_CLOEXEC", err)
	}
	return os.NewFile(uintptr(n), f.Name()), nil
}
