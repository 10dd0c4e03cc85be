package runtime

import (
	"fmt"
	"os"
	"slices"

	"github.com/brig-sandbox/brig/api"
	groups "github.com/brig-sandbox/brig/cgroups"
)

// The kernel charges a file in memory to whoever writes it, and inputs are written by the
// agent. The program may write to them as well: without more, that would be memory beyond
// its limit (MEM-19). So a run's group gets its limit without what its inputs take, and its
// figure has it. What is removed counts on: nobody sees what became of the pages.

// countedStep is what bytes of inputs are rounded down to: most runs have a source and
// little more, and need no limit of their own to be written for it. It is a quarter of what
// docs/truth.md allows a figure.
const countedStep = 256 * api.KiB

// sealed reports whether an input is placed so that the program cannot write to it: one to
// be executed. Like the files of an image it is no memory to the program, and a limit
// that is just what a program needs does not have to grow by the program's own file.
func sealed(f api.File) bool { return f.Executable }

// counted is what inputs take in memory that the program may write to, in whole steps.
func counted(files []api.File) api.Size {
	var n api.Size
	for _, f := range files {
		if !sealed(f) {
			n += inPages(f)
		}
	}
	return n / countedStep * countedStep
}

// inPages is what a file takes in memory.
func inPages(f api.File) api.Size {
	page := api.Size(os.Getpagesize())
	return (api.Size(len(f.Content)) + page - 1) / page * page
}

// lessPlaced gives limits without the memory that placed files take.
func lessPlaced(l api.Limits, placed api.Size) api.Limits {
	l.Memory -= placed
	return l
}

// withPlaced adds placed files to a figure.
func withPlaced(u groups.Usage, placed api.Size) groups.Usage {
	u.MemoryPeak += int64(placed)
	return u
}

// fits refuses a run whose files leave its program no memory. Where the source is the one too
// many, the error is an *unfitSource.
func (p *plan) fits() error {
	files := counted(p.files)
	if files == 0 || p.limits.Memory-files >= api.MinMemory {
		return nil
	}
	others := slices.DeleteFunc(slices.Clone(p.files), func(f api.File) bool { return f.Name == p.source })
	if p.limits.Memory-counted(others) >= api.MinMemory {
		return &unfitSource{fmt.Sprintf("brig: %s is too large: with it the files take %s of memory, which counts, and the limit of memory is %s\n", p.source, files, p.limits.Memory)}
	}
	return api.Refuse(api.CodeBadFile, "the files take %s of memory, which counts, and limits.memory is %s: raise it, or send less (the least that must remain is %s)", files, p.limits.Memory, api.MinMemory)
}

// waitTables is what the kernel takes for threads that each wait, in poll or select, for as many
// descriptors as one may have, beyond what the default limits let them wait for, which is 3.3
// MiB: 8 bytes for a descriptor asked for and 64 for each queue it is waited in, of which a
// named pipe opened for both ways has two (fs/select.c, Linux 6.18). No group is charged for
// it (MEM-42).
func waitTables(pids, openFiles int64) api.Size {
	d := api.Defaults()
	return max(0, api.Size(pids*openFiles-d.Pids*d.OpenFiles)*waitEntry) / countedStep * countedStep
}

const waitEntry = 8 + 2*64

// promise is the memory that the host promises for a run: its limits, which its inputs
// count against, and what no limit counts: artifacts and inputs to be executed, in whole
// steps, so that a small program costs no more than its limit, and what waits for many
// descriptors.
func (p *plan) promise() api.Size {
	var n api.Size
	for _, f := range p.made {
		n += inPages(f)
	}
	for _, f := range p.files {
		if sealed(f) {
			n += inPages(f)
		}
	}
	return p.limits.Memory + p.limits.Swap + n/countedStep*countedStep + waitTables(p.limits.Pids, p.limits.OpenFiles)
}
