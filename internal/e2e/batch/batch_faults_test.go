package batch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// withoutTimes are the lines of results, sorted, without what differs between two executions.
func withoutTimes(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	text = regexp.MustCompile(`"(max_cpu_ns|max_wall_ns|max_memory_bytes|queued_ns|attempts)":\d+|"(finished|worker|run_id)":"[^"]*"`).ReplaceAll(text, nil)
	text = regexp.MustCompile(`,+`).ReplaceAll(text, []byte(","))
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	slices.Sort(lines)
	return lines
}

// brig batch is killed again and again, and resumed. The results are those of an undisturbed batch.
func TestAKilledBatchIsResumed(t *testing.T) {
	const jobs = 600
	a := harness.StartAgent(t, "--slots", "2")
	dir := t.TempDir()
	ownCache(t, dir)
	in, out, whole := filepath.Join(dir, "jobs.jsonl"), filepath.Join(dir, "out.jsonl"), filepath.Join(dir, "whole.jsonl")
	if err := os.WriteFile(in, []byte(chaosJobs(jobs)), 0o644); err != nil {
		t.Fatal(err)
	}

	batch := func(out string) *exec.Cmd {
		cmd := exec.Command(harness.Binary(t, "brig"), "batch", in, "-o", out, "--socket", a.Socket, "--keep", "summary", "--resume", "--quiet")
		cmd.Stderr = os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		return cmd
	}
	if err := batch(whole).Run(); err != nil {
		t.Fatal(err)
	}

	kills := 0
	for {
		cmd := batch(out)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}

		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }() // ends with the process

		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(250 * time.Millisecond):
			if kills < 8 {
				kills++
				_ = cmd.Process.Kill() // it has ended
			}
			if err := <-ended; err == nil && kills < 3 {
				t.Fatal("the batch ended before it was killed: it needs more jobs")
			} else if err != nil {
				continue
			}
		}
		break
	}

	if got, want := withoutTimes(t, out), withoutTimes(t, whole); !slices.Equal(got, want) {
		for i := range min(len(got), len(want)) {
			if got[i] != want[i] {
				t.Errorf("line %d: %s\nwant %s", i, got[i], want[i])
				break
			}
		}
		t.Errorf("%d lines after %d kills, want %d", len(got), kills, len(want))
	}

	t.Logf("%d kills", kills)
}

// The disk of the results is full. Nothing is lost, no line is cut, and the batch goes on when there is space.
func TestABatchOnAFullDisk(t *testing.T) {
	const jobs = 400
	a := harness.StartAgent(t, "--slots", "2")
	dir := t.TempDir()
	ownCache(t, dir)
	in := filepath.Join(dir, "jobs.jsonl")
	if err := os.WriteFile(in, []byte(chaosJobs(jobs)), 0o644); err != nil {
		t.Fatal(err)
	}

	script := `set -u
mount -t tmpfs -o size=64k none "$1/disk"
batch() { "$2" batch "$1/jobs.jsonl" -o "$1/disk/out.jsonl" --socket "$3" --keep summary --resume; }
batch "$@"; echo "first: $?"
tail -c 1 "$1/disk/out.jsonl" | od -An -c
mount -o remount,size=16m "$1/disk"
batch "$@"; echo "second: $?"
cp "$1/disk/out.jsonl" "$1/out.jsonl"`

	if err := os.Mkdir(filepath.Join(dir, "disk"), 0o755); err != nil {
		t.Fatal(err)
	}

	text, err := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", dir, harness.Binary(t, "brig"),
		a.Socket).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}

	for _, want := range []string{"no space left on device", "first: 125", "jobs have their results: go on with ", `\n`, "second: 0"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("there is no %q in: %s", want, text)
		}
	}

	r := batchRig{t: t, out: filepath.Join(dir, "out.jsonl")}
	r.check(jobs)
}

