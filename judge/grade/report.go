package grade

import (
	"math"
	"slices"

	"github.com/brig-sandbox/brig/api"
)

// A Status says whether a submission was judged.
type Status string

// The statuses. Only a submission that is done has a score.
const (
	Done     Status = "done"     // judged, whatever came of it
	Missing  Status = "missing"  // no program was handed in
	Refused  Status = "refused"  // it cannot be judged as it is
	Failed   Status = "error"    // brig failed; it can be judged again
	Canceled Status = "canceled" // the grading was interrupted before it ended
)

// A Report has what came of all submissions.
type Report struct {
	Problem     string   `json:"problem"` // as the user named it
	Tests       []string `json:"tests"`   // their ids, in order
	Submissions []Row    `json:"submissions"`
	// limits of time were multiplied by it; zero: they were not. Results have the limits that counted
	ScaleCPU float64 `json:"scale_cpu,omitempty"`
}

// A Row is what came of one submission.
type Row struct {
	ID        string      `json:"id"`
	Source    string      `json:"source,omitempty"` // file that was run
	Language  string      `json:"language,omitempty"`
	Status    Status      `json:"status"`
	Word      string      `json:"word,omitempty"`    // of all tests together, as a judge says it: AC, or that of the first test that failed
	Verdict   api.Verdict `json:"verdict,omitempty"` // the worst of all tests
	Answer    api.Answer  `json:"answer,omitempty"`
	Score     *float64    `json:"score,omitempty"` // 0 to 1; absent unless done
	Points    *float64    `json:"points,omitempty"`
	MaxPoints *float64    `json:"max_points,omitempty"`
	First     string      `json:"first_failed,omitempty"` // id of the first test that was not accepted
	Why       string      `json:"why,omitempty"`          // why that test failed, or why nothing was judged, in one line
	Result    *api.Result `json:"result,omitempty"`       // with streams cut to what the run kept
	Error     *api.Error  `json:"error,omitempty"`        // unless done
}

// maxPoints is what a submission is worth if the problem does not say.
const maxPoints = 100

// Judged makes the row of a submission that was judged.
func Judged(id string, res api.Result) Row {
	r := Row{ID: id, Status: Done, Verdict: res.Verdict, Result: &res}
	if res.Verdict == api.Canceled {
		r.Status = Canceled
		return r
	}

	s := res.Summary
	if s == nil {
		return r
	}

	r.Answer, r.First = s.Answer, s.FirstFailed
	r.Score, r.Points, r.MaxPoints = scores(*s)
	r.Word = "AC"
	if res.Verdict == api.CompileError {
		r.Word = "CE"
	}

	for _, t := range res.Tests {
		if !t.Accepted() {
			r.Word = Word(t)
			break
		}
	}

	return r
}

// scores are the share, the points and the most points of a summary: as its groups say or its checker, or
// else by the number of accepted tests.
func scores(s api.Summary) (score, points, maximum *float64) {
	if s.Points != nil && s.MaxPoints != nil {
		score = s.Score
		if score == nil && *s.MaxPoints > 0 {
			share := *s.Points / *s.MaxPoints
			score = &share
		}
		return score, s.Points, s.MaxPoints
	}

	share := 0.0
	switch {
	case s.Score != nil:
		share = *s.Score
	case s.Tests > 0:
		share = float64(s.Accepted) / float64(s.Tests)
	}

	all, total := share*maxPoints, float64(maxPoints)
	return &share, &all, &total
}

// NotJudged makes the row of a submission that was not judged because of err.
func NotJudged(id string, status Status, err *api.Error) Row {
	return Row{ID: id, Status: status, Error: err, Why: err.Message}
}

// AllJudged reports whether every submission was judged.
func (r Report) AllJudged() bool {
	for _, row := range r.Submissions {
		if row.Status != Done {
			return false
		}
	}
	return true
}

// Complete reports whether nothing interrupted the grading: each submission was judged, or cannot be as it is.
func (r Report) Complete() bool {
	return !slices.ContainsFunc(r.Submissions,
		func(row Row) bool { return row.Status == Failed || row.Status == Canceled })
}

// Replace puts a row in the place of that with the same id, or adds it in the order of names.
func (r *Report) Replace(row Row) {
	for i := range r.Submissions {
		if r.Submissions[i].ID == row.ID {
			r.Submissions[i] = row
			return
		}
	}
	r.Submissions = append(r.Submissions, row)
	sortByName(r.Submissions, func(row Row) string { return row.ID })
}

// Word is the usual abbreviation of judges for the outcome of a test: AC PC WA TLE MLE OLE RE CE, or - if
// it was not judged. PC is partially correct.
func Word(one api.TestResult) string {
	switch one.Result.Verdict {
	case api.OK:
		switch one.Answer {
		case api.WrongAnswer:
			return "WA"
		case api.Partial:
			return "PC"
		}
		return "AC"

	case api.CPULimit, api.WallLimit:
		return "TLE"
	case api.MemoryLimit:
		return "MLE"
	case api.OutputLimit:
		return "OLE"
	case api.Nonzero, api.Signaled, api.Denied:
		return "RE"
	case api.CompileError:
		return "CE"
	}

	return "-"
}

// ownWord is brig's own word for the outcome of a test: its answer if it ended well, or its verdict.
func ownWord(one api.TestResult) string {
	if one.Result.Verdict != api.OK {
		return string(one.Result.Verdict)
	}
	if one.Answer == "" {
		return string(api.Accepted)
	}
	return string(one.Answer)
}

// Words says how outcomes are written.
type Words string

// The words. The zero value is Judge.
const (
	Judge Words = "judge" // AC WA TLE MLE OLE RE CE
	Brig  Words = "brig"  // accepted wrong-answer cpu-limit ...
)

func (w Words) of(one api.TestResult) string {
	if w == Brig {
		return ownWord(one)
	}
	return Word(one)
}

// cells are the outcomes of a row's tests in the order of ids; empty where a test did not run.
func (r Row) cells(ids []string, words Words) []string {
	all := make([]string, len(ids))
	if r.Result == nil {
		return all
	}

	by := map[string]api.TestResult{}
	for _, t := range r.Result.Tests {
		by[t.ID] = t
	}

	for i, id := range ids {
		if t, ok := by[id]; ok {
			all[i] = words.of(t)
		}
	}

	return all
}

// overall is the outcome of a row as one word.
func (r Row) overall(words Words) string {
	switch {
	case r.Status == Missing:
		return "not handed in"
	case r.Status != Done:
		return "not judged"
	case words == Judge || words == "":
		return r.Word
	case r.Word == "AC":
		return string(api.Accepted)
	case r.Result != nil:
		for _, t := range r.Result.Tests {
			if !t.Accepted() {
				return ownWord(t)
			}
		}
	}

	return string(r.Verdict)
}

// points formats the points of a row; empty if it has none.
func (r Row) points() string {
	if r.Points == nil {
		return ""
	}
	return formatNumber(*r.Points)
}

// formatNumber formats a number with at most two decimal places.
func formatNumber(v float64) string {
	return trimmed(math.Round(v*100) / 100)
}
