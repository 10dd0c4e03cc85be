package batch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A part is a process of a batch that a test kills and starts again.
type part struct {
	name  string
	argv  []string
	until func() bool // it is ready; nil: at once
	log   *os.File

	mu    sync.Mutex
	cmd   *exec.Cmd     // guarded by mu
	ended chan struct{} // closed when cmd has ended; guarded by mu
	code  int           // its exit code, after ended; -1: a signal ended it
}

func newPart(t *testing.T, dir, name string, argv ...string) *part {
	t.Helper()
	ownCache(t, dir)
	log, err := os.OpenFile(filepath.Join(dir, name+".log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	p := &part{name: name, argv: argv, log: log}
	t.Cleanup(func() {
		p.end(syscall.SIGTERM) // an agent that is killed leaves its groups
		log.Close()
	})
	return p
}

func (p *part) start(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	p.cmd = exec.Command(p.argv[0], p.argv[1:]...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}

	cmd, ended := p.cmd, make(chan struct{})
	p.ended = ended
	p.mu.Unlock()
	go func() { // ends with the process
		defer close(ended)
		_ = cmd.Wait() // its code says all
		p.code = cmd.ProcessState.ExitCode()
	}()

	for begin := time.Now(); p.until != nil && !p.until(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("%s is not ready", p.name)
		}
	}
}

// end sends a signal and waits.
func (p *part) end(s syscall.Signal) {
	p.mu.Lock()
	cmd, ended := p.cmd, p.ended
	p.mu.Unlock()
	if cmd == nil {
		return
	}
	_ = cmd.Process.Signal(s) // it has ended already
	<-ended
}

func (p *part) running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// A batchRig has the parts of a batch in processes of their own: an engine that keeps its messages on disk,
// agents with workers, and a coordinator.
type batchRig struct {
	t           *testing.T
	dir         string
	engine      *part
	agents      []*part
	workers     []*part
	coordinator *part
	out         string
}

// ownCache has the commands of a test keep nothing in the host's cache, which may be read-only.
func ownCache(t *testing.T, dir string) {
	t.Helper()
	t.Setenv("BRIG_CACHE", filepath.Join(dir, "cache"))
}

// natsServer builds the server of the module that brig links.
func natsServer(t *testing.T) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "nats-server")
	if out, err := exec.Command("go", "build", "-o", name, "github.com/nats-io/nats-server/v2").CombinedOutput(); err != nil {
		t.Fatalf("build nats-server: %v: %s", err, out)
	}
	return name
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

func dials(network, address string) func() bool {
	return func() bool {
		c, err := net.DialTimeout(network, address, time.Second)
		if err == nil {
			c.Close()
		}
		return err == nil
	}
}

// newBatchRig starts everything but the coordinator.
func newBatchRig(t *testing.T, workers int, jobs string) *batchRig {
	t.Helper()
	return newBatchRigVia(t, workers, jobs, func(port string) string { return port })
}

// newBatchRigVia is newBatchRig; via is the port at which workers reach that of the engine.
func newBatchRigVia(t *testing.T, workers int, jobs string, via func(port string) string) *batchRig {
	t.Helper()
	harness.StartAgent(t, "--slots", "1") // stores the image, and has the host checked
	dir, data := harness.PublicDir(t, "brig-e2e-"), harness.DataDir(t)
	r := &batchRig{t: t, dir: dir, out: filepath.Join(dir, "out.jsonl")}
	in := filepath.Join(dir, "jobs.jsonl")
	if err := os.WriteFile(in, []byte(jobs), 0o644); err != nil {
		t.Fatal(err)
	}

	port := freePort(t)
	url := "nats://127.0.0.1:" + port
	r.engine = newPart(t, dir, "engine", natsServer(t), "-js", "-sd", filepath.Join(dir, "store"), "-a", "127.0.0.1", "-p", port)
	r.engine.until = dials("tcp", "127.0.0.1:"+port)
	r.engine.start(t)
	theirs := "nats://127.0.0.1:" + via(port)
	for i := range workers {
		socket := filepath.Join(dir, fmt.Sprintf("s%d", i))
		a := newPart(t, dir, fmt.Sprintf("brigd%d", i), harness.Binary(t, "brigd"), "--socket", socket, "--data-dir", data, "--run-dir",
			filepath.Join(dir, fmt.Sprintf("run%d", i)), "--volumes", filepath.Join(dir, "volumes"), "--slots", "2", "--template-memory", "none")
		a.until = dials("unix", socket)
		a.start(t)
		w := newPart(t, dir, fmt.Sprintf("worker%d", i), harness.Binary(t, "brig"), "worker", "--engine", theirs, "--name", fmt.Sprintf("w%d", i),
			"--socket", socket, "--verbose", "--drain", "1s")
		w.start(t)
		r.agents, r.workers = append(r.agents, a), append(r.workers, w)
	}

	r.coordinator = newPart(t, dir, "coordinator", harness.Binary(t, "brig"), "batch", in, "-o", r.out, "--engine", url, "--local", "none",
		"--resume", "--keep", "summary")
	return r
}

