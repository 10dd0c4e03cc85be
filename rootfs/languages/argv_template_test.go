package languages

import (
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

func TestPlaceholdersOfACommand(t *testing.T) {
	w := Placeholders{Source: "pkg/Main.java", Sources: []string{"pkg/Main.java", "-o.java", "@rsp.java", "a b.java"},
		Flags: []string{"-g", "-O2"}, Memory: 512 * api.MiB, Stack: 64 * api.MiB}
	for _, c := range []struct {
		command, args, want []string
	}{
		{[]string{"javac", "{flags}", "-d", "classes", "{sources}"}, nil,
			[]string{"javac", "-g", "-O2", "-d", "classes", "pkg/Main.java", "./-o.java", "./@rsp.java", "a b.java"}},
		{[]string{"java", "-Xmx{heap_mib}m", "-XX:X={memory_mib}", "--s={stack_kib}", "{stem}"}, []string{"{source}", "-x"},
			[]string{"java", "-Xmx480m", "-XX:X=512", "--s=61440", "pkg/Main", "{source}", "-x"}},
		{[]string{"x", "{source}"}, nil, []string{"x", "pkg/Main.java"}},
		{[]string{"cc", "{flags}", "{source}", "-lm", "{link_flags}"}, nil, []string{"cc", "-g", "-O2", "pkg/Main.java", "-lm"}},
		{[]string{"i", "{run_flags}", "{source}"}, []string{"a"}, []string{"i", "pkg/Main.java", "a"}},
		{[]string{"go", "{sources_beside}"}, nil, []string{"go", "pkg/Main.java"}},
	} {
		if got := w.Expand(c.command, c.args); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q; want %q", c.command, got, c.want)
		}
	}

	w.Link, w.Run = []string{"-lz", "{source}"}, []string{"-u"}
	for want, command := range map[string][]string{
		"cc x -lm -lz {source}": {"cc", "x", "-lm", "{link_flags}"}, "i -u pkg/Main.java": {"i", "{run_flags}", "{source}"},
	} {
		if got := strings.Join(w.Expand(command, nil), " "); got != want {
			t.Errorf("%q: %q; want %q", command, got, want)
		}
	}

	root := Placeholders{Source: "main.go", Sources: []string{"main.go", "util/util.go", "-x.go", "internal/a/b.go"}}
	if got := root.Expand([]string{"go", "{sources_beside}"}, nil); !slices.Equal(got, []string{"go", "main.go", "./-x.go"}) {
		t.Errorf("sources in the directory of the main one: %q", got)
	}
	for source, want := range map[string]string{"a.ts": "out/a.js", "a.mts": "out/a.mjs", "d/a.CTS": "out/d/a.cjs", "a.js": "out/a.js"} {
		if got := (Placeholders{Source: source}).Expand([]string{"out/{stem}.{js}"}, nil); got[0] != want {
			t.Errorf("%s is compiled to %q; want %q", source, got[0], want)
		}
	}

	env := w.ExpandEnv(map[string]string{"HEAP": "{memory_hex}", "PLAIN": "1", "MIB": "{memory_mib}m"})
	if env["HEAP"] != "20000000" || env["PLAIN"] != "1" || env["MIB"] != "512m" {
		t.Errorf("variables %v", env)
	}
	if got := (Placeholders{Source: "-c.py"}).Expand([]string{"python3", "{source}"}, nil); got[1] != "./-c.py" {
		t.Errorf("a source called -c.py is given as %q", got[1])
	}

	for limits, want := range map[[2]api.Size]api.Size{
		{512 * api.MiB, 512 * api.MiB}: 256 * api.MiB, {8 * api.MiB, 512 * api.MiB}: 7 * api.MiB, {256 * api.MiB, 64 * api.MiB}: 32 * api.MiB,
		{8 * api.GiB, 8 * api.GiB}: api.GiB,
	} {
		if got := stackSize(limits[0], limits[1]); got != want {
			t.Errorf("stack of %s under %s of memory is %s; want %s", limits[0], limits[1], got, want)
		}
	}

	for limit, want := range map[api.Size]api.Size{4 * api.MiB: 2 * api.MiB, 64 * api.MiB: 40 * api.MiB, 128 * api.MiB: 104 * api.MiB,
		api.GiB: 960 * api.MiB} {
		if got := heapSize(limit); got != want {
			t.Errorf("heap under %s is %s; want %s", limit, got, want)
		}
	}
}

func TestSourcesAndFlags(t *testing.T) {
	l := Manifest{Name: "cpp", Extensions: []string{"cpp", "cc"}, Flags: []string{"-O2", "-O3"}, DefaultFlags: []string{"-O2"}}
	files := []api.File{{Name: "b.CC"}, {Name: "x.h"}, {Name: "main.cpp"}, {Name: "cpp"}, {Name: "d/a.cpp"}, {Name: ".cpp"}}
	if got := l.Sources(files, "main.cpp"); !slices.Equal(got, []string{"main.cpp", "b.CC", "d/a.cpp", ".cpp"}) {
		t.Errorf("sources %q", got)
	}

	for _, c := range []struct {
		asked, want []string
	}{
		{nil, []string{"-O2"}},
		{[]string{"-O3", "-O3"}, []string{"-O3", "-O3"}},
		{[]string{"-O3", "-fplugin=x"}, nil}, // CMP-11
		{[]string{"-O2 -O3"}, nil},
		{[]string{""}, nil},
	} {
		if got, err := l.ChooseFlags(c.asked); !slices.Equal(got, c.want) || (err == nil) != (c.want != nil) {
			t.Errorf("flags %q: %q, %v; want %q", c.asked, got, err, c.want)
		}
	}
}

