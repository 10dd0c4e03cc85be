package batch

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"

	"github.com/brig-sandbox/brig/api"
)

// Work is what a worker gets of a job.
type Work struct {
	Job    api.Job `json:"job"`              // with its own fields alone
	Common string  `json:"common,omitempty"` // digest of an api.Run with the fields that it does not have itself; empty: none
	Index  int64   `json:"index"`
	Digest string  `json:"digest"` // of the job

	KeepOutput  api.Size `json:"keep_output,omitempty"`  // of each stream, in the result; zero: api.KeepOutput
	SummaryOnly bool     `json:"summary_only,omitempty"` // the result without the results of tests

	Image string `json:"image,omitempty"` // digest of the image of the job's language; workers with another one give the job back; empty: any

	MaxAttempts int   `json:"max_attempts"` // more: the job is an error
	Released    int64 `json:"released"`     // when, in nanoseconds since 1970
}

// A HandBack is sent in place of a result when a worker hands a job back that it has not executed. It is not counted
// as an attempt.
type HandBack struct {
	ID       string `json:"id"`
	Index    int64  `json:"index"`
	Digest   string `json:"digest"`
	Attempts int    `json:"attempts,omitempty"` // that count
	Reason   string `json:"returned"`           // not empty
}

// Merged is the run of a job: its own fields, and those of common that it does not have. Limits are merged
// one by one.
func Merged(own, common api.Run) api.Run {
	out := own
	out.Limits, out.CompileLimits = own.Limits.Over(common.Limits), own.CompileLimits.Over(common.CompileLimits)
	to, from := reflect.ValueOf(&out).Elem(), reflect.ValueOf(common)
	for i := range to.NumField() {
		if f := to.Field(i); f.IsZero() {
			f.Set(from.Field(i))
		}
	}
	if out.Labels.Run == "" { // a project or task of its own takes no job out of the run of its batch
		out.Labels.Run = common.Labels.Run
	}
	return out
}

// Digest is the digest of a job and of what it has in common with others. Its meta and labels do not count,
// nor whether it is urgent: the same digest is the same work.
func Digest(j api.Job, common string) string {
	j.Meta, j.Labels, j.Urgent = nil, api.Labels{}, false
	text, err := api.Encode(j)
	if err != nil {
		panic(fmt.Sprintf("a decoded job has no JSON: %v", err)) // all its fields came from JSON
	}
	h := sha256.New()
	h.Write([]byte(common)) //nolint:errcheck // a hash takes everything
	text.WriteTo(h)         //nolint:errcheck // as above
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
