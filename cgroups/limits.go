package cgroups

import (
	"errors"
	"strconv"
)

var errNoKey = errors.New("not in the file")

// Limits bound one leaf. A zero field means no limit of the leaf's own; the
// groups above still bound it. SwapBytes is the exception: zero means no swap.
type Limits struct {
	MemoryBytes int64
	SwapBytes   int64 // beyond MemoryBytes; only together with it
	// buffers of sockets, which version 1 counts apart; zero: version 1 neither counts nor limits them. Version 2 counts
	// them as memory
	SocketBytes int64
	CPUs        float64 // number of processors, as quota over a period of 100 ms
	Weight      int64   // cpu share on version 1's scale, where 1024 is the default
	Pids        int64   // processes and threads
	Cpuset      string  // such as "0-1,3"; empty means what the cell may use
}

// A Write is one value for one kernel file.
type Write struct {
	File  string
	Value string
}

// A Layout is what Plan must know of the kernel.
type Layout struct {
	Unified bool   // cgroup2 controllers
	Swap    bool   // swap is accounted: memory.swap.max or memory.memsw.* exist
	Cpus    string // the cell's own cpuset.cpus, which version 1 requires explicitly
}

// Plan lists the writes that take a leaf from old to new, in the order that the kernel
// requires, without values that stay the same. It reads nothing and writes nothing.
func Plan(at Layout, old, new Limits) []Write {
	if old == new {
		return nil
	}
	var plan []Write
	for _, c := range controllers {
		plan = append(plan, c.plan(at, old, new)...)
	}
	return plan
}

// set adds the write of a file whose value changes.
func set(plan []Write, file, from, to string) []Write {
	if from == to {
		return plan
	}
	return append(plan, Write{file, to})
}

func limit(n int64, none string) string {
	if n == 0 {
		return none
	}
	return decimal(n)
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }
