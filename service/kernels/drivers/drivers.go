// Package drivers has the programs that execute the cells of kernels, as arguments of their interpreters: nothing of them
// is a file in the sandbox.
package drivers

import (
	_ "embed"
	"strings"
	"sync"

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
		return append([]string{"python3", "-c", pythonStart, cwd}, pythonParts()...)
	}
	panic("no driver for kernels of " + string(language)) // the API has refused it, and a table test starts each
}

// pythonStart executes the parts of the driver of Python, which are its arguments after the directory.
const pythonStart = "import sys\nfor _ in sys.argv[2:]: exec(_)"

// partSize is the size of a part of the driver of Python, in bytes, unless one definition is longer.
const partSize = 2000

// pythonParts is the driver of Python in parts, each of whole definitions. The interpreter keeps the memory that it used
// to parse the largest text: as one text the driver would cost each kernel 1.4 MiB more (TestIdleKernels).
var pythonParts = sync.OnceValue(func() (parts []string) {
	const between = "\n\n\n" // two blank lines are between definitions, and nowhere else
	for definition := range strings.SplitSeq(figures+python, between) {
		last := len(parts) - 1
		if last >= 0 && len(parts[last])+len(definition) <= partSize {
			parts[last] += between + definition
		} else {
			parts = append(parts, definition)
		}
	}
	return parts
})
