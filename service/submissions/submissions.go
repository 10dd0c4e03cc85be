// Package submissions executes work that clients of dialects submit and ask for later, by tokens.
package submissions

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/queue"
	"github.com/brig-sandbox/brig/service/runs"
)

// Submissions are those of all keys and dialects.
type Submissions struct {
	*core.Core
	runs  *runs.Runs
	store store

	mu    sync.Mutex
	turns map[string]*turns // guarded by mu; by key
}

// New makes the submissions of a service.
func New(s *core.Core, r *runs.Runs) *Submissions {
	return &Submissions{Core: s, runs: r, turns: map[string]*turns{}}
}

const (
	// atOnce is how many submissions of a key wait in the queue at once. The rest wait in front of it: they would
	// otherwise take all its places.
	atOnce = 16

	patience = 10 * time.Minute // for which a submission tries again to get a slot, once it has a token
	tries    = 3                // of a run that fails because of brig, and can be repeated
)

// Submit takes submissions of a caller, and returns a state for each: those that brig refuses have no token. If the
// caller waits for them, their states are those at their end.
func (s *Submissions) Submit(r *http.Request, name string, ask *dialect.Submit) (states []dialect.State, size int64, err error) {
	c := core.CallerOf(r.Context())
	states = make([]dialect.State, len(ask.All))
	var abouts []json.RawMessage
	var sizes []int64
	for i := range ask.All {
		one := &ask.All[i]
		if err := s.check(c, one); err != nil {
			if len(ask.All) == 1 {
				return nil, 0, err
			}
			states[i].Problem = s.CountedProblem(err)
			continue
		}
		abouts, sizes = append(abouts, one.About), append(sizes, sizeOf(*one))
	}

	if len(abouts) == 0 {
		return states, 0, nil
	}
	if err := s.Queue.Refuses(queue.Owner{Key: c.Name, Project: name, MaxSlots: c.Runs, MaxWaiting: c.Waiting}); err != nil {
		return nil, 0, err
	}
	added, err := s.store.add(owner{c.Name, name}, abouts, sizes)
	if err != nil {
		return nil, 0, err
	}

	next := 0
	for i := range ask.All {
		if states[i].Problem != nil {
			continue
		}
		k, one := added[next], ask.All[i]
		next++
		if ask.Wait {
			err = s.await(r, c, k, one)
		} else {
			err = s.start(c, k, one)
		}
		if err != nil {
			for _, k := range added[next-1:] { // those before have begun, and nobody learns their tokens
				s.store.drop(k)
			}
			return nil, 0, err
		}

		state, n := s.store.state(k)
		states[i] = state
		size += n
	}
	return states, size, nil
}

// Recall returns the states of submissions, and how many bytes they have together. A token of another key is none.
func (s *Submissions) Recall(c core.Caller, name string, tokens []string) (states []dialect.State, size int64) {
	return s.store.find(owner{c.Name, name}, tokens)
}

// check refuses a submission before it gets a token.
func (s *Submissions) check(c core.Caller, one *dialect.Submission) error {
	for i := range one.Runs {
		if err := s.runs.CheckForeign(c, one.Runs[i]); err != nil {
			return err
		}
	}
	return nil
}

// sizeOf is how many bytes a submission takes up until it has ended. Runs that are alike share their content, so that
// those of one submission count once.
func sizeOf(one dialect.Submission) int64 {
	n := int64(len(one.About)) + memoryOfResult*int64(len(one.Runs))
	if len(one.Runs) > 0 {
		run := one.Runs[0]
		n += int64(len(run.Source) + len(run.Stdin))
		for _, f := range run.Files {
			n += int64(len(f.Content))
		}
	}
	return n
}

// start executes a submission in the background. It ends with the service, if not before.
func (s *Submissions) start(c core.Caller, k *kept, one dialect.Submission) error {
	if !s.Enter() {
		return core.ErrStopping()
	}
	go func() {
		defer s.Leave()
		leave, err := s.turn(c.Name, atOnce).take(s.Kill)
		if err == nil {
			defer leave()
			err = s.execute(s.Kill, c, k, one, s.patient)
		}
		if errors.Is(err, context.Canceled) {
			err = core.ErrStopping()
		}
		if err != nil {
			s.store.end(k, nil, s.CountedProblem(err))
		}
	}()
	return nil
}

// await executes a submission whose client waits for it, and gets the error if there is one.
func (s *Submissions) await(r *http.Request, c core.Caller, k *kept, one dialect.Submission) error {
	ctx, done, err := s.Track(r)
	if err != nil {
		return err
	}
	defer done()
	return s.execute(ctx, c, k, one, func(_ context.Context, run attempt) (api.Result, error) { return run() })
}

// An attempt executes a run.
type attempt func() (api.Result, error)

// execute executes the runs of a submission, and records its end unless there is an error. do makes one attempt, or
// several.
func (s *Submissions) execute(ctx context.Context, c core.Caller, k *kept, one dialect.Submission,
	do func(context.Context, attempt) (api.Result, error)) error {
	var response *core.AgentResponse
	defer func() { response.Release() }() // after the store has counted the result

	var results []api.Result
	for _, run := range one.Runs {
		if n := len(results); n > 0 { // what it wrote is told of the last one alone
			results[n-1].Stdout, results[n-1].Stderr, results[n-1].Compile = nil, nil, nil
		}
		res, err := do(ctx, func() (api.Result, error) {
			response.Release()
			response = s.NewAgentResponse(c.Name)
			return s.runs.ExecuteSubmitted(response.WithQuota(ctx), c, run, k.dialect, func() { s.store.begin(k) })
		})
		if err != nil {
			return err
		}

		results = append(results, res)
		if one.Enough != nil && one.Enough(res) {
			break
		}
	}

	s.store.end(k, results, nil)
	return nil
}

// patient tries again what a client would try again, had it no token. A place in the queue is waited for; what fails
// after a run had begun is tried a few times.
func (s *Submissions) patient(ctx context.Context, run attempt) (res api.Result, err error) {
	until := time.Now().Add(patience)
	failed := 0
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		if res, err = run(); err == nil || ctx.Err() != nil {
			return res, err
		}
		p, _ := core.ProblemFor(err)
		if class, known := dialect.Classes[p.Code]; known && class != dialect.Retry {
			return res, err
		}
		if !runs.NotBegun(p.Code) {
			failed++
		}
		if failed >= tries || time.Now().After(until) {
			return res, err
		}

		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return res, err
		}
	}
}
