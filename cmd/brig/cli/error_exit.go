package cli

import "github.com/brig-sandbox/brig/api"

// The exit codes of brig run in addition to those of api.Result.Exit. A caller that must
// distinguish them from a program's reads --json or --result.
const (
	ExitBrig          = 125 // brig itself failed, or the command line is wrong
	exitNotExecutable = 126
	exitNotFound      = 127
	ExitCanceled      = 130
)

// errorExit returns the exit code for an error of brig.
func errorExit(c api.Code) int {
	switch c {
	case api.CodeNoProgram:
		return exitNotFound
	case api.CodeBadProgram:
		return exitNotExecutable
	}
	return ExitBrig
}
