package codejudge

import (
	"cmp"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/dialect/fastapi"
)

const (
	wall      = api.Duration(10 * time.Second) // the original's MAX_EXECUTION_TIME, which no request changes
	memory    = 256 * api.MiB                  // of C++; its MAX_MEMORY
	pyMemory  = memory + 128*api.MiB           // the original adds this much for the interpreter
	maxOutput = 4 * api.MiB                    // the original has no limit

	shortWait = 10 * time.Second // until a submission has a slot; its clients then send it again
	longWait  = time.Hour        // as in the original
)

// A shape says what a result has.
type shape bool

const (
	wholeResult   shape = true  // also what the program wrote
	withoutOutput shape = false // of /judge
)

// planOne is a request with one submission.
func planOne(tells shape) func(dialect.Request, dialect.Agent) dialect.Plan {
	return func(ask dialect.Request, on dialect.Agent) dialect.Plan {
		if !utf8.Valid(ask.Body) {
			return fastapi.NotText()
		}
		s, unknown, bad := readOne(ask.Body)
		if len(bad) > 0 {
			return refuse(bad, unknown)
		}

		p := planOf([]submission{s}, ask.Nonce, on, tells, shortWait, func(parts []json.RawMessage) dialect.Response {
			return fastapi.Respond(200, parts[0])
		})
		p.UnknownFields = unknown
		return p
	}
}

// planBatch is a request with many.
func planBatch(tells shape, maxWait time.Duration) func(dialect.Request, dialect.Agent) dialect.Plan {
	return func(ask dialect.Request, on dialect.Agent) dialect.Plan {
		if !utf8.Valid(ask.Body) {
			return fastapi.NotText()
		}
		id, all, unknown, bad := readBatch(ask.Body)
		if len(bad) > 0 {
			return refuse(bad, unknown)
		}

		id = cmp.Or(id, newID(ask.Nonce, -1))
		p := planOf(all, ask.Nonce, on, tells, maxWait, func(parts []json.RawMessage) dialect.Response {
			return fastapi.Respond(200, struct {
				ID      string            `json:"sub_id"`
				Results []json.RawMessage `json:"results"`
			}{id, parts})
		})
		p.UnknownFields = unknown
		return p
	}
}

func refuse(bad []fastapi.Fault, unknown int) dialect.Plan {
	p := dialect.Refuse(fastapi.Error(422, bad))
	p.UnknownFields = unknown
	return p
}

// planOf plans submissions. join makes the response of their results, which are in their order.
func planOf(all []submission, nonce string, on dialect.Agent, tells shape, maxWait time.Duration,
	join func([]json.RawMessage) dialect.Response) dialect.Plan {
	b := &dialect.Batch{MaxWait: maxWait}
	of := make([]int, 0, len(all)) // the submission of each run
	without := make([]json.RawMessage, len(all))
	for i := range all {
		s := &all[i]
		s.id = cmp.Or(s.id, newID(nonce, i))
		if s.kind == "math" { // accepted by the original, which then fails
			without[i] = tellFailure(*s, tells, dialect.Failures[dialect.CodeJudge][dialect.Broken])
			continue
		}
		b.Runs, of = append(b.Runs, runOf(*s, on)), append(of, i)
	}

	b.Part = func(run int, o dialect.Outcome) []byte {
		s := all[of[run]]
		if o.Problem != nil {
			return tellFailure(s, tells, dialect.FailureOf(dialect.CodeJudge, o.Problem))
		}
		return tell(s, tells, o.Result)
	}
	b.Tell = func(parts [][]byte) dialect.Response {
		for run, part := range parts {
			without[of[run]] = part
		}
		return join(without)
	}
	return dialect.Plan{Batch: b}
}

// runOf makes the run of a submission. A language whose image is not stored fails there.
func runOf(s submission, on dialect.Agent) api.Run {
	names, limit := []string{"python-full", "python"}, pyMemory
	if s.kind == "cpp" {
		names, limit = []string{"cpp"}, memory
	}
	l, stored := on.Find(names...)
	if !stored {
		l.Name = names[len(names)-1]
	}

	return api.Run{
		Language: l.Name, Profile: dialect.Profile(l), Source: api.Bytes(s.solution), Stdin: api.Bytes(s.input),
		Limits:  api.Limits{Wall: wall, CPU: wall, Memory: limit, Output: maxOutput}.CappedBy(on.Ceiling),
		Collect: api.Collect{None: true},
	}
}
