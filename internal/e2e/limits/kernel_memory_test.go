//go:build tiers

package limits

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

const kernelMemoryPage = "../../../docs/reports/kernel-memory.md"

const kernelMemoryHead = `# Kernel memory that a run can take

` + "`make kernel-memory`" + ` writes this page. One run takes as many objects of one kind as it can, and
keeps them. It has the default limits (512 MiB, 100 processes, 256 open files for each process,
10,000 files) and uses up to 95 processes, or one process under ` + "`strict`" + `. The columns are:

- *taken*: how many objects the run took, and the error that stopped it. ` + "`-`" + ` means that no error
  stopped it: it took as many as the test program asks for.
- *host*: the growth of the kernel's own memory: slabs, stacks, page tables and per-processor memory
  in /proc/meminfo. It does not include the pages of full pipes and sockets, which are charged
  completely.
- *charged*: the kernel memory that is charged to the run's group. It counts against the limit
  ` + "`memory`" + `.
- *outside*: the rest of the growth, which no memory limit bounds. If it is large, something else
  bounds it: see [the threat model](../threat-model.md#kernel-memory).

Each row has the run with the least *outside* of three. Other programs of the host change *outside*
by up to 1 MiB. Partly filled slabs change it by up to a tenth of *charged*. If a tier refuses a
kind, the row has the error. ` + "`managed`" + ` and ` + "`compile`" + ` are ` + "`default`" + ` with one more call each; these
calls do not let a run hold more memory.
`

// heldKinds are the objects that testdata/kernelmemory/hold.c can take, with how many in each
// process, how many processes, and the most that may be outside the run's group.
var heldKinds = []struct {
	kind            string
	processes, each int
	outside         api.Size
}{
	{"record locks", 20, 10_000, 0}, // bounded by the number that a run may hold, not by memory
	{"whole-file locks", 20, 1000, 0},
	{"epoll items", 20, 1000, 2 * api.MiB},
	{"full pipes", 20, 1000, 2 * api.MiB},
	{"full sockets", 20, 1000, 2 * api.MiB},
	{"small messages", 20, 20_000, 4 * api.MiB},
	{"descriptors in flight", 20, 5000, 2 * api.MiB},
	{"timers", 20, 5000, 2 * api.MiB},
	{"queued signals", 20, 5000, 2 * api.MiB},
	{"open files", 20, 1000, 2 * api.MiB},
	{"files", 1, 20_000, 2 * api.MiB},
	{"symbolic links", 1, 20_000, 3 * api.MiB},
	{"named pipes", 20, 1000, 2 * api.MiB},
	{"missing names", 20, 10_000, 4 * api.MiB},
	{"eventfds", 20, 1000, 2 * api.MiB},
	{"timerfds", 95, 1000, 12 * api.MiB},
	{"epoll instances", 95, 1000, 12 * api.MiB}, // contexts of 256 bytes, which are charged to no group
	{"signalfds", 20, 1000, 2 * api.MiB},
	{"memfds", 20, 1000, 2 * api.MiB},
	{"memory areas", 20, 20_000, 16 * api.MiB},
	{"page tables", 20, 2000, 8 * api.MiB},
	{"threads", 1, 1000, 2 * api.MiB},
	{"processes", 1, 1000, 6 * api.MiB},
	{"session leaders", 1, 1000, 6 * api.MiB}, // setsid: one scheduler group each, which is charged to no group
	{"socket filters", 20, 1000, api.MiB},
	{"inotify watches", 20, 1000, api.MiB},
	{"System V queues", 20, 1000, api.MiB},
	{"System V segments", 20, 1000, api.MiB},
	{"POSIX queues", 20, 1000, api.MiB},
	{"keys", 1, 1, api.MiB},
	{"io_uring", 20, 1000, api.MiB},
	{"names of areas", 20, 1000, api.MiB},
	{"huge pages", 1, 10, api.MiB},
	{"locked memory", 1, 1000, api.MiB},
	{"full TCP connections", 20, 1000, 16 * api.MiB}, // and next: sockets in their tables, requests for connections, routes
	{"connections in the queue", 20, 1000, 16 * api.MiB},
	{"full UDP sockets", 20, 1000, 20 * api.MiB},
	{"full netlink sockets", 20, 1000, 10 * api.MiB},
}

// networkKinds are those that only a run with network can take.
var networkKinds = []string{"full TCP connections", "connections in the queue", "full UDP sockets", "full netlink sockets"}

