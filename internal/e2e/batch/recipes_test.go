package batch

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// The recipe for Slurm, with a stand-in for srun that starts one task here.
func TestSlurmRecipe(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	dir, bin := t.TempDir(), t.TempDir()
	ownCache(t, dir)
	for name, text := range map[string]string{
		"srun":     "#!/bin/sh\nshift\nSLURM_PROCID=0 exec \"$@\"\n",
		"hostname": "#!/bin/sh\necho 127.0.0.1\n",
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.WriteFile(filepath.Join(dir, "jobs.jsonl"), []byte(chaosJobs(100)), 0o644); err != nil {
		t.Fatal(err)
	}

	recipe, err := filepath.Abs("../../../deploy/slurm/brig-batch.sbatch")
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()

	cmd := exec.CommandContext(ctx, recipe, "jobs.jsonl")
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // it and what it starts
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+filepath.Dir(harness.Binary(t, "brig"))+":"+os.Getenv("PATH"), "BRIG_SOCKET="+a.Socket,
		"SLURM_JOB_NUM_NODES=1", "BRIG_PORT="+freePort(t))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	r := batchRig{t: t, out: filepath.Join(dir, "jobs.results.jsonl")}
	r.check(100)
	left, err := filepath.Glob(filepath.Join(dir, ".brig-batch*"))
	if err != nil || len(left) > 0 {
		t.Errorf("the recipe leaves %v (%v)", left, err)
	}
}

// A server with the configuration of the recipe, with the entry that brig worker-key --nats prints, moves a
// batch. On loopback it needs no certificate.
func TestNATSRecipe(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	dir := harness.PublicDir(t, "brig-e2e-")
	port := freePort(t)
	cmd := exec.Command(harness.Binary(t, "brig"), "worker-key", "w0", "--nats", "--engine", "nats://127.0.0.1:"+port)
	var key, entry bytes.Buffer
	cmd.Stdout, cmd.Stderr = &key, &entry
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}

	text, err := os.ReadFile("../../../deploy/compose/nats.conf")
	if err != nil {
		t.Fatal(err)
	}

	conf := strings.NewReplacer(
		"0.0.0.0:4222", "127.0.0.1:"+port, "/data", filepath.Join(dir, "data"), "$COORDINATOR_PASSWORD", "secret",
		"# WORKERS: the output of brig worker-key --nats, one for each worker", entry.String(),
	).Replace(string(text))
	begin, rest, ok := strings.Cut(conf, "tls {")
	_, rest, ok2 := strings.Cut(rest, "}")
	if !ok || !ok2 {
		t.Fatal("the configuration has no TLS")
	}

	for name, text := range map[string]string{"nats.conf": begin + rest, "w0.key": key.String(), "jobs.jsonl": chaosJobs(100)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	r := &batchRig{t: t, dir: dir, out: filepath.Join(dir, "jobs.results.jsonl")}
	r.engine = newPart(t, dir, "engine", natsServer(t), "-c", filepath.Join(dir, "nats.conf"))
	r.engine.until = dials("tcp", "127.0.0.1:"+port)
	r.engine.start(t)
	w := newPart(t, dir, "worker0", harness.Binary(t, "brig"), "worker", "--key", filepath.Join(dir, "w0.key"), "--socket", a.Socket,
		"--verbose", "--drain", "1s")
	r.workers = []*part{w}
	w.start(t)
	r.coordinator = newPart(t, dir, "coordinator", harness.Binary(t, "brig"), "batch", filepath.Join(dir, "jobs.jsonl"), "--engine",
		"nats://coordinator:secret@127.0.0.1:"+port, "--local", "none")
	r.coordinator.start(t)
	r.wait(5 * time.Minute)
	r.check(100)
	if r.executions() != 100 {
		t.Errorf("%d executions: %s", r.executions(), tail(t, w))
	}

	engine := "nats://coordinator:secret@127.0.0.1:" + port
	if out, err := exec.Command(harness.Binary(t, "brig"), "pool", "ls", "--engine", engine).CombinedOutput(); err != nil ||
		!strings.Contains(string(out), "default  1        2") {
		t.Errorf("brig pool ls: %v: %s", err, out)
	}
	if out, err := exec.Command(harness.Binary(t, "brig"), "pool", "show", "default", "--engine", engine).CombinedOutput(); err != nil ||
		!strings.Contains(string(out), "w0 ") {
		t.Errorf("brig pool show: %v: %s", err, out)
	}
	if out, err := exec.Command(harness.Binary(t, "brig"), "pool", "drain", "w0", "--engine", engine).CombinedOutput(); err != nil {
		t.Errorf("brig pool drain: %v: %s", err, out)
	}

	for begin := time.Now(); w.running(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			t.Fatalf("the worker did not end: %s", tail(t, w))
		}
	}

	if w.code != 0 {
		t.Errorf("the worker exited with %d: %s", w.code, tail(t, w))
	}
}
