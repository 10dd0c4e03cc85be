package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/agent"
	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
)

// runner is a Runner made of a function.
type runner func(ctx context.Context, r api.Run, s api.Streams, c api.Caller) (api.Result, error)

func (f runner) Run(ctx context.Context, r api.Run, s api.Streams, c api.Caller) (api.Result, error) {
	return f(ctx, r, s, c)
}

// serve starts an agent and returns its socket. When the test ends, the agent and all of its
// goroutines have stopped.
func serve(t testing.TB, cfg agent.Config) (socket string, stop func()) {
	t.Helper()
	return serveOn(t, cfg, func(ln net.Listener) net.Listener { return ln })
}

// serveOn is serve with a listener around the socket's.
func serveOn(t testing.TB, cfg agent.Config, around func(net.Listener) net.Listener) (socket string, stop func()) {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent") // t.TempDir is too long for a socket's name
	if err != nil {
		t.Fatal(err)
	}

	socket = filepath.Join(dir, "s")
	ln, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ln = around(ln)
	if cfg.Health == nil {
		cfg.Health = func() api.Health { return api.Health{Status: "ok", Slots: 2} }
	}

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- agent.New(cfg).Serve(ctx, ln) }()
	stop = sync.OnceFunc(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil {
				t.Errorf("Serve: %v", err)
			}
		case <-time.After(time.Minute):
			t.Error("Serve has not returned a minute after it was asked to stop")
		}
		os.RemoveAll(dir)
	})

	t.Cleanup(stop)
	return socket, stop
}

var anyRun = api.Run{Image: "tiny", Argv: []string{"true"}}

func code(err error) api.Code {
	var e *api.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return api.Code(fmt.Sprint(err))
}

func TestAPlainRunGivesTheResult(t *testing.T) {
	socket, _ := serve(t, agent.Config{Runner: runner(func(ctx context.Context, r api.Run, s api.Streams, c api.Caller) (api.Result, error) {
		if s.Attach != nil || s.Stdout != nil || s.Stderr != nil {
			t.Error("a plain run has streams")
		}
		if int(c.UID) != os.Getuid() || int(c.PID) != os.Getpid() {
			t.Errorf("caller is %+v; want this process", c)
		}
		return api.Result{Run: "r1", Verdict: api.OK, Stdout: append([]byte("got "), r.Stdin...)}, nil
	})})

	raw := api.Bytes("\x00\xff binary \x80")
	ask := anyRun
	ask.Stdin = raw
	c := client.New(socket)
	defer c.Close()

	for range 3 { // over one connection
		res, err := c.Run(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		if want := "got " + string(raw); string(res.Stdout) != want || res.Verdict != api.OK {
			t.Errorf("result %q %s; want %q ok", res.Stdout, res.Verdict, want)
		}
	}
}

// cat copies stdin to stdout and says "end" on stderr.
func cat(t testing.TB) runner {
	return func(ctx context.Context, r api.Run, s api.Streams, c api.Caller) (api.Result, error) {
		in, stdin, err := os.Pipe()
		if err != nil {
			return api.Result{}, err
		}
		defer in.Close()

		s.Attach(api.Attached{Stdin: stdin})
		stop := context.AfterFunc(ctx, func() { in.SetReadDeadline(time.Unix(1, 0)) })
		defer stop()

		_, err = io.Copy(struct{ io.Writer }{s.Stdout}, in)
		if ctx.Err() != nil {
			return api.Result{Verdict: api.Canceled}, nil
		}
		if err != nil {
			t.Errorf("cat: %v", err)
		}

		fmt.Fprint(s.Stderr, "end")
		return api.Result{Verdict: api.OK}, nil
	}
}

func TestAStreamedRunCarriesEveryByteBothWays(t *testing.T) {
	socket, _ := serve(t, agent.Config{Runner: cat(t)})
	for _, size := range []int{0, 1, api.FrameMax - 1, api.FrameMax, api.FrameMax + 1, 5 << 20} {
		t.Run(fmt.Sprint(size, " bytes"), func(t *testing.T) {
			want := make([]byte, size)
			for i := range want {
				want[i] = byte(i * 7)
			}
			var out, errs bytes.Buffer
			res, err := client.New(socket).RunStream(t.Context(), anyRun, bytes.NewReader(want), &out, &errs)
			if err != nil {
				t.Fatal(err)
			}
			if res.Verdict != api.OK || !bytes.Equal(out.Bytes(), want) || errs.String() != "end" {
				t.Errorf("verdict %s, %d bytes of stdout, stderr %q; want ok, the %d bytes sent, end", res.Verdict, out.Len(), errs.String(), size)
			}
		})
	}
}

// waits is a Runner whose run lasts until it is canceled, and that signals its start and end.
type waits struct{ started, ended chan struct{} }

func newWaits() waits { return waits{make(chan struct{}, 16), make(chan struct{}, 16)} }

func (w waits) Run(ctx context.Context, r api.Run, s api.Streams, c api.Caller) (api.Result, error) {
	if s.Attach != nil { // a program that never reads
		in, stdin, err := os.Pipe()
		if err != nil {
			return api.Result{}, err
		}
		defer in.Close()
		s.Attach(api.Attached{Stdin: stdin})
	}
	w.started <- struct{}{}
	<-ctx.Done()
	w.ended <- struct{}{}
	return api.Result{Verdict: api.Canceled}, nil
}

func within(t *testing.T, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(time.Minute):
		t.Fatalf("%s: not within a minute", what)
	}
}

