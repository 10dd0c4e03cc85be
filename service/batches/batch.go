package batches

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A Batch is one batch of the service.
type Batch struct {
	store    *Store
	dir      string
	id       string
	owner    string
	key      string // idempotency key; empty: none
	labels   api.Labels
	created  time.Time
	asked    [sha256.Size]byte // of the request
	canceled chan struct{}     // closed when the batch is canceled
	rejudge  *rejudge          // nil: it is none; what it points to is guarded by mu

	applying sync.Mutex // held while a rejudge is applied or discarded; before the others
	tallying sync.Mutex // before mu
	tallied  tally      // guarded by tallying; of a rejudge

	writing sync.Mutex        // held while lines are written; before mu
	ids     map[uint64]uint64 // guarded by writing; of each job, by the hash of its id, the start of its digest; nil: not read
	ahead   []uint64          // guarded by writing; hashes of ids of jobs that are written and not on disk
	written int64             // guarded by writing; bytes with them
	lost    int               // guarded by writing; how often such lines were lost
	pins    map[string]func() // guarded by writing; blobs that jobs name

	mu          sync.Mutex
	changed     chan struct{}    // guarded by mu; closed and replaced at each change
	request     api.BatchRequest // guarded by mu; empty after the end
	closed      bool             // guarded by mu
	ended       time.Time        // guarded by mu; zero: it has not
	gone        bool             // guarded by mu; it was removed
	used        time.Time        // guarded by mu; when it last got jobs
	size        int64            // guarded by mu; bytes of the input on disk
	jobs        int64            // guarded by mu; in them
	results     int64            // guarded by mu; lines of results on disk
	resultBytes int64            // guarded by mu
	statuses    map[api.JobStatus]int64
	began       time.Time // guarded by mu; when this process began to judge it
	before      int64     // guarded by mu; results at that time
	marks       []int64   // guarded by mu; where in the results each markLines-th line begins
}

// load makes the Batch of a directory. What a crash left of a last line is cut off.
func (s *Store) load(dir string, st state) (*Batch, error) {
	asked, err := digestOf(st.Request)
	if err != nil {
		return nil, err
	}

	b := &Batch{
		store: s, dir: dir, id: st.ID, owner: st.Owner, key: st.Key, labels: st.Request.Labels, created: st.Created,
		asked:    asked,
		canceled: make(chan struct{}), changed: make(chan struct{}), closed: st.Closed, ended: st.Ended, used: time.Now(),
		pins:     map[string]func(){},
		statuses: map[api.JobStatus]int64{}, rejudge: st.Rejudge,
	}
	if info, err := os.Stat(b.file(resultsName)); err == nil {
		b.resultBytes = info.Size()
	}

	if !st.Ended.IsZero() {
		b.jobs, b.statuses = st.Jobs, st.Statuses
		for _, n := range st.Statuses {
			b.results += n
		}
		info, err := os.Stat(b.file(inputName))
		if err != nil {
			return nil, err
		}
		b.size = info.Size()
	} else {
		b.request = st.Request
		if b.size, b.jobs, err = cutTorn(b.file(inputName)); err != nil {
			return nil, err
		}
		b.written = b.size
	}

	if st.Canceled {
		close(b.canceled)
	}
	return b, nil
}

func (b *Batch) file(name string) string { return filepath.Join(b.dir, name) }

// cutTorn cuts off a last line that is not complete, and returns the size and the number of lines.
func cutTorn(name string) (size, lines int64, err error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close() //nolint:errcheck // nothing is written through it

	buf, at := make([]byte, 256<<10), int64(0)
	for {
		n, err := f.ReadAt(buf, at)
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			size = at + int64(i) + 1
			lines += int64(bytes.Count(buf[:n], []byte{'\n'}))
		}
		at += int64(n)
		if err != nil { // the end of the file; a broken disk shows when it is judged
			break
		}
	}

	if size < at {
		err = f.Truncate(size)
	}
	return size, lines, err
}

// ID is the id of the batch.
func (b *Batch) ID() string { return b.id }

// Owner is the name of the key that the batch belongs to.
func (b *Batch) Owner() string { return b.owner }

// digestOf is what requests with one idempotency key must have in common: all but the run. A job of a cluster
// that is submitted again has another run, and finds the batch that it began.
func digestOf(r api.BatchRequest) (digest [sha256.Size]byte, err error) {
	r.Labels.Run = ""
	text, err := json.Marshal(r)
	return sha256.Sum256(text), err
}

