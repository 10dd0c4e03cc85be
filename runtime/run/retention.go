package run

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/runtime/pool"
)

// This file accounts for what the agent retains in memory of a run until it is answered: inputs by
// blob, output, files and artifacts. The agent reserves the most that it can be beforehand
// (api.Streams.Reserve), and corrects that to the actual size when the run has ended. So the agent's
// memory has a known bound.

// maxRetainedOutput is how much of each stream a Result carries. A run may write more, up to its limit, if
// the caller takes the output as a stream while it is written.
const maxRetainedOutput = 16 * api.MiB

// CompileRetention is the most that a compile stage may retain: the artifacts, and their copy on the
// way to the cache.
const CompileRetention = 2 * int64(plan.MaxArtifactBytes)

// InstallRetention is the most that the agent holds of a set of packages while it stores it: its names, 32 MiB
// at most, once to walk its directories and once to finish them, and some 80 bytes for each member
// (PKG-11, TestHostileNamesOfPackages).
const InstallRetention = 96 << 20

// ownMemory is the agent's memory apart from requests. heldWaiting and heldPerSlot are the most that it
// retains for requests: for those that wait, and per slot. On a host with little memory the bound
// is an eighth of it, and minHeld at least.
const (
	ownMemory   = 160 * api.MiB
	heldWaiting = 256 * api.MiB
	heldPerSlot = 192 * api.MiB
	minHeld     = 256 * api.MiB
)

// MaxHeld is the most that an agent with this many slots retains for requests on a host with this
// much memory.
func MaxHeld(slots int, host api.Size) api.Size {
	return min(heldWaiting+api.Size(slots)*heldPerSlot, max(host/8, minHeld))
}

// MemoryBounds bound what the agent retains for requests. MaxHeld is the most for all requests
// together; see api.Streams.Reserve.
type MemoryBounds struct {
	Slots   int
	MaxHeld api.Size
}

// heldShare is what one request may retain whatever others do: as much as a compile stage retains,
// or an equal part per slot of half the memory if that is less.
func heldShare(slots int, most api.Size) api.Size {
	return min(api.Size(CompileRetention), most/2/api.Size(slots))
}

// HeldShare is what a request may retain whatever others do.
func (b MemoryBounds) HeldShare() api.Size { return heldShare(b.Slots, b.MaxHeld) }

// HeldCommon is what requests may retain above HeldShare, all together. As many requests as there
// are slots still get their share in addition.
func (b MemoryBounds) HeldCommon() api.Size { return b.MaxHeld - api.Size(b.Slots)*b.HeldShare() }

// MaxMemory bounds the agent's own memory.
func (b MemoryBounds) MaxMemory() api.Size { return ownMemory + b.MaxHeld }

// retention counts what one run has reserved with Hold so far. Tests that run in parallel share one.
// A nil value, of a compile stage or of a caller that counts nothing, does nothing.
type retention struct {
	hold func(bytes int64) error

	mu       sync.Mutex
	retained int64 // guarded by mu
	tests    int   // guarded by mu; tests that run now, with a reservation for the most that each can retain
}

// NewRetention counts for a caller that counts; nil for one that does not.
func NewRetention(s api.Streams) *retention {
	if s.Reserve == nil {
		return nil
	}
	return &retention{hold: s.Reserve}
}

// Add reserves n more bytes; a negative n is never refused.
func (k *retention) Add(n int64) error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.addLocked(n)
}

func (k *retention) addLocked(n int64) error {
	err := k.hold(n)
	if err == nil {
		k.retained += n
	}
	return err
}

// Await is add for a request that can continue when others have taken their answers. It must be
// called without a slot.
func (k *retention) Await(ctx context.Context, n int64) error {
	for since := linux.Monotonic(); ; {
		err := k.Add(n)
		if !api.HasCode(err, api.CodeBusy) {
			return err
		}
		if err := heldTimeoutError(err, since); err != nil {
			return err
		}
		select {
		case <-time.After(heldRetry):
		case <-ctx.Done():
			return api.Fail(api.CodeStopping, "canceled while waiting for memory of the agent: %w", ctx.Err())
		}
	}
}

const (
	heldRetry   = pool.RetryWindow / 4 // how often the reservation is retried
	heldTimeout = 2 * time.Minute      // the longest wait for a reservation
)

// heldTimeoutError ends the wait for a reservation after heldTimeout: results of several requests that all
// wait for more can fill the memory together.
func heldTimeoutError(err error, since time.Duration) error {
	if linux.Monotonic()-since < heldTimeout {
		return nil
	}
	return api.Fail(api.CodeSetupTimeout, "no memory for results was free within %v: %w", heldTimeout, err)
}

// beginTest is add for a test of a job. It also reports busy while other tests of the job run that may
// have reserved more than their results will need. The caller calls done when the test has ended.
func (k *retention) beginTest(n int64) (done func(), err error) {
	if k == nil {
		return func() {}, nil
	}
	k.mu.Lock() // until the test is counted: a second test that is refused meanwhile must find it
	defer k.mu.Unlock()
	if err := k.addLocked(n); err != nil {
		if k.tests > 0 && api.HasCode(err, api.CodeTooLarge) {
			return nil, api.Fail(api.CodeBusy, "other tests of the run hold too much memory for one more to run at the same time")
		}
		return nil, err
	}
	k.tests++
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.tests--
	}, nil
}

// size is what is retained now.
func (k *retention) size() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.retained
}

// Finish reduces the reservation to the content of res, which is retained until the answer is
// taken.
func (k *retention) Finish(res *api.Result) {
	if k == nil {
		return
	}
	k.mu.Lock()
	n := min(int64(res.Content()), k.retained) - k.retained
	k.mu.Unlock()
	_ = k.Add(n) // never refused: n is not positive
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
		n += 2 * growingBuffer(min(p.Limits.Output, maxRetainedOutput))
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
