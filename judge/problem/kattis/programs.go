package kattis

import (
	"path"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/judge/problem"
)

// extensions are those that the format has beyond those of all formats, with brig's names of their languages.
var extensions = map[string]string{
	"bash": "bash", "r": "r", "ps1": "powershell", "sql": "sql", "pm": "perl", "pl": "prolog", "lisp": "lisp", "cl": "lisp",
	"adb": "ada", "cob": "cobol", "erl": "erlang", "ex": "elixir", "jl": "julia", "nim": "nim",
	"m": "objectivec", "zig": "zig", "dart": "dart", "cr": "crystal", "rkt": "racket", "st": "smalltalk", "odin": "odin",
	"a68": "algol68", "apl": "apl",
}

// languageOf is the language of a program, by its name; "": it is none.
func languageOf(name string) string { return problem.LanguageOf(name, extensions) }

// programs finds the programs in a directory: each file is one, and each directory is one. Those of the package
// itself may have scripts, and submissions may not.
func (r *reader) programs(dir string, scripts bool) []problem.Program {
	files, dirs := r.tree.Children(dir)
	all := make([]problem.Program, 0, len(files)+len(dirs))
	for _, file := range files {
		all = append(all, r.program(path.Base(file), "", []string{file}, scripts))
	}
	for _, sub := range dirs {
		all = append(all, r.program(path.Base(sub), sub, r.tree.Below(sub), scripts))
	}
	return all
}

// program describes the program with these files, all of a directory or, if dir is empty, one.
func (r *reader) program(name, dir string, files []string, scripts bool) problem.Program {
	p := problem.Program{Name: name, Files: files}
	if scripts && r.script(&p, dir) {
		return p
	}

	var sources []string
	for _, file := range files {
		base := path.Base(file)
		switch {
		case strings.HasSuffix(base, ".ctd") || strings.HasSuffix(base, ".viva"):
			p.Skip = "it is a grammar of Checktestdata or VIVA, which brig does not have"
		case languageOf(base) != "":
			sources = append(sources, file)
		}
	}

	if len(sources) == 0 {
		return p
	}

	p.Main = r.mainOf(sources)
	p.Language = languageOf(p.Main)
	if p.Language == "python" && !r.modern() { // of legacy, the #! line decides
		if text, err := r.tree.Read(p.Main, maxProgram); err == nil {
			if line, _, _ := strings.Cut(string(text), "\n"); strings.HasPrefix(line, "#!") &&
				strings.Contains(line, "python2") {
				p.Language = "python2"
			}
		}
	}

	return p
}

// entryPoints are the usual main files, as in the format's table of languages.
var entryPoints = []string{"__main__", "main"}

// mainOf chooses the source that is run: the only one, a usual entry point, or the first that has a main
// function.
func (r *reader) mainOf(sources []string) string {
	for _, file := range sources {
		base := path.Base(file)
		if slices.Contains(entryPoints, strings.ToLower(strings.TrimSuffix(base, path.Ext(base)))) {
			return file
		}
	}
	for _, file := range sources {
		if text, err := r.tree.Read(file, maxProgram); err == nil && problem.HasMain(text) {
			return file
		}
	}
	return sources[0]
}

// validators finds input and output validators.
func (r *reader) validators() {
	for _, dir := range []string{"input_validators", "input_format_validators"} {
		r.p.Validators = append(r.p.Validators, r.programs(dir, true)...)
	}

	for i, p := range r.p.Validators {
		if p.Main == "" && p.Skip == "" {
			r.p.Validators[i].Skip = "it has no source in a language of the format"
		}
	}

	if len(r.p.Validators) == 0 && r.version != legacy {
		r.Warn("input_validators/", 0, "Input validators", "there is no input validator")
	}
	if r.tree.HasDir("static_validator") {
		r.Error("static_validator/", 0, "Static validator", "brig does not support static validators")
	}
	if r.tree.HasDir("graders") {
		r.Error("graders/", 0, "Graders", "brig does not support custom graders")
	}

	var found []problem.Program
	rule := "Output validator"
	for _, dir := range []string{"output_validator", "output_validators"} {
		if !r.tree.HasDir(dir) {
			continue
		}
		if dir == "output_validator" && len(filesOf(r.tree, dir)) > 1 {
			found = append(found, r.program(dir, dir, r.tree.Below(dir), true)) // the directory is the program
		} else {
			found = append(found, r.programs(dir, true)...)
		}
	}

	switch {
	case len(found) > 1:
		r.Error("output_validators/", 0, rule, "brig supports one output validator: there are %d", len(found))
		return
	case r.custom && len(found) == 0:
		r.Error("output_validators/", 0, rule, "validation is custom, and there is no output validator")
		return
	case !r.modern() && !r.custom && len(found) == 1:
		r.Warn("output_validators/", 0, rule, "validation is not custom: it is not used")
		found = nil
	}

	if len(found) == 0 {
		if r.p.Interactive || r.p.Passes > 0 {
			r.Error("output_validator/", 0, rule, "an interactive or multi-pass problem needs an output validator")
		}
		r.p.Compare = &problem.Builtin{How: "kattis", Args: r.flags}
		return
	}

	p := found[0]
	p.Protocol = "kattis"
	switch {
	case p.Skip != "":
		r.Error(p.Files[0], 0, rule, "the output validator cannot be used: %s", p.Skip)
	case p.Main == "":
		r.Error(p.Files[0], 0, rule, "the output validator has no source in a language of the format")
	}

	r.p.Checker = &p
}

func filesOf(t *problem.Tree, dir string) []string {
	files, _ := t.Children(dir)
	return files
}

// include finds the files that are placed next to submissions.
func (r *reader) include() {
	if r.version == icpc {
		return
	}

	files, dirs := r.tree.Children("include")
	for _, file := range files {
		r.Warn(file, 0, "Included files", "it does not count: files belong into a directory for a language")
	}

	for _, dir := range dirs {
		code := path.Base(dir)
		in := problem.Include{Language: brigName(code), Dir: dir, Files: r.tree.Below(dir)}
		if code == "default" {
			in.Language = ""
		}
		r.p.Include = append(r.p.Include, in)
	}
}