// sameRequest is an error if a batch was opened with another request.
func (b *Batch) sameRequest(r api.BatchRequest) error {
	asked, err := digestOf(r)
	if err != nil {
		return err
	}
	if asked != b.asked {
		return api.Refuse(api.CodeConflict,
			"this Idempotency-Key was used for batch %s, which was opened with another request: use another key", b.id)
	}
	return nil
}

// notify tells those that wait for a change; b.mu is held.
func (b *Batch) notify() {
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *Batch) hasEnded() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.ended.IsZero()
}

// times returns when the batch ended, and when it last got jobs; now if it takes none.
func (b *Batch) times() (ended, used time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return b.ended, time.Now()
	}
	return b.ended, b.used
}

// removed marks the batch as removed, and returns its bytes.
func (b *Batch) removed() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gone = true
	b.notify()
	return b.size + b.resultBytes
}

func (b *Batch) isCanceled() bool {
	select {
	case <-b.canceled:
		return true
	default:
		return false
	}
}

// Status returns the state of the batch.
func (b *Batch) Status() api.Batch {
	b.mu.Lock()
	defer b.mu.Unlock()

	s := api.Batch{ID: b.id, State: api.BatchOpen, Labels: b.labels, Created: b.created, Jobs: b.jobs, Results: b.results,
		Statuses: map[api.JobStatus]int64{}, Bytes: b.size + b.resultBytes, Rejudge: b.rejudge != nil}
	for status, n := range b.statuses {
		s.Statuses[status] = n
	}

	switch {
	case b.isCanceled():
		s.State = api.BatchCanceled
	case !b.ended.IsZero():
		s.State = api.BatchDone
	case b.closed:
		s.State = api.BatchRunning
	}

	if !b.ended.IsZero() {
		ended, expires := b.ended, b.ended.Add(b.store.cfg.Keep)
		s.Ended, s.Expires = &ended, &expires
		return s
	}
	if took := time.Since(b.began).Seconds(); !b.began.IsZero() && b.results > b.before && took > 0 {
		s.Rate = float64(b.results-b.before) / took
		s.Left = float64(b.jobs-b.results) / s.Rate
	}
	return s
}

// write writes the state to the disk; b.mu is held.
func (b *Batch) write() error {
	st := state{ID: b.id, Owner: b.owner, Key: b.key, Request: b.request, Created: b.created, Closed: b.closed,
		Canceled: b.isCanceled(), Ended: b.ended, Rejudge: b.rejudge}
	if !b.ended.IsZero() {
		st.Jobs, st.Statuses = b.jobs, b.statuses
	}
	return st.write(b.dir)
}

// Close ends the input: the batch takes no more jobs. To close it again has no effect.
func (b *Batch) Close() error {
	b.writing.Lock()
	defer b.writing.Unlock()

	b.mu.Lock()
	defer b.mu.Unlock()

	if b.closed {
		return nil
	}

	b.closed = true
	if err := b.write(); err != nil {
		b.closed = false
		return api.Fail(api.CodeHostExhausted, "the batch cannot be closed: %w", err)
	}

	b.ids = nil
	b.notify()
	return nil
}

// Cancel has no further job judged. Jobs without a result get one that says so. A batch that has ended stays
// as it is.
func (b *Batch) Cancel() error {
	if err := b.Close(); err != nil {
		return err
	}

	b.mu.Lock()
	defer b.mu.Unlock()

	if !b.ended.IsZero() || b.isCanceled() {
		return nil
	}

	close(b.canceled) // before it is on disk: it is to have an effect also while the disk is full
	b.notify()
	if err := b.write(); err != nil {
		return api.Fail(api.CodeHostExhausted,
			"that the batch was canceled cannot be stored, and a restart of the service would go on with it: %w", err)
	}
	return nil
}

// Remove removes a batch that has ended.
func (b *Batch) Remove() error {
	if !b.hasEnded() {
		return api.Refuse(api.CodeConflict, "the batch has not ended: cancel it first")
	}
	return b.store.remove(b)
}

// end records that each job has its result.
func (b *Batch) end() error {
	b.writing.Lock()
	for _, unpin := range b.pins {
		unpin()
	}

	b.pins = map[string]func(){}
	b.writing.Unlock()
	b.mu.Lock()
	b.ended = time.Now().UTC()
	if err := b.write(); err != nil {
		b.ended = time.Time{}
		b.mu.Unlock()
		return err
	}

	b.request = api.BatchRequest{}
	jobs := b.jobs
	b.notify()
	b.mu.Unlock()
	b.store.release(b.owner, 0, jobs) // without b.mu: the store takes it while it holds its own
	return nil
}
