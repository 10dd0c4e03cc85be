package service

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testservice"
)

// A loadedAgent is a fake agent with 16 slots that answers as its test says.
type loadedAgent struct {
	socket string
	run    func(w http.ResponseWriter, r *http.Request)
}

func newLoadedAgent(t *testing.T) *loadedAgent {
	t.Helper()
	dir, err := os.MkdirTemp("", "agent") // the socket's name must be short, and the service's user must reach it
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { os.RemoveAll(dir) })
	a := &loadedAgent{socket: filepath.Join(dir, "s")}
	ln, err := net.Listen("unix", a.socket)
	if err != nil {
		t.Fatal(err)
	}

	for path, mode := range map[string]os.FileMode{dir: 0o755, a.socket: 0o666} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}

	mux := http.NewServeMux()
	say := func(v any) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) { _ = json.NewEncoder(w).Encode(v) }
	}
	mux.HandleFunc("GET /v1/health", say(api.Health{Slots: 16, Status: "ok"}))
	mux.HandleFunc("GET /v1/languages", say([]api.Language{{Name: "c", Extensions: []string{"c"}, Image: "c", Stored: true, Tier: "default"}}))
	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) { a.run(w, r) })
	web := &http.Server{Handler: mux}
	go web.Serve(ln)
	t.Cleanup(func() { web.Close() })
	return a
}

// answerLoaded writes a run's result, in one piece or as a stream, as requested.
func answerLoaded(w http.ResponseWriter, r *http.Request, res api.Result) {
	if r.Header.Get("Upgrade") == "" {
		_, _ = io.Copy(io.Discard, r.Body)
		enc, err := api.Encode(res)
		if err != nil {
			panic(err)
		}
		w.Header().Set("Content-Length", strconv.FormatInt(enc.Len(), 10))
		_, _ = enc.WriteTo(w)
		return
	}

	_, _ = io.Copy(io.Discard, r.Body)
	c, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(err)
	}
	defer c.Close()

	frame := func(k api.FrameType, payload []byte) {
		head := make([]byte, api.FrameHeader)
		api.PutFrameHeader(head, k, len(payload))
		_, _ = c.Write(append(head, payload...))
	}

	_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+api.StreamProtocol+"\r\n\r\n")
	frame(api.FrameAdmitted, nil)
	for buf, k := make([]byte, api.FrameMax), api.FrameType(0); k != api.FrameStdinEnd; {
		if k, _, err = api.ReadFrame(rw, buf); err != nil {
			return
		}
	}

	for piece := range slices.Chunk(res.Stdout, api.FrameMax) {
		frame(api.FrameStdout, piece)
	}

	for piece := range slices.Chunk(res.Stderr, api.FrameMax) {
		frame(api.FrameStderr, piece)
	}

	res.Stdout, res.Stderr = nil, nil
	text, err := json.Marshal(res)
	if err != nil {
		panic(err)
	}

	for ; len(text) > api.FrameMax; text = text[api.FrameMax:] {
		frame(api.FramePart, text[:api.FrameMax])
	}

	frame(api.FrameResult, text)
}

// A loadedService is brig serve in front of such an agent.
type loadedService struct {
	at   string // host:port
	pid  int
	data string // its data directory
	own  *testservice.Service

	begun *atomic.Int64 // runs that the agent has got
}

func serveLoaded(t *testing.T, agent *loadedAgent, flags ...string) *loadedService {
	t.Helper()
	data := filepath.Join(filepath.Dir(agent.socket), "data")
	flags = append([]string{"--socket", agent.socket, "--data-dir", data}, flags...)
	own, err := testservice.Start(harness.Binary(t, "brig"), time.Until(harness.Patience()), flags...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = own.Stop(0) }) // its clients read nothing
	return &loadedService{at: strings.TrimPrefix(own.URL, "http://"), pid: own.Cmd.Process.Pid, data: data, own: own}
}

// peak is the largest memory that the process has had, in bytes.
func (s *loadedService) peak(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kib << 10
}

// ceiling is the most memory that the service says it uses.
func (s *loadedService) ceiling(t *testing.T) int64 {
	t.Helper()
	res, err := http.Get("http://" + s.at + "/health")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()

	var h struct {
		Most int64 `json:"service_memory_ceiling_bytes"`
	}

	if err := json.NewDecoder(res.Body).Decode(&h); err != nil {
		t.Fatal(err)
	}
	return h.Most
}

// stall sends a request and reads no more of the response than the status, which it returns.
func (s *loadedService) stall(t *testing.T, method, path string, body []byte) (status int) {
	c, err := net.Dial("tcp", s.at)
	if err != nil {
		t.Error(err)
		return 0
	}

	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(harness.Slow(10 * time.Second)))
	_ = c.(*net.TCPConn).SetReadBuffer(4096)
	fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
		method, path, len(body))
	_, _ = c.Write(body)
	res, err := http.ReadResponse(bufio.NewReaderSize(c, 16), nil)
	if err != nil {
		return 0 // not answered; disconnected at the end
	}
	return res.StatusCode
}

