package main

import (
	goruntime "runtime"
	"runtime/debug"
	"testing"
	"time"
)

func TestOnlyTheFirstCollectionIsLater(t *testing.T) {
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })

	collectLater(100)
	if got := debug.SetGCPercent(200); got != 200 {
		t.Errorf("the first collection begins at %d %%; want 200", got)
	}

	for deadline := time.Now().Add(time.Minute); debug.SetGCPercent(200) != 100; time.Sleep(time.Millisecond) {
		goruntime.GC()
		if time.Now().After(deadline) {
			t.Fatal("collections never become normal")
		}
	}
}

func TestNoCollectionsStayNone(t *testing.T) {
	before := debug.SetGCPercent(-1)
	t.Cleanup(func() { debug.SetGCPercent(before) })

	collectLater(-1)
	if got := debug.SetGCPercent(-1); got != -1 {
		t.Errorf("collections begin at %d %%; want none", got)
	}
}
