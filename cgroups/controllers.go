package cgroups

import "os"

// A controller is what brig uses of one controller of the kernel, on both versions. Each has a file
// of its own. What a controller does not need, it takes from base.
type controller interface {
	name() string

	// needed reports whether every run requires the controller.
	needed(Mode) bool

	// probe detects the controller's features by the files of the group sub of hy.
	probe(hy Hierarchy, sub string, f *Features)

	// controls lists the files to which a leaf writes.
	controls(unified bool) []string

	// setup lists the writes that a new leaf gets once.
	setup(Layout) []Write

	// plan lists the writes that take a leaf from old to new. It is pure.
	plan(at Layout, old, new Limits) []Write

	// open opens the statistics of a group. unified says that the controller is on cgroup2.
	open(s *stats, dir *os.File, unified bool) error

	// read reads the counters.
	read(s *stats, c *counters) error

	// usage sets what the run of l used since Begin, from the counters of now.
	usage(l *Leaf, now counters, u *Usage) error
}

// controllers are those that brig uses, in the order in which Plan lists their writes.
var controllers = []controller{
	memory{base("memory")}, cpu{base("cpu")}, cpuacct{base("cpuacct")}, cpuset{base("cpuset")}, pids{base("pids")},
}

// stats are the statistics files, open for reading.
type stats struct {
	memoryStats
	cpuStats
	pidsStats
	populated *os.File // cgroup.events; nil in mode v1
	sources   Sources
	files     []*os.File // those to close
}

// counters are readings. All are cumulative, but the peak of memory is reset by Begin.
type counters struct {
	memoryCounters
	cpuCounters
	pidsCounters
}

// base is the name of a controller that every run requires, and that does nothing.
type base string

func (b base) name() string                      { return string(b) }
func (base) needed(Mode) bool                    { return true }
func (base) probe(Hierarchy, string, *Features)  {}
func (base) controls(bool) []string              { return nil }
func (base) setup(Layout) []Write                { return nil }
func (base) plan(Layout, Limits, Limits) []Write { return nil }
func (base) open(*stats, *os.File, bool) error   { return nil }
func (base) read(*stats, *counters) error        { return nil }
func (base) usage(*Leaf, counters, *Usage) error { return nil }
