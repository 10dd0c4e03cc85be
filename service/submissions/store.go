package submissions

import (
	"container/list"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/dialect"
)

// An owner is whose submissions are kept: to others their tokens do not exist (TestSubmissionsAreOfOneKey).
type owner struct{ key, dialect string }

// The bounds of what is kept.
const (
	MaxBytes = 64 << 20  // of all submissions: what was asked for, and the output
	keptFor  = time.Hour // after the end of a submission
	maxEnded = 4096      // that have ended, of all keys
	maxAll   = 2 * dialect.MaxUnderWay
)

// MaxMemory is the most memory that submissions take up: what is kept, and what executes those that have not ended.
const MaxMemory = MaxBytes + maxAll*16<<10

// A store has the submissions of all keys. They live as long as the process.
type store struct {
	Now func() time.Time // nil: time.Now

	mu    sync.Mutex
	all   map[string]*kept     // guarded by mu; by token
	ended list.List            // guarded by mu; of *kept, the first that ended first
	size  int64                // guarded by mu; bytes of all
	going map[owner]int        // guarded by mu; how many have not ended
	sums  map[string]*keptSums // guarded by mu; by key
}

// keptSums are what a key takes up.
type keptSums struct {
	ended int
	size  int64
}

// A kept submission is one that has a token.
type kept struct {
	owner
	state dialect.State // guarded by the mu of the store
	size  int64         // bytes; guarded by the mu of the store
	place *list.Element // in ended; nil: it has not ended
}

// add keeps submissions that begin now: all, or none if there is no room. sizes are their bytes.
func (s *store) add(o owner, abouts []json.RawMessage, sizes []int64) ([]*kept, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.init()
	s.forgetOld()

	sum := int64(0)
	for _, n := range sizes {
		if n > MaxBytes/4 {
			return nil, api.Refuse(api.CodeTooLarge, "the submission takes %s of memory, and this service keeps at most %s of one", api.Size(n),
				api.Size(MaxBytes/4))
		}
		sum += n
	}

	under := len(s.all) - s.ended.Len()
	if s.going[o]+len(abouts) > dialect.MaxUnderWay || under+len(abouts) > maxAll {
		return nil, full("%d submissions of this key have not ended, and %d of all: send it again later", s.going[o], under)
	}
	for s.size+sum > MaxBytes && s.ended.Len() > 0 {
		s.forget(s.greediest())
	}
	if s.size+sum > MaxBytes {
		return nil, full("the submissions that have not ended take %s of memory: send it again later", api.Size(s.size))
	}

	added := make([]*kept, len(abouts))
	for i, about := range abouts {
		k := &kept{owner: o, state: dialect.State{Token: newToken(), About: about, Created: s.now()}}
		added[i] = k
		s.all[k.state.Token] = k
		s.grow(k, sizes[i])
		s.going[o]++
	}
	return added, nil
}

func full(format string, args ...any) error {
	return core.Problem(http.StatusTooManyRequests, api.Fail(api.CodeQueueFull, format, args...))
}

// newToken makes a token that cannot be guessed, in the form that clients expect: a UUID of version 4, with 122 random bits.
func newToken() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand, Go 1.24)
	b[6] = b[6]&0x0F | 0x40
	b[8] = b[8]&0x3F | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// begin records that a submission has a slot.
func (s *store) begin(k *kept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k.state.Started.IsZero() {
		k.state.Started = s.now()
	}
}

// end records what a submission came to. Output that there is no room for is a failure of the service, which is told as
// such: the state of a submission is no smaller than what its program wrote.
func (s *store) end(k *kept, results []api.Result, failure *api.Problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	size := int64(len(k.state.About))
	for i := range results {
		size += memoryOfResult + int64(results[i].Content())
	}

	s.grow(k, size-k.size)
	for s.size > MaxBytes && s.ended.Len() > 0 {
		s.forget(s.greediest())
	}
	if s.size > MaxBytes {
		results, failure = nil, core.Problem(http.StatusTooManyRequests,
			api.Fail(api.CodeBusy, "there is no memory for what the program wrote: send it again later"))
		s.grow(k, int64(len(k.state.About))-k.size)
	}

	k.state.Ended, k.state.Results, k.state.Problem = s.now(), results, failure
	s.stopGoing(k)
	k.place = s.ended.PushBack(k)
	s.sumsOf(k.key).ended++
	s.forgetOld()
}

// memoryOfResult is that of a result beside its output.
const memoryOfResult = 4 << 10

// drop forgets a submission that has not ended, whose client has left or gets its error at once.
func (s *store) drop(k *kept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopGoing(k)
	s.remove(k)
}

// find returns the states of tokens, and how many bytes they have together.
func (s *store) find(o owner, tokens []string) (states []dialect.State, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgetOld()
	states = make([]dialect.State, len(tokens))
	for i, token := range tokens {
		if k := s.all[token]; k != nil && k.owner == o {
			states[i] = k.state
			size += k.size
		}
	}
	return states, size
}

// state returns what is known of a submission.
func (s *store) state(k *kept) (state dialect.State, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return k.state, k.size
}

func (s *store) init() {
	if s.all == nil {
		s.all, s.going, s.sums = map[string]*kept{}, map[owner]int{}, map[string]*keptSums{}
	}
}

func (s *store) stopGoing(k *kept) {
	s.going[k.owner]--
	if s.going[k.owner] == 0 {
		delete(s.going, k.owner)
	}
}

// forgetOld forgets those that ended long ago, and some if there are too many.
func (s *store) forgetOld() {
	now := s.now()
	for e := s.ended.Front(); e != nil && now.Sub(e.Value.(*kept).state.Ended) > keptFor; e = s.ended.Front() {
		s.forget(e.Value.(*kept))
	}
	for s.ended.Len() > maxEnded {
		s.forget(s.greediest())
	}
}

// greediest returns the oldest submission that has ended, of the key that takes up the most: a key with many must not
// cause those of others to be forgotten.
func (s *store) greediest() *kept {
	var most *kept
	seen := map[string]bool{}
	for e := s.ended.Front(); e != nil && len(seen) < len(s.sums); e = e.Next() {
		k := e.Value.(*kept)
		if seen[k.key] {
			continue
		}
		seen[k.key] = true
		if most == nil || s.share(k.key) > s.share(most.key) {
			most = k
		}
	}
	return most
}

func (s *store) share(key string) float64 {
	sums := s.sums[key]
	return float64(sums.ended)/maxEnded + float64(sums.size)/MaxBytes
}

func (s *store) forget(k *kept) {
	s.ended.Remove(k.place)
	s.sumsOf(k.key).ended--
	s.remove(k)
}

func (s *store) remove(k *kept) {
	delete(s.all, k.state.Token)
	s.grow(k, -k.size)
	if sums := s.sums[k.key]; *sums == (keptSums{}) {
		delete(s.sums, k.key)
	}
}

// grow counts more bytes of a submission.
func (s *store) grow(k *kept, by int64) {
	k.size += by
	s.size += by
	s.sumsOf(k.key).size += by
}

func (s *store) sumsOf(key string) *keptSums {
	if s.sums[key] == nil {
		s.sums[key] = &keptSums{}
	}
	return s.sums[key]
}

func (s *store) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}
