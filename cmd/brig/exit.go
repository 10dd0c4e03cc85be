package main

import "github.com/brig-sandbox/brig/api"

// The exit codes of brig run beside those of api.Result.Exit. Whoever must tell them
// from a program's reads --json or --result.
const (
	exitBrig          = 125 // brig itself failed, or the command line is wrong
	exitNotExecutable = 126
	exitNotFound      = 127
	exitCanceled      = 130
)

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
