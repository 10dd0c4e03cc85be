package neighbours

import (
	"strconv"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// NS-14: two concurrent runs have different ids on the host, from ranges that do not overlap, and
// each is 1000 inside. The comparison can fail: a later run in a slot has the ids of the earlier
// one.
func TestSlotsHaveTheirOwnIDs(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	harness.Both(t, func(t *testing.T, mode api.Mode) {
		one, two := a.Guest(t, mode), a.Guest(t, mode)
		var first [2]int // of each run's range
		for i, g := range []*harness.Guest{one, two} {
			if out := g.RunLine(t, "id -u"); out != "1000\n" {
				t.Errorf("a run takes itself for %q", out)
			}

			f := strings.Fields(g.RunLine(t, "cat /proc/self/uid_map"))
			if len(f) != 3 || f[0] != "0" || f[2] != "65536" {
				t.Fatalf("map %q", f)
			}

			n, err := strconv.Atoi(f[1])
			if err != nil {
				t.Fatal(err)
			}
			if first[i] = n; uidOf(t, g) != n+1000 || n < 65536 {
				t.Errorf("host id %d in a range from %d", uidOf(t, g), n)
			}
		}

		if d := first[0] - first[1]; max(d, -d) < 65536 {
			t.Errorf("two runs at a time have ids from %d and from %d on", first[0], first[1])
		}

		was := uidOf(t, one)
		one.Leave()
		next := a.Guest(t, mode)
		next.RunLine(t, "true")
		if uidOf(t, next) != was {
			t.Errorf("the next run of the slot has id %d, the last had %d: the comparison proves nothing", uidOf(t, next), was)
		}
	})
}

// NS-11: a run sees none of its groups' paths, while the host sees them for the same process at the
// same time.
func TestHostileGroupPaths(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	harness.Both(t, func(t *testing.T, mode api.Mode) {
		g := a.Guest(t, mode)
		inside := strings.Split(strings.TrimSpace(g.RunLine(t, "cat /proc/self/cgroup")), "\n")
		for _, line := range inside {
			if f := strings.SplitN(line, ":", 3); len(f) != 3 || f[2] != "/" {
				t.Errorf("a run sees its group: %q", line)
			}
		}

		if out := g.RunLine(t, "grep cgroup /proc/self/mountinfo; cat /proc/1/cgroup"); !strings.Contains(out, "No such file") ||
			strings.Count(out, "\n") != 1 {
			t.Errorf("a run sees groups: %q", out)
		}

		paths := 0
		for line := range strings.Lines(procOf(t, g, "cgroup")) {
			if !strings.HasSuffix(line, ":/\n") {
				paths++
			}
		}

		if paths == 0 {
			t.Error("the host sees no path either: the test proves nothing")
		}
	})
}

// FS-29: a concurrent run does not see what another keeps in /dev/shm, /tmp and /box: those are
// different file systems.
func TestHostileSharedMemoryOfTheNeighbour(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	harness.Both(t, func(t *testing.T, mode api.Mode) {
		one, two := a.Guest(t, mode), a.Guest(t, mode)
		const places = "/dev/shm /tmp /box"
		look := func(g *harness.Guest, name string) int {
			return strings.Count(g.RunLine(t, "ls -A "+places), name)
		}
		one.RunLine(t, `for d in `+places+`; do echo of-one > $d/mark-of-one; done`)
		if n := look(one, "mark-of-one"); n != 3 {
			t.Fatalf("the run itself sees %d of its marks: the test proves nothing", n)
		}
		if n := look(two, "mark-of-one"); n != 0 {
			t.Errorf("the neighbour sees %d marks", n)
		}

		two.RunLine(t, `for d in `+places+`; do echo of-two > $d/mark-of-one; done`)
		if out := one.RunLine(t, "cat /dev/shm/mark-of-one /tmp/mark-of-one /box/mark-of-one"); out != "of-one\nof-one\nof-one\n" {
			t.Errorf("the neighbour wrote into another's files: %q", out)
		}

		devices := "stat -c %d " + places
		if x, y := one.RunLine(t, devices), two.RunLine(t, devices); x == y || strings.Count(x, "\n") != 3 {
			t.Errorf("two runs at a time are on the devices %q and %q", x, y)
		}

		one.Leave()
		if n := look(a.Guest(t, mode), "mark-of-one"); n != 0 {
			t.Errorf("the next run sees %d marks", n)
		}
	})
}
