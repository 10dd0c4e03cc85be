// Package cgroups puts runs into control groups: version 2, version 1 and hybrid
// behind one interface.
//
// A [Host] says what the kernel offers, a [Tree] is one agent's directory in every
// hierarchy, a [Cell] a directory below it, and a [Leaf] the group of one run at a
// time. A leaf keeps its statistics files open, so that measuring a run takes a
// handful of reads. [Plan] decides the writes and touches nothing; [Leaf.Apply]
// makes them.
//
// Each of the kernel's controllers that brig uses has a file of its own, memory.go and others, and a
// line in controllers.go: what it probes, writes and measures, on both versions.
//
// Version 2 is the native layout. In hybrid mode the controllers are on version 1
// and an almost empty cgroup2 provides cgroup.kill, cgroup.events and
// CLONE_INTO_CGROUP. Kernel files keep their kernel names everywhere.
package cgroups
