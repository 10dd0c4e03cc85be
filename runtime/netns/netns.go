// Package netns prepares the network namespace of a run. Its only interface is its loopback: nothing
// that the run sends leaves the namespace, except through the sockets that this package opens there
// for the caller of the run.
package netns

import (
	"errors"
	"fmt"
	"os"
	goruntime "runtime"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// Open prepares the network namespace of the process behind pidfd: the loopback goes up and, if there
// are ports, a route makes every address local to the namespace. It returns the sockets for names
// (UDP, TCP) and one listening socket for each port; none if there are no ports. A connection of any
// process there to any address arrives at the listening socket of its port, whose local address is
// then the one that was wanted. A port without a socket refuses connections.
//
// setns with a pidfd since Linux 5.8.
func Open(pidfd *os.File, ports []uint16) (sockets []*os.File, err error) {
	// The namespace is the thread's. A goroutine that ends with its thread locked ends the thread:
	// so no other goroutine ever runs in the wrong namespace.
	done := make(chan struct{})
	go func() {
		defer close(done)
		goruntime.LockOSThread()
		sockets, err = openHere(pidfd, ports)
	}()
	<-done
	return sockets, err
}

// Hand prepares the network namespace as Open does, and hands its sockets, if there are any, to the caller of
// the run. The agent keeps none: it resolves no name and connects to no host. When the caller has closed its
// copies, and the run has ended, the namespace is gone.
func Hand(pidfd *os.File, ports []uint16, give func(sockets []*os.File) error) error {
	sockets, err := Open(pidfd, ports)
	if err != nil {
		return err
	}
	if len(sockets) > 0 {
		err = give(sockets)
	}
	for _, s := range sockets {
		err = errors.Join(err, s.Close())
	}
	return err
}

func openHere(pidfd *os.File, ports []uint16) (sockets []*os.File, err error) {
	if err := unix.Setns(linux.FD(pidfd), unix.CLONE_NEWNET); err != nil {
		return nil, os.NewSyscallError("setns", err)
	}
	defer func() {
		if err != nil {
			for _, s := range sockets {
				err = errors.Join(err, s.Close())
			}
			sockets = nil
		}
	}()

	if err := write(memoryBounds); err != nil {
		return nil, err
	}
	if err := loopbackUp(); err != nil {
		return nil, err
	}
	if len(ports) == 0 {
		return nil, nil
	}

	for _, m := range [][]byte{addressOfLoopback, routeOfEverything} {
		if err := rtnetlink(m); err != nil {
			return nil, err
		}
	}

	for _, s := range []struct {
		kind, port int
	}{{unix.SOCK_DGRAM, namePort}, {unix.SOCK_STREAM, namePort}} {
		f, err := listen(s.kind, s.port, plan.QueueOfCaller(len(ports)))
		if err != nil {
			return sockets, err
		}
		sockets = append(sockets, f)
	}

	for _, port := range ports {
		f, err := listen(unix.SOCK_STREAM, int(port), plan.QueueOfCaller(len(ports)))
		if err != nil {
			return sockets, err
		}
		sockets = append(sockets, f)
	}

	return sockets, nil
}

const namePort = 53

// loopbackUp sets the interface lo up. The kernel then makes 127.0.0.0/8 local.
func loopbackUp() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(s)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP)
	return os.NewSyscallError("ioctl SIOCSIFFLAGS lo", unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, req))
}

// memoryBounds are limits of this namespace on kernel memory. The kernel charges a connection to no
// group until accept, so a program could fill the queues of its listeners with hundreds of MiB
// (MEM-43): each queue has at most queueLength+1 connections (calls.Listen), each with at most
// bufferSize unread bytes. Connections that wait for late packets (TIME_WAIT) have no owner and no
// descriptor (MEM-44).
//
// Per namespace: tcp_rmem and tcp_wmem since Linux 4.15, tcp_max_tw_buckets before.
var memoryBounds = map[string]string{
	"/proc/sys/net/ipv4/tcp_max_tw_buckets": "256",
	"/proc/sys/net/ipv4/tcp_rmem":           fmt.Sprintf("4096 32768 %d", plan.SocketBuffer),
	"/proc/sys/net/ipv4/tcp_wmem":           "4096 65536 262144",
}

// write writes settings of the thread's network namespace.
func write(settings map[string]string) error {
	for name, value := range settings {
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteString(value)
		if err := errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// listen opens a socket on a port of every address. A datagram socket tells with each message to
// which address it was sent.
func listen(kind, port, queue int) (*os.File, error) {
	s, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}

	f := os.NewFile(uintptr(s), fmt.Sprintf("port %d", port))
	err = os.NewSyscallError("bind", unix.Bind(s, &unix.SockaddrInet4{Port: port}))
	switch {
	case err != nil:
	case kind == unix.SOCK_DGRAM:
		err = os.NewSyscallError("setsockopt IP_PKTINFO", unix.SetsockoptInt(s, unix.IPPROTO_IP, unix.IP_PKTINFO, 1))
	default:
		err = os.NewSyscallError("listen", unix.Listen(s, queue))
	}

	if err != nil {
		return nil, errors.Join(fmt.Errorf("port %d of a run's network: %w", port, err), f.Close())
	}
	return f, nil
}
