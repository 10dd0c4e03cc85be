package templates

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// artifactSums is a language whose program is what the compiler of another has made: it prints the hash of each file.
const artifactSums = `name: %[1]s-sums
extends: %[1]s
templates: []
run: [sh, -c, 'find %[2]s -type f | LC_ALL=C sort | while read -r f; do echo "$f"; sha256sum <"$f"; done']
`

// startCompilers starts an agent that has such a language for each of these, and waits until their compilers begin from
// templates.
func startCompilers(t *testing.T, languages ...string) harness.Bench {
	t.Helper()
	dir := harness.PublicDir(t, "brig-languages-")
	var chosen []string
	for _, l := range harness.BuiltinLanguages(t) {
		if !slices.Contains(languages, l.Name) {
			continue
		}
		if l.CompileTemplate == nil {
			t.Fatalf("%s has no template of its compiler", l.Name)
		}
		text := fmt.Sprintf(artifactSums, l.Name, strings.Join(l.Artifacts, " "))
		if err := os.WriteFile(filepath.Join(dir, l.Name+"-sums.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		chosen = append(chosen, l.Name)
	}

	b := harness.Bench{Agent: harness.StartAgent(t, "--compile-templates",
		"--slots", "2", "--languages", dir, "--max-cpu", harness.Slowly(60).String(),
		"--max-wall", harness.Slowly(240).String(), "--template-life", "1h"), Slots: make(chan struct{}, 2)}
	for _, l := range harness.BuiltinLanguages(t) {
		if slices.Contains(chosen, l.Name) {
			harness.Images.Load(t, b.Agent, l.Image)
			awaitCompiler(t, b.Agent, l.Name)
		}
	}
	return b
}

// awaitCompiler compiles until the compiler begins from its template.
func awaitCompiler(t *testing.T, a *harness.Agent, language string) {
	t.Helper()
	begun := time.Now()
	for {
		res := a.MustRun(t, compiled(t, language, trials(t, language)[0]))
		harness.WantVerdict(t, res, api.OK)
		if res.Compile.Usage.TemplateBytes > 0 {
			return
		}

		health, err := a.Health(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if problem := health.Templates.Problem; problem != "" || time.Since(begun) > 8*time.Minute {
			t.Fatalf("%s: its compiler has no template after %s: %q\n%s", language, time.Since(begun), problem, a.Log)
		}
	}
}

// trials are the sources with which the agent tries the template of a language.
func trials(t *testing.T, language string) []string {
	t.Helper()
	for _, l := range harness.BuiltinLanguages(t) {
		if l.Name == language {
			return l.CompileTemplate.Trials
		}
	}
	t.Fatalf("brig has no language %s", language)
	return nil
}

// compiled compiles a source, also if it was compiled before, and prints the hashes of what the compiler made.
func compiled(t *testing.T, language, source string) api.Run {
	t.Helper()
	return api.Run{Language: language + "-sums", Source: api.Bytes(source),
		Files:         []api.File{{Name: "unlike-others.txt", Content: []byte(harness.Uncached(t, ""))}},
		CompileLimits: api.Limits{CPU: harness.Slowly(60), Wall: harness.Slowly(240)}}
}

// wasWarm reports whether the compile stage of a result began from a template.
func wasWarm(res api.Result) bool {
	if res.Compile != nil {
		return res.Compile.Usage.TemplateBytes > 0
	}
	return res.Host.Template
}

// seenOfCompiler is what a caller sees of a compile stage, with the hashes of all that it made.
func seenOfCompiler(res api.Result) string {
	if res.Compile == nil {
		return seenOf(res)
	}
	return fmt.Sprintf("%s\nstdout of the compiler:\n%s\nstderr of the compiler:\n%s", seenOf(res), res.Compile.Stdout, res.Compile.Stderr)
}

// compareCompilers runs the same from the template of the compiler and with its ordinary start.
func compareCompilers(t *testing.T, b harness.Bench, r api.Run) (warm api.Result) {
	t.Helper()
	warm = b.MustRun(t, r)
	cold := r
	cold.NoTemplate = true
	cold.Files = slices.Clone(r.Files)
	cold.Files[0].Content = []byte(harness.Uncached(t, ""))
	other := b.MustRun(t, cold)
	if !wasWarm(warm) || wasWarm(other) {
		t.Fatalf("from templates: %v (%q) and %v; want the first alone", wasWarm(warm), warm.Host.Cold, wasWarm(other))
	}
	if w, c := seenOfCompiler(warm), seenOfCompiler(other); w != c {
		t.Errorf("from a template:\n%s\nwith the ordinary start:\n%s", w, c)
	}
	return warm
}

// A compiler that begins from a template makes and reports the same, byte for byte, as with its ordinary start: of the programs
// that the tests have for its language, right and wrong ones; one in eight, and all in make test-long.
func TestCompileTemplatesChangeNothing(t *testing.T) {
	languages := []string{"java", "typescript", "csharp"}
	languages = slices.DeleteFunc(languages, func(l string) bool { return !harness.Chosen(l, false) })
	b := startCompilers(t, languages...)
	for at, l := range languages {
		ext := extensionOf(t, l)
		var programs []string
		dirs := []string{"../../../testdata/templates-" + l, filepath.Join(harness.LanguagePrograms, l)}
		if l == "csharp" { // its programs have no start template, and so no sources of its tests
			dirs = dirs[1:]
		}
		for _, dir := range dirs {
			found, err := filepath.Glob(filepath.Join(dir, "*."+ext))
			if err != nil || len(found) < 5 {
				t.Fatalf("%s: %v, %v", dir, found, err)
			}
			programs = append(programs, found...)
		}

		helper, err := os.ReadFile("../../../testdata/templates-" + l + "/99_helper." + ext)
		if err != nil && len(dirs) > 1 {
			t.Fatal(err)
		}

		for n, path := range programs {
			if harness.LeftOut(n+at, 8) && filepath.Base(path) != "broken."+ext {
				continue
			}
			b.Test(t, l+"/"+filepath.Base(path), func(t *testing.T) {
				source, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				r := compiled(t, l, string(source))
				if helper != nil && filepath.Base(path) != "99_helper."+ext {
					r.Files = append(r.Files, api.File{Name: "helper." + ext, Content: helper})
				}
				compareCompilers(t, b, r)
			})
		}
		hostileCompiles(t, b, l)
	}
}

// TPL-16: nothing that one submission declares, or puts beside its source for the compiler to find, changes what the next
// one is compiled to, or how the compiler works.
func hostileCompiles(t *testing.T, b harness.Bench, l string) {
	ext := extensionOf(t, l)
	declared := map[string]string{"java": "class Left { static int of() { return 1; } }\n",
		"typescript": "declare global { interface Array<T> { left: number } }\nexport const y = 1;\n",
		"csharp":     "global using Hidden = System.Text.StringBuilder;\nstatic class Left { public static int Of() => 1; }\n"}[l]
	uses := map[string]string{"java": "public class Main { public static void main(String[] a) { System.out.println(Left.of()); } }\n",
		"typescript": "import {y} from \"./Left\";\nconsole.log([y].left);\n",
		"csharp":     "class P { static void Main() { System.Console.WriteLine(new Hidden().Length + Left.Of()); } }\n"}[l]
	alone := strings.Replace(uses, "import {y} from \"./Left\";", "const y = 1;", 1)

	b.Test(t, l+"/what a submission before has declared", func(t *testing.T) {
		for range 2 {
			control := compiled(t, l, uses)
			control.Files = append(control.Files, api.File{Name: "Left." + ext, Content: []byte(declared)})
			harness.WantVerdict(t, compareCompilers(t, b, control), api.OK)
			harness.WantVerdict(t, compareCompilers(t, b, compiled(t, l, alone)), api.CompileError)
		}
	})

	// The compiler would execute the first, and be told by the others what to do.
	b.Test(t, l+"/files that compilers look for", func(t *testing.T) {
		r := compiled(t, l, trials(t, l)[0])
		for name, content := range map[string]string{
			"META-INF/services/javax.annotation.processing.Processor": "Processor\n",
			"META-INF/services/com.sun.source.util.Plugin":            "Processor\n",
			"module-info.txt":            "module m {}\n",
			"tsconfig.json":              `{"compilerOptions": {"target": "es5", "noEmit": true, "plugins": [{"name": "./p.cjs"}]}}`,
			"package.json":               `{"type": "module"}`,
			"csc.rsp":                    "-define:STOLEN -target:library\n",
			".editorconfig":              "root = true\n[*.cs]\ndotnet_diagnostic.CS0168.severity = error\n",
			".globalconfig":              "is_global = true\ndotnet_diagnostic.CS0168.severity = error\n",
			"Directory.Build.props":      "<Project><PropertyGroup><NoWarn>CS0168</NoWarn></PropertyGroup></Project>\n",
			"Microsoft.CodeAnalysis.dll": "no assembly\n",
			"Microsoft.CodeAnalysis.CSharp.resources.dll": "no assembly\n",
			"node_modules/@types/x/x.d.ts":                "declare const stolen: number;\n",
			"node_modules/typescript/p.cjs":               "process.exit(7)\n",
		} {
			r.Files = append(r.Files, api.File{Name: name, Content: []byte(content)})
		}
		harness.WantVerdict(t, compareCompilers(t, b, r), api.OK)
	})
}

// The same of sources that are unusual by their form: names, encodings, length, number and flags.
func TestCompileTemplatesOfUnusualSources(t *testing.T) {
	languages := slices.DeleteFunc([]string{"java", "typescript", "csharp"}, func(l string) bool { return !harness.Chosen(l, false) })
	b := startCompilers(t, languages...)
	for _, l := range languages {
		right, wrong := trials(t, l)[0], trials(t, l)[1]
		second := map[string]string{"java": "class Second { int f(java.util.List<String> l) { return l.size(); } }\n",
			"typescript": "export const second: number[] = [1, 2].map(n => n * 2);\n",
			"csharp":     "class Second { int F(List<string> l) => l.Count; }\n"}[l]
		flag := map[string]string{"java": "-Xlint:all", "typescript": "--noUnusedLocals", "csharp": "-warnaserror"}[l]
		long := map[string]func(int) string{
			"java": func(i int) string { return fmt.Sprintf("class C%d { int f(int x) { return x * %d; } }\n", i, i) },
			"typescript": func(i int) string {
				return fmt.Sprintf("export class C%d { f(x: number): number { return x * %d; } }\n", i, i)
			},
			"csharp": func(i int) string { return fmt.Sprintf("class C%d { int F(int x) { return x * %d; } }\n", i, i) },
		}[l]
		mistake := map[string]string{"java": "class E%d { int x = \"%d\"; }\n", "typescript": "const e%d: number = \"%d\";\n",
			"csharp": "class E%d { int x = \"%d\"; }\n"}[l]
		var lines, mistakes strings.Builder
		for i := range 5000 {
			lines.WriteString(long(i))
			if i < 1500 {
				fmt.Fprintf(&mistakes, mistake, i, i)
			}
		}

		ext := extensionOf(t, l)
		for name, change := range map[string]func(*api.Run){
			"a byte order mark": func(r *api.Run) { r.Source = api.Bytes("\ufeff" + right) },
			"CRLF":              func(r *api.Run) { r.Source = api.Bytes(strings.ReplaceAll(right, "\n", "\r\n")) },
			"CRLF, wrong":       func(r *api.Run) { r.Source = api.Bytes(strings.ReplaceAll(wrong, "\n", "\r\n")) },
			"no UTF-8":          func(r *api.Run) { r.Source = api.Bytes("// \xff\xfe\n" + right) },
			"NUL":               func(r *api.Run) { r.Source = api.Bytes(right + "\x00") },
			"empty":             func(r *api.Run) { r.Source = api.Bytes("") },
			"a space":           func(r *api.Run) { r.SourceName = "my program." + ext },
			"no ASCII":          func(r *api.Run) { r.SourceName = "Grüße." + ext },
			"an option":         func(r *api.Run) { r.SourceName = "-help." + ext },
			"a response file":   func(r *api.Run) { r.SourceName = "@args." + ext },
			"a directory":       func(r *api.Run) { r.SourceName = "src/Deep." + ext },
			"wrong":             func(r *api.Run) { r.Source = api.Bytes(wrong) },
			"a flag":            func(r *api.Run) { r.Flags = []string{flag} },
			"a flag, wrong":     func(r *api.Run) { r.Flags, r.Source = []string{flag}, api.Bytes(wrong) },
			"several": func(r *api.Run) {
				r.Files = append(r.Files, api.File{Name: "Second." + ext, Content: []byte(second)},
					api.File{Name: "d/Third." + ext, Content: []byte("\n")})
			},
			"several, one wrong": func(r *api.Run) {
				r.Files = append(r.Files, api.File{Name: "Second." + ext, Content: []byte(second + "class")})
			},
			"merged":       func(r *api.Run) { r.MergeStderr, r.Source = true, api.Bytes(wrong) },
			"5,000 lines":  func(r *api.Run) { r.Source = api.Bytes(right + lines.String()) },
			"1,500 errors": func(r *api.Run) { r.Source = api.Bytes(mistakes.String()) },
		} {
			b.Test(t, l+"/"+name, func(t *testing.T) {
				r := compiled(t, l, right)
				change(&r)
				compareCompilers(t, b, r)
			})
		}
	}
}
