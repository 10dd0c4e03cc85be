package plan

import (
	"fmt"
	"os"
	"slices"

	"github.com/brig-sandbox/brig/api"
)

// InputMemoryStep is the unit to which the bytes of inputs are rounded down. Most runs have a source
// and little more, and need no separate limit written for it. It is a quarter of the error that
// docs/reports/truth.md allows for a measurement.
const InputMemoryStep = 256 * api.KiB

// Sealed reports whether an input is placed so that the program cannot write to it: an input to be
// executed. Like the files of an image it gives the program no memory. A limit that is just
// sufficient for a program does not have to grow by the program's own file.
func Sealed(f api.File) bool { return f.Executable }

// InputMemory is the memory taken by the inputs that the program may write to, in whole steps.
func InputMemory(files []api.File) api.Size {
	var n api.Size
	for _, f := range files {
		if !Sealed(f) {
			n += PageBytes(f)
		}
	}
	return n / InputMemoryStep * InputMemoryStep
}

// PageBytes is the memory that a file takes.
func PageBytes(f api.File) api.Size { return pages(int64(len(f.Content))) }

// pages is a number of bytes, rounded up to whole pages.
func pages(n int64) api.Size {
	page := api.Size(os.Getpagesize())
	return (api.Size(n) + page - 1) / page * page
}

// CheckMemory refuses a run whose files leave its program no memory. If the run fits without its source,
// the error is an *InvalidSource.
func (p *Run) CheckMemory() error {
	files := InputMemory(p.Files)
	if files == 0 || p.Limits.Memory-files >= api.MinMemory {
		return nil
	}
	others := slices.DeleteFunc(slices.Clone(p.Files), func(f api.File) bool { return f.Name == p.Source })
	if p.Limits.Memory-InputMemory(others) >= api.MinMemory {
		return &InvalidSource{fmt.Sprintf("brig: %s is too large: with it the files take %s, which count as memory, "+
			"and the memory limit is %s\n", p.Source, files, p.Limits.Memory)}
	}
	return api.Refuse(api.CodeBadFile,
		"the files take %s, which count as memory, and limits.memory is %s: raise it, or send less (at least %s must remain)",
		files, p.Limits.Memory, api.MinMemory)
}

// PollMemory is the kernel memory for threads that each wait, in poll or select, for as many
// descriptors as a thread may have, minus the 3.3 MiB that the default limits allow. It is 8 bytes
// for each requested descriptor and 64 for each wait queue; a named pipe opened for both ways has
// two queues (fs/select.c, Linux 6.18). No group is charged for this memory (MEM-42).
func PollMemory(pids, openFiles int64) api.Size {
	d := api.Defaults()
	return max(0, api.Size(pids*openFiles-d.Pids*d.OpenFiles)*pollEntryBytes) / InputMemoryStep * InputMemoryStep
}

const pollEntryBytes = 8 + 2*64

// MaxListings is how many open directories a run with a writable root may read. Its root is an overlay,
// which keeps for each of them a list of the names that it had when it was read, as long as it is open:
// up to 512 bytes for each name, charged to no group (fs/overlayfs/readdir.c, Linux 6.18; MEM-46).
const MaxListings = 32

const bytesPerName = 512

// listingMemory is the memory of these lists, for names that the run itself makes. Directories that are
// open in messages are not seen; the kernel allows a user twice the descriptors of a process there.
func (p Cell) listingMemory(openFiles int64) api.Size {
	if p.Layer == nil {
		return 0
	}
	lists := int64(MaxListings)
	if p.Policy.HidesFiles {
		lists += 2 * openFiles
	}
	return api.Size(lists*p.Layer.Inodes) * bytesPerName
}

// Reservation is the memory that the host reserves for a run: its limits, against which its inputs
// count, and memory that no limit counts. The latter is that of artifacts, of files of tests and of
// inputs to be executed, in whole steps, so that a small program costs no more than its limit, and
// that of the wait tables, of sockets and of lists of names.
func (p *Run) Reservation() api.Size {
	n := p.TestFilePages()
	for _, f := range p.Built {
		n += PageBytes(f)
	}

	for _, f := range p.Files {
		if Sealed(f) {
			n += PageBytes(f)
		}
	}

	n += p.Cell.listingMemory(p.Limits.OpenFiles)
	if p.Network != nil {
		n += networkMemory(*p.Network, p.Limits.Pids, p.Limits.OpenFiles)
	}

	return p.Limits.Memory + p.Limits.Swap + n/InputMemoryStep*InputMemoryStep + PollMemory(p.Limits.Pids,
		p.Limits.OpenFiles)
}

// An InvalidSource is the error of a run whose limits have no space for the source itself. Its author
// must fix that too, and it becomes the verdict compile-error.
type InvalidSource struct{ Reason string }

func (e *InvalidSource) Error() string { return e.Reason }
