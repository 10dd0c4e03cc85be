package agent

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// runStream runs r with its streams attached and fails the test when brig fails.
func runStream(t testing.TB, a *harness.Agent, ctx context.Context, r api.Run, stdin io.Reader, stdout, stderr io.Writer) api.Result {
	t.Helper()
	r.Collect.None = true
	res, err := a.RunStream(ctx, r, stdin, stdout, stderr)
	if err != nil {
		t.Fatalf("stream: %v\n%s", err, a.Log)
	}
	return res
}

// A program that answers line by line and a caller that sends only after an answer finish: neither
// side waits for the other's buffers.
func TestADialogueWorks(t *testing.T) {
	a := harness.StartAgent(t)
	in, ask := io.Pipe()
	answer, out := io.Pipe()
	done := make(chan api.Result, 1)
	go func() {
		res, err := a.RunStream(t.Context(), harness.Sh(`while read -r n; do echo $((n * 2)); done`), in, out, nil)
		out.CloseWithError(err)
		done <- res
	}()

	lines := bufio.NewScanner(answer)
	for _, q := range [][2]string{{"1", "2"}, {"21", "42"}, {"-5", "-10"}, {"100", "200"}} {
		if _, err := io.WriteString(ask, q[0]+"\n"); err != nil {
			t.Fatal(err)
		}
		if !lines.Scan() || lines.Text() != q[1] {
			t.Fatalf("asked %s, answered %q (%v); want %s", q[0], lines.Text(), lines.Err(), q[1])
		}
	}

	ask.Close()
	if lines.Scan() {
		t.Errorf("an answer nobody asked for: %q", lines.Text())
	}

	harness.WantVerdict(t, <-done, api.OK)
}

func TestStreamsAreBinarySafe(t *testing.T) {
	a := harness.StartAgent(t, "--max-output", "64M")
	data := make([]byte, 32<<20)
	rng := rand.NewChaCha8([32]byte{'b', 'r', 'i', 'g'})
	rng.Read(data)
	want := sha256.Sum256(data)

	t.Run("32 MiB in and out again", func(t *testing.T) {
		r := harness.Sh("exec cat")
		r.Limits.Output = 64 * api.MiB
		sum, n := sha256.New(), new(counter)
		harness.WantVerdict(t, runStream(t, a, t.Context(), r, bytes.NewReader(data), io.MultiWriter(sum, n), nil), api.OK)
		if n.Load() != int64(len(data)) || !bytes.Equal(sum.Sum(nil), want[:]) {
			t.Errorf("%d bytes came back, sha256 %x; want %d, %x", n.Load(), sum.Sum(nil), len(data), want)
		}
	})

	t.Run("32 MiB to stderr", func(t *testing.T) {
		r := harness.Sh("exec cat >&2")
		r.Limits.Output = 64 * api.MiB
		sum := sha256.New()
		harness.WantVerdict(t, runStream(t, a, t.Context(), r, bytes.NewReader(data), nil, sum), api.OK)
		if !bytes.Equal(sum.Sum(nil), want[:]) {
			t.Errorf("sha256 %x; want %x", sum.Sum(nil), want)
		}
	})

	t.Run("one byte at a time", func(t *testing.T) {
		var out bytes.Buffer
		in := data[:3000]
		harness.WantVerdict(t, runStream(t, a, t.Context(), harness.Sh("exec dd bs=1 2>/dev/null"),
			oneByte{bytes.NewReader(in)}, &out, nil), api.OK)
		if !bytes.Equal(out.Bytes(), in) {
			t.Errorf("%d bytes came back; want the %d sent", out.Len(), len(in))
		}
	})

	t.Run("both streams full at once", func(t *testing.T) {
		var out, errs counter
		harness.WantVerdict(t, runStream(t, a, t.Context(), harness.Sh("head -c 8000000 /dev/zero >&2 & head -c 8000000 /dev/zero; wait"), nil, &out, &errs), api.OK)
		if out.Load() != 8000000 || errs.Load() != 8000000 {
			t.Errorf("stdout %d, stderr %d bytes; want 8000000 each", out.Load(), errs.Load())
		}
	})
}

