// Package ablate lets a build with the tag ablate leave out layers of isolation, in the test machine
// alone, to show that the others hold without them (docs/reports/layers.md).
package ablate

// A Layer is a layer of isolation that a build with the tag ablate leaves out on request, in
// the test machine, to show that the other layers hold without it (docs/reports/layers.md).
// cell/cellinit/ablate.h has the same numbers.
type Layer uint32

const (
	Bounding Layer = 1 << iota
	NoNewPrivs
	Dumpable
	Keyrings
	Descriptors
	Identity
	ProcSubset
	ProcHide
	ProcReadOnly
	PIDNamespace
	IPCNamespace
	CgroupNamespace
	Rlimits
	Seccomp
	ReadOnly
	Nosuid
	Nodev
	MaxNamespaces
	Network
	UTS
	Memory
	Pids
)
