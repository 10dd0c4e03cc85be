package runtime

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// What the agent keeps in memory of a run until it is answered: inputs by blob, output,
// files and artifacts. It is told before (Streams.Hold), as the most that it can be, and when the
// run has ended as what it is: so the agent's memory has a bound that it can name.

// keptMost is how much of each stream a Result carries. A run may write more, up to its
// limit, as a stream to a caller who takes it as it comes.
const keptMost = 16 * api.MiB

// keptByTests is how much of both streams all tests' results carry together where the
// request does not say how much each does.
const keptByTests = 32 * api.MiB

// compileKeeps is what a compile stage may keep: the artifacts, and their copy on the way
// to the cache.
const compileKeeps = 2 * int64(maxArtifactBytes)

// heldBase is what the agent takes besides, and heldEver and heldBySlot what it keeps for
// requests at most: those that wait, and those that have a slot. A host with little
// memory gives an eighth of it, and leastHeld at least.
const (
	heldBase   = 128 * api.MiB
	heldEver   = 256 * api.MiB
	heldBySlot = 192 * api.MiB
	leastHeld  = 256 * api.MiB
)

// maxHeld is the most that an agent of so many slots keeps for requests on a host with so
// much memory.
func maxHeld(slots int, host api.Size) api.Size {
	return min(heldEver+api.Size(slots)*heldBySlot, max(host/8, leastHeld))
}

// MaxHeld is the most that requests together may hold; see Streams.Hold.
func (h *Host) MaxHeld() api.Size { return h.maxHeld }

// heldShare is what one request may hold of so much whatever others do: what a compile
// stage keeps, and less where half of the memory is less for all slots together.
func heldShare(slots int, most api.Size) api.Size {
	return min(api.Size(compileKeeps), most/2/api.Size(slots))
}

// HeldShare is what a request may hold whatever others do.
func (h *Host) HeldShare() api.Size { return heldShare(h.cfg.Slots, h.maxHeld) }

// HeldCommon is what requests may hold above HeldShare, all together: as many as there are
// slots find their share beside it.
func (h *Host) HeldCommon() api.Size { return h.maxHeld - api.Size(h.cfg.Slots)*h.HeldShare() }

// MaxMemory bounds the agent's own memory.
func (h *Host) MaxMemory() api.Size { return heldBase + h.maxHeld }

// A keeping is what one run has told Hold so far. Tests side by side share theirs. A nil
// one, of a compile stage or a caller who counts nothing, tells nobody.
type keeping struct {
	hold func(bytes int64) error

	mu    sync.Mutex
	n     int64 // guarded by mu
	tests int   // guarded by mu; that run now, with room for the most that each can keep
}

func newKeeping(s Streams) *keeping {
	if s.Hold == nil {
		return nil
	}
	return &keeping{hold: s.Hold}
}

// add tells of so many bytes more; fewer are never refused.
func (k *keeping) add(n int64) error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	err := k.hold(n)
	if err == nil {
		k.n += n
	}
	return err
}

// await is add for what goes on when others have taken their answers. It is to be called
// without a slot.
func (k *keeping) await(ctx context.Context, n int64) error {
	for since := monotonic(); ; {
		err := k.add(n)
		if !isFull(err, api.CodeBusy) {
			return err
		}
		if err := tooLong(err, since); err != nil {
			return err
		}
		select {
		case <-time.After(heldTick):
		case <-ctx.Done():
			return api.Fail(api.CodeStopping, "canceled while waiting for room in the agent's memory: %w", ctx.Err())
		}
	}
}

const (
	heldTick     = comesAgain / 4  // how often one asks for room
	heldPatience = 2 * time.Minute // the longest that one waits for it
)

// tooLong ends the wait of one that was refused room, as the results of some who wait for
// more may fill the memory together.
func tooLong(err error, since time.Duration) error {
	if monotonic()-since < heldPatience {
		return nil
	}
	return api.Fail(api.CodeSetupTimeout, "no memory for results was free within %v: %w", heldPatience, err)
}

// begin is add for a test of a job, which is busy also as long as others of it run that may
// keep more than their results will. done is to be called when it has ended.
func (k *keeping) begin(n int64) (done func(), err error) {
	if k == nil {
		return func() {}, nil
	}
	k.mu.Lock()
	others := k.tests
	k.mu.Unlock()
	if err := k.add(n); err != nil {
		if others > 0 && isFull(err, api.CodeTooLarge) {
			return nil, api.Fail(api.CodeBusy, "other tests of the run keep too much for one more beside them")
		}
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.tests++
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.tests--
	}, nil
}

// has is what is kept now.
func (k *keeping) has() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.n
}

// settle says that what is kept until the answer is taken is res, and nothing else.
func (k *keeping) settle(res *api.Result) {
	if k == nil {
		return
	}
	k.mu.Lock()
	n := min(int64(res.Content()), k.n) - k.n
	k.mu.Unlock()
	_ = k.add(n) // fewer
}

// blobBytes is what the blobs of a run take that are loaded before it begins. One that is not here is refused when it is
// asked for.
func (h *Host) blobBytes(r api.Run) (n int64) {
	for _, f := range r.Files {
		n += h.blobSize(f.Blob)
	}
	return n + h.blobSize(r.StdinBlob)
}

func (h *Host) blobSize(digest string) int64 {
	if digest == "" || h.cfg.Blobs == nil {
		return 0
	}
	n, err := h.cfg.Blobs.Size(digest)
	if err != nil {
		return 0
	}
	return n
}

// grown is what output takes that is kept: it grows in steps, of which two may be there at
// a time.
func grown(s api.Size) int64 { return int64(s) / 2 * 3 }

func collects(c api.Collect) int64 {
	if c.None {
		return 0
	}
	return int64(cmp.Or(c.Bytes, api.CollectBytes))
}

// keeps is what a run may keep at most.
func (p *plan) keeps(streamed bool) int64 {
	n := collects(p.collect)
	if !streamed {
		n += 2 * grown(min(p.limits.Output, keptMost))
	}
	return n
}

// testKeeps is what a test may keep at most while it runs: its blobs, the whole of stdout
// where that is compared, and then what its result carries.
func (h *Host) testKeeps(j *job, t api.Test) int64 {
	keep := keepOfTest(j.ask)
	n := collects(j.run.collect) + h.blobSize(t.StdinBlob) + h.blobSize(t.ExpectedBlob) + 2*grown(keep)
	if t.Compares() {
		n += grown(cmp.Or(t.Limits.Output, j.run.limits.Output))
	}
	return n
}

// keepOfTest is how much of each stream the result of a test of r carries.
func keepOfTest(r api.Run) api.Size {
	return cmp.Or(r.KeepOutput, min(api.KeepOutput, keptByTests/2/api.Size(max(len(r.Tests), 1))))
}
