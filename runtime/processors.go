package runtime

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// A topology is the processors this process may use: all of them, and one of
// each physical core, so that two slots never share a core's execution units.
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

// firstSibling returns the lowest allowed hardware thread of cpu's core.
func firstSibling(cpu int, allowed []int) (int, error) {
	path := filepath.Join("/sys/devices/system/cpu", "cpu"+strconv.Itoa(cpu), "topology/thread_siblings_list")
	list, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return cpu, nil // a kernel without topology (one processor, user-mode Linux) has no siblings
	}
	if err != nil {
		return 0, err
	}
	siblings, err := parseCPUs(string(list))
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

// promisable is three quarters of the host's memory, in whole MiB.
func promisable() (api.Size, error) {
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
			return api.Size(kib) * api.KiB / 4 * 3 / api.MiB * api.MiB, nil
		}
	}
	return 0, fmt.Errorf("/proc/meminfo: no MemTotal")
}

// apportion settles what the host promises. What agents beside it promise is not taken
// from that, as most of them serve one command and end: it is said.
func (h *Host) apportion() error {
	most, err := promisable()
	if err != nil {
		return err
	}
	if h.cfg.Memory == 0 {
		h.cfg.Memory = most
	}
	if h.beside, err = h.instance.beside(); err != nil {
		return err
	}
	if h.beside+h.cfg.Memory > most {
		h.log.Warn("more memory is promised than is there: divide it between the agents with --memory, or stop one", "here", h.cfg.Memory, "by other agents", h.beside, "three quarters of the host", most)
	}
	return h.instance.promise(h.cfg.Memory)
}
