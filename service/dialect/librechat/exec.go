package librechat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

const (
	dataDir   = "/mnt/data" // where programs of the original run, and a second name of /box here
	maxFiles  = 64          // of one upload, of one program before it, and after it
	maxBytes  = 16 * api.MiB
	wall      = api.Duration(30 * time.Second)
	memory    = api.GiB
	maxOutput = 1 * api.MiB

	// maxWait bounds the wait for a slot. A client gives up after 15 s by default, where it reads or writes a file by a
	// short program, and must have the answer before.
	maxWait = 10 * time.Second

	failed = "Execution failed or timed out" // a text of the original
)

// languages are those of brig for the names of clients, the best first.
var languages = map[string][]string{
	"py": {"python-full", "python"}, "js": {"javascript-full", "javascript"}, "ts": {"typescript"}, "c": {"c"}, "cpp": {"cpp"},
	"java": {"java-full", "java"}, "php": {"php-full", "php"}, "rs": {"rust"}, "go": {"go"}, "d": {"d"}, "r": {"r"},
	"f90":  {"fortran"},
	"bash": {"bash-full", "bash"}, // brig has no bash-full: the operator makes one with an image that has Python, too
}

// known are the fields of a request that mean something, here or in the original.
var known = []string{"lang", "code", "args", "files", "user_id", "entity_id", "session_id"}

// planExec is POST /v1/exec.
func planExec(ask dialect.Request, on dialect.Agent) dialect.Plan {
	var q struct {
		Lang, Code *string
		Args       []string
		Files      []fileRef
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(ask.Body, &fields); err != nil {
		return refuse("the body must be a JSON object: " + err.Error())
	}
	if err := json.Unmarshal(ask.Body, &q); err != nil {
		return refuse("lang and code must be texts, args a list of texts, and files a list of objects: " + err.Error())
	}
	if q.Lang == nil || q.Code == nil {
		return refuse("lang and code are required")
	}
	cannot := func(why string) dialect.Plan { return dialect.Refuse(notRun(ask.Nonce, *q.Lang, why)) }
	l, stored := on.Find(languages[*q.Lang]...)
	if !stored {
		return cannot(fmt.Sprintf("Unsupported language: %.50s. There are: %s.", *q.Lang, strings.Join(available(on), ", ")))
	}
	if len(q.Files) > maxFiles {
		return cannot(fmt.Sprintf("there are %d files: the maximum is %d.", len(q.Files), maxFiles))
	}

	p := dialect.Plan{MaxWait: maxWait, Runs: []api.Run{{
		Language: l.Name, Profile: dialect.Profile(l), Source: api.Bytes(*q.Code), Argv: q.Args,
		Limits:  api.Limits{Wall: wall, Memory: memory, Output: maxOutput}.CappedBy(on.Ceiling),
		Collect: api.Collect{Files: maxFiles, Bytes: maxBytes, Blobs: true}, WorkdirAlias: dataDir,
	}}}
	for name := range fields {
		if !slices.Contains(known, name) {
			p.UnknownFields++
		}
	}
	for _, f := range q.Files {
		name, err := nameInBox(f.Name)
		if err != nil {
			return cannot(err.Error() + ".")
		}
		p.Needs = append(p.Needs, dialect.Need{ID: keptID(cmp.Or(f.Storage, f.Session), f.ID), Name: name})
	}
	p.Missing = notRun(ask.Nonce, *q.Lang, missing(p.Needs))
	p.TellInOrder = func(results []api.Result, orders []dialect.Order) dialect.Response {
		return tell(results[0], orders[0], ask.Nonce, l)
	}
	return p
}

// available are the names of languages that can run here.
func available(on dialect.Agent) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(languages)) {
		if _, stored := on.Find(languages[name]...); stored {
			names = append(names, name)
		}
	}
	return names
}

// missing says that one of files is not kept: which one, the plan does not learn.
func missing(files []dialect.Need) string {
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	if len(names) == 1 {
		return "the file " + names[0] + " is not kept, or no longer. Send it again."
	}
	return "one of these files is not kept, or no longer: " + strings.Join(names, ", ") + ". Send them again."
}

// An execution is the answer of POST /v1/exec.
type execution struct {
	Session  string    `json:"session_id"`
	Stdout   string    `json:"stdout"`
	Stderr   string    `json:"stderr"`
	Files    []fileRef `json:"files,omitempty"`
	Error    string    `json:"error,omitempty"` // a text of the original
	Language string    `json:"language"`
	Version  string    `json:"version"`
	Run      stage     `json:"run"`
}

// A stage is how the program ended, in the words of Piston.
type stage struct {
	Stdout string  `json:"stdout"`
	Stderr string  `json:"stderr"`
	Code   *int    `json:"code"`
	Signal *string `json:"signal"`
	Output string  `json:"output"`
}

// tell tells a result. The files that the program left or changed are kept, in a session of their own.
func tell(res api.Result, order dialect.Order, session string, l api.Language) dialect.Response {
	e := execution{Session: session, Stdout: dialect.Text(res.Stdout), Stderr: dialect.Text(res.Stderr), Language: l.Name, Version: l.Version,
		Error: dialect.Verdicts[dialect.LibreChat][res.Verdict].Text}
	var keep []dialect.Keep
	for i, f := range res.Files {
		ref := newRef(session, i, f.Name)
		e.Files, keep = append(e.Files, ref), append(keep, dialect.KeepFile(keptID(session, ref.ID), ref.Name, f))
	}

	wrote := len(e.Stderr) // what follows is brig's
	// A file that is there and does not come back must not look as if the program had not written it.
	for _, s := range res.Skipped {
		if s.Reason != api.NoSuchFile {
			e.Stderr += fmt.Sprintf("\nThe file %s is not kept: %s\n", s.Name, s.Reason)
		}
	}
	if why := ending(res); why != "" {
		if e.Stderr != "" && !strings.HasSuffix(e.Stderr, "\n") {
			e.Stderr += "\n"
		}
		e.Stderr += why + "\n"
	}

	e.Run = stage{Stdout: e.Stdout, Stderr: e.Stderr, Output: dialect.Text(order.Merge(res.Stdout, res.Stderr)) + e.Stderr[wrote:]}
	if res.SignalName != "" {
		e.Run.Signal = &res.SignalName
	} else {
		e.Run.Code = &res.ExitCode
	}
	r := respond(200, e)
	r.Keep = keep
	return r
}
