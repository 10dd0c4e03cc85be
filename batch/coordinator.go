package batch

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"hash/maphash"
	"maps"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A Coordinator judges one batch: it releases its jobs and records their results.
type Coordinator struct {
	Queue  Queue
	Input  *Input
	Decode func(text []byte) (api.Job, error) // of a line; nil: decode.Job
	Output *Output
	Done   *Recorded // what Output has already; nil: nothing

	// Ahead is another Input of the same lines: its urgent jobs are released before the lines in front of them are.
	// nil, or ordered results: an urgent job is released in its turn.
	Ahead *Input

	ID     string // of the batch: the same after a restart, so that work under way is not done twice
	Pool   string // of the workers
	Common api.Run
	Digest string // of Common, under which workers find it; empty: there is none
	Urgent bool   // all jobs are

	// Resumed says that jobs of the batch may be under way.
	Resumed bool

	// Problem has what all jobs of a problem have in common, and the digest under which workers find it; nil: jobs
	// cannot name problems.
	Problem func(ctx context.Context, name string) (common api.Run, digest string, err error)

	// Put keeps what jobs have in common where workers find it, and returns its digest.
	Put func(ctx context.Context, common api.Run) (digest string, err error)

	// Permit refuses the fields of a line that its author may not set, also those of defaults; nil: all may be set.
	Permit func(own api.Run) error

	// Prepare completes a job before it is released; nil: nothing. An *api.Error that is not retry-safe refuses
	// the job, from Problem as well; any other ends the batch.
	Prepare func(ctx context.Context, j *api.Job) error

	// Image has the digest of the image that all jobs of a language must run in; empty: any. nil: any. It may wait; an
	// error ends the batch.
	Image func(ctx context.Context, language string) (digest string, err error)

	Window      func() int // most jobs that are released and not recorded
	WindowBytes int64      // most bytes of them, and of their results, except that one is always released; zero: any
	Ordered     bool       // results in the order of the input
	Strict      bool       // a line that is not a job ends the batch
	KeepOutput  api.Size   // as in Work
	SummaryOnly bool
	MaxAttempts int           // of a job, after which it is an error; zero: DefaultAttempts
	LostAfter   time.Duration // after which a job without a result is looked for; zero: DefaultLost

	// KeepAgain is called when the queue has lost something: it may have lost what Put kept; nil: nothing is done.
	KeepAgain func(ctx context.Context) error

	Report func(Progress)  // called after each change, by one goroutine; nil: none
	Stop   <-chan struct{} // closed: release nothing more, withdraw what no worker has, and end when the others are recorded; nil: never

	// Working is the number of jobs that workers have. Nil, or below zero: it is not known, and no result for
	// StopTime after Stop means that there are none.
	Working  func() int
	StopTime time.Duration // zero: DefaultStop

	Canceled <-chan struct{} // closed: all jobs that are left are canceled; nil: never
}

// Defaults of a Coordinator.
const (
	DefaultAttempts = 5
	DefaultLost     = time.Minute
	DefaultStop     = 10 * time.Second
)

const (
	reconcileInterval = 5 * time.Second
	stopInterval      = 200 * time.Millisecond
)

// A Progress is how far a batch is.
type Progress struct {
	Read     int64 // jobs that were read from the input
	Recorded int64 // jobs with a result on disk, also those of an earlier run
	Statuses map[api.JobStatus]int64
	Answers  map[api.Answer]int64 // of jobs that are done, also those of an earlier run
	NotDone  string               // the first job of this run that is not done, and why; empty: there is none
	Released int                  // jobs that were released and have no result yet
	Again    int64                // jobs that were released again, because the queue lost them
	Dropped  int64                // results that came twice
	AllRead  bool                 // Read is the number of jobs
}

// A flight is a job that is released and has no result.
type flight struct {
	message Message
	id      string
	digest  string
	ahead   bool // it came from Ahead
	meta    json.RawMessage
	since   time.Time // when it was released, or looked for
}

// run is the state of a Coordinator that runs. One goroutine has it.
type run struct {
	*Coordinator
	done     *Recorded
	defaults api.Run // of the input
	flights  map[int64]*flight
	underWay map[int64]bool    // jobs that were released before the batch was resumed
	early    map[int64]Message // results of those whose lines have not been read yet
	read     indexes           // jobs whose lines have been read
	ahead    int               // flights that came from Ahead
	ids      ids
	seed     maphash.Seed
	epoch    string // no other process of the same batch has it
	writer   *writer
	order    order
	progress Progress
	canceled bool
	stopping bool
	bytes    int64     // of the messages of flights, and of lines that are not on disk
	forgot   uint64    // the last result that the queue was told to forget
	quiet    time.Time // when the last result came, or the batch was stopped
	recorded int64     // bytes of the results on disk that it was not told to forget
}