func TestClosingTheConnectionCancels(t *testing.T) {
	for _, tt := range []struct {
		name string
		call func(ctx context.Context, c *client.Client) error
	}{
		{"a plain run", func(ctx context.Context, c *client.Client) error {
			_, err := c.Run(ctx, anyRun)
			return err
		}},
		{"a streamed run, which still gets its verdict", func(ctx context.Context, c *client.Client) error {
			res, err := c.RunStream(ctx, anyRun, nil, nil, nil)
			if err == nil && res.Verdict == api.Canceled {
				return context.Canceled
			}
			return fmt.Errorf("verdict %q, error %w", res.Verdict, err)
		}},
		{"a streamed run whose stdin is stuck", func(ctx context.Context, c *client.Client) error {
			res, err := c.RunStream(ctx, anyRun, endless{}, nil, nil)
			if err == nil && res.Verdict == api.Canceled {
				return context.Canceled
			}
			return fmt.Errorf("verdict %q, error %w", res.Verdict, err)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWaits()
			socket, _ := serve(t, agent.Config{Runner: w})
			ctx, cancel := context.WithCancel(t.Context())
			failed := make(chan error, 1)
			go func() { failed <- tt.call(ctx, client.New(socket)) }()
			within(t, "start", w.started)
			time.Sleep(50 * time.Millisecond) // let the pipe and the socket fill
			cancel()
			within(t, "end of the run", w.ended)
			if err := <-failed; !errors.Is(err, context.Canceled) {
				t.Errorf("error %v; want canceled", err)
			}
		})
	}
}

// endless reads like the output of yes(1).
type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, strings.Repeat("y\n", len(p)/2+1)), nil }

