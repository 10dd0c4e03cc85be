package e2e

import (
	"strconv"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// NS-14: two concurrent runs have different ids on the host, from ranges that do not overlap, and
// each is 1000 inside. The comparison can fail: a later run in a slot has the ids of the earlier
// one.
func TestSlotsHaveTheirOwnIDs(t *testing.T) {
	a := startAgent(t, "--slots", "2")
	both(t, func(t *testing.T, mode api.Mode) {
		one, two := a.guest(t, mode), a.guest(t, mode)
		var first [2]int // of each run's range
		for i, g := range []*guest{one, two} {
			if out := g.runLine(t, "id -u"); out != "1000\n" {
				t.Errorf("a run takes itself for %q", out)
			}

			f := strings.Fields(g.runLine(t, "cat /proc/self/uid_map"))
			if len(f) != 3 || f[0] != "0" || f[2] != "65536" {
				t.Fatalf("map %q", f)
			}

			n, err := strconv.Atoi(f[1])
			if err != nil {
				t.Fatal(err)
			}
			if first[i] = n; g.uid(t) != n+1000 || n < 65536 {
				t.Errorf("host id %d in a range from %d", g.uid(t), n)
			}
		}

		if d := first[0] - first[1]; max(d, -d) < 65536 {
			t.Errorf("two runs at a time have ids from %d and from %d on", first[0], first[1])
		}

		was := one.uid(t)
		one.leave()
		next := a.guest(t, mode)
		next.runLine(t, "true")
		if next.uid(t) != was {
			t.Errorf("the next run of the slot has id %d, the last had %d: the comparison proves nothing", next.uid(t), was)
		}
	})
}

// NS-11: a run sees none of its groups' paths, while the host sees them for the same process at the
// same time.
func TestHostileGroupPaths(t *testing.T) {
	a := startAgent(t, "--slots", "1")
	both(t, func(t *testing.T, mode api.Mode) {
		g := a.guest(t, mode)
		inside := strings.Split(strings.TrimSpace(g.runLine(t, "cat /proc/self/cgroup")), "\n")
		for _, line := range inside {
			if f := strings.SplitN(line, ":", 3); len(f) != 3 || f[2] != "/" {
				t.Errorf("a run sees its group: %q", line)
			}
		}

		if out := g.runLine(t, "grep cgroup /proc/self/mountinfo; cat /proc/1/cgroup"); !strings.Contains(out, "No such file") ||
			strings.Count(out, "\n") != 1 {
			t.Errorf("a run sees groups: %q", out)
		}

		paths := 0
		for line := range strings.Lines(g.proc(t, "cgroup")) {
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
	a := startAgent(t, "--slots", "2")
	both(t, func(t *testing.T, mode api.Mode) {
		one, two := a.guest(t, mode), a.guest(t, mode)
		const places = "/dev/shm /tmp /box"
		look := func(g *guest, name string) int {
			return strings.Count(g.runLine(t, "ls -A "+places), name)
		}
		one.runLine(t, `for d in `+places+`; do echo of-one > $d/mark-of-one; done`)
		if n := look(one, "mark-of-one"); n != 3 {
			t.Fatalf("the run itself sees %d of its marks: the test proves nothing", n)
		}
		if n := look(two, "mark-of-one"); n != 0 {
			t.Errorf("the neighbour sees %d marks", n)
		}

		two.runLine(t, `for d in `+places+`; do echo of-two > $d/mark-of-one; done`)
		if out := one.runLine(t, "cat /dev/shm/mark-of-one /tmp/mark-of-one /box/mark-of-one"); out != "of-one\nof-one\nof-one\n" {
			t.Errorf("the neighbour wrote into another's files: %q", out)
		}

		devices := "stat -c %d " + places
		if x, y := one.runLine(t, devices), two.runLine(t, devices); x == y || strings.Count(x, "\n") != 3 {
			t.Errorf("two runs at a time are on the devices %q and %q", x, y)
		}

		one.leave()
		if n := look(a.guest(t, mode), "mark-of-one"); n != 0 {
			t.Errorf("the next run sees %d marks", n)
		}
	})
}
