package generate_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/grade/generate"
	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/problem/format"
	"github.com/brig-sandbox/brig/judge/problem/problemtest"
)

// A builder executes build scripts of one word.
type builder struct{ runs []api.Run }

func (*builder) Language(_ context.Context, name string) (api.Language, error) {
	return api.Language{Name: name, CompileTier: "compile"}, nil
}

func (*builder) Execute(context.Context, api.Run, func()) (api.Result, *api.Error) {
	return api.Result{}, api.Refuse(api.CodeBadRequest, "nothing to execute")
}

func (b *builder) alone(_ context.Context, r api.Run) (api.Result, *api.Error) {
	b.runs = append(b.runs, r)
	i := slices.IndexFunc(r.Files, func(f api.File) bool { return f.Name == "program/build" })
	res := api.Result{Verdict: api.OK}
	switch word := strings.TrimSpace(string(r.Files[i].Content)); word {
	case "makes":
		res.Files = []api.File{{Name: "elsewhere"}, {Name: "program/run", Content: []byte("exec ./judge")},
			{Name: "program/judge", Content: []byte("\x7fELF"), Executable: true}, {Name: "program/source", Content: []byte("new")},
			{Name: "program/.deps/judge"}}
	case "fails":
		res.Verdict, res.ExitCode, res.Stdout = api.Nonzero, 2, api.Bytes("no such file")
	case "links":
		res.Skipped = []api.Skipped{{Name: "run", Reason: "a link"}}
	}

	return res, nil
}

// scripted writes a package with an output validator that this script builds, and reads it.
func scripted(t *testing.T, script string) (*problem.Problem, *problem.Tree) {
	t.Helper()
	whole := problemtest.Tree(t, map[string]string{
		"problem.yaml": "problem_format_version: 2025-09\nname: Built\nuuid: " +
			"0c1bd2e4-0000-4000-8000-000000000009\nlimits: {time_limit: 1}\n",
		"data/secret/1.in": "", "data/secret/1.ans": "", "input_validators/v.py": "", "submissions/accepted/a.py": "",
		"output_validator/build": script, "output_validator/source": "old", "output_validator/lib/more": "more",
	})
	p, tree, err := format.Read(whole)
	if err != nil {
		t.Fatal(err)
	}
	return p, tree
}

// What a build script leaves takes its place: the program then has a file run, and the same meaning.
func TestBuildScripts(t *testing.T) {
	p, tree := scripted(t, "makes")
	if err := p.Whole(); err == nil || !strings.Contains(err.Error(), "1 of its programs must be built") || p.HasTests() != nil {
		t.Errorf("the package says %v, and of its tests %v", err, p.HasTests())
	}

	b, o := new(builder), options()
	o.Alone = b.alone
	whole, made, err := generate.Missing(t.Context(), b, p, tree, o)
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()

	var names []string
	for _, f := range b.runs[0].Files {
		names = append(names, f.Name)
	}

	if want := []string{"program/build", "program/lib/more", "program/source"}; !slices.Equal(names, want) ||
		b.runs[0].Argv[2] != `cd program && exec sh build "$@"` || b.runs[0].Profile != "compile" {
		t.Errorf("%q runs in profile %q with %q", b.runs[0].Argv, b.runs[0].Profile, names)
	}
	if c := whole.Checker; strings.Join(c.Command, " ") != "sh run" || c.Main != "output_validator/run" || whole.Generate != nil {
		t.Errorf("the validator is %+v", c)
	}
	if made.Has("output_validator/build") || made.Has("output_validator/elsewhere") || !made.Executable("output_validator/run") ||
		!made.Executable("output_validator/judge") || !tree.Has("output_validator/build") {
		t.Errorf("the package has %q", made.Below("output_validator"))
	}
	if text, err := made.Read("output_validator/source", 100); err != nil || string(text) != "new" {
		t.Errorf("%q, %v", text, err)
	}

	for script, want := range map[string]string{
		"fails": `output_validator/build: the script ended with exit code 2; stderr: "no such file" (brig runs it in the image of cpp) (programs of the package)`,
		"idle":  `output_validator/build: the script left no file run (programs of the package)`,
		"links": `output_validator/build: the script left what cannot be kept: "run" (a link) (programs of the package)`,
	} {
		p, tree := scripted(t, script)
		b.runs = nil
		_, _, err := generate.Missing(t.Context(), b, p, tree, o)
		var failed *generate.FailedError
		if !errors.As(err, &failed) || err.Error() != want {
			t.Errorf("%s: %v; want %s", script, err, want)
		}
	}
}
