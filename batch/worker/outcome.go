package worker

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch"
)

// An outcome is the result of a job as it is sent.
type outcome struct {
	api.JobResult
	tests json.RawMessage // of Result; nil: Result has them
}

// judged is the outcome of a job that was executed.
func judged(out api.JobResult, work batch.Work, res api.RawResult) outcome {
	score := api.JobScore(res.Result)
	out.Status, out.Verdict, out.Score, out.Summary = api.JobDone, res.Verdict, &score, res.Summary
	out.Run = res.Result.Run
	if s := res.Summary; s != nil {
		out.Answer, out.Points, out.MaxPoints = s.Answer, s.Points, s.MaxPoints
		res.Summary = nil // out has it
	}
	if work.SummaryOnly {
		return finished(outcome{JobResult: out})
	}

	cut(&res.Stdout, &res.StdoutTruncated, cmp.Or(work.KeepOutput, keepOutput))
	cut(&res.Stderr, &res.StderrTruncated, cmp.Or(work.KeepOutput, keepOutput))
	out.Result = &res.Result
	return finished(outcome{JobResult: out, tests: res.Tests})
}

func cut(b *api.Bytes, truncated *bool, to api.Size) {
	if api.Size(len(*b)) > to {
		*b = (*b)[:to]
		*b, *truncated = (*b)[:len(*b)-b.IncompleteTail()], true
	}
}

func ended(out api.JobResult, s api.JobStatus, e *api.Error) outcome {
	out.Status, out.Error = s, e
	return finished(outcome{JobResult: out})
}

func finished(o outcome) outcome {
	o.Finished = time.Now().UTC().Format(time.RFC3339Nano)
	return o
}

// encode is the message of a result. One that is too large for a queue loses the output of its tests, and then
// all but its summary.
func (o outcome) encode() []byte {
	for {
		body := o.json()
		if len(body) <= batch.MaxWork || o.Result == nil {
			return body
		}

		small := *o.Result
		if o.tests != nil {
			if err := json.Unmarshal(o.tests, &small.Tests); err != nil {
				small.Tests = nil // it is not that of an agent
			}
			o.tests = nil
		} else {
			small.Tests = append([]api.TestResult(nil), small.Tests...)
		}

		o.Result = &small
		if !dropOutput(small.Tests) {
			o.Result = nil
		}
	}
}

// json is the JSON of the result. Tests that are JSON already are put in as they are: to decode and
// encode those of a job takes most of a worker's time.
func (o outcome) json() []byte {
	if o.tests == nil || o.Result == nil {
		return marshal(o.JobResult)
	}
	result, line := marshal(o.Result), o.JobResult
	line.Result = nil
	head := marshal(line)
	body := make([]byte, 0, len(head)+len(result)+len(o.tests)+len(`,"result":,"tests":}`))
	body = append(body, head[:len(head)-1]...)
	body = append(append(body, `,"result":`...), result[:len(result)-1]...)
	body = append(append(body, `,"tests":`...), o.tests...)
	return append(body, "}}"...)
}

// marshal is the JSON of a value that has no field that could fail.
func marshal(v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("a result has no JSON: %v", err))
	}
	return body
}

// dropOutput removes the output of tests, and reports whether there was any.
func dropOutput(tests []api.TestResult) (some bool) {
	for i := range tests {
		t := &tests[i].Result
		some = some || len(t.Stdout)+len(t.Stderr) > 0
		t.StdoutTruncated, t.StderrTruncated = t.StdoutTruncated || len(t.Stdout) > 0, t.StderrTruncated || len(t.Stderr) > 0
		t.Stdout, t.Stderr = nil, nil
	}
	return some
}
