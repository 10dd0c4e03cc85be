package judge0

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// parameters are those of a request beyond its submissions.
type parameters struct {
	wait, encoded bool
	fields        []string // that are told
}

// readParameters reads the parameters of the URL, in place of which the body may have some. refused is the answer to
// those that make no sense.
func readParameters(ask dialect.Request, body object) (p parameters, refused *dialect.Plan) {
	value := func(name string) string {
		if s := body.text(name); s != nil {
			return *s
		}
		if given := ask.Query[name]; len(given) > 0 {
			return given[len(given)-1]
		}
		return ""
	}

	p.wait, p.encoded = value("wait") == "true", value("base64_encoded") == "true"
	var unknown []string
	if p.fields, unknown = readFields(value("fields")); len(unknown) > 0 {
		r := refuse(400, "invalid fields: ["+strings.Join(unknown, ", ")+"]")
		return p, &r
	}
	return p, nil
}

// decodeBody reads a body. One that is no object has no fields, as in the original.
func decodeBody(body []byte) (o object, refused *dialect.Plan) {
	if len(strings.TrimSpace(string(body))) > 0 && !json.Valid(body) {
		r := dialect.Refuse(respond(400, struct {
			Status int    `json:"status"`
			Error  string `json:"error"`
		}{400, "Bad Request"}))
		return nil, &r
	}
	return readObject(body), nil
}

// planCreate is POST /submissions.
func planCreate(ask dialect.Request, on dialect.Agent) dialect.Plan {
	o, refused := decodeBody(ask.Body)
	if refused != nil {
		return *refused
	}
	p, refused := readParameters(ask, o)
	if refused != nil {
		return *refused
	}

	q, bad := read(o, p.encoded, on)
	if bad.fields != nil {
		plan := dialect.Refuse(respond(422, bad.fields))
		plan.UnknownFields = q.unknown
		return plan
	}
	return dialect.Plan{UnknownFields: q.unknown, Submit: &dialect.Submit{
		All: []dialect.Submission{submit(q, on)}, Wait: p.wait,
		Tell: func(states []dialect.State) dialect.Response {
			if !p.wait {
				return respond(201, token{states[0].Token})
			}
			return tell(201, states[0], p)
		},
	}}
}

type token struct {
	Token string `json:"token"`
}

// submit makes what is executed of a request. Runs end at the first that is not accepted.
func submit(q request, on dialect.Agent) dialect.Submission {
	about, err := json.Marshal(q.submission)
	if err != nil {
		panic(err) // impossible: it has texts and numbers within bounds
	}
	return dialect.Submission{
		About: about, Runs: slices.Repeat([]api.Run{runOf(q, on)}, int(q.Runs)),
		Enough: func(res api.Result) bool { return endOf(res, q.submission).status != accepted },
	}
}

// runOf makes one run of a request.
func runOf(q request, on dialect.Agent) api.Run {
	run := api.Run{
		Language: q.on.Name, Profile: dialect.Profile(q.on), Source: q.Source, SourceName: q.language.file, Argv: q.words, Stdin: q.Stdin,
		MergeStderr: q.Merge, Limits: limits(q, settingsOf(on.Ceiling)), Collect: api.Collect{None: true},
	}
	if of := q.language; of.verbatim {
		run.Source, run.SourceName = api.Bytes(of.command), "run.sh"
		run.Files = []api.File{{Name: of.file, Content: q.Source, Executable: true}}
	}

	if dialect.AllowsFlags(q.on, q.options) {
		run.Flags = q.options // needs no permission, and what is compiled with them is kept
		return run
	}
	for _, word := range q.options {
		if q.language.linked && isLibrary(word) {
			run.FreeFlags.Link = append(run.FreeFlags.Link, word)
		} else {
			run.FreeFlags.Compile = append(run.FreeFlags.Compile, word)
		}
	}
	return run
}

// isLibrary reports whether an option is for the linker. Programs are linked statically, so that libraries have to come
// after the source.
func isLibrary(word string) bool {
	return strings.HasPrefix(word, "-l") || strings.HasPrefix(word, "-L") || strings.HasPrefix(word, "-Wl,")
}