func TestAClientThatVanishesCancelsAStreamedRun(t *testing.T) {
	w := newWaits()
	socket, _ := serve(t, agent.Config{Runner: w})
	nc, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"image":"tiny","argv":["true"]}`
	fmt.Fprintf(nc, "POST /v1/runs HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: brig-stream/1\r\nContent-Length: %d\r\n\r\n%s",
		len(body), body)
	within(t, "start", w.started)
	nc.Close()
	within(t, "end of the run", w.ended)
}

func TestEndlessStdinEndsWithTheProgram(t *testing.T) {
	socket, _ := serve(t, agent.Config{Runner: runner(func(ctx context.Context, r api.Run, s api.Streams, c api.Caller) (api.Result, error) {
		in, stdin, err := os.Pipe()
		if err != nil {
			return api.Result{}, err
		}
		s.Attach(api.Attached{Stdin: stdin})
		line := make([]byte, 2)
		io.ReadFull(in, line)
		in.Close()
		time.Sleep(20 * time.Millisecond)
		s.Stdout.Write(line)
		return api.Result{Verdict: api.OK}, nil
	})})

	var out bytes.Buffer
	res, err := client.New(socket).RunStream(t.Context(), anyRun, endless{}, &out, nil)
	if err != nil || res.Verdict != api.OK || out.String() != "y\n" {
		t.Errorf("verdict %q, output %q, error %v; want ok, one line, none", res.Verdict, out.String(), err)
	}
}

func TestASlowReaderHoldsTheProgramBackAndLosesNothing(t *testing.T) {
	const size = 8 << 20
	var mu sync.Mutex
	written := 0
	socket, _ := serve(t, agent.Config{Runner: runner(func(ctx context.Context, r api.Run, s api.Streams, c api.Caller) (api.Result, error) {
		block := make([]byte, 64<<10)
		for n := 0; n < size; n += len(block) {
			if _, err := s.Stdout.Write(block); err != nil {
				return api.Result{}, err
			}
			mu.Lock()
			written = n
			mu.Unlock()
		}
		return api.Result{Verdict: api.OK}, nil
	})})

	open := make(chan struct{})
	out := &gated{open: open}
	time.AfterFunc(300*time.Millisecond, func() {
		mu.Lock()
		if written > 2<<20 {
			t.Errorf("the program wrote %d bytes to a reader that takes nothing", written)
		}
		mu.Unlock()
		close(open)
	})

	res, err := client.New(socket).RunStream(t.Context(), anyRun, nil, out, nil)
	if err != nil || res.Verdict != api.OK || out.n != size {
		t.Errorf("verdict %q, %d bytes, error %v; want ok, %d", res.Verdict, out.n, err, size)
	}
}

type gated struct {
	open chan struct{}
	n    int
}

func (g *gated) Write(p []byte) (int, error) { <-g.open; g.n += len(p); return len(p), nil }

// A caller that waits gets a large output completely, in either form, and can reuse the connection.
func TestALargePlainResultIsComplete(t *testing.T) {
	outputs := []api.Bytes{bytes.Repeat([]byte("<text> ü\n"), 1<<18), bytes.Repeat([]byte{0xff, 0}, 1<<20)}
	next := 0
	socket, _ := serve(t, agent.Config{Runner: runner(func(ctx context.Context, r api.Run, s api.Streams, c api.Caller) (api.Result, error) {
		return api.Result{Verdict: api.OK, Stdout: outputs[next], Stderr: []byte("short"),
			Files: []api.File{{Name: "f", Content: outputs[next]}}}, nil
	})})
	c := client.New(socket)
	defer c.Close()

	for next = range outputs {
		res, err := c.Run(t.Context(), anyRun)
		if err != nil || !bytes.Equal(res.Stdout, outputs[next]) || string(res.Stderr) != "short" || len(res.Files) != 1 ||
			!bytes.Equal(res.Files[0].Content, outputs[next]) {
			t.Errorf("%d: %v, %d bytes of stdout, %d files; want what was written", next, err, len(res.Stdout), len(res.Files))
		}
	}
}

func TestALargeResultComesInChunks(t *testing.T) {
	content := bytes.Repeat([]byte{0xfe, 'a'}, 200_000)
	socket, _ := serve(t, agent.Config{Runner: runner(func(ctx context.Context, r api.Run, s api.Streams, c api.Caller) (api.Result, error) {
		return api.Result{Verdict: api.OK, Files: []api.File{{Name: "f", Content: content}}}, nil
	})})
	res, err := client.New(socket).RunStream(t.Context(), anyRun, nil, nil, nil)
	if err != nil || len(res.Files) != 1 || !bytes.Equal(res.Files[0].Content, content) {
		t.Errorf("error %v, %d files; want the file that was sent", err, len(res.Files))
	}
}

func TestEightClientsAtOnceGetTheirOwnAnswers(t *testing.T) {
	socket, _ := serve(t, agent.Config{Runner: runner(func(ctx context.Context, r api.Run, s api.Streams, c api.Caller) (api.Result, error) {
		if s.Stdout != nil {
			s.Stdout.Write([]byte(r.Argv[1]))
			return api.Result{Verdict: api.OK}, nil
		}
		return api.Result{Verdict: api.OK, Stdout: []byte(r.Argv[1])}, nil
	})})

	c := client.New(socket)
	defer c.Close()

	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for j := range 50 {
				want := fmt.Sprint(i, "/", j)
				ask := api.Run{Image: "tiny", Argv: []string{"echo", want}}
				if j%5 == 0 {
					var out bytes.Buffer
					if _, err := c.RunStream(t.Context(), ask, nil, &out, nil); err != nil || out.String() != want {
						t.Errorf("streamed %s: %q, %v", want, out.String(), err)
					}
					continue
				}
				if res, err := c.Run(t.Context(), ask); err != nil || string(res.Stdout) != want {
					t.Errorf("plain %s: %q, %v", want, res.Stdout, err)
				}
			}
		})
	}

	wg.Wait()
}

func BenchmarkRoundTrip(b *testing.B) {
	one := int64(1)
	f := api.Measurement{Value: &one, Source: "cpuacct.usage"}
	socket, _ := serve(b, agent.Config{Runner: runner(func(ctx context.Context, r api.Run, s api.Streams, c api.Caller) (api.Result, error) {
		return api.Result{Verdict: api.OK,
			Usage: api.Usage{CPU: f, User: f, System: f, Memory: f, MaxRSS: f, Pids: f, OOMKills: f, ForksRefused: f}, Limits: api.Defaults()}, nil
	})})
	c := client.New(socket)
	defer c.Close()

	b.ReportAllocs()
	for b.Loop() {
		if res, err := c.Run(b.Context(), anyRun); err != nil || res.Verdict != api.OK {
			b.Fatal(res.Verdict, err)
		}
	}
}
