package diagnose

import (
	"fmt"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// Of explains a failed result. sourceName is what the program's source is called in
// /box, for compilers that name no file; empty: nobody knows. source is its text, which may be
// nil: line ends and encodings show in it alone. A language that is not known, or none, has
// the verdict explained alone. Nil for a run that is ok, and for one whose caller left.
func Of(language, sourceName string, source []byte, r api.Result) *api.Diagnosis {
	t := tongueOf(language)
	var d api.Diagnosis
	switch r.Verdict {
	case api.OK, api.Canceled, "":
		return nil
	case api.CompileError:
		if d = ofCompiler(t, r); d.File == "" && r.Signal == 0 { // such as a program without a main
			d.File = ownFile(sourceName)
		}
	case api.Nonzero, api.Signaled:
		if d = ofStart(language, r); d.Message == "" {
			d = ofProgram(t, r)
		}
	default:
		d = ofLimit(r)
	}
	if r.Verdict == api.Nonzero || r.Verdict == api.Signaled {
		d.Hint = orWords(hintOfShortage(d, r), d.Hint)
	}
	d.Hint = orWords(d.Hint, hintOfLimits(r))
	d.Hint = orWords(hintOfText(language, sourceName, source, d), d.Hint)
	d = bounded(d)
	return &d
}

// Into puts into a failed result, and into each failed test's, its diagnosis. That
// of a run with tests is the diagnosis of the first test with the run's verdict.
func Into(language, sourceName string, source []byte, r *api.Result) {
	for i := range r.Tests {
		one := &r.Tests[i].Result
		one.Diagnosis = Of(language, sourceName, source, *one)
		if r.Diagnosis == nil && one.Verdict == r.Verdict {
			r.Diagnosis = one.Diagnosis
		}
	}
	if len(r.Tests) == 0 {
		r.Diagnosis = Of(language, sourceName, source, *r)
	}
}

// Errors lists the errors in what a language's compiler, or another reader of its
// programs, printed: in its order, at most 100.
func Errors(language string, output []byte) []api.Diagnosis {
	t := tongueOf(language)
	if t.compiled == nil {
		return nil
	}
	all := t.compiled(newText(output))
	for i := range all {
		all[i] = bounded(all[i])
	}
	return all
}

func ofCompiler(t tongue, r api.Result) api.Diagnosis {
	if len(r.LimitsHit) == 0 && r.Signal == 0 && r.Denial == nil {
		if t.compiled != nil { // some compilers write their errors to stdout
			if all := t.compiled(newText(r.Stdout, r.Stderr)); len(all) > 0 {
				return all[0]
			}
		}
		return api.Diagnosis{Category: api.CategoryCompile, Type: string(r.Verdict),
			Message: orWords(newText(r.Stdout, r.Stderr).last(), "the program does not compile")}
	}
	d := api.Diagnosis{Category: api.CategoryCompile, Type: string(r.Verdict)}
	switch {
	case r.Denial != nil:
		return ofDenial(r)
	case hit(r, api.HitMemory):
		d.Category, d.Message = api.CategoryMemory, "the compiler met its memory limit"
		d.Hint = "compiling needs more memory than it may have: make the program smaller, or allow the compiler more"
	case hit(r, api.HitCPU), hit(r, api.HitWall):
		d.Category, d.Message = api.CategoryTime, "the compiler met its time limit"
		d.Hint = "look for templates, macros or constants that take very long to work out"
	case hit(r, api.HitOutput):
		d.Category, d.Message = api.CategoryOutput, "the compiler printed more than its output limit"
		d.Hint = "mend the first error it names: most others follow from it"
	case r.Signal != 0:
		d.Message = fmt.Sprintf("the compiler ended with %s", orWords(r.SignalName, fmt.Sprint("signal ", r.Signal)))
	default:
		d.Message = "the compiler met its limit on " + strings.Join(r.LimitsHit, ", ")
	}
	return d
}

// ofProgram explains a program that ended by itself: by what it printed, or by how
// it ended.
func ofProgram(t tongue, r api.Result) api.Diagnosis {
	said := newText(r.Stderr)
	if t.ran != nil {
		if d, ok := t.ran(said); ok {
			return d
		}
	}
	if r.Verdict == api.Signaled {
		return ofSignal(r)
	}
	return api.Diagnosis{Category: api.CategoryRuntime, Type: string(r.Verdict),
		Message: orWords(said.last(), fmt.Sprintf("exit code %d", r.ExitCode))}
}

func orWords(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
