package e2b

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// kernelLanguages are the names that clients have for the languages of kernels.
var kernelLanguages = map[string]api.KernelLanguage{
	"": api.KernelPython, "python": api.KernelPython, "py": api.KernelPython, "python3": api.KernelPython,
	"javascript": api.KernelJavaScript, "js": api.KernelJavaScript, "bash": api.KernelBash,
}

// defaultLanguages are those of contexts that are there without being made.
var defaultLanguages = []api.KernelLanguage{api.KernelPython, api.KernelJavaScript}

const defaultTag = "e2b:default:" // before the language of such a context

func noLanguage(name string) dialect.Plan {
	return refuseText(400, fmt.Sprintf("language %.40q: brig has python, javascript and bash", name))
}

// refuseText refuses in plain text, as the original does.
func refuseText(status int, message string) dialect.Plan {
	return dialect.Refuse(dialect.Response{Status: status, Header: map[string]string{"Content-Type": "text/plain; charset=utf-8"},
		Body: []byte(message)})
}

// executeRequest is the body of a request to execute code.
type executeRequest struct {
	Code     string            `json:"code"`
	Context  *string           `json:"context_id"`
	Language *string           `json:"language"`
	Env      map[string]string `json:"env_vars"`
}

func planExecute(r dialect.Request, _ dialect.Agent) dialect.Plan {
	var ask executeRequest
	if err := json.Unmarshal(r.Body, &ask); err != nil {
		return refuseText(422, "the body is no request to execute code: "+err.Error())
	}
	cell := dialect.Encode(api.Cell{Code: ask.Code, Env: ask.Env})
	switch {
	case ask.Context != nil && ask.Language != nil:
		return refuseText(400, "Only one of context_id or language can be provided")
	case ask.Context != nil:
		return execute(r, *ask.Context, cell)
	}

	name := ""
	if ask.Language != nil {
		name = strings.ToLower(*ask.Language)
	}
	language, known := kernelLanguages[name]
	if !known {
		return noLanguage(name)
	}
	return withDefault(r, language, 2, func(k api.Kernel) dialect.Plan { return execute(r, k.ID, cell) })
}

// withDefault finds the context of a language that is there without being made, or makes it. Another request may do so
// at the same time.
func withDefault(r dialect.Request, language api.KernelLanguage, tries int, then func(api.Kernel) dialect.Plan) dialect.Plan {
	tag := defaultTag + string(language)
	create := dialect.Call{Method: "POST", Path: below(sandboxOf(r), "/kernels", nil),
		Body: dialect.Encode(api.KernelRequest{Language: language, Cwd: home, Tag: tag})}
	return onKernels(r, func(all []api.Kernel) dialect.Plan {
		for _, k := range all {
			if k.Tag == tag {
				return then(k)
			}
		}
		return dialect.Plan{Call: &create, Then: func(reply dialect.Reply) dialect.Plan {
			switch p := reply.Problem; {
			case p != nil && p.Code == api.CodeConflict && tries > 0:
				return withDefault(r, language, tries-1, then)
			case p != nil:
				return dialect.Refuse(refusedBy(failContent)(p))
			}
			var k api.Kernel
			parse(reply.Body, &k)
			return then(k)
		}}
	})
}

// onKernels lists the contexts of a sandbox.
func onKernels(r dialect.Request, then func([]api.Kernel) dialect.Plan) dialect.Plan {
	return dialect.Plan{Call: &dialect.Call{Method: "GET", Path: below(sandboxOf(r), "/kernels", nil)},
		Then: func(reply dialect.Reply) dialect.Plan {
			if reply.Problem != nil {
				return dialect.Refuse(refusedBy(failContent)(reply.Problem))
			}
			var all api.Page[api.Kernel]
			parse(reply.Body, &all)
			return then(all.Items)
		}}
}

// execute executes code in a context, and tells what happens as it does.
func execute(r dialect.Request, kernel string, cell []byte) dialect.Plan {
	return dialect.Plan{
		Call: &dialect.Call{Method: "POST", Path: below(sandboxOf(r), "/kernels/"+url.PathEscape(kernel)+"/execute", nil), Body: cell},
		Stream: &dialect.Stream{
			Head:    dialect.Response{Status: 200, Header: map[string]string{"Content-Type": "application/json"}},
			Line:    tellCell,
			Refused: refusedBy(failContent),
		},
	}
}

// output is a line of what clients read of an execution.
type output map[string]any

// forms are the names that clients have for forms of a value.
var forms = map[string]string{
	"text/plain": "text", "text/html": "html", "text/markdown": "markdown", "image/svg+xml": "svg", "image/png": "png",
	"image/jpeg": "jpeg", "application/pdf": "pdf", "text/latex": "latex", "application/json": "json",
	"application/javascript": "javascript",
}

