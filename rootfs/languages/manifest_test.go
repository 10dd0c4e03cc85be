package languages

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

const goodManifest = `name: lua
aliases: [luajit]
image: lua
extensions: [lua]
source_file: main.lua
run: [lua, "{source}"]
limits:
  memory: 64M
  wall: 1.5s
  pids: 5
`

func TestParseLanguageReadsLimitsAsARequestDoes(t *testing.T) {
	l, err := parse("lua.yaml", []byte(goodManifest), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := api.Limits{Memory: 64 * api.MiB, Wall: api.Duration(1500 * time.Millisecond), Pids: 5}
	if l.Limits != want {
		t.Errorf("limits %+v; want %+v", l.Limits, want)
	}
	if l.Tier != "default" || l.CompileTier != "compile" || l.Proc != "pid" || l.TimeFactor != 1 || l.MemoryFactor != 1 {
		t.Errorf("defaults not filled in: %+v", l)
	}
}

func TestParseLanguageRefusesWithTheReason(t *testing.T) {
	for _, tt := range []struct {
		name, old, new string
		want           string // in the error
	}{
		{"an unknown field, by line", "aliases: [luajit]", "alias: [luajit]", "line 2: field alias not found"},
		{"a field given twice, by line", "image: lua", "image: lua\nimage: lua", "line 4"},
		{"an unknown limit, by line", "  pids: 5", "  processes: 5", "line 8: limits: json: unknown field \"processes\""},
		{"a limit without sense", "  pids: 5", "  memory: 1K", "line"},
		{"no command", `run: [lua, "{source}"]`, "run: []", "line 6: run is missing"},
		{"a command without the source", `"{source}"`, "main.lua", "line 6: run does not mention {source}"},
		{"a name with a slash", "name: lua", "name: ../lua", "line 1: name \"../lua\""},
		{"a source file elsewhere", "main.lua", "../main.lua", "line 5: source_file"},
		{"an image by path", "image: lua", "image: /srv/lua", "line 3: image \"/srv/lua\""},
		{"a dotted extension", "[lua]", "[.lua]", "line 4: extensions"},
		{"a second document", "pids: 5", "pids: 5\n---\nname: x", "more than one document"},
		{"a bad environment name", "image: lua", "image: lua\nenv: {\"A=B\": c}", "line 4: env: environment variable"},
		{"an unknown proc", "image: lua", "image: lua\nproc: none", "line 4: proc"},
		{"an unknown tier", "image: lua", "image: lua\ntier: stict", "line 4: tier \"stict\" does not exist: use one of default, strict"},
		{"a tier of nothing", "image: lua", "image: lua\ncompile_tier: strict", "line 4: compile_tier configures the compile stage"},
		{"an unknown placeholder, by the word's line", `run: [lua, "{source}"]`, "run:\n  - lua\n  - \"{source}\"\n  - \"{src}\"",
			"line 9: run: placeholder {src} is not allowed here"},
		{"a zero factor", "image: lua", "image: lua\ntime_factor: 0", "line 4: time_factor"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(goodManifest, tt.old, tt.new, 1)
			if text == goodManifest {
				t.Fatal("nothing replaced")
			}
			_, err := parse("lua.yaml", []byte(text), []string{"default", "strict"})
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "lua.yaml") {
				t.Errorf("parse: %v; want it to say %q and the file", err, tt.want)
			}
		})
	}

	if _, err := parse("x.yaml", nil, nil); err == nil {
		t.Error("an empty manifest is accepted")
	}
}

const goodCompiled = `name: cpp
image: cpp
extensions: [cpp, cc]
source_file: main.cpp
compile: [g++, "{flags}", -o, main, "{sources}"]
compile_env: {LC_ALL: C}
compile_limits: {memory: 1G}
artifacts: [main, lib]
flags: [-O2, -O3]
default_flags: [-O2]
run: [./main]
`

func TestParseLanguageOfACompiler(t *testing.T) {
	l, err := parse("cpp.yaml", []byte(goodCompiled), nil)
	if err != nil {
		t.Fatal(err)
	}
	if l.CompileLimits.Memory != api.GiB || !slices.Equal(l.Artifacts, []string{"main", "lib"}) || l.CompileEnv["LC_ALL"] != "C" ||
		!slices.Equal(l.DefaultFlags, []string{"-O2"}) {
		t.Errorf("%+v", l)
	}

	for _, tt := range []struct{ name, old, new, want string }{
		{"no artifacts", "artifacts: [main, lib]\n", "", "artifacts is missing"},
		{"an artifact elsewhere", "[main, lib]", "[../main]", "artifacts"},
		{"a default that is not offered", "default_flags: [-O2]", "default_flags: [-g]", `"-g" is not among flags`},
		{"flags without a place", `"{flags}", `, "", "does not mention {flags}"},
		{"a compiler without sources", `, "{sources}"`, "", "neither {sources} nor {source}"},
		{"an unknown placeholder", "-o, main", "-o, \"{out}\"", "placeholder {out} is not allowed"},
		{"several words within one", `"{flags}"`, `"-x{flags}"`, "a separate argument"},
		{"flags in run", "[./main]", `[./main, "{flags}"]`, "placeholder {flags} is not allowed"},
		{"unknown limits", "{memory: 1G}", "{heap: 1G}", "compile_limits"},
		{"artifacts of nothing", `compile: [g++, "{flags}", -o, main, "{sources}"]`, "", "compile is missing"},
	} {
		text := strings.Replace(goodCompiled, tt.old, tt.new, 1)
		if text == goodCompiled {
			t.Fatalf("%s: nothing replaced", tt.name)
		}
		text = strings.Replace(text, "[./main]", `[./main, "{source}"]`, 1)
		if _, err := parse("cpp.yaml", []byte(text), nil); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want it to say %q", tt.name, err, tt.want)
		}
	}
}

