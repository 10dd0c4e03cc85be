package cms

import (
	"path"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/problem/yamlfile"
)

// compiledTogether are the languages whose compilers get all sources next to a submission: a stub is one.
var compiledTogether = []string{"c", "cpp", "csharp", "mono", "java"}

// manager reads what makes a task one of communication: a manager, which talks with the submission, perhaps with
// several processes of it, and with a stub that is compiled into it.
func (r *reader) manager(m yamlfile.Map) bool {
	for _, name := range []string{"check/manager", "cor/manager"} {
		source := r.source(name)
		switch {
		case source != "":
			r.p.Compare, r.p.Interactive = nil, true
			r.p.Checker = &problem.Program{Name: path.Base(source), Main: source, Language: languageOf(source),
				Protocol: string(api.ProtocolCMS), Files: r.headers(source)}
		case r.tree.Has(name):
			r.p.Compare, r.p.Interactive = nil, true
			r.Error(name, 0, "check",
				"it is a compiled program, which brig does not run: put its source next to it, such as %s.cpp", name)
		default:
			continue
		}

		r.processes(m)
		return true
	}

	return false
}

// processes reads the parameters of a task of communication.
func (r *reader) processes(m yamlfile.Map) {
	if n, ok := m.Int("num_processes", 1); ok && n > api.MaxProcesses {
		m.Fail("num_processes", "num_processes is %d: brig supports managers with at most %d processes", n, api.MaxProcesses)
	} else if n > 1 {
		r.p.Processes = int(n)
	}

	stubs := r.stubs()
	standard := api.StdIO
	if stubs {
		standard = api.FIFOIO
	}

	r.p.ProgramIO = m.String("user_io")
	if r.p.ProgramIO != "" && !slices.Contains(standard.Values(), api.ProgramIO(r.p.ProgramIO)) {
		r.Warn(file, m.LineOf("user_io"), rule,
			"user_io is %q, which CMS ignores: it knows std_io and fifo_io", r.p.ProgramIO)
		r.p.ProgramIO = ""
	}
	if r.p.ProgramIO == "" {
		r.p.ProgramIO = string(standard)
	}
}

// stubs finds the languages of a task with stubs: only with one does a submission have a main function.
func (r *reader) stubs() bool {
	names, _ := r.tree.Children("sol")
	var others []string
	found := false
	for _, name := range names {
		language := languageOf(name)
		if strings.TrimSuffix(path.Base(name), path.Ext(name)) != "stub" || language == "" {
			continue
		}
		found = true
		if slices.Contains(compiledTogether, language) {
			r.p.Languages = append(r.p.Languages, language)
		} else {
			others = append(others, name)
		}
	}

	slices.Sort(r.p.Languages)
	r.p.Languages = slices.Compact(r.p.Languages)
	const why = "it is not used: brig compiles stubs in C, C++, C# and Java, whose compilers get all sources"
	for _, name := range others {
		if len(r.p.Languages) == 0 {
			r.Error(name, 0, "sol", "%s", why)
		} else {
			r.Warn(name, 0, "sol", "%s", why)
		}
	}

	return found
}
