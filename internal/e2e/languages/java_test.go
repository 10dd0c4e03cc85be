package languages

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// javaBench is an agent with a Java image; nil if no compilers are available.
func javaBench(t *testing.T, language string) *harness.Bench {
	t.Helper()
	if !harness.Chosen(language, language == "java-full") {
		return nil
	}
	b := &harness.Bench{Agent: harness.StartAgent(t, "--slots", "2", "--max-wall", "10m", "--max-cpu", "10m"), Slots: make(chan struct{}, 2)}
	harness.Images.Load(t, b.Agent, language)
	return b
}

func javaRun(source string) api.Run {
	return api.Run{
		Language: "java", Source: api.Bytes(source), Collect: api.Collect{None: true},
		Limits:        api.Limits{CPU: harness.Slowly(20), Wall: harness.Slowly(60)},
		CompileLimits: api.Limits{CPU: harness.Slowly(60), Wall: harness.Slowly(60)},
	}
}

const javaMain = `public static void main(String[] a) { System.out.println(1); }`

// The class to run is found among the compiled classes, and a public class may be in a file of any
// name, however both are written.
func TestJavaFindsTheClassToRun(t *testing.T) {
	b := javaBench(t, "java")
	if b == nil {
		return
	}

	some := harness.NewShare(3)
	for _, tt := range []struct {
		name, source string
		says         string // what the compiler reports: the program does not compile
	}{
		{"another class whose bytes have the word main",
			"class Account { int remaining = 5, domain; void maintain() {} }\nclass Solution { " + javaMain + " }", ""},
		{"another class whose method is called main",
			"class Account { int main(int x) { return x; } static void main(int[] x) {} private static void main() " +
				"{} }\nclass Solution { " +
				javaMain + " }", ""},
		{"one line", "import java.util.*; public class Solution { " + javaMain + " }", ""},
		{"final first", "final public class Solution { " + javaMain + " }", ""},
		{"an annotation", "@Deprecated public class Solution { " + javaMain + " }", ""},
		{"an annotation with text", "@SuppressWarnings(\"public class Wrong {\") public class Solution { " + javaMain + " }", ""},
		{"a comment between", "/* a */ public /* b */ class /* c */ Solution /* d */ { " + javaMain + " }", ""},
		{"two lines", "public\nclass\nSolution\n{ " + javaMain + " }", ""},
		{"sealed and not", "public non-sealed class Solution extends A { " + javaMain + " }\nabstract sealed class A " +
			"permits Solution {}", ""},
		{"a dollar", "public class $olu$tion { " + javaMain + " }", ""},
		{"a name that is not ASCII", "public class Решение { " + javaMain + " }", ""},
		{"letters by escapes", "public class \\u0053olution { " + javaMain + " }", ""},
		{"a commented class before", "/*\npublic class Wrong {}\n*/\n// public class Wrong {}\npublic class Solution { " + javaMain + " }", ""},
		{"a text that looks like one",
			"public class Solution { static String s = \"\"\"\n  public class Wrong {\n\"\"\"; " + javaMain + " }", ""},
		{"a byte order mark", "\ufeffpublic class Solution { " + javaMain + " }", ""},
		{"a package", "package a.b;\npublic class Solution { " + javaMain + " }", ""},
		{"a record", "public record Solution(int x) { " + javaMain + " }", ""},
		{"an interface", "public interface Solution { static void main(String[] a) { System.out.println(1); } }", ""},
		{"an enum", "public enum Solution { A; " + javaMain + " }", ""},
		{"any number of words", "public class Solution { public static void main(String... a) { System.out.println(1); } }", ""},
		{"an inherited main", "class Base { " + javaMain + " }\npublic class Solution extends Base {}", ""},
		{"a main of an object", "class Solution { void main() { System.out.println(1); } }", ""},
		{"a main of an object that cannot be made",
			"class Other { Other(int x) {} void main() {} }\nclass Solution { void main(String[] a) { System.out.println(1); } }", ""},
		{"no class at all", "void main() { System.out.println(1); }", ""},
		{"the first of several", "class B { " + javaMain + " }\nclass A { public static void main(String[] a) { " +
			"System.out.println(2); } }", ""},
		{"the public one of several",
			"class A { public static void main(String[] a) { System.out.println(2); } }\npublic class B { " + javaMain + " }", ""},
		{"Main of several", "class A { public static void main(String[] a) { System.out.println(2); } }\nclass Main { " + javaMain + " }", ""},

		{"nothing", "", "prog.java: error: no class has a method main"},
		{"a comment alone", "// nothing", "prog.java: error: no class has a method main"},
		{"a main that returns", "class A { public static int main(String[] a) { return 0; } }", "no class has a method main"},
		{"two public classes", "public class A { " + javaMain + " }\npublic class B {}",
			"prog.java:2: error: class B is public, should be declared in a file named B.java"},
		{"a mistake", "public class A {\n  int x = ;\n}", "prog.java:2: error: illegal start of expression"},
	} {
		if some.LeavesOut(tt.says) {
			continue
		}
		b.Test(t, tt.name, func(t *testing.T) {
			r := javaRun(tt.source)
			r.SourceName = "prog.java"
			if tt.source == "" {
				r.Source = api.Bytes("\n")
			}

			res := b.MustRun(t, r)
			if tt.says == "" {
				javaPrints(t, res)
				return
			}

			harness.WantVerdict(t, res, api.CompileError)
			if !bytes.Contains(res.Stderr, []byte(tt.says)) {
				t.Errorf("the compiler says %.500q; want %q", res.Stderr, tt.says)
			}
		})
	}

	b.Test(t, "classes of other files come after", func(t *testing.T) {
		r := javaRun("class Solution { " + javaMain + " }")
		r.Files = []api.File{{Name: "Aaa.java",
			Content: api.Bytes("public class Aaa { public static void main(String[] a) { System.out.println(2); } }")}}
		javaPrints(t, b.MustRun(t, r))
		r = javaRun("class Solution { int helper; }")
		r.Files = []api.File{{Name: "Test.java", Content: api.Bytes("public class Test { " + javaMain + " }")}}
		javaPrints(t, b.MustRun(t, r))
	})

	b.Test(t, "a source whose name is no Java name", func(t *testing.T) {
		for _, name := range []string{"a-b.java", "1.java", "prog", "prog.txt", "-x.java", "dir/prog.java"} {
			r := javaRun("public class Solution { " + javaMain + " }")
			r.SourceName = name
			javaPrints(t, b.MustRun(t, r))
		}
	})
}

