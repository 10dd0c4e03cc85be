package api

import (
	"slices"
	"time"
)

// How long a link of a run lasts.
const (
	LinkLife    = 7 * 24 * time.Hour   // unless the request says another time
	MaxLinkLife = 366 * 24 * time.Hour // at most
)

// A LinkShow is something of a run that its link shows in addition to the outcome.
type LinkShow string

// What a link may show.
const (
	LinkShowsFirstFailed LinkShow = "first_failed" // the id of the first test that was not accepted, and what came of it
	LinkShowsTests       LinkShow = "tests"        // what came of each test
	LinkShowsScore       LinkShow = "score"        // score and points
	LinkShowsSource      LinkShow = "source"       // the program, as far as the service has kept it
)

// A RunLinkRequest asks for a link to a run, for somebody who has no key, such as a student.
type RunLinkRequest struct {
	Show  []LinkShow `json:"show,omitempty" doc:"what the link shows in addition to the outcome; absent: nothing. Inputs, expected outputs, the output of the program and diagnoses are never shown"`
	Title string     `json:"title,omitempty" doc:"words above the outcome, such as the name of the exercise; at most 200 bytes"`
	Lives *Duration  `json:"lives,omitempty" doc:"how long the link lasts, such as 24h; absent: 168h; at most 8784h"`
}

// maxLinkTitle is in bytes.
const maxLinkTitle = 200

// Validate refuses a request that contradicts itself or that no service could carry out.
func (r RunLinkRequest) Validate() error {
	for i, s := range r.Show {
		switch {
		case !slices.Contains(s.Values(), s):
			return Refuse(CodeBadRequest, "show has %.40q: a link can show %v", s, s.Values())
		case slices.Contains(r.Show[:i], s):
			return Refuse(CodeBadRequest, "show has %s twice: name it once", s)
		}
	}

	switch {
	case len(r.Title) > maxLinkTitle:
		return Refuse(CodeBadRequest, "title has %d bytes, and the maximum is %d: shorten it", len(r.Title), maxLinkTitle)
	case r.Lives != nil && (time.Duration(*r.Lives) < time.Second || time.Duration(*r.Lives) > MaxLinkLife):
		return Refuse(CodeBadRequest, "lives is %v: a link lasts from 1s to %v", *r.Lives, MaxLinkLife)
	}
	return nil
}

// A RunLink is a link to one run. Who has its token sees of the run what the link shows, without a key.
type RunLink struct {
	ID      string     `json:"link_id" doc:"by which it is revoked; it opens nothing"`
	Run     string     `json:"run_id" doc:"the run"`
	Token   string     `json:"token,omitempty" doc:"what opens it, in the answer to its creation alone: the service keeps a hash of it"`
	Path    string     `json:"path,omitempty" doc:"path of its page in this service, with the token; in the answer to its creation alone"`
	Show    []LinkShow `json:"show" doc:"what it shows in addition to the outcome"`
	Title   string     `json:"title,omitempty" doc:"words above the outcome"`
	Created time.Time  `json:"created" doc:"when it was made, in UTC"`
	Expires time.Time  `json:"expires" doc:"when it ends, in UTC"`
}

// A LinkedRun is what somebody with a link sees of a run.
type LinkedRun struct {
	State   State     `json:"state" doc:"queued, running, or done"`
	Title   string    `json:"title,omitempty" doc:"words of who made the link"`
	Created time.Time `json:"created" doc:"when the run was requested, in UTC"`
	Expires time.Time `json:"expires" doc:"when the link ends, in UTC"`

	Ahead *int `json:"ahead,omitempty" doc:"how many waiting requests get a slot before this run, if no others come; while it waits for a slot"`

	NotJudged bool    `json:"not_judged,omitempty" doc:"brig failed, which says nothing about the program"`
	Verdict   Verdict `json:"verdict,omitempty" doc:"how the program ended; with tests, the worst"`
	Answer    Answer  `json:"answer,omitempty" doc:"with tests: whether the output is right"`
	Tests     int     `json:"tests,omitempty" doc:"number of tests"`
	Accepted  int     `json:"accepted,omitempty" doc:"tests that were accepted"`

	JudgedAgain bool `json:"judged_again,omitempty" doc:"a rejudge has replaced the run of the link, and this is the outcome that counts"`

	FirstFailed        string `json:"first_failed,omitempty" doc:"with show first_failed: id of the first test that was not accepted"`
	FirstFailedOutcome string `json:"first_failed_outcome,omitempty" doc:"with show first_failed: a letter, as in outcomes"`
	Outcomes           string `json:"outcomes,omitempty" doc:"with show tests: a letter for each test, in their order, as in the summaries of the history"`

	Score     *float64 `json:"score,omitempty" doc:"with show score: as in a summary"`
	Points    *float64 `json:"points,omitempty" doc:"with show score: as in a summary"`
	MaxPoints *float64 `json:"max_points,omitempty" doc:"with show score: as in a summary"`

	Language   string `json:"language,omitempty" doc:"with show source: language of the program"`
	SourceName string `json:"source_name,omitempty" doc:"with show source: name of the program's file"`
	Source     Bytes  `json:"source,omitempty" doc:"with show source: the program; absent if it is not kept"`
}
