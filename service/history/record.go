package history

import (
	"encoding/json"

	"github.com/brig-sandbox/brig/api"
)

// The most that a record stores of fields that may be long. The rest is cut or left out, and the
// record says so; no run is refused because of its output.
const (
	MaxStream    = 64 * api.KiB  // of each of stdout and stderr
	maxMessage   = api.KiB       // of an error's text or an alert's
	maxDiagnosis = 16 * api.KiB  // small, because listings contain it
	maxDetail    = 256 * api.KiB // of each of Detail and Findings
	maxName      = api.KiB       // of an id, key, label, language or image
)

// NewRecord makes the record of a result. The caller sets the fields that a result does not have: Owner,
// Language, Created, SourceSize, Diagnosis and Findings.
func NewRecord(r api.Result) api.Record {
	d := r.Decisive()
	rec := api.Record{
		ID: r.Run, Project: r.Labels.Project, Task: r.Labels.Task, Run: r.Labels.Run, Image: r.Host.Image,
		Verdict: r.Verdict, Stage: r.Stage,
		Queued: r.Timing.Queued, Wall: r.Timing.Wall, CPU: r.Usage.CPU.Value, Memory: r.Usage.Memory.Value,
		ExitCode: d.ExitCode, Signal: d.Signal, Summary: withOutcomes(r),
		Stdout: r.Stdout, Stderr: r.Stderr, StdoutTruncated: r.StdoutTruncated, StderrTruncated: r.StderrTruncated,
	}
	rec.Detail, rec.Cut = detail(r)
	return rec
}

// checkRecord refuses records that only a bug in the caller can produce: the gateway has checked
// every name before the run.
func checkRecord(r *api.Record) error {
	switch {
	case r.ID == "":
		return api.Refuse(api.CodeBadRequest, "history: a record without a run id")
	case (r.Verdict == "") == (r.Code == ""):
		return api.Refuse(api.CodeBadRequest, "history: run %s: set either a verdict or an error's code", r.ID)
	case r.Created.UnixNano() <= 0:
		return api.Refuse(api.CodeBadRequest, "history: run %s: created at %v", r.ID, r.Created)
	}

	for _, name := range []string{r.ID, r.Owner, r.Project, r.Task, r.Run, r.Language, r.Image, string(r.Verdict),
		string(r.Code), string(r.Stage), r.Dialect, r.Problem, r.Batch, r.Job, r.ReplacedBy} {
		if len(name) > int(maxName) {
			return api.Refuse(api.CodeBadRequest, "history: a name of %d bytes: the maximum is %d", len(name), maxName)
		}
	}

	for _, j := range []json.RawMessage{r.Diagnosis, r.Detail, r.Findings, r.Request} {
		if j != nil && !json.Valid(j) {
			return api.Refuse(api.CodeBadRequest, "history: run %s: a diagnosis, detail, finding or request is not valid JSON", r.ID)
		}
	}

	return nil
}

// truncated returns the record in the form in which it is stored.
func truncated(r api.Record, stream int) api.Record {
	r.Stdout, r.StdoutTruncated = cut(r.Stdout, stream, r.StdoutTruncated)
	r.Stderr, r.StderrTruncated = cut(r.Stderr, stream, r.StderrTruncated)
	var message api.Bytes
	message, r.Cut = cut(api.Bytes(r.Message), int(maxMessage), r.Cut)
	r.Message = string(message)
	for _, j := range []struct {
		text    *json.RawMessage
		maximum api.Size
	}{{&r.Diagnosis, maxDiagnosis}, {&r.Detail, maxDetail}, {&r.Findings, maxDetail}, {&r.Request, maxRequest}} {
		if len(*j.text) > int(j.maximum) {
			*j.text, r.Cut = nil, true
		}
	}

	return r
}

// weight returns what the record counts towards Keep.Bytes.
func weight(r *api.Record) int64 {
	const rest = 512 // the row itself and its index entries
	names := len(r.Problem) + len(r.Batch) + len(r.Job)
	return int64(rest + names + len(r.ID) + len(r.Owner) + len(r.Project) + len(r.Task) + len(r.Run) + len(r.Message) +
		len(r.Diagnosis) + len(r.Detail) + len(r.Findings) + len(r.Stdout) + len(r.Stderr) + len(r.Request))
}

// cut keeps at most n bytes. It does not split a character, because half a character would turn a
// text into binary data.
func cut(b api.Bytes, n int, already bool) (api.Bytes, bool) {
	if len(b) <= n {
		return b, already
	}
	b = b[:n]
	return b[:n-b.IncompleteTail()], true
}
