package api_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

func code(err error) api.Code {
	var e *api.Error
	if errors.As(err, &e) {
		return e.Code
	}
	if err != nil {
		return "not an *api.Error"
	}
	return ""
}

func TestLimitsThatMakeNoSenseAreRefused(t *testing.T) { // CPU-10, PID-15, API-05
	for _, tt := range []struct {
		name string
		l    api.Limits
		ok   bool
	}{
		{"none set", api.Limits{}, true},
		{"the defaults", api.Defaults(), true},
		{"the ceiling", api.DefaultCeiling(), true},
		{"the least memory", api.Limits{Memory: api.MinMemory}, true},
		{"a millisecond of wall", api.Limits{Wall: api.Duration(time.Millisecond)}, true},
		{"one process", api.Limits{Pids: 1}, true},
		{"a hundredth of a processor", api.Limits{CPUs: 0.01}, true},
		{"a list of processors", api.Limits{Cpuset: "0-1,3"}, true},

		{"less memory than exec needs", api.Limits{Memory: api.MinMemory - 1}, false},
		{"negative memory", api.Limits{Memory: -1}, false},
		{"the most negative memory", api.Limits{Memory: math.MinInt64}, false},
		{"negative wall", api.Limits{Wall: -1}, false},
		{"a wall too short to mean anything", api.Limits{Wall: 1}, false},
		{"negative cpu", api.Limits{CPU: api.Duration(-time.Second)}, false},
		{"negative pids", api.Limits{Pids: -1}, false},
		{"negative output", api.Limits{Output: -1}, false},
		{"negative swap", api.Limits{Swap: -1}, false},
		{"negative scratch", api.Limits{Scratch: -1}, false},
		{"negative inodes", api.Limits{Inodes: -1}, false},
		{"fewer descriptors than the standard three", api.Limits{OpenFiles: 2}, false},
		{"a stack too small to start", api.Limits{Stack: 4096}, false},
		{"the least that a process must map", api.Limits{AddressSpace: api.MinMemory, Data: api.MiB, FileSize: api.KiB}, true},
		{"an address space too small to start", api.Limits{AddressSpace: api.MinMemory - 1}, false},
		{"data too small to start", api.Limits{Data: api.MiB - 1}, false},
		{"files without content", api.Limits{FileSize: 1}, false},
		{"negative address space", api.Limits{AddressSpace: -1}, false},
		{"negative data", api.Limits{Data: -1}, false},
		{"a negative size of files", api.Limits{FileSize: -1}, false},
		{"cpus NaN", api.Limits{CPUs: math.NaN()}, false},
		{"cpus infinite", api.Limits{CPUs: math.Inf(1)}, false},
		{"cpus 1e308", api.Limits{CPUs: 1e308}, false},
		{"cpus negative", api.Limits{CPUs: -0.5}, false},
		{"cpus too small to run", api.Limits{CPUs: 1e-9}, false},
		{"weight below the kernel's least", api.Limits{Weight: 1}, false},
		{"weight above the kernel's most", api.Limits{Weight: 262145}, false},
		{"weight negative", api.Limits{Weight: -1024}, false},
		{"cpuset with words", api.Limits{Cpuset: "all"}, false},
		{"cpuset with a newline", api.Limits{Cpuset: "0\n1"}, false},
		{"cpuset without end", api.Limits{Cpuset: strings.Repeat("1,", 200)}, false},
		{"a core file", api.Limits{Core: 1}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.l.Validate()
			if tt.ok && err != nil || !tt.ok && code(err) != api.CodeBadLimits {
				t.Errorf("Validate(%+v) = %v; want accepted: %v", tt.l, err, tt.ok)
			}
		})
	}
}

func TestLimitsAboveTheCeilingAreRefusedByName(t *testing.T) {
	top := api.DefaultCeiling()
	for _, tt := range []struct {
		name string
		l    api.Limits
		want string // in the message; empty: accepted
	}{
		{"the defaults fit", api.Defaults().Resolve(), ""},
		{"the ceiling itself fits", top, ""},
		{"nothing asked for fits", api.Limits{}, ""},
		{"wall", api.Limits{Wall: top.Wall + 1}, "limit wall is 30.000000001s, above this agent's ceiling of 30s"},
		{"cpu", api.Limits{CPU: top.CPU * 2}, "limit cpu is 1m0s, above this agent's ceiling of 30s"},
		{"memory", api.Limits{Memory: 5 * api.GiB}, "limit memory is 5G, above this agent's ceiling of 4G"},
		{"the largest memory there is", api.Limits{Memory: math.MaxInt64}, "limit memory"},
		{"any swap where none is allowed", api.Limits{Swap: api.MiB}, "limit swap is 1M, above this agent's ceiling of 0"},
		{"weight", api.Limits{Weight: 1025}, "limit weight is 1025, above this agent's ceiling of 1024"},
		{"cpus have the ceiling of a slot, which the agent knows", api.Limits{CPUs: 65}, ""},
		{"pids", api.Limits{Pids: math.MaxInt64}, "limit pids"},
		{"output", api.Limits{Output: top.Output + 1}, "limit output"},
		{"scratch", api.Limits{Scratch: top.Scratch + 1}, "limit scratch"},
		{"inodes", api.Limits{Inodes: top.Inodes + 1}, "limit inodes"},
		{"open files", api.Limits{OpenFiles: top.OpenFiles + 1}, "limit open_files"},
		{"a stack has no ceiling of its own", api.Limits{Stack: 1 << 40}, ""},
		{"what a process maps has no ceiling by default", api.Limits{AddressSpace: 1 << 40, Data: 1 << 40, FileSize: 1 << 40}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.l.Within(top)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.want != "" && (code(err) != api.CodeAboveCeiling || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%v; want above-ceiling with %q", err, tt.want)
			}
		})
	}
}

