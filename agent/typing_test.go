package agent

import (
	"bufio"
	"errors"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

func TestPayTyped(t *testing.T) {
	now := time.Unix(1000, 0)
	for _, tt := range []struct {
		ahead        time.Duration // of now, already taken
		bytes        int
		after, pause time.Duration // from now
	}{
		{-time.Hour, 1024, 976562, 0}, // what was not used is not saved
		{0, 0, 0, 0},
		{0, typedRate, time.Second, time.Second - typedAhead},
		{typedAhead, 256, typedAhead + 244140, 244140},
		{time.Second, 256, time.Second + 244140, time.Second - typedAhead + 244140},
	} {
		after, pause := payTyped(now.Add(tt.ahead), now, tt.bytes)
		if after.Sub(now) != tt.after || pause != tt.pause {
			t.Errorf("%v ahead, %d bytes: %v ahead, a pause of %v; want %v, %v", tt.ahead, tt.bytes, after.Sub(now), pause,
				tt.after, tt.pause)
		}
	}
}

// Clients type without end at terminals whose programs read nothing, or change their sizes without end. All together
// they get no more than the allowance, and the end of a run does not wait for its turn (TTY-02).
func TestTypingWithoutEnd(t *testing.T) {
	for name, tt := range map[string]struct {
		frame api.FrameType
		text  string
		cost  int64
	}{
		"keys":          {api.FrameStdin, "x", 1 + typedFrame},
		"text":          {api.FrameStdin, strings.Repeat("a", 4<<10), 4 << 10},
		"sizes":         {api.FrameResize, `{"rows":33}`, typedFrame + typedSize},
		"ends of stdin": {api.FrameStdinEnd, "", typedFrame + typedSize},
	} {
		t.Run(name, func(t *testing.T) {
			frame := make([]byte, api.FrameHeader, api.FrameHeader+len(tt.text))
			api.PutFrameHeader(frame, tt.frame, len(tt.text))
			frame = append(frame, tt.text...)

			var all typing
			var taken atomic.Int64 // frames
			var streams []*stream
			var clients sync.WaitGroup
			begun := time.Now()
			for range 4 {
				master := newTerminal(t)
				here, there := net.Pipe()
				clients.Go(func() {
					defer there.Close()
					for {
						if _, err := there.Write(frame); err != nil {
							return
						}
						taken.Add(1)
					}
				})
				st := &stream{conn: here, in: bufio.NewReader(here), out: &frameWriter{conn: ignoring{}}, cancel: func() { here.Close() },
					typing: &all, over: make(chan struct{})}
				streams = append(streams, st)
				st.attach(api.Attached{Stdin: master})
			}

			const much = 24 * typedRate // of one second and a half, as long as the load allows it
			for taken.Load()*tt.cost < much && time.Since(begun) < 1500*time.Millisecond {
				time.Sleep(time.Millisecond)
			}
			took, cost := time.Since(begun), taken.Load()*tt.cost
			if most := int64(2*took.Seconds()*typedRate) + 1<<20; cost > most {
				t.Errorf("in %v they typed as much as %d bytes; want at most %d", took, cost, most)
			}

			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for _, st := range streams {
					st.end()
				}
				for _, st := range streams {
					st.tasks.Wait()
				}
			}()
			select {
			case <-ended:
			case <-time.After(time.Minute):
				t.Fatal("the end of a run waits for what is typed at its terminal")
			}
			for _, st := range streams {
				_ = st.conn.Close() // ends its client
			}
			clients.Wait()
		})
	}
}

// newTerminal makes a terminal that shows nothing of what is typed: then the kernel takes it fastest. Nobody reads it.
func newTerminal(t *testing.T) (master *os.File) {
	t.Helper()
	m, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	modes, err := unix.IoctlGetTermios(m, unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	modes.Lflag &^= unix.ECHO
	if err := errors.Join(unix.IoctlSetTermios(m, unix.TCSETS, modes), unix.IoctlSetPointerInt(m, unix.TIOCSPTLCK, 0)); err != nil {
		t.Fatal(err)
	}
	slave, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(m), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno != 0 {
		t.Fatal(errno)
	}
	t.Cleanup(func() { unix.Close(int(slave)) })
	return os.NewFile(uintptr(m), "master") // the stream closes it
}

// An ignoring is a connection whose other end reads all.
type ignoring struct{ net.Conn }

func (ignoring) Write(b []byte) (int, error)      { return len(b), nil }
func (ignoring) SetWriteDeadline(time.Time) error { return nil }
