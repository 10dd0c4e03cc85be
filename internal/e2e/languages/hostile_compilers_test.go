package languages

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/corpus"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// A trap is a source that attacks the compiler that reads it. In its text and its files $CANARY and
// the like represent things of the host (corpus.Canaries).
type trap struct {
	id, name, language, source string
	files                      []api.File

	// want lists the acceptable verdicts; empty: compile-error only.
	want []api.Verdict
	says string // what the compiler must report; a control
}

// anyOutcome: the compiler may accept the source, if the program gets nothing of the host.
var anyOutcome = []api.Verdict{api.CompileError, api.OK, api.Nonzero, api.Signaled}

// CMP-01, CMP-02, CMP-03, CMP-04, CMP-12, CMP-13, CMP-15, CMP-17, CMP-20: whatever a source does to
// the compiler, it gets a verdict within the limits, neither stage shows anything of the host, and
// the agent serves the next request.
func TestHostileCompilers(t *testing.T) {
	c := harness.NewCanaries(t)
	t.Setenv(corpus.EnvName, corpus.EnvSecret)
	b := harness.Bench{Agent: harness.StartAgent(t, "--slots", "2", "--max-wall", "10m", "--max-cpu", "10m"), Slots: make(chan struct{}, 2)}
	looked, some := 0, harness.NewShare(16)
	for _, l := range harness.BuiltinLanguages(t) {
		mine := slices.DeleteFunc(slices.Concat(bombs, readTraps, oddTraps), func(x trap) bool { return x.language != l.Name })
		if len(mine) == 0 || !harness.Chosen(l.Name, false) {
			continue
		}

		looked += len(mine)
		harness.Images.Load(t, b.Agent, l.Image)
		t.Run(l.Name, func(t *testing.T) {
			for _, x := range mine {
				if some.LeavesOut(x.id, l.Name) {
					continue
				}
				b.Test(t, x.id+" "+x.name, func(t *testing.T) { runTrap(t, b, c, x) })
			}
		})

		hello, _ := languageRun(t, l, "hello")
		prints("hello, world\n")(t, l, b.MustRun(t, hello))
	}

	c.Untouched(t)
	if looked == 0 && os.Getenv("BRIG_TEST_LANGUAGES") == "" {
		t.Error("no source was compiled")
	}
}

// runTrap compiles a trap, and runs the resulting program.
func runTrap(t *testing.T, b harness.Bench, c harness.Canaries, x trap) {
	longest := 5.0
	switch {
	case x.says != "": // it has to come to its message: rustc computes 4 to 8 s before it says that a constant takes long
		longest = 30
	case harness.Long():
		longest = 10
	case x.want == nil: // it only has to be refused, and most of them compute until their limit
		longest = 2
	}
	r := api.Run{
		Language: x.language, Source: api.Bytes(c.Expand([]string{x.source})[0]), Stdin: api.Bytes("MARK-of-the-input\n"),
		Collect:       api.Collect{None: true},
		Limits:        api.Limits{CPU: harness.Slowly(5), Wall: harness.Slowly(60)},
		CompileLimits: api.Limits{CPU: harness.Slowly(longest), Wall: harness.Slowly(60), Memory: 512 * api.MiB},
	}

	for _, f := range x.files {
		f.Content = []byte(c.Expand([]string{string(f.Content)})[0])
		r.Files = append(r.Files, f)
	}

	r.Files = append(r.Files, api.File{Name: "once", Content: fmt.Append(nil, time.Now().UnixNano())}) // makes it unknown to the cache
	res := b.MustRun(t, r)
	want := x.want
	if want == nil {
		want = []api.Verdict{api.CompileError}
	}

	said := slices.Concat(res.Stdout, res.Stderr)
	if res.Compile != nil {
		said = slices.Concat(said, res.Compile.Stdout, res.Compile.Stderr)
	}
	if !slices.Contains(want, res.Verdict) {
		t.Errorf("verdict %s, limits %v; want one of %v: %.500q", res.Verdict, res.LimitsHit, want, said)
	}

	secrets := append(c.Secrets(), c.Dir[strings.LastIndexByte(c.Dir, '/'):]+"/sock", b.Data, b.Dir, "MARK-of-the-input",
		"hostile-canary-process")
	for _, secret := range secrets {
		if bytes.Contains(said, []byte(secret)) {
			t.Errorf("it shows %q: %.2000q", secret, said)
		}
	}

	if !bytes.Contains(said, []byte(x.says)) {
		t.Errorf("the compiler does not say %q: it did not get so far: %.1000q", x.says, said)
	}
}

