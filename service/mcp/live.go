package mcp

import (
	"context"

	"github.com/brig-sandbox/brig/api"
)

// A Live is a Runner whose sessions also have processes and kernels: those of an agent have none.
type Live interface {
	Runner

	StartProcess(ctx context.Context, session string, p api.ProcessRequest) (api.Process, error)
	Processes(ctx context.Context, session string) ([]api.Process, error)
	Process(ctx context.Context, session string, pid int) (api.Process, error)
	Output(ctx context.Context, session string, pid int, since int64, wait string) (api.ProcessOutput, error)
	SendStdin(ctx context.Context, session string, pid int, b []byte, eof bool) error
	SendSignal(ctx context.Context, session string, pid int, s api.Signal) error

	StartKernel(ctx context.Context, session string, ask api.KernelRequest) (api.Kernel, error)
	Kernels(ctx context.Context, session string) ([]api.Kernel, error)
	InterruptKernel(ctx context.Context, session, kernel string) error
	RestartKernel(ctx context.Context, session, kernel string) (api.Kernel, error)
	DeleteKernel(ctx context.Context, session, kernel string) error

	// ExecuteCell executes a cell, calls handle with each event of it, and returns the last one. An error of handle, or the
	// end of ctx, interrupts the cell.
	ExecuteCell(ctx context.Context, session, kernel string, c api.Cell, handle func(api.CellEvent) error) (api.CellEvent, error)
	AnswerCall(ctx context.Context, session, kernel string, a api.KernelAnswer) error
}

// A liveOf finds the Live of a call by its context.
type liveOf func(context.Context) Live
