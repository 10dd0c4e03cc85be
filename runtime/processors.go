package runtime

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/image"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/runtime/run"
)

// A topology is the processors that this process may use: all of them, and one of each physical
// core, so that two slots never share a core's execution units.
type topology struct {
	allowed []int
	cores   []int
}

func processors() (topology, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return topology{}, os.NewSyscallError("sched_getaffinity", err)
	}

	var t topology
	for cpu := range 1024 {
		if set.IsSet(cpu) {
			t.allowed = append(t.allowed, cpu)
		}
	}

	for _, cpu := range t.allowed {
		if first, err := firstSibling(cpu, t.allowed); err != nil {
			return topology{}, err
		} else if first == cpu {
			t.cores = append(t.cores, cpu)
		}
	}

	return t, nil
}

// slotCores divides the cores among slots: each of the n slots has the same number of cores, shared
// with no other slot. If there are fewer cores than slots, a slot has one core and shares it.
func slotCores(cores []int, i, n int) []int {
	if each := len(cores) / n; each > 0 {
		return cores[i*each : (i+1)*each : (i+1)*each]
	}
	i %= len(cores)
	return cores[i : i+1 : i+1]
}

// firstSibling returns the lowest allowed hardware thread of cpu's core.
func firstSibling(cpu int, allowed []int) (int, error) {
	path := filepath.Join("/sys/devices/system/cpu", "cpu"+strconv.Itoa(cpu), "topology/thread_siblings_list")
	list, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return cpu, nil // a kernel without topology (one processor, user-mode Linux) has no siblings
	}
	if err != nil {
		return 0, err
	}

	siblings, err := plan.ParseCPUs(string(list))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}

	for _, s := range siblings {
		if slices.Contains(allowed, s) {
			return s, nil
		}
	}

	return cpu, nil
}

// hostMemory is the memory of the host.
func hostMemory() (api.Size, error) {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}

	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("/proc/meminfo: %w", err)
			}
			return api.Size(kib) * api.KiB, nil
		}
	}

	return 0, fmt.Errorf("/proc/meminfo: no MemTotal")
}

// decideMemory decides how much memory the host may reserve. The memory that other agents reserve is
// not subtracted, as most of those agents serve one command and end. If together they exceed three
// quarters of the host, a warning is logged.
func (h *Host) decideMemory() error {
	host, err := hostMemory()
	if err != nil {
		return err
	}

	maximum := host / 4 * 3 / api.MiB * api.MiB
	h.memory = run.MemoryBounds{Slots: h.cfg.Slots, MaxHeld: run.MaxHeld(h.cfg.Slots, host)}
	if h.cfg.Memory == 0 {
		h.cfg.Memory = maximum
	}
	if h.cfg.TemplateMemory == 0 {
		h.cfg.TemplateMemory = min(defaultTemplateMemory, maximum/12/api.MiB*api.MiB)
	}

	h.cfg.TemplateMemory = max(h.cfg.TemplateMemory, 0)
	if h.cfg.ReadImages {
		h.cfg.ImageMemory = 0
	} else if h.cfg.ImageMemory == 0 {
		h.cfg.ImageMemory = maximum / 6 / api.MiB * api.MiB // an eighth of the host's
	}
	if err := image.CheckMemlock(h.cfg.ImageMemory); err != nil {
		return err
	}
	if h.otherAgents, err = h.instance.otherAgents(); err != nil {
		return err
	}
	if h.otherAgents+h.cfg.Memory > maximum {
		h.log.Warn("the agents on this host reserve more memory than the host has for them: divide it between them "+
			"with --memory, or stop one", "here", h.cfg.Memory, "by other agents", h.otherAgents, "three quarters of the host", maximum)
	}
	return h.instance.publishReserved(h.cfg.Memory)
}

// raiseGOMAXPROCS raises GOMAXPROCS so that as many threads run Go code as without the supervisors of
// slots, which hold that right while they sleep. A GOMAXPROCS from the environment takes
// precedence.
func raiseGOMAXPROCS(slots int) {
	if os.Getenv("GOMAXPROCS") == "" {
		goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(0) + slots)
	}
}
