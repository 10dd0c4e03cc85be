package runs

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// Foreign is what a foreign dialect says of a run beyond the run itself.
type Foreign struct {
	Dialect string                       // by which it came
	MaxWait time.Duration                // longest time that it waits for a slot, if that is less than the service's; zero: the service's
	Started func()                       // called when it has a slot, maybe more than once; nil: nobody asks
	Typed   api.Bytes                    // what is typed at the terminal of a run that has one
	Wrote   func(stderr bool, bytes int) // called with each piece of its output that is kept, as it arrives; nil: nobody asks
	Tested  func(api.TestResult)         // called with each test as it ends, one at a time; nil: nobody asks
}

// ExecuteForeign executes a run that a caller asked for in a foreign dialect, and waits for its result. It passes the
// same gates as a run of POST /v1/runs, and the history says by which dialect it came. The caller's hang-up cancels the
// run.
func (rs *Runs) ExecuteForeign(r *http.Request, run api.Run, f Foreign) (api.Result, error) {
	o, err := rs.foreignRequest(core.CallerOf(r.Context()), run, f.Dialect)
	if err != nil {
		return api.Result{}, err
	}
	defer o.releaseBlobs()

	o.maxWait, o.started, o.tested, o.typed, o.wrote = f.MaxWait, f.Started, f.Tested, f.Typed, f.Wrote
	ctx, done, err := rs.Track(r)
	if err != nil {
		return api.Result{}, err
	}
	defer done()

	return rs.Dispatch(ctx, o)
}

// ExecuteSubmitted executes a run of a submission, which the service has admitted. The end of ctx cancels the run.
// started is called when it has a slot, maybe more than once.
func (rs *Runs) ExecuteSubmitted(ctx context.Context, c core.Caller, run api.Run, dialect string, started func()) (api.Result, error) {
	o, err := rs.foreignRequest(c, run, dialect)
	if err != nil {
		return api.Result{}, err
	}
	defer o.releaseBlobs()

	o.started = started
	return rs.Dispatch(ctx, o)
}

// CheckForeign refuses a run that ExecuteSubmitted would refuse, whatever happens until then.
func (rs *Runs) CheckForeign(c core.Caller, run api.Run) error {
	_, err := rs.requestOf(c, run, checkOff)
	return err
}

// foreignRequest makes the request of a run of a foreign dialect. A run without a project has the dialect's name as one.
// Its blobs are held until releaseBlobs is called.
func (rs *Runs) foreignRequest(c core.Caller, run api.Run, dialect string) (*Request, error) {
	run.Labels.Project = cmp.Or(run.Labels.Project, dialect)
	o, err := rs.attendedRequest(c, run, checkOff)
	if err != nil {
		return nil, err
	}
	o.Dialect = dialect
	o.releaseBlobs, err = rs.blobs.Pin(c.Name, o.Run.Blobs())
	return o, err
}