// Assertions of a program are checked unless the request disables them.
func TestJavaAssertions(t *testing.T) {
	b := javaBench(t, "java")
	if b == nil {
		return
	}

	source := "public class As { public static void main(String[] a) { assert 1 == 2 : \"sums\"; System.out.println(1); } }"
	for _, flags := range [][]string{nil, {"-ea"}, {"-Xlint"}} {
		r := javaRun(source)
		r.Flags = flags
		res := b.MustRun(t, r)
		harness.WantVerdict(t, res, api.Nonzero)
		if !bytes.Contains(res.Stderr, []byte("AssertionError: sums")) {
			t.Errorf("%v: stderr %.300q", flags, res.Stderr)
		}
	}

	r := javaRun(source)
	r.Flags = []string{"-da"}
	javaPrints(t, b.MustRun(t, r))
}

// A program that allocates more than the heap may have reaches the memory limit, in one piece or in
// many, and nearly the whole limit is available in one piece.
func TestJavaMemory(t *testing.T) {
	b := javaBench(t, "java")
	if b == nil {
		return
	}

	one := "public class Big { public static void main(String[] a) { byte[] x = new byte[Integer.parseInt(a[0]) << " +
		"20]; x[5] = 1; System.out.println(x[5]); } }"
	for _, tt := range []struct {
		limit  api.Size
		array  string // MiB
		enough bool
	}{
		{128 * api.MiB, "90", true}, {256 * api.MiB, "210", true}, {512 * api.MiB, "435", true},
		{128 * api.MiB, "128", false}, {256 * api.MiB, "256", false}, {256 * api.MiB, "1500", false},
	} {
		r := javaRun(one)
		r.Limits.Memory, r.Argv = tt.limit, []string{tt.array}
		res := b.MustRun(t, r)
		if tt.enough {
			javaPrints(t, res)
			continue
		}
		harness.WantVerdict(t, res, api.MemoryLimit)
		if len(res.Stdout) != 0 || !slices.Contains(res.LimitsHit, api.HitMemory) || res.ExitCode != 3 {
			t.Errorf("%s MiB of %s: stdout %q, limits %v, exit code %d", tt.array, tt.limit, res.Stdout, res.LimitsHit, res.ExitCode)
		}
	}

	// The exit code alone, whatever memory was used, remains the program's own.
	for _, hold := range []string{"0", "200"} {
		r := javaRun("public class Big { static byte[][] x; public static void main(String[] a) { x = new " +
			"byte[Integer.parseInt(a[0])][1 << 20]; System.exit(3); } }")
		r.Limits.Memory, r.Argv = 256*api.MiB, []string{hold}
		harness.WantVerdict(t, b.MustRun(t, r), api.Nonzero)
	}
}

// JUnit runs the tests of classes of any name; to run none is a failure.
func TestJUnitRunsEveryTest(t *testing.T) {
	b := javaBench(t, "java-full")
	if b == nil {
		return
	}

	spec := func(body string) api.Run {
		r := javaRun("import org.junit.jupiter.api.*;\nclass MathSpec { " + body + " }")
		r.Language, r.SourceName = "java-full", "MathSpec.java"
		return r
	}

	for body, want := range map[string]api.Verdict{
		"@Test void a() { Assertions.assertEquals(2, 1 + 1); }": api.OK,
		"@Test void a() { Assertions.fail(\"no\"); }":           api.Nonzero,
		"@Test void a() { assert 1 == 2; }":                     api.Nonzero,
		"void a() {}":                                           api.Nonzero,
	} {
		res := b.MustRun(t, spec(body))
		if !res.Host.Template {
			t.Errorf("%s: it has the ordinary start: %s", body, res.Host.Cold)
		}
		if harness.WantVerdict(t, res, want); !strings.Contains(string(res.Stdout), "tests found") {
			t.Errorf("%s: JUnit says %.500q %.500q", body, res.Stdout, res.Stderr)
		}
	}
}

func javaPrints(t *testing.T, res api.Result) {
	t.Helper()
	harness.WantVerdict(t, res, api.OK)
	if string(res.Stdout) != "1\n" {
		t.Errorf("stdout %.300q; want 1", res.Stdout)
	}
}