// tellCell tells one event of a cell.
func tellCell(line []byte) dialect.Piece {
	var e api.CellEvent
	parse(line, &e)
	var out output
	switch e.Type {
	case api.CellEventStart:
		out = output{"type": "number_of_executions", "execution_count": e.Count}
	case api.CellEventStdout, api.CellEventStderr:
		out = output{"type": e.Type, "text": e.Text}
	case api.CellEventDisplay, api.CellEventResult:
		out = output{"type": "result", "is_main_result": e.Type == api.CellEventResult}
		for kind, form := range e.Data {
			if name, known := forms[kind]; known {
				out[name] = form
			}
		}
		if form, is := e.Data["text/plain"]; is {
			out["text"] = unquoted(form)
		}
	case api.CellEventError:
		out = output{"type": "error", "name": e.Name, "value": e.Value, "traceback": strings.Join(e.Traceback, "\n")}
	case api.CellEventAsk: // no client of E2B answers
		return dialect.Piece{}
	case api.CellEventEnd:
		return dialect.Piece{Last: true, IfAlive: e.Status == api.CellDied}
	default:
		out = output{"type": "keepalive"}
	}
	return dialect.Piece{Out: append(dialect.Encode(out), '\n')}
}

// unquoted is a text without the quotes of a string's representation, which clients of the original do not get.
func unquoted(form json.RawMessage) any {
	var s string
	if json.Unmarshal(form, &s) != nil {
		return form
	}
	if len(s) > 1 && (s[0] == '\'' || s[0] == '"') && s[len(s)-1] == s[0] {
		s = s[1 : len(s)-1]
	}
	return s
}

// context is what clients read of a context.
type context struct {
	ID       string             `json:"id"`
	Language api.KernelLanguage `json:"language"`
	Cwd      string             `json:"cwd"`
}

func contextOf(k api.Kernel) context { return context{k.ID, k.Language, k.Cwd} }

// planContexts lists the contexts, those first that are there without being made.
func planContexts(r dialect.Request, _ dialect.Agent) dialect.Plan {
	list := func(api.Kernel) dialect.Plan {
		return onKernels(r, func(all []api.Kernel) dialect.Plan {
			slices.SortStableFunc(all, func(a, b api.Kernel) int { return cmp.Compare(rankOf(a), rankOf(b)) })
			told := []context{}
			for _, k := range all {
				told = append(told, contextOf(k))
			}
			return dialect.Refuse(dialect.JSON(200, "application/json", told))
		})
	}
	for _, language := range slices.Backward(defaultLanguages) {
		next := list
		list = func(api.Kernel) dialect.Plan { return withDefault(r, language, 2, next) }
	}
	return list(api.Kernel{})
}

func rankOf(k api.Kernel) int {
	if strings.HasPrefix(k.Tag, defaultTag) {
		return 0
	}
	return 1
}

// contextRequest is the body of a request for a context.
type contextRequest struct {
	Language *string `json:"language"`
	Cwd      *string `json:"cwd"`
}

func planMakeContext(r dialect.Request, _ dialect.Agent) dialect.Plan {
	var ask contextRequest
	if err := json.Unmarshal(r.Body, &ask); err != nil {
		return refuseText(422, "the body is no request for a context: "+err.Error())
	}
	name, cwd := "", home
	if ask.Language != nil {
		name = strings.ToLower(*ask.Language)
	}
	if ask.Cwd != nil && *ask.Cwd != "" {
		cwd = absolute(*ask.Cwd)
	}
	language, known := kernelLanguages[name]
	if !known {
		return noLanguage(name)
	}
	return onContext(dialect.Call{Method: "POST", Path: below(sandboxOf(r), "/kernels", nil),
		Body: dialect.Encode(api.KernelRequest{Language: language, Cwd: cwd})}, func(reply dialect.Reply) dialect.Response {
		var k api.Kernel
		parse(reply.Body, &k)
		return dialect.JSON(200, "application/json", contextOf(k))
	})
}

func onContext(c dialect.Call, tell func(dialect.Reply) dialect.Response) dialect.Plan {
	return dialect.Plan{Call: &c, Then: func(reply dialect.Reply) dialect.Plan {
		if reply.Problem != nil {
			return dialect.Refuse(refusedBy(failContent)(reply.Problem))
		}
		return dialect.Refuse(tell(reply))
	}}
}

func planRemoveContext(r dialect.Request, _ dialect.Agent) dialect.Plan {
	return onContext(dialect.Call{Method: "DELETE", Path: below(sandboxOf(r), "/kernels/"+url.PathEscape(r.Path["id"]), nil)}, nothing)
}

func planRestartContext(r dialect.Request, _ dialect.Agent) dialect.Plan {
	return onContext(dialect.Call{Method: "POST", Path: below(sandboxOf(r), "/kernels/"+url.PathEscape(r.Path["id"])+"/restart", nil)},
		func(dialect.Reply) dialect.Response { return dialect.JSON(200, "application/json", nil) })
}
