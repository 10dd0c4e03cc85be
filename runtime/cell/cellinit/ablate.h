// Layers that the build for the test machine can switch off; runtime/layer_names.go has the same
// numbers. Without ABLATE the compiler evaluates every OFF below, and nothing of it is in the
// binary.
#ifndef BRIG_ABLATE_H
#define BRIG_ABLATE_H

enum ablation {
	ABL_BOUNDING = 1 << 0,
	ABL_NO_NEW_PRIVS = 1 << 1,
	ABL_DUMPABLE = 1 << 2,
	ABL_KEYRINGS = 1 << 3,
	ABL_DESCRIPTORS = 1 << 4,
	ABL_IDENTITY = 1 << 5,
	ABL_PROC_SUBSET = 1 << 6,
	ABL_PROC_HIDE = 1 << 7,
	ABL_PROC_READ_ONLY = 1 << 8,
	ABL_PID_NS = 1 << 9,
	ABL_IPC_NS = 1 << 10,
	ABL_CGROUP_NS = 1 << 11,
	ABL_RLIMITS = 1 << 12,
};

#ifdef ABLATE
extern unsigned int layers_off;
#define OFF(layer) (layers_off & (layer))
#else
#define OFF(layer) 0
#endif

#endif
