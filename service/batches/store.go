// Package batches keeps the batches of the service on disk and judges them: each job that was taken gets exactly
// one result, also after the process was killed. It knows keys by their names, and nothing of HTTP.
package batches

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/durable"
	"github.com/brig-sandbox/brig/service/quota"
	"github.com/brig-sandbox/brig/service/runs"
)

// A Config has the parts and settings of a Store. All are required.
type Config struct {
	Dir   string        // of all batches; it is created
	Keep  time.Duration // how long a batch stays after its end
	Bytes int64         // most of all batches on disk
	Drain time.Duration // how long jobs may go on when the store ends
	Log   *slog.Logger

	NewID func() string
	Alone func() bool // there is no second key
	Slots func() int  // jobs that are executed at once, of all batches

	Permit func(owner string,
		r api.Run) (blobs []string, err error) // whether a key may have the run executed, and the blobs that it names
	Pin     func(owner string, blobs []string) (unpin func(), err error) // keeps blobs of a key
	Problem func(owner, ref string) (api.StoredProblem, error)           // of a key, by its name or digest

	// Complete returns the run of a job that names a problem. What it reserves is kept until free is called.
	Complete func(ctx context.Context, owner, problem string, own api.Run) (run api.Run, free func(), err error)

	Execute func(ctx context.Context, owner string, r api.Run, from runs.Origin) (api.Result, error) // waits for a slot
	Healthy func(ctx context.Context) error                                                          // waits until the agent answers
	Ended   func(s api.JobStatus, n int64)                                                           // counts results
}

// The bounds of all batches that have not ended, and of what is kept.
const (
	MaxBatches = 32             // that have not ended
	MaxJobs    = 500_000        // of all that have not ended
	MaxLine    = 2 << 20        // bytes of a job
	MaxRequest = 1 << 20        // bytes of a BatchRequest
	maxKept    = 2000           // batches that have ended
	maxIdle    = 24 * time.Hour // after which an open batch that gets no job is closed
	ordinary   = 64 << 20       // bytes that a key may have in any case
)

// Limits are those of a key; zero: as much as is fair to other keys.
type Limits struct {
	Batches int   // that have not ended
	Bytes   int64 // of all its batches on disk
}

// A Store has the batches of the service.
type Store struct {
	cfg     Config
	running sync.WaitGroup

	mu      sync.Mutex
	ctx     context.Context   // guarded by mu; of what is judged; nil: not started
	all     map[string]*Batch // guarded by mu
	used    map[string]int64  // guarded by mu; bytes by owner
	total   int64             // guarded by mu; bytes
	waiting int64             // guarded by mu; jobs of batches that have not ended
}

// Open reads what is on disk. Nothing is judged before Start.
func Open(cfg Config) (*Store, error) {
	s := &Store{cfg: cfg, all: map[string]*Batch{}, used: map[string]int64{}}
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, err
	}

	dirs, err := os.ReadDir(cfg.Dir)
	if err != nil {
		return nil, err
	}

	for _, d := range dirs {
		dir := filepath.Join(cfg.Dir, d.Name())
		st, err := readState(dir)
		if errors.Is(err, fs.ErrNotExist) { // it was being made or removed
			if err := os.RemoveAll(dir); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}

		// A rejudge that is not closed has not all runs that were chosen, and nobody has its id.
		if st.Rejudge != nil && !st.Closed {
			st.Closed, st.Canceled = true, true
			if err := st.write(dir); err != nil {
				return nil, err
			}
		}

		b, err := s.load(dir, st)
		if err != nil {
			return nil, err
		}

		s.all[b.id] = b
		s.count(b.owner, b.size+b.resultBytes)
		if b.ended.IsZero() {
			s.waiting += b.jobs
		}
	}

	return s, nil
}

