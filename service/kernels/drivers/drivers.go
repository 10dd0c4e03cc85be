// Package drivers has the programs that execute the cells of kernels, as arguments of their interpreters: nothing of them
// is a file in the sandbox.
package drivers

import (
	_ "embed"

	"github.com/brig-sandbox/brig/api"
)

//go:embed kernel.py
var python string

//go:embed figures.py
var figures string

//go:embed kernel.js
var javaScript string

//go:embed kernel.sh
var bash string

// Argv returns the command of the interpreter of a kernel that starts in a directory; empty: where it is started.
func Argv(language api.KernelLanguage, cwd string) []string {
	switch language {
	case api.KernelJavaScript:
		// The driver uses the parser that is a part of node, to find the imports of a cell.
		return []string{"node", "--expose-internals", "--no-warnings", "-e", javaScript, "--", cwd}
	case api.KernelBash:
		return []string{"bash", "-c", bash, "kernel", cwd}
	case api.KernelPython:
		return []string{"python3", "-c", figures + python, cwd}
	}
	panic("no driver for kernels of " + string(language)) // the API has refused it, and a table test starts each
}
