package batch

import (
	"fmt"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A Summary is what brig batch says at the end.
type Summary struct {
	Jobs     int64                `json:"jobs"` // with a result
	Done     int64                `json:"done"`
	Refused  int64                `json:"refused"`
	Error    int64                `json:"error"`
	Canceled int64                `json:"canceled"`
	Answers  map[api.Answer]int64 `json:"answers"`
	NotDone  string               `json:"not_done,omitempty"` // the first job of this run that is not done, and why
	Earlier  int64                `json:"earlier"`            // results of earlier runs, with --resume
	Again    int64                `json:"released_again"`
	Dropped  int64                `json:"dropped"` // results that came twice
	Complete bool                 `json:"complete"`
	Seconds  float64              `json:"seconds"`
	Rate     float64              `json:"jobs_per_second"`
}

// Summarize makes the summary of a batch that took a time; earlier results are those of other runs.
func Summarize(p Progress, earlier int64, took time.Duration) Summary {
	return Summary{
		Jobs: p.Recorded, Done: p.Statuses[api.JobDone], Refused: p.Statuses[api.JobRefused], Error: p.Statuses[api.JobError],
		Canceled: p.Statuses[api.JobCanceled],
		Answers:  p.Answers, NotDone: p.NotDone, Earlier: earlier, Again: p.Again, Dropped: p.Dropped,
		Complete: p.AllRead && p.Recorded >= p.Read,
		Seconds:  took.Seconds(), Rate: float64(p.Recorded-earlier) / took.Seconds(),
	}
}

// String is the summary in one line.
func (s Summary) String() string {
	text := fmt.Sprintf("%d jobs: %d done", s.Jobs, s.Done)
	for _, one := range []struct {
		word string
		n    int64
	}{{"refused", s.Refused}, {"error", s.Error}, {"canceled", s.Canceled}} {
		if one.n > 0 {
			text += fmt.Sprintf(", %d %s", one.n, one.word)
		}
	}

	if n := s.Answers[api.Accepted]; n > 0 {
		text += fmt.Sprintf("; %d accepted", n)
	}
	if s.Earlier > 0 {
		text += fmt.Sprintf("; %d of an earlier run", s.Earlier)
	}

	text += fmt.Sprintf("; %s, %.1f jobs/s",
		time.Duration(s.Seconds*float64(time.Second)).Round(10*time.Millisecond), s.Rate)
	return text
}
