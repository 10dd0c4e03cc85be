package convert

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/judge/problem"
)

// directories are those whose name says what must come of a submission.
var directories = []struct {
	name                string
	permitted, required []string
}{
	{"accepted", []string{"AC"}, nil},
	{"wrong_answer", []string{"AC", "WA"}, []string{"WA"}},
	{"time_limit_exceeded", []string{"AC", "TLE"}, []string{"TLE"}},
	{"run_time_error", []string{"AC", "RTE"}, []string{"RTE"}},
}

// submissions writes the submissions of the jury: into the directory that says what must come of them, or
// into another with what must in submissions.yaml.
func (w *writer) submissions() {
	yaml := map[string]any{}
	accepted := false
	for i, j := range w.p.Jury {
		if j.Skip != "" || len(j.Command) > 0 {
			w.leftOut("the submission %s is left out: brig cannot run it", j.Path)
			continue
		}

		e, ok := whole(j)
		if !ok {
			w.leftOut("what must come of the submission %s is left out, because it is about single tests", j.Path)
		}

		dir, exact := "other", false
		for _, d := range directories {
			if slices.Equal(e.Permitted, d.permitted) && slices.Equal(e.Required, d.required) && e.Score == nil &&
				e.Message == "" && !e.Partial {
				dir, exact = d.name, true
			}
		}

		accepted = accepted || dir == "accepted"
		if taken := path.Base(j.Main); w.has("submissions/" + dir + "/" + taken) {
			dir = fmt.Sprintf("%s/%d", dir, i+1)
		}

		name := w.sources("submissions/"+dir, j.Program)
		keys := map[string]any{}
		if !exact {
			if e.Permitted != nil {
				keys["permitted"] = e.Permitted
			}
			if e.Required != nil {
				keys["required"] = e.Required
			}
			if e.Score != nil {
				keys["score"] = e.Score[:]
			}
			if e.Message != "" {
				keys["message"] = e.Message
			}
			if e.Partial {
				w.leftOut("that the submission %s gets less than all points is left out", j.Path)
			}

			use := map[[2]bool]string{{true, false}: "lower", {false, true}: "upper"}[[2]bool{e.Lower, e.Upper}]
			if len(keys) > 0 || use != "" {
				keys["use_for_time_limit"] = use
				if use == "" {
					keys["use_for_time_limit"] = false
				}
			}
		}

		if len(keys) > 0 {
			yaml[dir+"/"+name] = keys
		}
	}

	if !accepted {
		w.leftOut("there is no accepted submission, which the format requires: put one into submissions/accepted/")
	}

	w.yaml("submissions/submissions.yaml", yaml)
}

// whole is what must come of all tests of a submission; ok is false if something is about some of them.
func whole(j problem.Jury) (e problem.Expectation, ok bool) {
	ok = true
	for _, one := range j.Expect {
		if one.Tests != "" {
			ok = false
			continue
		}
		e = one
	}
	return e, ok
}

// has reports whether a file or a directory is written.
func (w *writer) has(name string) bool {
	stem := strings.TrimSuffix(name, path.Ext(name))
	for file := range w.files {
		if file == name || strings.HasPrefix(file, name+"/") || strings.HasPrefix(file, stem+"/") {
			return true
		}
	}
	return false
}
