package polygon

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/problem"
)

// missing notes which files of test i are to be made: those of a standard package. Its generator writes the
// input, and the main solution the answer.
func (r *reader) missing(set testset, i int, t problem.Test) {
	const rule = "testset"
	if r.tree.Has(t.Input) && r.tree.Has(t.Answer) {
		return
	}

	for _, name := range []string{t.Input, t.Answer} {
		if err := api.FileName(name); err != nil {
			r.Error(file, 0, rule, "test %d: %q cannot be the name of a file of the package", i+1, name)
			return
		}
	}

	if r.p.Generate == nil {
		r.p.Generate = new(problem.Generation)
	}
	if !r.tree.Has(t.Answer) {
		r.p.Generate.Answers = append(r.p.Generate.Answers, problem.GeneratedAnswer{File: t.Answer, Input: t.Input})
	}
	if r.tree.Has(t.Input) {
		return
	}
	if i >= len(set.Tests) || set.Tests[i].Method != "generated" {
		r.Error(t.Input, 0, rule, "there is no such file, and the test is not a generated one")
		return
	}

	test := set.Tests[i]
	in := problem.GeneratedInput{File: t.Input, Command: test.Cmd, From: test.From}
	words, err := command(test.Cmd)
	if err == nil && in.From != "" && (api.FileName(in.From) != nil || strings.Contains(in.From, "/")) {
		err = fmt.Errorf("from-file is %q: must be the name of a file that the generator writes", in.From)
	}
	if err == nil {
		in.Args = words[1:]
		in.Generator, err = r.generator(words[0])
	}
	if err != nil {
		r.Error(file, 0, rule, "test %d, cmd %q: %v", i+1, test.Cmd, err)
		return
	}

	r.p.Generate.Inputs = append(r.p.Generate.Inputs, in)
}

const maxCommand = 8 << 10 // bytes

// command splits the command of a generated test into words. They are separated by white space, and quotes
// hold together what is between them. It is no command of a shell, and none reads it: what Polygon's script
// expands has been expanded, or is refused.
func command(cmd string) (words []string, err error) {
	if len(cmd) > maxCommand || strings.ContainsRune(cmd, 0) {
		return nil, fmt.Errorf("it has NUL, or more than %d bytes", maxCommand)
	}
	if strings.Contains(cmd, "<#") || strings.Contains(cmd, "${") {
		return nil, errors.New("it is a template of FreeMarker, which Polygon expands when it makes a package: make it again")
	}

	word, in, quoted := strings.Builder{}, rune(0), false
	end := func() error {
		one := word.String()
		word.Reset()

		// Quotes make a word of nothing, and ordinary characters of < > and |.
		if !quoted && one == "" {
			return nil
		}
		if !quoted && strings.ContainsAny(one, "<>|") {
			return fmt.Errorf("%q: brig runs one generator for each test, without pipes and redirections; lines such "+
				"as gen > {1-10} are of Polygon's script, and a package has from-file for them", one)
		}
		quoted = false
		words = append(words, one)
		return nil
	}

	for _, c := range cmd {
		switch {
		case in != 0 && c == in:
			in = 0
		case in != 0:
			word.WriteRune(c)
		case c == '"' || c == '\'':
			in, quoted = c, true
		case strings.ContainsRune(" \t\r\n", c):
			if err := end(); err != nil {
				return nil, err
			}
		default:
			word.WriteRune(c)
		}
	}

	if in != 0 {
		return nil, errors.New("a quote is not closed")
	}
	if err := end(); err != nil {
		return nil, err
	}
	if len(words) == 0 {
		return nil, errors.New("it names no generator")
	}
	return words, nil
}

// generator finds the program that a command names, with or without the ending of its source or of Windows,
// and returns its index among those that are needed.
func (r *reader) generator(name string) (int, error) {
	var s source
	for _, p := range r.doc.Programs {
		base := path.Base(p.Source.Path)
		stem := strings.TrimSuffix(base, path.Ext(base))
		switch {
		case name != base && name != stem && name != stem+".exe":
		case s.Path != "" && s.Path != p.Source.Path:
			return 0, fmt.Errorf("it could be %q or %q: rename one of them", s.Path, p.Source.Path)
		default:
			s = p.Source
		}
	}

	if s.Path == "" {
		return 0, fmt.Errorf("there is no program %q in files/executables", name)
	}

	g := r.p.Generate
	if i := slices.IndexFunc(g.Generators, func(p problem.Program) bool { return p.Main == s.Path }); i >= 0 {
		return i, nil
	}
	if !r.tree.Has(s.Path) {
		return 0, fmt.Errorf("its source %q is not in the package", s.Path)
	}
	if _, known := knownLanguage(s.Type); !known {
		return 0, fmt.Errorf("its source %q is of the type %q, which is no language of brig's", s.Path, s.Type)
	}

	g.Generators = append(g.Generators, r.describe(s))
	return len(g.Generators) - 1, nil
}

// makers finds the solution that prints the answers, once everything else is known.
func (r *reader) makers() {
	if r.p.Generate == nil || len(r.p.Generate.Answers) == 0 {
		return
	}
	if r.p.Passes > 0 && r.p.Interactor == nil {
		r.Error(file, 0, "testset",
			"the answers are not in the package, and brig does not make those of solutions that run twice without an "+
				"interactor: download the full package")
	}

	for _, s := range r.doc.Solutions {
		if s.Tag == "main" {
			r.p.Generate.Solution = s.Source.Path
			if _, known := knownLanguage(s.Source.Type); !known {
				r.Error(file, 0, "testset",
					"the answers are not in the package, and the main solution %q is of the type %q, which is no language of brig's",
					s.Source.Path, s.Source.Type)
			}
		}
	}
}
