package dialecttest

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// A madeCall is a call of a plan, as calls.json has it.
type madeCall struct {
	Call string // method and path
	Body string `json:",omitempty"`
}

func callOf(c dialect.Call) madeCall { return madeCall{c.Method + " " + c.Path, string(c.Body)} }

// calls carries out the calls of a plan with the replies of the archive, and returns what the client gets: an answer, or
// all of a stream.
func (a *archive) calls(plan dialect.Plan) dialect.Response {
	a.t.Helper()
	var made []madeCall
	defer func() { a.compare("calls.json", lines(a.t, made)) }()

	for n := 1; ; n++ {
		switch {
		case plan.Answer != nil:
			return *plan.Answer
		case plan.Upload != nil:
			return a.upload(*plan.Upload, &made)
		case plan.Call == nil:
			a.t.Fatal("the plan asks for nothing, and has no answer")
		}

		made = append(made, callOf(*plan.Call))
		checkCall(a, *plan.Call)
		reply := a.reply(n)
		switch {
		case plan.Stream == nil:
			plan = plan.Then(reply)
		case reply.Problem != nil:
			return plan.Stream.Refused(reply.Problem)
		default:
			return streamed(*plan.Stream, reply.Body)
		}
	}
}

// checkCall refuses a call that no client of brig could send.
func checkCall(a *archive, c dialect.Call) {
	a.t.Helper()
	u, err := url.Parse(c.Path)
	if err != nil || !strings.HasPrefix(c.Path, "/v1/") || c.Method == "" {
		a.t.Errorf("%s %s: %v: this is no request of brig's API", c.Method, c.Path, err)
	} else if _, err := http.NewRequest(c.Method, "http://localhost"+u.RequestURI(), nil); err != nil {
		a.t.Error(err)
	}
}

// reply is the file replyN, of a success, or problemN.json.
func (a *archive) reply(n int) (r dialect.Reply) {
	a.t.Helper()
	var p *api.Problem
	if a.read(fmt.Sprintf("problem%d.json", n), &p); p != nil {
		return dialect.Reply{Problem: p}
	}
	f := a.find(fmt.Sprintf("reply%d", n))
	if f == nil {
		a.t.Fatalf("there is neither reply%d nor problem%[1]d.json", n)
	}
	return dialect.Reply{Body: f.Data}
}

// streamed is a stream as a response: as text, with the number of each byte that is none.
func streamed(s dialect.Stream, body []byte) dialect.Response {
	all := s.Head
	if s.Line == nil {
		all.Body = append(all.Body, body...)
		return all
	}
	for line := range strings.Lines(string(body)) {
		piece := s.Line([]byte(strings.TrimSuffix(line, "\n")))
		switch {
		case piece.Broken:
			all.Body = append(all.Body, "(broken)"...)
			return all
		case piece.IfAlive:
			all.Body = append(all.Body, "(if the session lives)"...)
		}
		if all.Body = append(all.Body, piece.Out...); piece.Last {
			return all
		}
	}
	all.Body = append(all.Body, "(broken)"...)
	return all
}

// upload has the files of the archive's parts written: lines with the name of a field and of a file.
func (a *archive) upload(u dialect.Upload, made *[]madeCall) dialect.Response {
	a.t.Helper()
	var calls []dialect.Call
	if u.One != nil {
		calls = append(calls, *u.One)
	} else if f := a.find("parts"); f != nil {
		for line := range strings.Lines(string(f.Data)) {
			field, file, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			c, refusal := u.Each(field, file)
			if refusal != nil {
				return *refusal
			}
			if c != nil {
				calls = append(calls, *c)
			}
		}
	}
	for _, c := range calls {
		*made = append(*made, callOf(c))
		checkCall(a, c)
	}
	var p *api.Problem
	if a.read("problem1.json", &p); p != nil {
		return u.Refused(p)
	}
	return u.Done(calls)
}