// TestKernelMemory measures the kernel memory that a run takes and that is not charged to its
// group, and writes docs/reports/kernel-memory.md.
func TestKernelMemory(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	bin := filepath.Join(t.TempDir(), "hold")
	if out, err := exec.Command(testenv.NeedTool(t, "gcc", "gcc"), "-static", "-O1", "-pthread", "-w", "-o", bin,
		"../../../testdata/kernelmemory/hold.c").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}

	var page strings.Builder
	page.WriteString(kernelMemoryHead)

	for _, tier := range []string{"strict", "default", "network"} {
		fmt.Fprintf(&page, "\n## %s\n\n| kind | taken | host | charged | outside |\n|---|---|---|---|---|\n", tier)

		for _, k := range heldKinds {
			if slices.Contains(networkKinds, k.kind) && tier != "network" ||
				tier == "network" && !slices.Contains(networkKinds, k.kind) && k.kind != "descriptors in flight" {
				continue // what the tier network adds to default
			}
			if tier == "strict" { // one process
				k.processes = 1
			}
			h := minHeld(t, a, bin, tier, k.kind, k.processes, k.each)
			if k.outside > 0 && h.outside() > k.outside {
				t.Errorf("%s: %s: %s of kernel memory outside the group; want at most %s", tier, k.kind, h.outside(), k.outside)
			}
			fmt.Fprintf(&page, "| %s | %s | %s | %s | %s |\n", k.kind, h.taken, mebibytes(h.host), mebibytes(h.charged), mebibytes(h.outside()))
		}
	}

	if err := os.WriteFile(kernelMemoryPage, []byte(page.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func mebibytes(s api.Size) string { return fmt.Sprintf("%.1f MiB", float64(s)/float64(api.MiB)) }

// A holding is the measurement of one kind: how many, and bytes.
type holding struct {
	taken         string
	host, charged api.Size
}

func (h holding) outside() api.Size { return max(h.host-h.charged, 0) }

// minHeld takes a kind three times and returns the holding with the least memory outside the
// group.
func minHeld(t *testing.T, a *harness.Agent, bin, tier, kind string, processes, each int) holding {
	t.Helper()
	var all []holding
	for range 3 {
		h := heldOnce(t, a, bin, tier, kind, processes, each)
		all = append(all, h)
		if h.outside() < api.MiB/2 {
			break
		}
	}
	return slices.MinFunc(all, func(x, y holding) int { return int(x.outside() - y.outside()) })
}

func heldOnce(t *testing.T, a *harness.Agent, bin, tier, kind string, processes, each int) holding {
	t.Helper()
	before := kernelMemory(t)
	args := []string{"run", "--socket", a.Socket, "--rootfs", "tiny", "--profile", tier, "--file", "hold=" + bin}
	if tier == "network" {
		args = append(args, "--network", "loopback")
	}

	cmd := exec.Command(harness.Binary(t, "brig"), append(args, "--", "./hold", kind, strconv.Itoa(processes), strconv.Itoa(each))...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}

	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	line, err := bufio.NewReader(stdout).ReadString('\n')
	h := holding{}
	said := err == nil
	if said {
		pid := harness.FindProcess(t, "./hold")
		h.host = kernelMemory(t) - before
		h.charged = kernelCharge(t, pid)
		h.taken = strings.TrimSpace(strings.Replace(line, " ", ", ", 1))
	}
	if err := stdin.Close(); err != nil {
		t.Error(err)
	}

	err = cmd.Wait()
	var exit *exec.ExitError
	switch {
	case said: // how the run ends is not measured
	case errors.As(err, &exit) && exit.ExitCode() == 137:
		h.taken = "all of `memory`"
	case errors.As(err, &exit) && exit.ExitCode() == 159:
		h.taken = "0, denied"
	default:
		t.Errorf("%s: %s: %v", tier, kind, err)
	}

	time.Sleep(50 * time.Millisecond)
	return h
}

// kernelMemory is the memory that the kernel uses for itself.
func kernelMemory(t testing.TB) api.Size {
	t.Helper()
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		t.Fatal(err)
	}

	var sum api.Size
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if slices.Contains([]string{"Slab", "KernelStack", "PageTables", "SecPageTables", "Percpu"}, name) {
			n, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			sum += api.Size(n) * api.KiB
		}
	}

	return sum + socketMemory(t)
}

// socketMemory is the memory of the buffers of all TCP and UDP sockets.
func socketMemory(t testing.TB) (sum api.Size) {
	t.Helper()
	text, err := os.ReadFile("/proc/net/sockstat")
	if err != nil {
		t.Fatal(err)
	}

	for line := range strings.Lines(string(text)) {
		if _, pages, ok := strings.Cut(line, " mem "); ok {
			n, err := strconv.Atoi(strings.TrimSpace(pages))
			if err != nil {
				t.Fatal(err)
			}
			sum += api.Size(n * os.Getpagesize())
		}
	}

	return sum
}

// kernelCharge is the part of it that is charged to the group of a process.
func kernelCharge(t *testing.T, pid int) api.Size {
	t.Helper()
	groups, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		t.Fatal(err)
	}

	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if !slices.Contains(strings.Split(parts[1], ","), "memory") && parts[1] != "" {
			continue
		}

		dir := filepath.Join(harness.MemoryHierarchy(t).Mount, parts[2])
		if raw, err := os.ReadFile(filepath.Join(dir, "memory.kmem.usage_in_bytes")); err == nil {
			n, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if raw, err := os.ReadFile(filepath.Join(dir, "memory.kmem.tcp.usage_in_bytes")); err == nil {
				sockets, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				n += sockets
			}
			return api.Size(n)
		}

		if raw, err := os.ReadFile(filepath.Join(dir, "memory.stat")); err == nil {
			for line := range strings.Lines(string(raw)) {
				if f := strings.Fields(line); f[0] == "kernel" { // includes stacks, tables and per-processor memory, since 5.18
					n, err := strconv.ParseInt(f[1], 10, 64)
					if err != nil {
						t.Fatal(err)
					}
					return api.Size(n)
				}
			}
		}
	}

	t.Fatalf("no memory group of %d:\n%s", pid, groups)
	return 0
}