// CMP-14: file names of sources are only names, whatever they look like.
func TestHostileSourceNames(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	if !harness.Chosen("c", false) {
		return // a machine without compilers
	}

	harness.Images.Load(t, a, "cpp")
	names := []string{"-o.c", "-fplugin=x.c", "@rsp.c", "a b.c", "#x.c", "ü.c", "$(id).c", "`id`.c", "a;id;.c", "'.c", `".c`, "-.c",
		"dir/-x.c", "%s.c", "*.c"}
	r := api.Run{Language: "c", Collect: api.Collect{None: true}}
	program := "int printf(const char *, ...);\n"
	for i, name := range names {
		program += fmt.Sprintf("int f%d(void);\n", i)
		r.Files = append(r.Files, api.File{Name: name, Content: fmt.Appendf(nil, "int f%d(void) { return %d; }\n", i, i)})
	}

	program += "int main(void) { int n = 0;\n"
	for i := range names {
		program += fmt.Sprintf("n += f%d();\n", i)
	}

	r.Source = api.Bytes(program + `printf("%d\n", n); }` + fmt.Sprintf(" // %d", time.Now().UnixNano()))
	for _, name := range []string{"main.c", "-o.C.c", "@main.c", "a b.c.c"} {
		r.SourceName = name
		res := a.MustRun(t, r)
		harness.WantVerdict(t, res, api.OK)
		if want := fmt.Sprintf("%d\n", len(names)*(len(names)-1)/2); string(res.Stdout) != want {
			t.Errorf("%s: it prints %q; want %q: each source compiled once", name, res.Stdout, want)
		}
	}
}

// CMP-15: a class that a caller supplies is neither an annotation processor for javac nor part of
// the program, whatever META-INF says.
func TestHostileSuppliedClasses(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1", "--max-wall", "10m", "--max-cpu", "10m")
	if !harness.Chosen("java", false) {
		return // a machine without compilers
	}

	harness.Images.Load(t, a, "java")
	stage := api.Limits{Wall: harness.Slowly(60), CPU: harness.Slowly(60)}
	evil := `import java.util.*; import javax.annotation.processing.*; import javax.lang.model.element.*;
@SupportedAnnotationTypes("*")
public class Evil extends AbstractProcessor {
  public Evil() { System.err.println("EVIL runs at compile time"); }
  public boolean process(Set<? extends TypeElement> s, RoundEnvironment e) { return false; }
  public static void main(String[] a) { System.out.println("EVIL runs"); }
}`

	res := a.MustRun(t, api.Run{Language: "java", Limits: stage, CompileLimits: stage,
		Files: []api.File{{Name: "Evil.java", Content: []byte(evil)}},
		Source: api.Bytes(`public class Main { public static void main(String[] a) throws Exception {
  System.out.print(java.util.Base64.getEncoder().encodeToString(java.nio.file.Files.readAllBytes(java.nio.file.Path.of("classes/Evil.class")))); } }`)})
	harness.WantVerdict(t, res, api.OK)
	class, err := base64.StdEncoding.DecodeString(string(res.Stdout))
	if err != nil || !bytes.HasPrefix(class, []byte("\xca\xfe\xba\xbe")) {
		t.Fatalf("no class: %v", err)
	}

	brought := []api.File{
		{Name: "Evil.class", Content: class},
		{Name: "META-INF/services/javax.annotation.processing.Processor", Content: []byte("Evil\n")},
		{Name: ".main", Content: []byte("Evil\n")},
	}

	for want, source := range map[string]string{
		"hello\n": `@Deprecated public class Main { public static void main(String[] a) { System.out.println("hello"); } }`,
		"":        `public class Main { public static void main(String[] a) { Evil.main(a); } }`,
	} {
		res := a.MustRun(t, api.Run{Language: "java", Limits: stage, CompileLimits: stage, Source: api.Bytes(source), Files: brought})
		said := slices.Concat(res.Stdout, res.Stderr)
		if res.Compile != nil {
			said = append(said, res.Compile.Stderr...)
		}
		if bytes.Contains(said, []byte("EVIL")) || string(res.Stdout) != want {
			t.Errorf("verdict %s: %.1000q; want %q of the program", res.Verdict, said, want)
		}
	}

	for _, name := range []string{"classes/Evil.class", "classes/.main", "classes"} {
		a.Refused(t, api.Run{Language: "java", Source: api.Bytes("class Main {}"),
			Files: []api.File{{Name: name, Content: class}}}, api.CodeBadRequest)
	}
}
