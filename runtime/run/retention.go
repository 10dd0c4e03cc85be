package run

import (
	"cmp"
	"context"
	"sync"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/outputs"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/runtime/pool"
)

// This file accounts for what the agent retains in memory of a run until it is answered: inputs by
// blob, output, files and artifacts. A stage reserves the most that it can be together with its slot
// (api.Memory), and corrects that to the actual size when it has ended. So the agent's memory has a
// known bound.

// compileRetention is the most that a compile stage may retain: the artifacts, and what the compiler
// wrote, whose buffers grow.
func compileRetention(p *plan.Run) int64 {
	return int64(plan.MaxArtifactBytes) + 2*growingBuffer(min(p.Limits.Output, outputs.MaxKept))
}

// InstallRetention is the most that the agent holds of a set of packages while it stores it: its names, 32 MiB
// at most, once to walk its directories and once to finish them, and some 80 bytes for each member
// (PKG-11, TestHostileNamesOfPackages).
const InstallRetention = 96 << 20

// ownMemory is the agent's memory apart from requests, among it heapHeadroom. heldWaiting and heldPerSlot are
// the most that it retains for requests: for those that wait, and per slot. On a host with little memory the
// bound is an eighth of it, and minHeld at least.
const (
	ownMemory   = 224 * api.MiB
	heldWaiting = 256 * api.MiB
	heldPerSlot = 192 * api.MiB
	minHeld     = 256 * api.MiB
)

// heldShare is what a stage may retain whatever others do: as much as the largest stage of a request that
// sets no limit of its own (TestADefaultRequestIsWithinItsShare).
const heldShare = 144 * api.MiB

// MaxHeld is the most that an agent with this many slots retains for requests on a host with this
// much memory.
func MaxHeld(slots int, host api.Size) api.Size {
	return min(heldWaiting+api.Size(slots)*heldPerSlot, max(host/8, minHeld))
}

// MemoryBounds bound what the agent retains for requests. MaxHeld is the most for all requests
// together; see api.Memory.
type MemoryBounds struct {
	Slots   int
	MaxHeld api.Size
}

// HeldShare is what a stage may retain whatever others do.
func (b MemoryBounds) HeldShare() api.Size { return heldShare }

// HeldCommon is what requests may retain apart from that, all together. If there is too little memory for
// a share per slot, fewer stages run at the same time, in the order of their arrival.
func (b MemoryBounds) HeldCommon() api.Size {
	const minimum = 64 * api.MiB
	shares := min(api.Size(b.Slots), max((b.MaxHeld-minimum)/heldShare, 1))
	return b.MaxHeld - shares*heldShare
}

// heapHeadroom is what MaxMemory has above the limit of the Go heap: for memory outside the heap, and for blobs
// that are loaded while the collector works, when the heap exceeds its limit (by 75 MiB at most where four slots
// loaded blobs of 64 MiB; AGT-21).
const heapHeadroom = 128 * api.MiB

// MaxMemory bounds the agent's own memory.
func (b MemoryBounds) MaxMemory() api.Size { return ownMemory + b.MaxHeld }

// HeapLimit is the limit of the Go heap with which the agent's memory stays within MaxMemory. Without a limit,
// garbage would double the memory of requests.
func (b MemoryBounds) HeapLimit() api.Size { return b.MaxMemory() - heapHeadroom }

// retention counts what one run retains. Tests that run in parallel share one. A nil value, of a caller
// that counts nothing, does nothing.
type retention struct {
	memory api.Memory

	mu   sync.Mutex
	kept int64 // guarded by mu
}

// NewRetention counts for a caller that counts; nil for one that does not.
func NewRetention(s api.Streams) *retention {
	if s.Memory == nil {
		return nil
	}
	return &retention{memory: s.Memory}
}

// Await waits until n more bytes can be retained. It must be called without a slot.
func (k *retention) Await(ctx context.Context, p *pool.Pool, turn pool.Turn, n int64) error {
	if k == nil || n == 0 {
		return nil
	}
	turn.Memory = &input{k, n}
	return p.AwaitMemory(ctx, turn)
}

// keep counts n more bytes, which the caller of the agent's memory has granted.
func (k *retention) add(n int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept += n
}

