package cgroups

import (
	"os/exec"
	"testing"
	"time"
)

// newBranch makes a branch in a cell of a separate tree.
func newBranch(t *testing.T, l Limits) *Branch {
	t.Helper()
	tree, _ := newTree(t)
	c, err := tree.Cell("session-1", 0)
	if err != nil {
		t.Fatal(err)
	}

	b, err := c.NewBranch("execs")
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := b.Remove(); err != nil {
			t.Error(err)
		}
		if err := c.Remove(); err != nil {
			t.Error(err)
		}
	})

	if err := b.Apply(l); err != nil {
		t.Fatal(err)
	}
	if err := b.Begin(); err != nil {
		t.Fatal(err)
	}
	return b
}

func onBranchOf(t *testing.T, b *Branch, name string, l Limits) *Leaf {
	t.Helper()
	leaf, err := b.NewLeaf(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := leaf.Remove(); err != nil {
			t.Error(err)
		}
	})
	apply(t, leaf, l)
	return leaf
}

// The leaves of a branch have their own limits; the branch's limits bound them together,
// and its measurements cover all of them. When it is out of memory, it loses one leaf,
// and the others live.
func TestBranchBoundsItsLeaves(t *testing.T) {
	b := newBranch(t, Limits{MemoryBytes: 96 * mib, Pids: 12, CPUs: 1, Weight: 512})
	one := onBranchOf(t, b, "exec-1", Limits{MemoryBytes: 96 * mib, Pids: 10, CPUs: 1, Weight: 999})
	other := onBranchOf(t, b, "exec-2", Limits{MemoryBytes: 96 * mib, Pids: 10, CPUs: 0.5})
	sleeper := start(t, one, "exec python3 -c 'import time; x = bytearray(20 << 20); time.sleep(60)'")

	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		n, err := b.Current()
		if err != nil {
			t.Fatal(err)
		}
		if n > 20*mib {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the branch has %d bytes; want its leaf's 20 MiB", n)
		}
	}

	if n, err := b.Processes(); err != nil || n < 1 {
		t.Errorf("%d processes, %v; want the sleeper", n, err)
	}

	hog := start(t, other, "exec python3 -c 'x = bytearray(200 << 20)'")
	if err := hog.Wait(); err == nil {
		t.Error("a leaf took more memory than its branch has")
	}

	eventuallyEmpty(t, other)
	u := usage(t, other)
	all, err := b.Usage()
	if err != nil {
		t.Fatal(err)
	}
	if u.OOMKills == 0 && all.LimitHits == 0 {
		t.Errorf("the hog: %+v, of %+v", u, all)
	}
	if empty, err := one.Empty(); err != nil || empty {
		t.Errorf("the neighbour of the hog: empty %v, %v; want it alive", empty, err)
	}
	if err := other.Quiesce(); err != nil {
		t.Fatal(err)
	}
	if empty, err := other.Empty(); err != nil || !empty {
		t.Errorf("at rest: %v, %v", empty, err)
	}
	if err := one.Quiesce(); err != nil {
		t.Fatal(err)
	}
	if err := one.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := sleeper.Wait(); err == nil {
		t.Error("the sleeper ended by itself")
	}

	eventuallyEmpty(t, &b.Leaf)
}

// Killing a branch kills all processes of its leaves at once, also those that fork.
func TestBranchIsKilledWhole(t *testing.T) {
	b := newBranch(t, Limits{MemoryBytes: 96 * mib, Pids: 60})
	need(t, b.kill != nil, "cgroup.kill")
	bomb := `exec python3 -c '
import os
while True:
    try: os.fork()
    except OSError: pass
'`

	var cmds []*exec.Cmd
	for _, name := range []string{"exec-1", "exec-2"} {
		cmds = append(cmds, start(t, onBranchOf(t, b, name, Limits{MemoryBytes: 96 * mib, Pids: 40}), bomb))
	}

	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if n, err := b.Processes(); err != nil || n >= 55 {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("%d processes; want the branch's limit", n)
		}
	}

	if err := b.Kill(); err != nil {
		t.Fatal(err)
	}

	for _, cmd := range cmds {
		if err := cmd.Wait(); err == nil {
			t.Error("a bomb ended well")
		}
	}

	eventuallyEmpty(t, &b.Leaf)
}
