package cell

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// cpuinfoText is the kernel's /proc/cpuinfo with these processors alone, under the numbers that sched_getaffinity
// has, too. Numbers of processors of the whole host become those of the run.
func cpuinfoText(host string, cpus []int) string {
	var own [][]string
	var rest []string // what does not belong to one processor, at the end on some machines
	for block := range strings.SplitSeq(strings.TrimSpace(host), "\n\n") {
		lines := strings.Split(block, "\n")
		number, err := strconv.Atoi(cpuinfoValue(lines, "processor"))
		switch {
		case block == "":
		case err != nil:
			rest = append(rest, block)
		case slices.Contains(cpus, number):
			own = append(own, lines)
		}
	}

	var b strings.Builder
	for _, lines := range own {
		chip := cpuinfoValue(lines, "physical id")
		threads, cores := 0, map[string]bool{}
		for _, other := range own {
			if cpuinfoValue(other, "physical id") == chip {
				threads++
				cores[cpuinfoValue(other, "core id")] = true
			}
		}

		for _, line := range lines {
			key, _, _ := strings.Cut(line, ":")
			switch strings.TrimSpace(key) {
			case "siblings":
				line = key + ": " + strconv.Itoa(threads)
			case "cpu cores":
				line = key + ": " + strconv.Itoa(len(cores))
			}
			b.WriteString(line + "\n")
		}

		b.WriteString("\n")
	}

	for _, block := range rest {
		b.WriteString(block + "\n\n")
	}
	return b.String()
}

func cpuinfoValue(lines []string, key string) string {
	for _, line := range lines {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// statText is a /proc/stat with these processors. Their times are zero: those of the kernel count what neighbours do.
// boot is the host's, by which programs make dates of the start times of their processes.
func statText(cpus []int, boot string) string {
	var b strings.Builder
	line := func(name string) { b.WriteString(name + " 0 0 0 0 0 0 0 0 0 0\n") }
	line("cpu ")
	for _, n := range cpus {
		line("cpu" + strconv.Itoa(n))
	}
	fmt.Fprintf(&b, "intr 0\nctxt 0\nbtime %s\nprocesses 1\nprocs_running 1\nprocs_blocked 0\nsoftirq 0\n", boot)
	return b.String()
}

// meminfoText is a /proc/meminfo with a run's memory, all of which is free when it begins.
func meminfoText(memory, swap api.Size) string {
	var b strings.Builder
	for _, l := range []struct {
		name string
		size api.Size
	}{
		{"MemTotal", memory}, {"MemFree", memory}, {"MemAvailable", memory}, {"Buffers", 0}, {"Cached", 0}, {"SwapCached", 0},
		{"Active", 0}, {"Inactive", 0}, {"SwapTotal", swap}, {"SwapFree", swap}, {"Dirty", 0}, {"Writeback", 0},
		{"AnonPages", 0}, {"Mapped", 0}, {"Shmem", 0}, {"Slab", 0}, {"SReclaimable", 0}, {"SUnreclaim", 0},
	} {
		fmt.Fprintf(&b, "%-15s %8d kB\n", l.name+":", int64(l.size)>>10)
	}
	return b.String()
}