// OUT-07: a program that reads none of its input, or stops reading it, ends when it ends, and no
// more of the input is taken than the pipes and buffers on the way hold. A program that reads
// everything takes more, which shows that there is more.
func TestUnreadInputDelaysNothing(t *testing.T) {
	a := harness.StartAgent(t)
	for _, tt := range []struct{ name, script, want string }{
		{"stdin never read", "echo done", "done\n"},
		{"a program that closes stdin", "exec <&-; sleep 0.2; echo done", "done\n"},
		{"a program that reads one line", "head -n 1", "y\n"},
		{"a program that waits", "sleep 1; echo done", "done\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			harness.Promptly(t, 10*time.Second, func() time.Duration {
				var out bytes.Buffer
				start := time.Now()
				in := &countingReader{r: endless{}}
				harness.WantVerdict(t, runStream(t, a, t.Context(), harness.Sh(tt.script), in, &out, nil), api.OK)
				if out.String() != tt.want {
					t.Errorf("%q; want %q", out.String(), tt.want)
				}
				if n := in.n.Load(); n > maxBuffered {
					t.Errorf("%d bytes were taken that nobody reads", n)
				}
				return time.Since(start)
			})
		})
	}

	t.Run("a program that reads all", func(t *testing.T) {
		in := &countingReader{r: io.LimitReader(endless{}, 100_000_000)}
		harness.WantVerdict(t, runStream(t, a, t.Context(), harness.Sh("cat >/dev/null"), in, nil, nil), api.OK)
		if n := in.n.Load(); n <= maxBuffered {
			t.Errorf("%d bytes were taken; want all", n)
		}
	})

	t.Run("a megabyte in a plain run (OUT-07)", func(t *testing.T) {
		r := harness.Sh("echo done")
		r.Stdin = make([]byte, 1<<20)
		harness.Promptly(t, 10*time.Second, func() time.Duration {
			start := time.Now()
			res := a.MustRun(t, r)
			harness.WantVerdict(t, res, api.OK)
			if string(res.Stdout) != "done\n" {
				t.Errorf("%q; want it done", res.Stdout)
			}
			return time.Since(start)
		})
	})

	t.Run("a caller that says nothing", func(t *testing.T) {
		in, hold := io.Pipe()
		defer hold.Close()
		harness.Promptly(t, 10*time.Second, func() time.Duration {
			start := time.Now()
			harness.WantVerdict(t, runStream(t, a, t.Context(), harness.Sh("exit 0"), in, nil, nil), api.OK)
			return time.Since(start)
		})
	})
}