// A process with a network namespace of its own, in which others start.
func namespace(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("unshare", "--net", "sleep", "infinity")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // its exit code is the signal's
	})
	own, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}

	pid := fmt.Sprint(cmd.Process.Pid)
	for deadline := harness.Patience(); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) { // until unshare calls sleep
		if of, err := os.Readlink("/proc/" + pid + "/ns/net"); err == nil && of != own {
			return pid
		}
	}

	t.Fatal("unshare made no namespace")
	return ""
}

// within is a command line that runs in a namespace.
func within(pid string, argv ...string) []string {
	return append([]string{"nsenter", "--target", pid, "--net", "--"}, argv...)
}

func mustRun(t *testing.T, argv ...string) string {
	t.Helper()
	out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", strings.Join(argv, " "), err, out)
	}
	return string(out)
}

// An engine and a coordinator are in one network namespace, and workers with agents of their own in three
// others, behind a bridge. They join with two commands each: a key, and brig worker. One of them is cut off
// for a while.
func TestABatchOnFourMachines(t *testing.T) {
	jobs, cut := 600, 5*time.Second
	if os.Getenv("BRIG_CHAOS") != "" {
		jobs, cut = 4000, time.Minute
	}

	harness.StartAgent(t, "--slots", "1") // stores the image, and has the host checked
	dir, data := harness.PublicDir(t, "brig-e2e-"), harness.DataDir(t)
	brig := harness.Binary(t, "brig")
	r := &batchRig{t: t, dir: dir, out: filepath.Join(dir, "out.jsonl")}
	in := filepath.Join(dir, "jobs.jsonl")

	// A job takes long enough that one worker cannot have done them all before the others are connected.
	lines := strings.ReplaceAll(chaosJobs(jobs), `["/bin/echo", "`, `["/bin/sh", "-c", "sleep 0.05; echo `)
	if err := os.WriteFile(in, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}

	testenv.NeedTool(t, "ip", "iproute2")
	hub := namespace(t)
	for _, c := range []string{"link add br0 type bridge", "addr add 10.99.0.1/24 dev br0", "link set br0 up", "link set lo up"} {
		mustRun(t, within(hub, append([]string{"ip"}, strings.Fields(c)...)...)...)
	}

	const address = "10.99.0.1:4222"
	for i := range 3 {
		node := namespace(t)
		link, name := fmt.Sprintf("v%d", i), fmt.Sprintf("node%d", i)
		mustRun(t, within(hub, "ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", node)...)
		mustRun(t, within(hub, "ip", "link", "set", link, "master", "br0", "up")...)
		mustRun(t, within(node, "ip", "addr", "add", fmt.Sprintf("10.99.0.%d/24", i+2), "dev", "eth0")...)
		mustRun(t, within(node, "ip", "link", "set", "eth0", "up")...)
		socket := filepath.Join(dir, fmt.Sprintf("s%d", i))
		agent := newPart(t, dir, "brigd-"+name,
			within(node, harness.Binary(t, "brigd"), "--socket", socket, "--data-dir", data, "--run-dir", filepath.Join(dir,
				"run-"+name), "--volumes",
				filepath.Join(dir, "volumes"), "--slots", "2", "--template-memory", "none")...)
		agent.until = dials("unix", socket)
		agent.start(t)

		key := mustRun(t, brig, "worker-key", name, "--engine", "tls://"+address, "--keys", filepath.Join(dir, "keys"))
		file := filepath.Join(dir, name+".key")
		if err := os.WriteFile(file, []byte(key), 0o600); err != nil {
			t.Fatal(err)
		}

		w := newPart(t, dir, "worker-"+name, within(node, brig, "worker", "--key", file, "--socket", socket, "--verbose", "--drain", "1s")...)
		r.workers = append(r.workers, w)
	}

	r.coordinator = newPart(t, dir, "coordinator",
		within(hub, brig, "batch", in, "-o", r.out, "--engine-listen", address, "--keys", filepath.Join(dir, "keys"), "--local", "none",
			"--keep", "summary")...)
	listens := within(hub, "ss", "-Hltn", "sport = :4222")
	r.coordinator.until = func() bool { return mustRun(t, listens...) != "" }
	r.coordinator.start(t)
	for _, w := range r.workers {
		w.start(t)
	}

	for begin := time.Now(); r.executions() < jobs/10 ||
		slices.ContainsFunc(r.workers, func(w *part) bool { return executed(t, w) == 0 }); time.Sleep(20 * time.Millisecond) {
		if time.Since(begin) > 2*time.Minute {
			t.Fatalf("only %d executions: %s", r.executions(), tail(t, r.workers[0]))
		}
	}

	mustRun(t, within(hub, "ip", "link", "set", "v1", "down")...)
	time.Sleep(cut)
	mustRun(t, within(hub, "ip", "link", "set", "v1", "up")...)
	r.engine = r.coordinator
	r.wait(4 * time.Minute)
	r.check(jobs)
	for _, w := range r.workers {
		t.Logf("%s executed %d jobs", w.name, executed(t, w))
	}
}