// Start goes on with all batches that have not ended, and judges those that come, until ctx is done. The caller
// then waits with Wait.
func (s *Store) Start(ctx context.Context) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx = ctx
	for _, b := range s.all {
		if b.ended.IsZero() {
			s.running.Go(func() { b.judge(ctx) })
		}
	}
	s.running.Go(func() { s.janitor(ctx) })
}

// Wait waits until nothing is judged any more.
func (s *Store) Wait() { s.running.Wait() }

// Create opens a batch. With an idempotency key that a batch of the owner has, it returns that one.
func (s *Store) Create(owner, key string, r api.BatchRequest, l Limits) (*Batch, error) {
	return s.create(owner, key, r, l, nil)
}

func (s *Store) create(owner, key string, r api.BatchRequest, l Limits, again *rejudge) (*Batch, error) {
	asked, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if len(asked) > MaxRequest {
		return nil, api.Refuse(api.CodeTooLarge,
			"defaults and the rest of the request have %d bytes: the maximum is %d; send large inputs as blobs",
			len(asked), MaxRequest)
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if key != "" {
		for _, b := range s.all {
			if b.owner == owner && b.key == key {
				return b, b.sameRequest(r)
			}
		}
	}
	if err := s.mayOpen(owner, l); err != nil {
		return nil, err
	}

	st := state{ID: s.cfg.NewID(), Owner: owner, Key: key, Request: r, Created: time.Now().UTC(), Rejudge: again}
	dir := filepath.Join(s.cfg.Dir, st.ID)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, inputName), nil, 0o600), st.write(dir),
		durable.SyncDir(s.cfg.Dir)); err != nil {
		return nil, errors.Join(api.Fail(api.CodeHostExhausted, "the batch cannot be stored: %w", err), os.RemoveAll(dir))
	}

	b, err := s.load(dir, st)
	if err != nil {
		return nil, err
	}

	s.all[b.id] = b
	if s.ctx != nil && s.ctx.Err() == nil {
		s.running.Go(func() { b.judge(s.ctx) })
	}
	return b, nil
}

// mayOpen is an error if an owner may not have one more batch; s.mu is held.
func (s *Store) mayOpen(owner string, l Limits) error {
	var own, all int64
	for _, b := range s.all {
		if !b.hasEnded() {
			all++
			if b.owner == owner {
				own++
			}
		}
	}

	switch {
	case l.Batches > 0 && own >= int64(l.Batches):
		return api.Fail(api.CodeBatchesFull,
			"this key has %d batches that have not ended, and its limit is %d: wait for one, or cancel it", own, l.Batches)
	case all >= MaxBatches, l.Batches == 0 && !s.cfg.Alone() && !quota.Fair(own, all, 1, MaxBatches, 1):
		return api.Fail(api.CodeBatchesFull,
			"this key has %d of the %d batches that have not ended, of at most %d: wait for one, or have the "+
				"operator set a limit for the key (batches)", own, all, MaxBatches)
	}

	return nil
}

// reserve counts bytes and jobs that are about to be written for an owner.
func (s *Store) reserve(owner string, bytes, jobs int64, l Limits) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	own := s.used[owner]
	switch {
	case s.waiting+jobs > MaxJobs:
		return api.Fail(api.CodeBatchesFull,
			"the batches that have not ended have %d jobs, and that is the maximum: wait until some are judged", s.waiting)
	case l.Bytes > 0 && own+bytes > l.Bytes:
		return api.Fail(api.CodeBatchesFull,
			"the batches of this key have %s on disk, and its limit is %s: remove batches that have ended, or have "+
				"the operator raise batch_bytes of the key", api.Size(own), api.Size(l.Bytes))
	case s.total+bytes > s.cfg.Bytes, l.Bytes == 0 && !s.cfg.Alone() &&
		!quota.Fair(own, s.total, bytes, s.cfg.Bytes, ordinary):
		return api.Fail(api.CodeBatchesFull,
			"the batches of this key have %s of the %s on disk that all have, of at most %s: remove batches that "+
				"have ended, or have the operator raise --batch-bytes", api.Size(own), api.Size(s.total), api.Size(s.cfg.Bytes))
	}

	s.count(owner, bytes)
	s.waiting += jobs
	return nil
}