// A caller that reads slowly slows the program down, and costs the agent no memory: the pipes limit
// the data on its way.
func TestASlowReaderSlowsTheProgram(t *testing.T) {
	a := harness.StartAgent(t)
	slow := &gatedWriter{open: make(chan struct{}), came: make(chan struct{})}
	done := make(chan api.Result, 1)
	var errs bytes.Buffer
	r := harness.Sh("i=0; while [ $i -lt 8 ]; do head -c 1000000 /dev/zero; i=$((i+1)); done; echo written >&2")
	r.Limits.Wall = harness.Seconds(20)
	go func() {
		res, err := a.RunStream(t.Context(), r, nil, slow, &errs)
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()

	<-slow.came
	select {
	case <-done:
		t.Fatal("the program ended before anyone took its output")
	case <-time.After(time.Second):
	}

	close(slow.open)
	res := <-done
	harness.WantVerdict(t, res, api.OK)
	if slow.n.Load() != 8000000 || errs.String() != "written\n" {
		t.Errorf("%d bytes of stdout, stderr %q", slow.n.Load(), errs.String())
	}
	if res.Timing.Wall < int64(900*time.Millisecond) {
		t.Errorf("the program ran for %s: it was not held back", time.Duration(res.Timing.Wall))
	}
}

// Output arrives while the program runs, and a hang-up ends it within a second, whatever the state
// of stdin; the output until then is kept (OUT-16).
func TestAHangUpCancelsAStream(t *testing.T) {
	a := harness.StartAgent(t)
	blocked, hold := io.Pipe()
	defer hold.Close()

	for _, tt := range []struct {
		name  string
		stdin io.Reader
	}{
		{"no stdin", nil},
		{"stdin that waits", blocked},
		{"stdin stuck in full pipes", endless{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			harness.Promptly(t, time.Second, func() time.Duration { return hangUp(t, a, tt.stdin) })
		})
	}
}

// hangUp disconnects from a stream after its first output and returns the time until its end.
func hangUp(t *testing.T, a *harness.Agent, stdin io.Reader) time.Duration {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	first := &harness.FirstWriteWriter{Came: make(chan struct{})}
	var canceled time.Time
	go func() {
		<-first.Came
		time.Sleep(200 * time.Millisecond)
		canceled = time.Now()
		cancel()
	}()

	res := runStream(t, a, ctx, harness.Sh("echo before; sleep 25"), stdin, first, nil)
	took := time.Since(canceled)
	harness.WantVerdict(t, res, api.Canceled)
	if first.String() != "before\n" {
		t.Errorf("ended with %q", first.String())
	}
	if h, err := a.Health(t.Context()); err != nil || h.Leased != 0 {
		t.Errorf("the slot is still taken: %+v, %v", h, err)
	}
	return took
}

func TestStreamedOutputBeforeAKillIsKept(t *testing.T) {
	a := harness.StartAgent(t)
	for _, tt := range []struct {
		name, script string
		limits       api.Limits
		want         api.Verdict
	}{
		{"wall", "echo before; sleep 20", api.Limits{Wall: harness.Slowly(3)}, api.WallLimit},
		{"cpu", "echo before; while :; do :; done", api.Limits{CPU: harness.Slowly(0.3)}, api.CPULimit},
		{"memory", "echo before; head -c 64000000 /dev/zero >/tmp/x", api.Limits{Memory: 16 * api.MiB}, api.MemoryLimit},
		{"own signal", "echo before; kill -9 $$", api.Limits{}, api.Signaled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := harness.Sh(tt.script)
			r.Limits = tt.limits
			var out bytes.Buffer
			harness.WantVerdict(t, runStream(t, a, t.Context(), r, nil, &out, nil), tt.want)
			if out.String() != "before\n" {
				t.Errorf("output %q", out.String())
			}
		})
	}

	t.Run("output limit", func(t *testing.T) {
		r := harness.Sh("yes")
		r.Limits.Output = 100_000
		var out bytes.Buffer
		res := runStream(t, a, t.Context(), r, nil, &out, nil)
		harness.WantVerdict(t, res, api.OutputLimit)
		if !bytes.Equal(out.Bytes(), bytes.Repeat([]byte("y\n"), 50_000)) || !res.StdoutTruncated {
			t.Errorf("%d bytes, truncated %v; want the first 100000", out.Len(), res.StdoutTruncated)
		}
	})
}

// endless is `yes`.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = "y\n"[i%2]
	}
	return len(p) &^ 1, nil
}

type oneByte struct{ r io.Reader }

func (o oneByte) Read(p []byte) (int, error) { return o.r.Read(p[:1]) }

type counter struct{ atomic.Int64 }

func (c *counter) Write(p []byte) (int, error) { c.Add(int64(len(p))); return len(p), nil }

// maxBuffered is more than all the buffers between a caller and a program hold.
const maxBuffered = 8 << 20

// countingReader counts the bytes that are read through it.
type countingReader struct {
	r io.Reader
	n counter
}

func (r *countingReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.n.Add(int64(n))
	return n, err
}

// gatedWriter blocks every write until it is open.
type gatedWriter struct {
	open, came chan struct{}
	once       sync.Once
	n          counter
}

func (g *gatedWriter) Write(p []byte) (int, error) {
	g.once.Do(func() { close(g.came) })
	<-g.open
	return g.n.Write(p)
}

// The longest possible wall limit, added to the time to wait, must not become a time in the past:
// the caller gets the reason, not just a disconnect.
func TestStreamedRunAboveEveryCeilingIsRefused(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	r := harness.Sh("true")
	r.Limits.Wall = math.MaxInt64
	_, err := a.Client.RunStream(t.Context(), r, nil, nil, nil)
	var e *api.Error
	if !errors.As(err, &e) || e.Code != api.CodeAboveCeiling {
		t.Errorf("ended with %v; want code %s", err, api.CodeAboveCeiling)
	}
}
