package cgroups

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestKillEndsAForest(t *testing.T) { killForest(t, newLeaf(t)) }

// A hybrid host without its cgroup2 is a version 1 host: no cgroup.kill, no
// cgroup.events, no CLONE_INTO_CGROUP.
func TestKillEndsAForestWithoutCgroup2(t *testing.T) {
	need(t, os.Geteuid() == 0, "root")
	h, err := Probe()
	if err != nil {
		need(t, false, err.Error())
	}
	if h.Mode != Hybrid {
		t.Skip("needs a hybrid host") // a v2 host cannot be made to look like v1
	}

	h.Mode = V1
	h.Hierarchies = slices.DeleteFunc(h.Hierarchies, func(hy Hierarchy) bool { return hy.Unified })
	tree, _ := newTreeOn(t, h)
	l := newLeafIn(t, tree)
	if l.Dir() != nil || usage(t, l).SplitKnown {
		t.Error("cgroup2 is still in use")
	}

	killForest(t, l)
	apply(t, l, Limits{MemoryBytes: 64 * mib, Pids: 50})
	if err := start(t, l, "true & wait").Wait(); err != nil {
		t.Errorf("forks are still forbidden to the next run: %v", err)
	}
}

func killForest(t *testing.T, l *Leaf) {
	t.Helper()
	apply(t, l, Limits{MemoryBytes: 64 * mib, Pids: 50})
	cmd := start(t, l, "for i in 1 2 3 4 5 6 7 8 9; do (setsid sleep 100 &) ; done; exec sleep 100")
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if n, err := readInt(l.pids); err != nil || time.Now().After(end) {
			t.Fatalf("%d processes, %v; want 10", n, err)
		} else if n == 10 {
			break
		}
	}

	if err := l.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the shell lived on")
	}

	eventuallyEmpty(t, l)
}

func TestSweepRemovesWhatADeadAgentLeft(t *testing.T) {
	tree, recorded := newTree(t)
	for _, p := range tree.Paths() {
		if !slices.Contains(recorded, p) {
			t.Errorf("%s was not recorded", p)
		}
	}

	cell, err := tree.Cell("c0", 4242)
	if err != nil {
		t.Fatal(err)
	}

	leaf, err := cell.NewLeaf("r0")
	if err != nil {
		t.Fatal(err)
	}

	if u, ok := tree.Host().Unified(); ok {
		for _, rel := range []string{"", "r0"} {
			var st unix.Stat_t
			p := filepath.Join(cell.dir(u), rel, "cgroup.procs")
			if err := unix.Stat(p, &st); err != nil || st.Uid != 4242 {
				t.Errorf("%s belongs to %d, %v; want 4242", p, st.Uid, err)
			}
		}
	}

	cmd := start(t, leaf, "setsid sleep 100 & exec sleep 100")
	if err := leaf.Close(); err != nil {
		t.Fatal(err)
	}

	go func() { _ = cmd.Wait() }() // reaps the process: a zombie would still count
	if err := Sweep(tree.Paths()); err != nil {
		t.Fatal(err)
	}

	for _, p := range tree.Paths() {
		if exists(p) {
			t.Errorf("%s is still there", p)
		}
	}
}

// AGT-13: a group that is busy for a while is removed once it is free. A group that
// stays busy gives an error that names it, after a bounded time.
func TestRemovalWaitsForABusyGroup(t *testing.T) {
	leaf := newLeaf(t)
	hy := leaf.cell.tree.roots[0]
	for _, freed := range []bool{true, false} {
		dir := filepath.Join(leaf.cell.dir(hy), "busy")
		inner := filepath.Join(dir, "inner") // as another manager might make it
		for _, d := range []string{dir, inner} {
			if err := os.Mkdir(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}

		if err := unix.Rmdir(dir); err != unix.EBUSY {
			t.Errorf("rmdir of a group that holds another: %v; the test proves nothing", err)
		}

		gone := make(chan error, 1)
		if freed {
			time.AfterFunc(100*time.Millisecond, func() { gone <- unix.Rmdir(inner) })
		}

		began := time.Now()
		err := rmdir(dir)
		switch {
		case freed:
			if err := errors.Join(err, <-gone); err != nil || exists(dir) {
				t.Errorf("busy for a while: %v", err)
			}
		case !errors.Is(err, unix.EBUSY) || !strings.Contains(err.Error(), dir):
			t.Errorf("busy for ever: %v; want it named", err)
		case time.Since(began) > time.Minute:
			t.Errorf("it took %s", time.Since(began))
		}
	}

	if err := sweep(filepath.Join(leaf.cell.dir(hy), "busy")); err != nil { // which goes bottom up
		t.Error(err)
	}
}