// release takes back what reserve counted.
func (s *Store) release(owner string, bytes, jobs int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count(owner, -bytes)
	s.waiting -= jobs
}

// count counts bytes of an owner; s.mu is held, or s is not shared yet.
func (s *Store) count(owner string, bytes int64) {
	s.total += bytes
	if s.used[owner] += bytes; s.used[owner] == 0 {
		delete(s.used, owner)
	}
}

// Get returns a batch of an owner.
func (s *Store) Get(owner, id string) (*Batch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.all[id]; b != nil && b.owner == owner {
		return b, nil
	}
	return nil, api.Refuse(api.CodeNotFound, "there is no batch %.64q: it was removed, or belongs to another key", id)
}

// List returns the batches of an owner, the newest first.
func (s *Store) List(owner string) []*Batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*Batch
	for _, b := range s.all {
		if b.owner == owner {
			all = append(all, b)
		}
	}
	slices.SortFunc(all, func(a, b *Batch) int { return cmp.Or(b.created.Compare(a.created), cmp.Compare(b.id, a.id)) })
	return all
}

// A Load is what all batches have to do.
type Load struct {
	Unended int   // batches
	Left    int64 // jobs without a result
	Bytes   int64 // on disk
}

// Load returns what all batches have to do now.
func (s *Store) Load() Load {
	s.mu.Lock()
	all, l := make([]*Batch, 0, len(s.all)), Load{Bytes: s.total}
	for _, b := range s.all {
		all = append(all, b)
	}

	s.mu.Unlock()
	for _, b := range all {
		if now := b.Status(); now.Ended == nil {
			l.Unended++
			l.Left += now.Jobs - now.Results
		}
	}

	return l
}

// remove removes a batch that has ended.
func (s *Store) remove(b *Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[b.id] != b {
		return nil
	}
	// Without this file it is no batch any more, whatever ends the process now.
	if err := os.Remove(filepath.Join(b.dir, stateName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	delete(s.all, b.id)
	s.count(b.owner, -b.removed())
	return os.RemoveAll(b.dir)
}

const janitorInterval = time.Minute

// janitor removes old batches, and closes open ones that get no jobs.
func (s *Store) janitor(ctx context.Context) {
	tick := time.NewTicker(janitorInterval)
	defer tick.Stop()
	for {
		s.tidy(time.Now())
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (s *Store) tidy(now time.Time) {
	s.mu.Lock()
	all := make([]*Batch, 0, len(s.all))
	for _, b := range s.all {
		all = append(all, b)
	}

	s.mu.Unlock()
	byOwner, kept := map[string][]*Batch{}, 0
	for _, b := range all {
		switch ended, idle := b.times(); {
		case ended.IsZero() && now.Sub(idle) > maxIdle:
			s.logged(b, "close", b.Close())
		case !ended.IsZero() && now.Sub(ended) > s.cfg.Keep:
			s.logged(b, "remove", s.remove(b))
		case !ended.IsZero():
			byOwner[b.owner] = append(byOwner[b.owner], b)
			kept++
		}
	}

	for ; kept > maxKept; kept-- {
		maximum := ""
		for owner, own := range byOwner {
			if len(own) > len(byOwner[maximum]) {
				maximum = owner
			}
		}
		oldest := slices.MinFunc(byOwner[maximum], func(a, b *Batch) int { return a.created.Compare(b.created) })
		s.logged(oldest, "remove", s.remove(oldest))
		byOwner[maximum] = slices.DeleteFunc(byOwner[maximum], func(b *Batch) bool { return b == oldest })
	}
}

func (s *Store) logged(b *Batch, what string, err error) {
	if err != nil {
		s.cfg.Log.Error("batch: "+what, "batch", b.id, "err", err)
	}
}