// size is what is retained now, without the stages that run.
func (k *retention) size() int64 {
	if k == nil {
		return 0
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.kept
}

// Finish reduces what is retained to the content of res, until the answer is taken.
func (k *retention) Finish(res *api.Result) {
	if k == nil {
		return
	}
	surplus := k.size() - int64(res.Content())
	if surplus > 0 {
		k.add(-surplus)
		_ = k.memory.Keep(-surplus) // a decrease is never refused
	}
}

// An input is what is retained from before a stage begins: a pool.Memory.
type input struct {
	of *retention
	n  int64
}

func (i *input) Reserve(bool) error {
	err := i.of.memory.Keep(i.n)
	if err == nil {
		i.of.add(i.n)
	}
	return err
}

func (i *input) Release() {
	i.of.add(-i.n)
	_ = i.of.memory.Keep(-i.n) // a decrease is never refused
}

// A stage is what one stage may retain while it runs: a pool.Memory.
type stage struct {
	of      *retention // nil: nobody counts
	maximum int64
	begun   bool
}

// Stage is a stage that may retain so many bytes.
func (k *retention) Stage(maximum int64) *stage { return &stage{of: k, maximum: maximum} }

func (s *stage) Reserve(common bool) error {
	if s.of == nil {
		return nil
	}
	err := s.of.memory.Begin(s.maximum, common)
	s.begun = err == nil
	return err
}

func (s *stage) Release() {
	if s.begun {
		s.begun = false
		s.of.memory.Cancel(s.maximum)
	}
}

// End ends the stage, of which kept is retained. It does nothing if the stage has not begun.
func (s *stage) End(kept int64) {
	if !s.begun {
		return
	}
	s.begun = false
	kept = min(kept, s.maximum)
	s.of.add(kept)
	s.of.memory.End(s.maximum, kept)
}

// resultMemory is what the result of a test takes without its content, with its JSON. ownMemory has room for
// usualTests of them in each slot.
const (
	resultMemory = 4 * api.KiB
	usualTests   = 4096
)

// manyTests is the memory of results above those that ownMemory has room for.
func manyTests(request api.Run) int64 {
	return int64(max(len(request.Tests)-usualTests, 0)) * int64(resultMemory)
}

// blobBytes is the size of the blobs of a run that are loaded before it begins. A missing blob is
// refused when it is loaded.
func (r *Runner) blobBytes(request api.Run) (n int64) {
	for _, f := range request.Files {
		n += r.blobSize(f.Blob)
	}

	if c := request.Check; c != nil {
		for _, f := range c.Files {
			n += r.blobSize(f.Blob)
		}
	}
	if i := request.Interactor; i != nil {
		for _, f := range i.Files {
			n += r.blobSize(f.Blob)
		}
	}

	return n + r.blobSize(request.StdinBlob)
}

func (r *Runner) blobSize(digest string) int64 {
	if digest == "" || r.Planner.Blobs == nil {
		return 0
	}
	n, err := r.Planner.Blobs.Size(digest)
	if err != nil {
		return 0
	}
	return n
}

// growingBuffer is the most memory that retained output of size s takes: its buffer grows in steps, and two
// of them may exist at once.
func growingBuffer(s api.Size) int64 { return int64(s) / 2 * 3 }

func maxCollected(c api.Collect) int64 {
	if c.None {
		return 0
	}
	return int64(cmp.Or(c.Bytes, api.CollectBytes))
}

// MaxRetained is the most that a run may retain.
func MaxRetained(p *plan.Run, streamed bool) int64 {
	n := maxCollected(p.Collect) + p.Timeline.MaxBytes()
	if !streamed {
		n += 2 * growingBuffer(min(p.Limits.Output, outputs.MaxKept))
	}
	return n
}

// maxTestRetained is the most that a test may retain while it runs: its blobs, the whole of stdout if
// that is compared or of its output file, and what its result carries.
func (r *Runner) maxTestRetained(j *plan.Job, t api.Test) int64 {
	keep, processes := plan.KeptTestOutput(j.Request), int64(1)
	if j.Request.Interactor != nil {
		processes = int64(j.Request.Interactor.ProcessCount())
	}

	n := r.blobSize(t.StdinBlob) + r.blobSize(t.ExpectedBlob) + processes*(maxCollected(j.Run.Collect)+2*growingBuffer(keep))
	for _, f := range t.Files {
		n += r.blobSize(f.Blob)
	}

	limit := cmp.Or(t.Limits.Output, j.Run.Limits.Output)
	switch {
	case j.Request.OutputFile != "": // it is read into a buffer of its size, and its beginning is kept
		n += int64(limit) + int64(keep)
	case j.ReadsOutput(t):
		n += growingBuffer(limit)
	}

	for _, judge := range []*plan.Job{j.Checker, j.Interactor} {
		if judge != nil { // its files twice: those of the pass before are placed for the next one
			n += 2*maxCollected(judge.Run.Collect) + growingBuffer(judge.Run.MaxKept[0]) + growingBuffer(judge.Run.MaxKept[1])
		}
	}

	return n
}
