package archtest

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// wallClock matches code that reads or depends on the wall clock, which an operator or
// NTP may step: in C the clock itself, in Go also everything that strips the monotonic
// reading of time.Now. Formatting a time as text is allowed: it is for people.
var wallClock = regexp.MustCompile(`CLOCK_REALTIME|CLOCK_TAI|gettimeofday|clock_gettime, 0|\.Unix(Nano|Milli|Micro)?\(\)|\.Round\(0\)|\.(UTC|Local|In)\([^)]*\)($|[^.]|\.[^F])|time\.(Date|Parse)\(`)

// AGT-14: limits, waits and measurements depend on the monotonic clock only, so that a
// stepped clock ends no run, prolongs none, and falsifies no measurement.
// TestClockStepped checks it on a machine whose clock may be stepped.
func TestNothingIsLimitedByTheWallClock(t *testing.T) {
	seen := 0
	eachFile(t, func(name string, text []byte) {
		ext := path.Ext(name)
		top, _, _ := strings.Cut(name, "/")
		if ext != ".go" && ext != ".c" && ext != ".h" || strings.HasSuffix(name, "_test.go") ||
			top != "runtime" && top != "cgroups" && top != "agent" {
			return
		}

		// They set when node and the Java machine say that they started, and limit nothing.
		if name == "runtime/template/snapshot/node.c" || name == "runtime/template/snapshot/java.c" {
			return
		}

		// They say until when a file is kept, also while no agent runs, and limit nothing that runs.
		if name == "runtime/snapshot/store.go" || name == "runtime/snapshot/draft.go" {
			return
		}

		seen++
		for i, line := range strings.Split(string(text), "\n") {
			if wallClock.MatchString(line) {
				t.Errorf("%s:%d: the wall clock: %s", name, i+1, line)
			}
		}
	})

	if seen < 50 {
		t.Errorf("%d files looked at: where are the others?", seen)
	}

	for line, bad := range map[string]bool{
		"deadline := time.Now().UnixNano() + wall":    true,
		"SYS(clock_gettime, 0, &t);":                  true,
		"unix.TimerfdCreate(unix.CLOCK_REALTIME, 0)":  true,
		"until := time.Now().UTC().Add(wall)":         true,
		"began := time.Now().Round(0)":                true,
		"deadline := time.Now().Add(wall)":            false,
		"SYS(clock_gettime, 1, &t);":                  false,
		"Started: at.UTC().Format(time.RFC3339Nano),": false,
		"f.SetReadDeadline(time.Unix(1, 0))":          false,
	} {
		if wallClock.MatchString(line) != bad {
			t.Errorf("%q: told as %v; want %v", line, !bad, bad)
		}
	}
}
