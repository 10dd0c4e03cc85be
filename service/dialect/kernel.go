package dialect

import "github.com/brig-sandbox/brig/api"

// Kernels is what a request asks for of the kernels of its key, instead of runs. A kernel that a dialect starts has a
// session of its own, which ends with it.
type Kernels struct {
	Do KernelAction
	ID string // of the kernel; empty: all, or of a new one none yet

	Start   api.KernelRequest  // of StartKernel
	Session api.SessionRequest // of StartKernel

	Tell func([]api.Kernel) Response // one kernel, or of ListKernels all; not called for KernelChannels
}

// A KernelAction is what is done with kernels before they are told.
type KernelAction string

// The actions.
const (
	ListKernels     KernelAction = "list"
	GetKernel       KernelAction = "get"
	StartKernel     KernelAction = "start"
	InterruptKernel KernelAction = "interrupt"
	RestartKernel   KernelAction = "restart"
	DeleteKernel    KernelAction = "delete"   // tells it as it was
	KernelChannels  KernelAction = "channels" // the request is that of a WebSocket (service/jupytersocket)
)
