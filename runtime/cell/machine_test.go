package cell

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// hostCPUs is a host with three processors on one chip, of which two share a core, and one on another.
const hostCPUs = "processor\t: 0\nmodel name\t: X 1\nphysical id\t: 0\nsiblings\t: 4\ncore id\t\t: 0\ncpu cores\t: " +
	"2\npower management:\n\n" +
	"processor\t: 1\nmodel name\t: X 1\nphysical id\t: 0\nsiblings\t: 4\ncore id\t\t: 0\ncpu cores\t: 2\npower management:\n\n" +
	"processor\t: 2\nmodel name\t: X 1\nphysical id\t: 0\nsiblings\t: 4\ncore id\t\t: 1\ncpu cores\t: 2\npower management:\n\n" +
	"processor\t: 12\nmodel name\t: X 1\nphysical id\t: 1\nsiblings\t: 4\ncore id\t\t: 0\ncpu cores\t: 2\npower management:\n\n"

func block(n, model, rest string) string {
	return "processor\t: " + n + "\nmodel name\t: " + model + "\n" + rest + "power management:\n\n"
}

func TestCPUInfoHasTheProcessorsOfTheRun(t *testing.T) {
	for _, c := range []struct {
		name string
		host string
		cpus []int
		want string
	}{
		{"one", hostCPUs, []int{2}, block("2", "X 1", "physical id\t: 0\nsiblings\t: 1\ncore id\t\t: 1\ncpu cores\t: 1\n")},
		{"two threads of a core", hostCPUs, []int{0, 1}, block("0", "X 1", "physical id\t: 0\nsiblings\t: 2\ncore "+
			"id\t\t: 0\ncpu cores\t: 1\n") +
			block("1", "X 1", "physical id\t: 0\nsiblings\t: 2\ncore id\t\t: 0\ncpu cores\t: 1\n")},
		{"two chips", hostCPUs, []int{2, 12}, block("2", "X 1", "physical id\t: 0\nsiblings\t: 1\ncore id\t\t: 1\ncpu cores\t: 1\n") +
			block("12", "X 1", "physical id\t: 1\nsiblings\t: 1\ncore id\t\t: 0\ncpu cores\t: 1\n")},
		{"arm64 has no topology", "processor\t: 0\nBogoMIPS\t: 50\n\nprocessor\t: 1\nBogoMIPS\t: 50\n\n", []int{1},
			"processor\t: 1\nBogoMIPS\t: 50\n\n"},
		{"a block of the machine", "processor\t: 0\nBogoMIPS\t: 50\n\nHardware\t: Z\n", []int{0},
			"processor\t: 0\nBogoMIPS\t: 50\n\nHardware\t: Z\n\n"},
		{"none", "", []int{0}, ""},
	} {
		if got := cpuinfoText(c.host, c.cpus); got != c.want {
			t.Errorf("%s:\n%q\nwant\n%q", c.name, got, c.want)
		}
	}
}

func TestStatHasTheProcessorsOfTheRun(t *testing.T) {
	want := "cpu  0 0 0 0 0 0 0 0 0 0\ncpu3 0 0 0 0 0 0 0 0 0 0\ncpu12 0 0 0 0 0 0 0 0 0 0\nintr 0\nctxt 0\nbtime 1700000000\n" +
		"processes 1\nprocs_running 1\nprocs_blocked 0\nsoftirq 0\n"
	if got := statText([]int{3, 12}, "1700000000"); got != want {
		t.Errorf("%q; want %q", got, want)
	}
}

func TestMeminfoHasTheMemoryOfTheRun(t *testing.T) {
	want := "MemTotal:          65536 kB\nMemFree:           65536 kB\nMemAvailable:      65536 kB\n"
	if got := meminfoText(64*api.MiB, 0); got[:len(want)] != want {
		t.Errorf("%q; want it to begin with %q", got, want)
	}
}