func TestLoadLanguagesLetsTheOperatorReplaceBuiltIns(t *testing.T) {
	ls, err := Load("", nil)
	if err != nil {
		t.Fatal(err)
	}

	python, err := ls.ByName("python")
	if err != nil || python.Name != "python" || !slices.Equal(python.Run, []string{"python3", "{run_flags}", "{source}"}) {
		t.Errorf("ByName(python) = %+v, %v", python, err)
	}
	if _, err := ls.ByName("cobol"); !errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), "python") {
		t.Errorf("ByName(cobol): %v; want ErrUnknown and what is known", err)
	}

	builtIn := len(ls.All())
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	put("lua.yaml", goodManifest)
	put("mine.yaml", strings.NewReplacer("name: lua", "name: python", "[luajit]", "[py]", "[lua]", "[py]").Replace(goodManifest))
	put("notes.txt", "not a manifest")
	if ls, err = Load(dir, nil); err != nil {
		t.Fatal(err)
	}
	if l, err := ls.ByName("py"); err != nil || l.Image != "lua" || len(ls.All()) != builtIn {
		t.Errorf("ByName(py) = %+v, %v; want the operator's own", l, err)
	}

	put("clash.yaml", strings.Replace(goodManifest, "name: lua", "name: lua2", 1))
	if _, err := Load(dir, nil); err == nil || !strings.Contains(err.Error(), "both have the name or alias") {
		t.Errorf("two languages with one alias: %v", err)
	}
	if _, err := Load(filepath.Join(dir, "missing"), nil); err != nil {
		t.Errorf("a directory that does not exist: %v", err)
	}
}

// A manifest that extends a built-in one has its fields, except for those that it sets itself and
// for what belongs to one language.
func TestExtends(t *testing.T) {
	all, err := Load("", nil)
	if err != nil {
		t.Fatal(err)
	}

	python, err := all.ByName("python")
	if err != nil {
		t.Fatal(err)
	}

	l, err := parse("x.yaml",
		[]byte("name: numeric\nextends: python\nimage: python-numpy\nversion: \"3.13 with numpy\"\nenv: "+
			"{OMP_NUM_THREADS: \"1\"}\ninteractive_env: {PYTHONUNBUFFERED: \"\"}\nlimits: {memory: 1G}\n"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if l.Name != "numeric" || l.Image != "python-numpy" || l.Version != "3.13 with numpy" || l.Limits.Memory != api.GiB ||
		l.SourceFile != python.SourceFile ||
		!slices.Equal(l.Run, python.Run) || !slices.Equal(l.Syntax, python.Syntax) || len(l.Aliases) != 0 || len(l.Extensions) != 0 ||
		l.Tier != python.Tier {
		t.Errorf("it is %+v", l)
	}
	if l.Env["PYTHONDONTWRITEBYTECODE"] != "1" || l.Env["OMP_NUM_THREADS"] != "1" || len(l.Env) != 2 ||
		l.InteractiveEnv["PYTHONUNBUFFERED"] != "" {
		t.Errorf("its variables are %v and %v", l.Env, l.InteractiveEnv)
	}

	mine, err := parse("x.yaml", []byte("name: python\nextends: python\nimage: python-numpy\n"), nil)
	if err != nil || !slices.Equal(mine.Extensions, python.Extensions) || !slices.Equal(mine.Aliases, python.Aliases) {
		t.Errorf("what replaces its base is %+v, %v; want its names too", mine, err)
	}

	for text, want := range map[string]string{
		"name: x\nextends: cobol\nimage: x\n": "read x.yaml: line 2: extends \"cobol\": name one of " +
			"brig's own languages that extends none: bash, c,",
		"name: x\nextends: python-full\nimage: x\n":         "line 2: extends \"python-full\"",
		"name: x\nextends: ../etc/x\nimage: x\n":            "line 2: extends \"../etc/x\"",
		"name: x\nextends: python\nimage: x\ntir: x\n":      "line 4: field tir not found",
		"name: x\nextends: python\nimage: x\nrun: [x]\n":    "line 4: run does not mention {source}",
		"name: x\nextends: python\nimage_from: a b\n":       "line 3: image_from \"a b\"",
		"name: x\nextends: csharp\nsyntax: [x]\nimage: x\n": "line 3: syntax is only for languages without compile",
	} {
		if _, err := parse("x.yaml", []byte(text), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %s", text, err, want)
		}
	}
}

// FuzzManifest checks that any manifest either gives a usable language or is refused with an error
// that names its file.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(goodManifest))
	f.Add([]byte(goodManifest +
		"compile: [cc, \"{source}\"]\nartifacts: [main]\nflags: [\"-O*\"]\ndefault_flags: [-O2]\nenv: {A: b}\n" +
		"oom_exit_code: 3\ntime_factor: 2\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		l, err := parse("x.yaml", in, nil)
		switch {
		case err != nil:
			if !strings.Contains(err.Error(), "x.yaml") {
				t.Errorf("%v does not name the file", err)
			}
		case l.Name == "" || l.Image == "" || len(l.Run) == 0 || l.Tier == "" || l.TimeFactor <= 0 || l.MemoryFactor <= 0:
			t.Errorf("taken: %+v", l)
		}
	})
}