func TestOverTakesFieldByField(t *testing.T) {
	preset, err := api.Preset("hardened")
	if err != nil {
		t.Fatal(err)
	}

	got := api.Limits{Memory: api.GiB, Cpuset: "1"}.Over(preset).Over(api.Defaults()).Resolve()
	want := api.Limits{
		Memory: api.GiB, Cpuset: "1", // requested
		Wall: api.Duration(10 * time.Second), CPUs: 0.5, Pids: 64, // from the preset
		Weight: 1024, Output: 16 * api.MiB, Scratch: 64 * api.MiB, Inodes: 10_000, OpenFiles: 256, // from the defaults
		CPU: api.Duration(10 * time.Second), Stack: api.GiB, // derived from wall and memory
	}
	if got != want {
		t.Errorf("%+v; want %+v", got, want)
	}
}

func TestPresets(t *testing.T) {
	for name, want := range map[string]api.Limits{
		"":         {},
		"hardened": {Memory: 256 * api.MiB, Wall: api.Duration(10 * time.Second), CPUs: 0.5, Pids: 64},
		"light":    {Memory: 128 * api.MiB, Wall: api.Duration(5 * time.Second), CPUs: 0.5, Pids: 64},
	} {
		if got, err := api.Preset(name); got != want || err != nil {
			t.Errorf("preset %q is %+v, %v; want %+v", name, got, err, want)
		}
	}
	if _, err := api.Preset("heavy"); code(err) != api.CodeBadLimits {
		t.Errorf("a preset that does not exist: %v; want bad-limits", err)
	}
}

func TestASizeWithoutAUnitGetsAHint(t *testing.T) {
	for _, tt := range []struct {
		limits api.Limits
		want   string
	}{
		{api.Limits{Memory: 64}, "limit memory is 64 bytes: the least is 4M: did you mean 64M?"},
		{api.Limits{Memory: 1024}, "limit memory is 1K: the least is 4M"},
		{api.Limits{Scratch: 100}, "limit scratch is 100 bytes: the least is 4K: did you mean 100M?"},
		{api.Limits{Memory: 2}, "limit memory is 2: the least is 4M"}, // 2M would be too small too
		{api.Limits{Memory: api.MiB}, "limit memory is 1M: the least is 4M"},
		{api.Limits{Inodes: 4}, "limit inodes is 4: the least is 16"},
		{api.Limits{Memory: -64}, "limit memory is -64: the least is 4M"},
		{api.Limits{FileSize: 10}, "limit file_size is 10 bytes: the least is 1K: did you mean 10M?"},
	} {
		if err := tt.limits.Validate(); err == nil || err.Error() != tt.want {
			t.Errorf("%+v: %v; want %q", tt.limits, err, tt.want)
		}
	}
}

func TestBusyWall(t *testing.T) {
	for cpu, want := range map[time.Duration]time.Duration{
		0: 0, time.Second: 11 * time.Second, 3 * time.Second: 13 * time.Second, time.Minute: 4 * time.Minute,
	} {
		if got := api.BusyWall(api.Duration(cpu)); got != api.Duration(want) {
			t.Errorf("%s: %s; want %s", cpu, got, want)
		}
	}
}

// A ceiling is also the limit of who sets none, where none is the default.
func TestOptionalLimitsAreLoweredToTheCeiling(t *testing.T) {
	ceiling := api.Limits{AddressSpace: api.GiB, Data: 2 * api.GiB, FileSize: api.MiB, Stack: api.MiB, Swap: api.MiB}
	for _, row := range api.LimitTable() {
		none, above := api.Limits{}.CappedBy(ceiling), api.Limits{AddressSpace: 1 << 40, Data: 1 << 40, FileSize: 1 << 40}.CappedBy(ceiling)
		want := api.Limits{}
		if row.Optional {
			want = ceiling
		}
		if row.Text(none) != row.Text(want) || row.Optional && row.Text(above) != row.Text(ceiling) {
			t.Errorf("%s: none becomes %s, and more %s", row.Name, row.Text(none), row.Text(above))
		}
	}
}
