package main

import "github.com/brig-sandbox/brig/api"

// The exit codes of brig run beside the program's own. Whoever must tell them
// from a program's reads --json or --result.
const (
	exitTime          = 124 // cpu or wall limit
	exitBrig          = 125 // brig itself failed, or the command line is wrong
	exitNotExecutable = 126
	exitNotFound      = 127
	exitSignal        = 128 // plus the signal
	exitCanceled      = 130
	exitMemory        = 137
	exitOutput        = 153 // 128 + SIGXFSZ
	exitDenied        = 159 // 128 + SIGSYS
)

// resultExit gives the exit code that stands for a result.
func resultExit(r api.Result) int {
	switch r.Verdict {
	case api.CPULimit, api.WallLimit:
		return exitTime
	case api.MemoryLimit:
		return exitMemory
	case api.OutputLimit:
		return exitOutput
	case api.Denied:
		return exitDenied
	case api.Canceled:
		return exitCanceled
	case api.Signaled:
		return exitSignal + r.Signal
	case api.OK:
		return 0
	case api.CompileError:
		return 1
	}
	return r.ExitCode
}

// errorExit gives the exit code that stands for an error of brig's.
func errorExit(c api.Code) int {
	switch c {
	case api.CodeNoProgram:
		return exitNotFound
	case api.CodeBadProgram:
		return exitNotExecutable
	}
	return exitBrig
}
