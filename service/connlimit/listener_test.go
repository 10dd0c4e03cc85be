package connlimit

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// API-15: the kernel buffers little of what clients do not read.
func TestTheKernelBuffersLittleOfAResponse(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()

	unread, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer unread.Close()

	c, err := New(4, 4).Listener(ln).Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	if err := c.SetWriteDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}

	_, _ = c.Write(make([]byte, 32<<20)) // as much as the buffers hold
	raw, err := c.(*conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}

	var size, queued int
	var serr, qerr error
	if err := raw.Control(func(fd uintptr) {
		size, serr = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF)
		queued, qerr = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
	}); err != nil || serr != nil || qerr != nil {
		t.Fatal(err, serr, qerr)
	}

	// The kernel doubles the value for its own data, and looks at it before it adds a packet, of up to 64 KiB
	// (net/core/stream.c, sk_stream_memory_free). A buffer that it sized itself would have megabytes.
	const packet = 64 << 10
	if size > 2*writeBuffer || queued > 2*writeBuffer+packet {
		t.Errorf("a buffer of %d bytes, in which are %d; want %d and one packet at most", size, queued, 2*writeBuffer)
	}
}
