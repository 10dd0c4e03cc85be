package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/brig-sandbox/brig/api"
)

// StartKernel are the arguments of start_kernel.
type StartKernel struct {
	Session  string            `json:"session_id" jsonschema:"id of the session"`
	Language string            `json:"language,omitempty" jsonschema:"python, javascript or bash; none: python"`
	Cwd      string            `json:"cwd,omitempty" jsonschema:"directory in which it starts, absolute or relative to /box; none: /box"`
	Env      map[string]string `json:"env,omitempty" jsonschema:"environment variables"`
}

// planKernel makes the request of start_kernel.
func planKernel(in StartKernel) (k api.KernelRequest, err error) {
	k = api.KernelRequest{Language: api.KernelLanguage(in.Language), Cwd: in.Cwd, Env: in.Env}
	return k, k.Validate()
}

// OfKernel are the arguments of the tools that do something with a kernel.
type OfKernel struct {
	Session string `json:"session_id" jsonschema:"id of the session"`
	Kernel  string `json:"kernel_id" jsonschema:"id of the kernel"`
}

// ListKernels are the arguments of list_kernels.
type ListKernels struct {
	Session string `json:"session_id" jsonschema:"id of the session"`
}

// A KernelInfo is one kernel in an answer.
type KernelInfo struct {
	ID       string `json:"kernel_id" jsonschema:"id of the kernel, for other calls"`
	Language string `json:"language" jsonschema:"its language"`
	State    string `json:"state" jsonschema:"idle, busy, starting, or dead if the next cell starts another interpreter"`
	Count    int    `json:"executed" jsonschema:"cells that its interpreter has executed"`
}

func tellKernel(k api.Kernel) KernelInfo {
	return KernelInfo{ID: k.ID, Language: string(k.Language), State: string(k.State), Count: k.Count}
}

func (k KernelInfo) text() string {
	return fmt.Sprintf("kernel_id: %s, %s, %s, %d cells executed\n", k.ID, k.Language, k.State, k.Count)
}

// KernelList is the answer of list_kernels. A session has at most api.SessionKernels.
type KernelList struct {
	Kernels []KernelInfo `json:"kernels" jsonschema:"the kernels of the session, the oldest first"`
}

func tellKernels(all []api.Kernel) KernelList {
	l := KernelList{Kernels: []KernelInfo{}}
	for _, k := range all {
		l.Kernels = append(l.Kernels, tellKernel(k))
	}
	return l
}

func (l KernelList) text() string {
	var b strings.Builder
	for _, k := range l.Kernels {
		b.WriteString(k.text())
	}
	if len(l.Kernels) == 0 {
		b.WriteString("there are no kernels\n")
	}
	return b.String()
}

// addKernels adds the tools for interpreters that keep their variables.
func addKernels(s *sdk.Server, of liveOf) {
	add(s, tool{name: "run_cell", title: "Run a cell", effect: another,
		about: "Run code in an interpreter of a session that keeps its variables from one call to the next, as in a notebook. " +
			"The value of the last expression and pictures that it shows are returned, too."},
		func(ctx context.Context, in RunCell) (CellOutcome, error) { return runCell(ctx, of(ctx), in) })

	add(s, tool{name: "start_kernel", title: "Start a kernel", effect: another,
		about: "Start one more interpreter for run_cell in a session. run_cell starts the first one of a language itself."},
		func(ctx context.Context, in StartKernel) (KernelInfo, error) {
			ask, err := planKernel(in)
			if err != nil {
				return KernelInfo{}, err
			}
			made, err := of(ctx).StartKernel(ctx, in.Session, ask)
			return tellKernel(made), err
		})

	add(s, tool{name: "list_kernels", title: "List kernels", effect: reads,
		about: "List the kernels of a session, and whether they execute a cell."},
		func(ctx context.Context, in ListKernels) (KernelList, error) {
			all, err := of(ctx).Kernels(ctx, in.Session)
			return tellKernels(all), err
		})

	add(s, tool{name: "interrupt_kernel", title: "Interrupt a kernel", effect: same,
		about: "Interrupt the cell that a kernel executes. Its variables stay, unless the cell does not end within 2 s."},
		func(ctx context.Context, in OfKernel) (Done, error) {
			err := of(ctx).InterruptKernel(ctx, in.Session, in.Kernel)
			return Done{"the cell of kernel " + in.Kernel + " is interrupted, if it executed one"}, err
		})

	add(s, tool{name: "restart_kernel", title: "Restart a kernel", effect: same,
		about: "Give a kernel a fresh interpreter. Its variables are lost, and its cell ends."},
		func(ctx context.Context, in OfKernel) (KernelInfo, error) {
			k, err := of(ctx).RestartKernel(ctx, in.Session, in.Kernel)
			return tellKernel(k), err
		})

	add(s, tool{name: "end_kernel", title: "End a kernel", effect: same,
		about: "End a kernel, with the processes of its interpreter."},
		func(ctx context.Context, in OfKernel) (Done, error) {
			return Done{"the kernel " + in.Kernel + " has ended"}, of(ctx).DeleteKernel(ctx, in.Session, in.Kernel)
		})
}
