package runtime

// An ablation is a layer of isolation that a build with the tag ablate leaves out on request, in
// the test machine, to show that the other layers hold without it (docs/layers.md).
// cellinit/ablate.h has the same numbers.
type ablation uint32

const (
	offBounding ablation = 1 << iota
	offNoNewPrivs
	offDumpable
	offKeyrings
	offDescriptors
	offIdentity
	offProcSubset
	offProcHide
	offProcReadOnly
	offPIDNamespace
	offIPCNamespace
	offCgroupNamespace
	offRlimits
	offSeccomp
	offReadOnly
	offNosuid
	offNodev
	offMaxNamespaces
	offNetwork
	offUTS
	offMemory
	offPids
)
