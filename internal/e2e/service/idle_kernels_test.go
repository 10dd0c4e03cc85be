package service

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/procfs"
)

// 50 kernels of Python that wait, on a service and an agent as they are by default. They have no slot and use no
// processor; runs, execs and new kernels do not wait for them, and each has kept its variable. What a kernel has for itself is
// little more than what the same interpreter has without its driver.
func TestIdleKernels(t *testing.T) {
	a := harness.StartAgent(t, "--group", "daemon")
	harness.Images.Load(t, a, "python")
	s := harness.StartService(t, a)

	const many = 50
	var kernels []kernelClient
	var sessions []string
	for len(kernels) < many {
		if len(kernels)%api.SessionKernels == 0 {
			var made api.Session
			s.Call("POST", "/v1/sessions", api.SessionRequest{Language: "python"}, http.StatusCreated, &made)
			sessions = append(sessions, made.ID)
		}
		kernels = append(kernels, newKernel(s, sessions[len(sessions)-1], api.KernelRequest{}))
	}
	for i, k := range kernels {
		k.want("the first cell", k.run(fmt.Sprintf("x = %d\nx + 1", i)).text(), i+1)
	}

	h, err := a.Health(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if h.Leased != 0 {
		t.Errorf("%d slots of %d are leased; want none", h.Leased, h.Slots)
	}

	waiting := interpreters(t, a)
	if len(waiting) != many {
		t.Fatalf("%d interpreters; want %d", len(waiting), many)
	}
	before, begun := processorTime(t, waiting), time.Now()
	time.Sleep(time.Second)
	if used := processorTime(t, waiting) - before; used > time.Since(begun)/100 {
		t.Errorf("%d kernels that wait used %v of processor time in %v", many, used, time.Since(begun))
	}

	var res api.Result
	s.Call("POST", "/v1/runs", api.Run{Language: "python", Source: api.Bytes("print(6 * 7)")}, http.StatusOK, &res)
	if string(res.Stdout) != "42\n" {
		t.Errorf("a run beside them: %s, %q", res.Verdict, res.Stdout)
	}
	for _, id := range sessions {
		if out := s.ExecIn(id, "echo exec"); string(out.Stdout) != "exec\n" {
			t.Errorf("an exec beside them: %s, %q", out.Verdict, out.Stdout)
		}
	}

	// The interpreter without a driver, twice, so that it shares what several of them share.
	for range 2 {
		s.Call("POST", "/v1/sessions/"+sessions[0]+"/processes", api.ProcessRequest{Argv: []string{"python3", "-c", "input()"},
			Detach: true, Stdin: api.ProcessStdinOpen}, http.StatusCreated, nil)
	}
	var bare []int
	for until := harness.Patience(); len(bare) < 2 || private(t, bare[0]) < 1<<20; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%d interpreters without a driver have begun", len(bare))
		}
		bare = slices.DeleteFunc(interpreters(t, a), func(pid int) bool { return slices.Contains(waiting, pid) })
	}
	time.Sleep(500 * time.Millisecond) // they have begun to wait by then, or have less
	own := private(t, bare[0])
	var most, sum int64
	for _, pid := range waiting {
		n := private(t, pid)
		most, sum = max(most, n), sum+n
	}
	t.Logf("private memory: interpreter %d KiB; with the driver on average %d KiB, at most %d KiB", own>>10, sum/many>>10, most>>10)
	if most-own > 3<<20 {
		t.Errorf("a kernel that waits has %d KiB more than its interpreter; want at most 3 MiB", (most-own)>>10)
	}

	for i, k := range kernels {
		o := k.run("x")
		k.want("its variable", words(o.text(), o.start.Restarted), words(i, false))
	}
}

// interpreters are the processes of Python in the cells of an agent.
func interpreters(t *testing.T, a *harness.Agent) (pids []int) {
	t.Helper()
	all, err := procfs.Processes()
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range procfs.Descendants(all, a.Cmd.Process.Pid) {
		if strings.HasPrefix(all[pid].Name, "python3") {
			pids = append(pids, pid)
		}
	}
	return pids
}

func processorTime(t *testing.T, pids []int) (sum time.Duration) {
	t.Helper()
	for _, pid := range pids {
		one, err := procfs.CPUTime(pid)
		if err != nil {
			t.Fatal(err)
		}
		sum += one
	}
	return sum
}

// private is the memory that a process shares with no other one, in bytes.
func private(t *testing.T, pid int) (sum int64) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); strings.HasPrefix(line, "Private_") {
			kib, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += kib << 10
		}
	}
	return sum
}
