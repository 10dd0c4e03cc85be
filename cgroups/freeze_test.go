package cgroups

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A frozen branch does nothing, goes on when it is thawed, and can be killed while it is frozen.
func TestFreeze(t *testing.T) {
	b := newBranch(t, Limits{MemoryBytes: 64 * mib, Pids: 20, CPUs: 1, Weight: 512})
	leaf := onBranchOf(t, b, "exec-1", Limits{MemoryBytes: 64 * mib, Pids: 20, CPUs: 1})
	file := filepath.Join(t.TempDir(), "n")
	cmd := start(t, leaf, "while :; do echo x; done >>"+file)
	size := func() int64 {
		st, err := os.Stat(file)
		if err != nil {
			return 0
		}
		return st.Size()
	}
	grows := func(from int64) {
		t.Helper()
		for until := time.Now().Add(30 * time.Second); size() <= from; time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("the program has not written more than %d bytes", from)
			}
		}
	}

	grows(0)
	for range 3 {
		frozen, err := b.Freeze(10 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if !frozen {
			if b.Dir() == nil {
				t.Skip("this host has no cgroup2")
			}
			t.Fatal("a program that only writes was not frozen")
		}
		before := size()
		time.Sleep(50 * time.Millisecond)
		if now := size(); now != before {
			t.Errorf("a frozen program has written %d bytes", now-before)
		}
		if err := b.Thaw(); err != nil {
			t.Fatal(err)
		}
		grows(before)
	}

	if _, err := b.Freeze(10 * time.Second); err != nil {
		t.Fatal(err)
	}
	if err := b.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	eventuallyEmpty(t, leaf)
}