// API-15: however many callers send or request much and read nothing, the service stays within the
// memory that it states, and continues to answer.
func TestServeStaysWithinItsMemory(t *testing.T) {
	text := bytes.Repeat([]byte("a line of output\n"), 1<<20)     // 17 MiB
	binary := bytes.Repeat([]byte{0, 0xff, 0xfe, 1, 7}, 16<<20/5) // 16 MiB, a third more in base64
	const plain = `{"image":"i","argv":["x"],"limits":{"output":"64M"}}`
	many := func(n int, do func(i int) int) func() map[int]int {
		return func() map[int]int {
			var all sync.WaitGroup
			var mu sync.Mutex
			ended := map[int]int{}
			for i := range n {
				all.Go(func() {
					status := do(i)
					mu.Lock()
					defer mu.Unlock()
					ended[status]++
				})
			}

			all.Wait()
			return ended
		}
	}

	for _, tt := range []struct {
		name string
		res  api.Result
		hold bool // the agent answers nothing until the end
		load func(s *loadedService) func() map[int]int
	}{
		{"answers in one piece", api.Result{Stdout: text[:16<<20], Stderr: binary}, false, func(s *loadedService) func() map[int]int {
			return many(100, func(int) int { return s.stall(t, "POST", "/v1/runs", []byte(plain)) })
		}},
		{"for simple clients", api.Result{Stdout: text[:16<<20], Stderr: binary}, false, func(s *loadedService) func() map[int]int {
			return many(100, func(int) int { return s.stall(t, "POST", "/execute", []byte(`{"language":"c","code":"x"}`)) })
		}},
		{"runs that nobody waits for, and their events", api.Result{Files: []api.File{{Name: "f", Content: binary}}, Stdout: text}, false,
			func(s *loadedService) func() map[int]int {
				return many(100, func(int) int {
					res, err := http.Post("http://"+s.at+"/v1/runs?wait=false", "application/json", strings.NewReader(plain))
					if err != nil {
						return 0
					}
					defer res.Body.Close()

					var st api.Status
					if json.NewDecoder(res.Body).Decode(&st) != nil || st.Run == "" {
						return res.StatusCode
					}

					for range 3 {
						s.stall(t, "GET", "/v1/runs/"+st.Run+"/events", nil)
					}
					return s.stall(t, "GET", "/v1/runs/"+st.Run, nil)
				})
			}},
		{"large bodies", api.Result{}, true, func(s *loadedService) func() map[int]int {
			body := []byte(`{"language":"c","source":"` + strings.Repeat("x", 8<<20-200) + `"}`)
			return many(100, func(i int) int { s.afterTheFirst(i); return s.stall(t, "POST", "/v1/runs", body) })
		}},
		{"bodies of many entries", api.Result{}, true, func(s *loadedService) func() map[int]int {
			body := []byte(`{"language":"c","source":"x","tests":[` +
				strings.TrimSuffix(strings.Repeat(`{"args":[`+strings.TrimSuffix(strings.Repeat(`"",`, 900), ",")+`]},`, 1000), ",") + `]}`)
			return many(200, func(i int) int { s.afterTheFirst(i); return s.stall(t, "POST", "/v1/runs", body) })
		}},
		{"many bodies below a mebibyte", api.Result{}, true, func(s *loadedService) func() map[int]int {
			body := []byte(`{"language":"c","source":"` + strings.Repeat("x", 1<<20-200) + `"}`)
			return many(600, func(int) int { return s.stall(t, "POST", "/v1/runs", body) })
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // each has a service of its own, and mostly waits
			agent := newLoadedAgent(t)
			over := make(chan struct{})
			var begun atomic.Int64
			agent.run = func(w http.ResponseWriter, r *http.Request) {
				begun.Add(1)
				if tt.hold {
					_, _ = io.Copy(io.Discard, r.Body)
					select {
					case <-over:
					case <-r.Context().Done():
					}
				}
				res := tt.res
				res.Verdict, res.Stage = api.OK, api.StageRun
				answerLoaded(w, r, res)
			}

			s := serveLoaded(t, agent, "--max-body", "8M", "--max-conns", "700", "--max-bodies", "64", "--queue", "128")
			end := time.AfterFunc(harness.Slow(6*time.Second), func() { close(over) })
			defer end.Stop()

			s.begun = &begun
			ended := tt.load(s)()
			peak, maximum := s.peak(t), s.ceiling(t)
			t.Logf("%v; %d runs were begun; %s of %s", ended, begun.Load(), api.Size(peak)/api.MiB*api.MiB, api.Size(maximum))
			if peak > maximum {
				t.Errorf("the service took %s, and says that it takes at most %s", api.Size(peak), api.Size(maximum))
			}
			if begun.Load() < 1 {
				t.Error("no run was begun: the test shows nothing")
			}
		})
	}
}

// afterTheFirst lets one body arrive whole before the others start: bodies that arrive together each hold
// a part of the quota, and then none may become whole (docs/reports/attacks.md). Two of these with many
// entries are already more than the quota.
func (s *loadedService) afterTheFirst(i int) {
	for deadline := harness.Patience(); i >= 1 && s.begun.Load() == 0 && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
}