// limits are those of the program. Zero is no limit in the original, and the most here.
func limits(q request, s settings) api.Limits {
	seconds := func(v float64, b bound) api.Duration {
		return max(api.Duration(orElse(v, b.most)*float64(time.Second)), api.Duration(time.Millisecond))
	}
	file := api.Size(orElse(float64(q.File), s.file.most)) * kilobyte
	l := api.Limits{
		CPU: seconds(q.CPU, s.cpu), Wall: seconds(q.Wall, s.wall), Memory: max(api.Size(q.Memory)*kilobyte, api.MinMemory),
		Pids: q.Processes, Output: file, FileSize: file,
	}
	if q.Stack > 0 && !q.language.ownStack {
		l.Stack = max(api.Size(q.Stack)*kilobyte, 64*api.KiB)
	}
	return l
}

// planShow is GET /submissions/{token}.
func planShow(ask dialect.Request, _ dialect.Agent) dialect.Plan {
	p, refused := readParameters(ask, nil)
	if refused != nil {
		return *refused
	}
	return dialect.Plan{Recall: &dialect.Recall{
		Tokens: []string{ask.Path["token"]},
		Tell: func(states []dialect.State) dialect.Response {
			if states[0].Token == "" {
				return missing()
			}
			return tell(200, states[0], p)
		},
	}}
}

// checkBatch returns the answer to a batch with the wrong number of submissions; nil: it is right.
func checkBatch(n int) *dialect.Plan {
	var r dialect.Plan
	switch {
	case n > batchSize:
		r = refuse(400, "number of submissions in a batch should be less than or equal to 20")
	case n == 0:
		r = refuse(400, "there should be at least one submission in a batch")
	default:
		return nil
	}
	return &r
}

// planCreateBatch is POST /submissions/batch. It takes those submissions that are right, and does not wait for them.
func planCreateBatch(ask dialect.Request, on dialect.Agent) dialect.Plan {
	o, refused := decodeBody(ask.Body)
	if refused != nil {
		return *refused
	}

	var all []json.RawMessage
	if json.Unmarshal(o["submissions"], &all) != nil {
		all = nil
	}
	if refused := checkBatch(len(all)); refused != nil {
		return *refused
	}

	delete(o, "fields") // not read here
	p, _ := readParameters(dialect.Request{Query: map[string][]string{"base64_encoded": ask.Query["base64_encoded"]}}, o)
	answers := make([]any, len(all)) // nil: that of a submission
	s := dialect.Submit{}
	unknown := 0
	for i, raw := range all {
		q, bad := read(readObject(raw), p.encoded, on)
		unknown += q.unknown
		if bad.fields != nil {
			answers[i] = bad.fields
			continue
		}
		s.All = append(s.All, submit(q, on))
	}

	s.Tell = func(states []dialect.State) dialect.Response { return tellBatch(answers, states) }
	if len(s.All) == 0 {
		plan := dialect.Refuse(s.Tell(nil))
		plan.UnknownFields = unknown
		return plan
	}
	return dialect.Plan{Submit: &s, UnknownFields: unknown}
}

// tellBatch tells which submissions were taken. Those that brig refused have its reason.
func tellBatch(answers []any, states []dialect.State) dialect.Response {
	answers = slices.Clone(answers)
	status, next := 422, 0
	for i, a := range answers {
		if a != nil {
			continue
		}
		s := states[next]
		next++
		if s.Token == "" {
			answers[i] = said{s.Problem.Detail}
			continue
		}
		answers[i] = token{s.Token}
		status = 201
	}
	return respond(status, answers)
}

// planShowBatch is GET /submissions/batch.
func planShowBatch(ask dialect.Request, _ dialect.Agent) dialect.Plan {
	p, refused := readParameters(ask, nil)
	if refused != nil {
		return *refused
	}

	var tokens []string
	if given := ask.Query["tokens"]; len(given) > 0 {
		tokens = splitList(strings.TrimSpace(given[len(given)-1]))
	}
	if refused := checkBatch(len(tokens)); refused != nil {
		return *refused
	}
	return dialect.Plan{Recall: &dialect.Recall{Tokens: tokens, Tell: func(states []dialect.State) dialect.Response {
		all := make([]*ordered, len(states)) // nil: there is none
		for i, s := range states {
			if s.Token == "" {
				continue
			}
			o, ok := told(s, p)
			if !ok {
				return respond(400, said{notText("one or more submissions")})
			}
			all[i] = &o
		}
		return respond(200, struct {
			All []*ordered `json:"submissions"`
		}{all})
	}}}
}

// splitList splits a list at its commas, as Ruby does: nothing at its end is no element.
func splitList(text string) []string {
	all := strings.Split(text, ",")
	for len(all) > 0 && all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}