// A flag that people expect is refused with the reason.
func TestRefusedFlagsSayWhy(t *testing.T) {
	all, err := Load("", nil)
	if err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"c", "cpp"} {
		l, err := all.ByName(name)
		if err != nil {
			t.Fatal(err)
		}

		for flag, says := range map[string]string{
			"-fsanitize=address": "do not work in static programs", "-fsanitize=undefined": "do not work in static programs",
			"-fsanitize": "do not work in static programs", "-fsanitizer=address": "choose from", "-fplugin=x": "choose from",
		} {
			if _, err := l.ChooseFlags([]string{"-O2", flag}); err == nil || !strings.Contains(err.Error(), says) ||
				!strings.Contains(err.Error(), flag) {
				t.Errorf("%s, %s: %v; want the flag and %q", name, flag, err, says)
			}
		}
	}
}

// A refused flag leads to the flags that a language has.
func TestRefusedFlagsNameOthers(t *testing.T) {
	for says, l := range map[string]Manifest{
		"it has no flags":   {},
		"choose from -a -b": {Flags: []string{"-a", "-b"}},
		"brig languages x shows the forms of its flags": {FlagPatterns: []string{"-c.*"}},
		"choose from -a; brig languages x also shows the forms of further flags": {Flags: []string{"-a"},
			FlagPatterns: []string{"-c.*"}},
	} {
		l.Name = "x"
		want := `flag "-race" is not allowed for x: ` + says
		if _, err := l.ChooseFlags([]string{"-race"}); err == nil || err.Error() != want {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// Patterns match only a whole flag, never several in one.
func TestFlagPatterns(t *testing.T) {
	manifest := func(patterns, defaults string) string {
		return "name: x\nimage: i\nextensions: [x]\nsource_file: main.x\ncompile: [cc, \"{flags}\", \"{sources}\"]\n" +
			"artifacts: [main]\nrun: [./main]\nflag_patterns: " + patterns + "\ndefault_flags: " + defaults + "\n"
	}
	l, err := parse("x.yaml", []byte(manifest(`["-D[A-Z]+(=[ -~]*)?", "-O(1|2)"]`, "[-O2]")), nil)
	if err != nil {
		t.Fatal(err)
	}

	for flag, want := range map[string]bool{
		"-DA": true, "-DA=": true, "-DA=b c": true, "-O2": true, "-O1": true,
		"-D": false, "-DA\n": false, "-DA=b\nc": false, "x-O1": false, "-O12": false, "-O": false, "": false,
		"-DA=" + strings.Repeat("x", maxFlag): false,
	} {
		if _, err := l.ChooseFlags([]string{"-O1", flag}); (err == nil) != want {
			t.Errorf("%.20q: %v", flag, err)
		}
	}

	for patterns, says := range map[string]string{`["O(1|2)"]`: "begin it with a dash", `["-O("]`: "missing closing",
		`["-O1"]`: "not among flags"} {
		if _, err := parse("x.yaml", []byte(manifest(patterns, "[-O2]")), nil); err == nil || !strings.Contains(err.Error(), says) ||
			!strings.Contains(err.Error(), "line ") {
			t.Errorf("%s: %v; want %q and the line", patterns, err, says)
		}
	}
}

// A language without Extensions, because another language has its extension, still recognises its
// sources; and artifacts of the compiler are recognised by name (CMP-15).
func TestSourcesAndArtifactsByName(t *testing.T) {
	l := Manifest{SourceFile: "Main.java", Artifacts: []string{"classes", "main"}}
	for name, want := range map[string]bool{"B.java": true, "d/C.JAVA": true, "b.jar": false, "java": false} {
		if l.IsSource(name) != want {
			t.Errorf("%s is a source: %v", name, !want)
		}
	}
	for name, want := range map[string]bool{"main": true, "main/x": true, "classes/a/B.class": true, "main.c": false,
		"classes2/x": false, "a/main": false} {
		if l.IsArtifact(name) != want {
			t.Errorf("%s is an artifact: %v", name, !want)
		}
	}
}

// Free flags are refused where a language has no place for them, with the name of the field.
func TestFreeFlagsNeedAPlace(t *testing.T) {
	c := Manifest{Name: "c", Compile: []string{"cc", "{flags}", "{sources}", "{link_flags}"}, Run: []string{"./main"}}
	python := Manifest{Name: "python", Run: []string{"python3", "{run_flags}", "{source}"}}
	one := []string{"-x"}
	for _, tt := range []struct {
		language Manifest
		flags    api.FreeFlags
		refused  string // empty: accepted
	}{
		{c, api.FreeFlags{Compile: one, Link: one}, ""},
		{c, api.FreeFlags{Run: one}, "free_flags.run"},
		{python, api.FreeFlags{Run: one}, ""},
		{python, api.FreeFlags{Compile: one}, "free_flags.compile"},
		{python, api.FreeFlags{Link: one}, "free_flags.link"},
		{Manifest{Name: "none"}, api.FreeFlags{}, ""},
	} {
		err := tt.language.CheckFreeFlags(tt.flags)
		if (err == nil) != (tt.refused == "") || err != nil && !strings.Contains(err.Error(), tt.refused) {
			t.Errorf("%s, %+v: %v; want a refusal of %q", tt.language.Name, tt.flags, err, tt.refused)
		}
	}
}
