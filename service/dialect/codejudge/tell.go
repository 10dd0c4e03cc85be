package codejudge

import (
	"strings"
	"time"
	"unicode"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// A judged submission is a result as /judge tells it.
type judged struct {
	ID         string  `json:"sub_id"`
	Success    bool    `json:"success"`     // the program ended well, and wrote what is expected
	RunSuccess bool    `json:"run_success"` // it ended well
	Cost       float64 `json:"cost"`        // seconds
	Reason     string  `json:"reason"`
}

// A result is one as /run tells it.
type result struct {
	ID         string  `json:"sub_id"`
	Success    bool    `json:"success"`
	RunSuccess bool    `json:"run_success"`
	Cost       float64 `json:"cost"`
	Stdout     *string `json:"stdout"`
	Stderr     *string `json:"stderr"`
	Reason     string  `json:"reason"`
}

const (
	maxTold = 1000 // characters of each stream that the original tells; its MAX_STDOUT_ERROR_LENGTH

	outOfTime = "Suicide from timeout.\n" // the original's program writes this to stdout when its time is over
)

// tell tells the result of a run.
func tell(s submission, tells shape, res api.Result) []byte {
	word := dialect.Verdicts[dialect.CodeJudge][res.Verdict]
	out, errs := dialect.Text(res.Stdout), dialect.Text(res.Stderr)
	r := result{ID: s.id, RunSuccess: word.Number == 0, Reason: word.Text}
	if res.Verdict != api.CompileError {
		r.Cost = time.Duration(res.Timing.Wall).Seconds()
	}
	if word.Text == workerTimeout {
		out += outOfTime
	}

	r.Success = r.RunSuccess && (s.expected == nil || strip(out) == strip(*s.expected))
	out, errs = cut(out), cut(errs)
	r.Stdout, r.Stderr = &out, &errs
	return r.encode(tells)
}

const workerTimeout = "worker_timeout"

// tellFailure tells a submission that brig refused, or failed to execute. Its reason says so, and that the client sends
// it again if that helps.
func tellFailure(s submission, tells shape, word dialect.Word) []byte {
	return result{ID: s.id, Reason: word.Text}.encode(tells)
}

func (r result) encode(tells shape) []byte {
	var v any = r
	if tells == withoutOutput {
		v = judged{ID: r.ID, Success: r.Success, RunSuccess: r.RunSuccess, Cost: r.Cost, Reason: r.Reason}
	}

	return dialect.Encode(v)
}

// strip is Python's.
func strip(s string) string {
	return strings.TrimFunc(s, func(c rune) bool { return unicode.IsSpace(c) || c >= 0x1C && c <= 0x1F })
}

// cut returns the first characters of a stream.
func cut(s string) string {
	n := 0
	for i := range s {
		if n++; n > maxTold {
			return s[:i]
		}
	}
	return s
}
