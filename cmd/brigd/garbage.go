package main

import (
	goruntime "runtime"
	"runtime/debug"
)

// collectLater lets the first collection of garbage begin when the heap is as large as the second would find it, and
// the later ones at percent. Nearly all that the start allocates is garbage by then, and a collection of it would take
// the processors from the first run. A negative percent means that there are none, as GOGC=off does.
func collectLater(percent int) {
	if percent < 0 {
		return
	}

	debug.SetGCPercent(2 * percent)
	first := new(int) // nothing refers to it: the first collection frees it
	goruntime.AddCleanup(first, func(percent int) { debug.SetGCPercent(percent) }, percent)
}