// Three servers are an engine. One of them is killed while a batch runs.
func TestABatchOnACluster(t *testing.T) {
	jobs := 300
	if os.Getenv("BRIG_CHAOS") != "" {
		jobs = 4000
	}

	a := harness.StartAgent(t, "--slots", "2")
	dir := harness.PublicDir(t, "brig-e2e-")
	server := natsServer(t)
	var ports, routes, urls []string
	for range 3 {
		port, route := freePort(t), freePort(t)
		ports, routes, urls = append(ports, port), append(routes, "nats://127.0.0.1:"+route), append(urls, "nats://127.0.0.1:"+port)
	}

	var servers []*part
	for i := range 3 {
		s := newPart(t, dir, fmt.Sprintf("server%d", i), server, "-js", "-sd", filepath.Join(dir, fmt.Sprintf("store%d", i)), "-a",
			"127.0.0.1", "-p", ports[i],
			"--name", fmt.Sprintf("n%d", i), "--cluster_name", "c", "--cluster", routes[i], "--routes", strings.Join(routes, ","))
		s.until = dials("tcp", "127.0.0.1:"+ports[i])
		servers = append(servers, s)
		s.start(t)
	}

	in, out := filepath.Join(dir, "jobs.jsonl"), filepath.Join(dir, "out.jsonl")
	if err := os.WriteFile(in, []byte(chaosJobs(jobs)), 0o644); err != nil {
		t.Fatal(err)
	}

	engine := strings.Join(urls, ",")
	r := &batchRig{t: t, dir: dir, out: out, engine: servers[0]}
	w := newPart(t, dir, "worker0", harness.Binary(t, "brig"), "worker", "--engine", engine, "--name", "w0", "--socket", a.Socket,
		"--verbose", "--drain", "1s")
	r.workers = []*part{w}
	r.coordinator = newPart(t, dir, "coordinator", harness.Binary(t, "brig"), "batch", in, "-o", out, "--engine", engine, "--local", "none",
		"--keep", "summary", "--resume")
	for begin := time.Now(); ; time.Sleep(300 * time.Millisecond) { // until the servers have a leader
		if err := exec.Command(harness.Binary(t, "brig"), "pool", "ls", "--engine", engine).Run(); err == nil {
			break
		}
		if time.Since(begin) > 2*time.Minute {
			t.Fatalf("the cluster does not answer: %s", tail(t, servers[0]))
		}
	}

	r.coordinator.start(t)
	w.start(t)
	for begin := time.Now(); r.executions() < jobs/10; time.Sleep(20 * time.Millisecond) {
		if time.Since(begin) > 2*time.Minute {
			t.Fatalf("only %d executions: %s; coordinator: %s", r.executions(), tail(t, w), tail(t, r.coordinator))
		}
	}

	servers[0].end(syscall.SIGKILL)
	r.wait(3 * time.Minute)
	r.check(jobs)
	t.Logf("%d executions of %d jobs", r.executions(), jobs)
}