// chaosJobs are jobs whose verdict depends on their number.
func chaosJobs(n int) string {
	var b strings.Builder
	for i := range n {
		expected := i
		if i%7 == 3 {
			expected = -1
		}
		fmt.Fprintf(&b, `{"id": "job-%d", "image": "tiny", "argv": ["/bin/echo", "%d"], "tests": [{"expected": "%d"}]}`+"\n", i, i, expected)
	}
	return b.String()
}

// check checks that each job has one line, with the right answer.
func (r *batchRig) check(jobs int) {
	r.t.Helper()
	text, err := os.ReadFile(r.out)
	if err != nil {
		r.t.Fatal(err)
	}

	seen := make([]int, jobs)
	in := bufio.NewScanner(bytes.NewReader(text))
	in.Buffer(nil, 1<<20)

	for in.Scan() {
		var one api.JobResult
		if err := json.Unmarshal(in.Bytes(), &one); err != nil || one.Index < 0 || one.Index >= int64(jobs) {
			r.t.Fatalf("a line of the results: %v: %.200s", err, in.Bytes())
		}

		i := int(one.Index)
		seen[i]++
		want := api.Accepted
		if i%7 == 3 {
			want = api.WrongAnswer
		}
		if one.ID != fmt.Sprintf("job-%d", i) || one.Status != api.JobDone || one.Answer != want {
			r.t.Errorf("job %d, %s: %s, %s (%v), want %s", i, one.ID, one.Status, one.Answer, one.Error, want)
		}
	}

	lost, twice := 0, 0
	for _, n := range seen {
		if n == 0 {
			lost++
		}
		if n > 1 {
			twice++
		}
	}

	if lost+twice > 0 {
		r.t.Errorf("of %d jobs %d are lost, %d have more than one result", jobs, lost, twice)
	}
}

// executions counts what the workers executed.
func (r *batchRig) executions() int {
	n := 0
	for _, w := range r.workers {
		n += executed(r.t, w)
	}
	return n
}

// executed counts the jobs that a worker has begun.
func executed(t *testing.T, worker *part) int {
	t.Helper()
	text, err := os.ReadFile(worker.log.Name())
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(text, []byte("msg=executing"))
}

// wait waits until the coordinator has judged all jobs. It starts it again if it was killed.
func (r *batchRig) wait(maximum time.Duration) {
	r.t.Helper()

	for end := time.Now().Add(maximum); ; time.Sleep(20 * time.Millisecond) {
		if !r.coordinator.running() {
			if r.coordinator.code == 0 {
				return
			}
			r.t.Fatalf("the coordinator exited with %d: %s", r.coordinator.code, tail(r.t, r.coordinator))
		}
		if time.Now().After(end) {
			for _, p := range append(append([]*part{r.coordinator, r.engine}, r.workers...), r.agents...) {
				r.t.Logf("%s: %s", p.name, tail(r.t, p))
			}
			r.t.Fatalf("the batch has not ended after %v", maximum)
		}
	}
}

// tail is the end of a part's log.
func tail(t *testing.T, p *part) string {
	t.Helper()
	text, err := os.ReadFile(p.log.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text[max(0, len(text)-1500):])
}

// chaosSize is the number of jobs and of kills: BRIG_CHAOS=JOBS,KILLS, as make test-long sets it.
func chaosSize(t *testing.T) (jobs, kills int) {
	jobs, kills = 400, 10
	if v := os.Getenv("BRIG_CHAOS"); v != "" {
		if _, err := fmt.Sscanf(v, "%d,%d", &jobs, &kills); err != nil {
			t.Fatalf("BRIG_CHAOS=%s: write JOBS,KILLS", v)
		}
	}
	return jobs, kills
}

// Parts of a batch are killed at random, and the engine's store is removed. Nothing is lost, doubled or
// changed.
func TestChaosOfABatch(t *testing.T) {
	jobs, kills := chaosSize(t)
	r := newBatchRig(t, 3, chaosJobs(jobs))
	seed := uint64(time.Now().UnixNano())
	rng := rand.New(rand.NewPCG(seed, 0))
	t.Logf("seed %d", seed)
	r.coordinator.start(t)
	counts, wiped := map[string]int{}, 0
	began := time.Now()

	for done := 0; done < kills && r.coordinator.running(); done++ {
		time.Sleep(700 * time.Millisecond)
		var p *part
		switch n := rng.IntN(10); {
		case n < 2:
			p = r.engine
		case n < 4:
			p = r.coordinator
		case n < 7:
			p = r.workers[rng.IntN(len(r.workers))]
		default:
			p = r.agents[rng.IntN(len(r.agents))]
		}

		if !r.coordinator.running() {
			break
		}

		counts[strings.Trim(p.name, "0123456789")]++
		p.end(syscall.SIGKILL)
		if p == r.engine && rng.IntN(2) == 0 {
			wiped++
			if err := os.RemoveAll(filepath.Join(r.dir, "store")); err != nil {
				t.Fatal(err)
			}
		}

		p.start(t)
	}

	r.wait(5 * time.Minute)
	r.check(jobs)
	n := r.executions()
	t.Logf("%d jobs in %v: killed %v, store removed %d times; %d executions (%.1f %% more)", jobs, time.Since(began).Round(time.Second),
		counts, wiped, n, 100*float64(n-jobs)/float64(jobs))
	if n > jobs*13/10 {
		t.Errorf("%d executions of %d jobs", n, jobs)
	}
}