// Run judges the batch. It returns when all jobs have a result on disk, when Stop is closed and all that were
// released have one, or with an error when it cannot go on: then the batch can be resumed. One goroutine may
// stay: that which reads Input ends when its read returns.
func (c *Coordinator) Run(ctx context.Context) (Progress, error) {
	done := c.Done
	if done == nil {
		done = new(Recorded)
	}

	r := &run{Coordinator: c, done: done, flights: map[int64]*flight{}, early: map[int64]Message{},
		seed: maphash.MakeSeed(), epoch: rand.Text()}
	r.order = order{on: c.Ordered, done: done, held: map[int64]line{}}
	r.progress = Progress{Recorded: done.Len(), Statuses: map[api.JobStatus]int64{}, Answers: map[api.Answer]int64{}}
	maps.Copy(r.progress.Answers, done.answers)
	for _, s := range statuses {
		r.progress.Statuses[s] = done.Count(s)
	}

	if c.Resumed {
		var err error
		if r.underWay, err = c.Queue.UnderWay(ctx, c.ID); err != nil {
			return r.progress, err
		}
	}

	ctx, cancel := context.WithCancel(ctx)
	r.writer = startWriter(c.Output)
	twice := c.Ahead != nil && !c.Ordered
	in := startReader(ctx, c.Input, func(l Line) bool { return !twice || !l.urgent() })
	var ahead *reader
	if twice {
		ahead = startReader(ctx, c.Ahead, func(l Line) bool { return l.Defaults == nil && l.urgent() })
	}

	results := make(chan Message)
	var follower sync.WaitGroup
	follower.Go(func() { c.Queue.Results(ctx, c.ID, results) })
	err := r.loop(ctx, in, ahead, results)
	cancel()
	follower.Wait()
	err = errors.Join(err, r.writer.end())
	if err == nil && r.complete() {
		r.endQueue()
	}
	return r.progress, err
}

// endQueue removes what the queue holds of a batch that is complete. If that fails nothing is lost: the queue
// removes old entries by itself.
func (r *run) endQueue() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = r.Queue.End(ctx, r.ID) // as above
}

// idle reports whether nothing is released, or on its way to the disk.
func (r *run) idle() bool {
	return len(r.flights) == 0 && r.writer.waiting == 0 && len(r.order.held) == 0
}

func (r *run) complete() bool { return r.progress.AllRead && r.idle() }

// stopped reports whether a batch that releases nothing more has ended: what workers have has come back.
func (r *run) stopped() bool {
	if r.writer.waiting > 0 {
		return false
	}
	if r.Working != nil {
		if n := r.Working(); n >= 0 {
			return len(r.flights) == 0 || n == 0 && time.Since(r.quiet) > stopInterval
		}
	}
	return len(r.flights) == 0 || time.Since(r.quiet) > cmp.Or(r.StopTime, DefaultStop)
}

// room reports whether another line may be read.
func (r *run) room() bool {
	jobs := len(r.flights) + r.writer.waiting + len(r.order.held)
	full := r.WindowBytes > 0 && r.bytes >= r.WindowBytes && jobs > 0
	return jobs < max(r.Window(), 1) && !full
}

// roomAhead is room for a line of Ahead, which has a window of its own: that of the others is mostly full.
func (r *run) roomAhead() bool {
	full := r.WindowBytes > 0 && r.bytes >= 2*r.WindowBytes && r.ahead > 0
	return r.ahead < max(r.Window(), 1) && !full
}

func (r *run) loop(ctx context.Context, in, ahead *reader, results <-chan Message) error {
	tick := time.NewTicker(reconcileInterval)
	defer tick.Stop()

	// A closed channel can be received from without end. Each copy becomes nil, so that its case is taken
	// once.
	stop, canceled := r.Stop, r.Canceled
	begun := false // the first line, which may have the defaults, was read
	for !r.complete() && !(r.stopping && r.stopped()) {
		// A line is read only while there is room for its job: a batch may have more lines than fit into
		// memory.
		lines := in.next(!r.stopping && r.room())
		urgent := ahead.next(!r.stopping && begun && r.roomAhead())
		var err error
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-stop:
			stop, r.stopping = nil, true
			r.quiet = time.Now()

			// Nothing that is lost is released again now. The tick remains, because stopped also depends on
			// the time.
			tick.Reset(stopInterval)
			err = r.Queue.Withdraw(ctx, r.ID)

		case <-canceled:
			canceled = nil
			err = r.cancelAll(ctx)
		case l, more := <-lines:
			begun = true
			if more {
				err = r.take(ctx, l, false)
			} else {
				err = r.endOf(in, ahead)
			}

		case l, more := <-urgent:
			if more {
				err = r.take(ctx, l, true)
			} else {
				err = r.endOf(ahead, in)
			}

		case m := <-results:
			if m.Body != nil {
				r.quiet = time.Now()
			}
			err = r.record(ctx, m)

		case w := <-r.writer.wrote:
			err = r.wrote(ctx, w)
		case <-tick.C:
			if !r.stopping {
				err = r.findLost(ctx, cmp.Or(r.LostAfter, DefaultLost))
			}
		}

		if err != nil {
			return err
		}
		if r.progress.Released = len(r.flights); r.Report != nil {
			r.Report(r.progress)
		}
	}

	return nil
}

// endOf takes the end of one of the inputs. other is the other one; nil: there is none.
func (r *run) endOf(one, other *reader) error {
	jobs, err := one.end()
	if err != nil {
		return err
	}
	r.progress.AllRead = other == nil || other.ended
	return r.done.checkEnd(jobs)
}
