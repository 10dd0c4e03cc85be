package runs

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/history"
)

// notBegunCodes has the codes of failures before a run began.
var notBegunCodes = map[api.Code]bool{
	api.CodeQueueTimeout: true, api.CodeStopping: true, api.CodeBusy: true, api.CodeOverloaded: true,
	api.CodeAgentUnreachable: true,
}

// NotBegun reports whether a code is that of a failure before a run began.
func NotBegun(code api.Code) bool {
	return notBegunCodes[code] || code == api.CodeQueueFull || code == api.CodeKeyQueueFull
}

// isRecorded reports whether a problem belongs to a run that the history has: a failure of brig, or of what
// judged the run, so that no program ends a run without a trace.
func isRecorded(p *api.Problem) bool {
	if p.Code == api.CodeCheckFailed {
		return true
	}
	return p.Status >= http.StatusInternalServerError && !notBegunCodes[p.Code]
}

// record writes the outcome of a request to the history, counts it in the metrics and raises
// alerts. If the record cannot be written, the caller gets an error and no result: every result
// that a caller has received is in the history.
func (rs *Runs) record(o *Request, res api.Result, waited time.Duration, err error) error {
	now := time.Now()
	var rec api.Record
	switch {
	case err == nil:
		rec = history.NewRecord(res)
		if res.Diagnosis != nil {
			if rec.Diagnosis, err = json.Marshal(res.Diagnosis); err != nil {
				return err
			}
		}

	case errors.Is(err, context.Canceled):
		rec = history.NewRecord(o.canceledResult())
		rec.Queued = int64(waited)
	default:
		refused, _ := core.ProblemFor(err)
		if !isRecorded(refused) && o.active == nil && !errors.Is(err, errCutOff) {
			return nil // a refused request is no run; an accepted one, and one that had begun, is always recorded
		}
		rec = api.Record{Code: refused.Code, Message: refused.Detail, Queued: int64(waited)}
	}

	if len(res.Findings) > 0 {
		var jerr error
		if rec.Findings, jerr = json.Marshal(res.Findings); jerr != nil {
			return jerr
		}
	}

	rec.ID, rec.Owner, rec.Created = o.ID, o.Caller.Name, o.Created
	rec.Project, rec.Task, rec.Run = o.Run.Labels.Project, o.Run.Labels.Task, o.Run.Labels.Run
	rec.Dialect = o.Dialect
	if rs.Config.KeepRequests && o.Fn == nil { // an exec of a session or a called function is not the run of the request
		rec.Request = history.KeptRequest(o.from.Asked, len(o.Run.Tests))
	}
	rec.Problem, rec.Batch, rec.Job, rec.Trial = o.from.Asked.Problem, o.from.Batch, o.from.Job, o.from.Trial
	rec.Language, rec.SourceSize = o.Run.Language, int64(o.SourceSize)
	if rec.Image == "" {
		rec.Image = o.Run.Image
	}

	rs.Log.LogAttrs(context.Background(), slog.LevelInfo, "run", slog.String("run", o.ID),
		slog.String("key", o.Caller.Name), slog.String("project", rec.Project),
		slog.String("task", rec.Task), slog.String("run_label", rec.Run),
		slog.String("language", rec.Language), slog.String("verdict", string(rec.Verdict)),
		slog.String("code", string(rec.Code)),
		slog.Int64("queued_ns", rec.Queued), slog.Int64("wall_ns", rec.Wall))

	within, cancel := context.WithTimeout(context.Background(), 30*time.Second) // also after the caller has left
	defer cancel()

	if err := rs.Config.History.Add(within, rec); err != nil {
		var e *api.Error
		if !errors.As(err, &e) {
			e = api.Fail(api.CodeInternal, "%w", err)
		}
		return api.Fail(e.Code, "record the run in the history: %w", err)
	}
	if rec.Verdict == "" {
		rs.Activity.NotJudged.Add(1)
	} else {
		rs.Activity.Judged.Add(1)
	}
	if err != nil {
		return nil
	}

	rs.Metrics.RunEnded(o.Run.Language, res)
	if o.from.Trial {
		return nil // old submissions, judged again: they say nothing of what a project does now
	}
	for _, alert := range rs.alarm.Next(o.Caller.Name, now, res) {
		rs.Log.Warn("alert", "kind", alert.Kind, "key", alert.Owner, "project", alert.Project, "run",
			alert.Run, "text", alert.Text)
		if err := rs.Config.History.AddAlert(within, alert); err != nil {
			rs.Log.Error("alert not recorded", "err", err)
		}
	}

	return nil
}
