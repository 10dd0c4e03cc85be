package api

import "time"

// A RejudgeRequest chooses runs of the caller's key that are to be judged again. A run must match every field that is
// set, and at least one of problem, batch and runs is needed.
type RejudgeRequest struct {
	Problem  string   `json:"problem,omitempty" doc:"name of the stored problem that judged them"`
	Batch    string   `json:"batch,omitempty" doc:"id of the batch that they were jobs of"`
	Runs     []string `json:"runs,omitempty" doc:"their ids, at most 1000"`
	Project  string   `json:"project,omitempty" doc:"project in their labels"`
	Task     string   `json:"task,omitempty" doc:"task in their labels"`
	Run      string   `json:"run,omitempty" doc:"run in their labels"`
	Language string   `json:"language,omitempty" doc:"language of the programs"`
	Verdicts []string `json:"verdicts,omitempty" doc:"verdicts of the runs, as in GET /v1/history; failed: every run without success"`

	Since *time.Time `json:"since,omitempty" doc:"requested at this time or later"`
	Until *time.Time `json:"until,omitempty" doc:"requested before this time"`
}

// A RejudgeState is how far a rejudge is.
type RejudgeState string

// The states of a rejudge.
const (
	RejudgeRunning   RejudgeState = "running"   // not all runs are judged again
	RejudgeReady     RejudgeState = "ready"     // they are; the old outcomes count until it is applied
	RejudgeApplied   RejudgeState = "applied"   // the new outcomes count
	RejudgeDiscarded RejudgeState = "discarded" // the old outcomes count, for good
)

// A Rejudge judges past runs again, with their problems as they are now. Its new outcomes count only when it is applied.
type Rejudge struct {
	ID      string         `json:"rejudge_id" doc:"id of the rejudge, and of the batch that executes it"`
	State   RejudgeState   `json:"state" doc:"running, ready (all are judged, and the old outcomes count until it is applied), applied or discarded"`
	Request RejudgeRequest `json:"request" doc:"which runs were chosen"`
	Batch   Batch          `json:"batch" doc:"how far it is"`

	Judged    int64         `json:"judged" doc:"runs that were judged again"`
	NotJudged int64         `json:"not_judged" doc:"runs that were not, because the problem refuses them, brig failed, or it was canceled: they keep their outcome"`
	Changed   int64         `json:"changed" doc:"judged runs with another outcome, number of accepted tests, or points: only these are replaced"`
	Matrix    []RejudgeCell `json:"matrix" doc:"how many runs went from which outcome to which"`

	LeftOut      []RejudgeLeftOut `json:"left_out" doc:"runs that match and cannot be judged again, at most 1000"`
	LeftOutTotal int64            `json:"left_out_total" doc:"how many there are"`
	Applied      *time.Time       `json:"applied,omitempty" doc:"when it was applied"`
	Discarded    *time.Time       `json:"discarded,omitempty" doc:"when it was discarded"`
}

// A RejudgeCell counts runs.
type RejudgeCell struct {
	Old     string `json:"old" doc:"outcome before: a verdict, an answer if the program ended well, or error if brig failed"`
	New     string `json:"new" doc:"outcome now"`
	Count   int64  `json:"count" doc:"runs"`
	Changed int64  `json:"changed" doc:"of these, runs that changed; with the same outcome, those with another number of accepted tests or other points"`
}

// A RejudgeLeftOut is a run that cannot be judged again.
type RejudgeLeftOut struct {
	Run string `json:"run_id" doc:"id of the run"`
	Why string `json:"why" doc:"why not"`
}

// A RejudgeChange is a run with its old and its new outcome.
type RejudgeChange struct {
	Run     string  `json:"run_id" doc:"id of the old run"`
	NewRun  string  `json:"new_run_id,omitempty" doc:"id of the new run; absent if it was not judged"`
	Task    string  `json:"task,omitempty" doc:"task in the labels of the run"`
	Job     string  `json:"job,omitempty" doc:"id of the job that the old run was"`
	Old     Judged  `json:"old" doc:"outcome before"`
	New     *Judged `json:"new,omitempty" doc:"outcome now; absent if it was not judged"`
	Changed bool    `json:"changed" doc:"whether the new run replaces the old one"`
	Error   *Error  `json:"error,omitempty" doc:"why it was not judged"`
}

// A Judged is an outcome of a run.
type Judged struct {
	Outcome  string   `json:"outcome" doc:"a verdict, an answer if the program ended well, or error if brig failed"`
	Accepted int      `json:"accepted" doc:"accepted tests"`
	Tests    int      `json:"tests" doc:"number of tests"`
	Points   *float64 `json:"points,omitempty" doc:"as in the summary"`
}

// JudgedOf is the outcome of a run with this verdict and summary; nil: it had no tests.
func JudgedOf(v Verdict, s *Summary) Judged {
	if s == nil {
		return Judged{Outcome: string(v)}
	}

	j := Judged{Outcome: string(v), Accepted: s.Accepted, Tests: s.Tests, Points: s.Points}
	switch {
	case v != OK:
	case s.Verdict != OK && s.Verdict != "":
		j.Outcome = string(s.Verdict)
	case s.Answer != "":
		j.Outcome = string(s.Answer)
	}
	return j
}

// Same reports whether two outcomes are worth the same.
func (j Judged) Same(k Judged) bool {
	same := (j.Points == nil) == (k.Points == nil) && (j.Points == nil || *j.Points == *k.Points)
	return same && j.Outcome == k.Outcome && j.Accepted == k.Accepted && j.Tests == k.Tests
}
