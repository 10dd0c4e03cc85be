package templates

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// addresses are what the interpreter prints of memory: equal between the runs of one template, and
// different between those of others.
var addresses = regexp.MustCompile(`0x[0-9a-f]{4,}`)

// templateDiffers are the programs whose output shows a difference that docs/templates.md lists.
var templateDiffers = map[string]string{
	"python/57_gc":                "gc.get_objects", // not in each version
	"python/58_gccount":           "gc.get_freeze_count",
	"python/80_exe":               "/proc/self/exe",
	"python/95_print_in_del_late": "or in `sys`",
	"python/37a_daemon_file":      "a daemon thread",
	"bash/09_exe":                 "/proc/self/exe",
	"perl/04_exe":                 "/proc/self/maps",
	"lua/05_exe":                  "/proc/self/exe",
	"ruby/11_exe":                 "/proc/self/exe",
	"php/10_exe":                  "/proc/self/exe",
	"javascript/09_exe":           "/proc/self/exe",
	"javascript/84_report":        "commandLine",
}

// A program that begins from a template ends as with the ordinary start of the interpreter, byte for
// byte: the programs that every language has, and those that look at what a start decides; one in twelve, and
// all in make test-long.
func TestTemplatesChangeNothing(t *testing.T) {
	b := harness.Bench{Agent: harness.StartAgent(t, "--slots", "2", "--max-cpu", harness.Slowly(60).String(),
		"--max-wall", harness.Slowly(120).String()), Slots: make(chan struct{}, 2)}
	for _, l := range harness.BuiltinLanguages(t) {
		if len(l.Templates) == 0 || !harness.Chosen(l.Name, harness.LanguageTests[l.Name].OnlyAll) {
			continue
		}

		harness.Images.Load(t, b.Agent, l.Image)
		base, full := strings.CutSuffix(l.Name, "-full")
		ext := extensionOf(t, base)
		var programs []string
		for _, dir := range []string{"../../../testdata/templates-" + base, filepath.Join(harness.LanguagePrograms, base)} {
			found, err := filepath.Glob(filepath.Join(dir, "*."+ext))
			if err != nil || len(found) < 5 {
				t.Fatalf("%s: %v, %v", dir, found, err)
			}
			programs = append(programs, found...)
		}

		helper, err := os.ReadFile("../../../testdata/templates-" + base + "/99_helper." + ext)
		if err != nil {
			t.Fatal(err)
		}

		for n, path := range programs {
			if harness.LeftOut(n+len(l.Name), 24) { // each language begins at another one
				continue
			}

			name := l.Name + "/" + strings.TrimSuffix(filepath.Base(path), "."+ext)
			switch file := filepath.Base(path); {
			case file == "loop."+ext, file == "87_loop."+ext, file == "sleep."+ext:
				continue // only their limits end them, and TestTemplatesDoNotWidenLimits is about limits
			case file == "broken."+ext && len(l.Compile) > 0, file == "99_helper."+ext && len(l.Compile) > 0:
				continue // it is never run; it would be there twice
			case full && !strings.HasPrefix(file, "0"):
				continue // some of them: the interpreter is that of the other image
			}

			b.Test(t, name, func(t *testing.T) {
				source, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}

				r := api.Run{Language: l.Name, Source: source, Argv: []string{"x", "y z", ""}, Stdin: api.Bytes("one\ntwo\n"),
					Env: map[string]string{"NAME": "value"}}
				if base != "python" || bytes.Contains(source, []byte("helper")) { // with more files Python has no template with imports
					r.Files = []api.File{{Name: "helper." + ext, Content: helper}}
				}

				r.Limits = api.Limits{Wall: harness.Slowly(120), CPU: harness.Slowly(60)} // no program meets these
				if name == "bash/memory" {                                                // it takes 15 s for 512 MiB
					r.Limits.Memory = 64 * api.MiB
				}
				if name == "java/20_stack_overflow" { // it takes 487 to 512 MiB
					r.Limits.Memory = api.GiB
				}
				if base == "php" { // otherwise it has as much as memory
					r.Limits.Stack = 8 * api.MiB
				}
				if base == "python" && filepath.Dir(path) == filepath.Join(harness.LanguagePrograms, base) { // others are main.py
					r.SourceName = filepath.Base(path)
				}

				warm := b.MustRun(t, r)
				r.NoTemplate = true
				cold := b.MustRun(t, r)
				if rule := ineligibleSources[strings.Replace(name, "-full/", "/", 1)]; rule != "" {
					harness.WantOrdinaryStart(t, warm, rule)
					return
				}
				if !warm.Host.Template || warm.Host.Cold != "" || warm.Usage.TemplateBytes < 1<<20 || cold.Host.Template || cold.Host.Cold == "" {
					t.Fatalf("templates: %+v and %+v", warm.Host, cold.Host)
				}

				differs := templateDiffers[strings.Replace(name, "-full/", "/", 1)]
				if w, c := seenOf(warm), seenOf(cold); w != c && differs == "" {
					t.Errorf("from a template:\n%s\nwith the ordinary start:\n%s", w, c)
				} else if w == c && differs != "" && name != "python/57_gc" {
					t.Errorf("there is no difference: take it from templateDiffers")
				}
			})
		}
	}
}

// extensionOf is that of a language's files.
func extensionOf(t *testing.T, language string) string {
	t.Helper()
	for _, l := range harness.BuiltinLanguages(t) {
		if l.Name == language {
			return l.Extensions[0]
		}
	}
	t.Fatalf("brig has no language %s", language)
	return ""
}

// seenOf is what a caller sees of a program, without addresses.
func seenOf(r api.Result) string {
	text := strings.Join([]string{string(r.Verdict), r.SignalName, "exit", string(rune('0' + r.ExitCode%10)), "stdout:", string(r.Stdout),
		"stderr:", string(r.Stderr)}, "\n")
	for _, f := range r.Files {
		text += "\nfile " + f.Name + "\n" + string(f.Content)
	}
	return addresses.ReplaceAllString(text, "0x...")
}

// What a run must satisfy to begin from a template, and that its result says so.
func TestTemplateRules(t *testing.T) {
	a := harness.StartAgent(t)
	a.NeedPython(t)

	for name, tt := range map[string]struct {
		change func(*api.Run)
		cold   string // in host.cold; empty: it begins from a template
	}{
		"as it is":          {func(*api.Run) {}, ""},
		"a memory limit":    {func(r *api.Run) { r.Limits.Memory = 64 * api.MiB }, ""},
		"a stack limit":     {func(r *api.Run) { r.Limits.Stack = api.MiB }, ""},
		"a variable":        {func(r *api.Run) { r.Env = map[string]string{"A": "b"} }, ""},
		"a file":            {func(r *api.Run) { r.Files = []api.File{{Name: "a.py"}} }, ""},
		"asked":             {func(r *api.Run) { r.NoTemplate = true }, "asks"},
		"fresh":             {func(r *api.Run) { r.Mode = api.Fresh }, "mode fresh"},
		"exclusive":         {func(r *api.Run) { r.Mode = api.Exclusive }, "mode exclusive"},
		"a writable root":   {func(r *api.Run) { r.WritableRoot = true }, "writable"},
		"log mode":          {func(r *api.Run) { r.ProfileMode = api.Log }, "log"},
		"another tier":      {func(r *api.Run) { r.Profile = "compile" }, "profile"},
		"another name":      {func(r *api.Run) { r.SourceName = "x.py" }, ""},
		"a module's name":   {func(r *api.Run) { r.SourceName = "heapq.py" }, "Python's module heapq"},
		"compiled code":     {func(r *api.Run) { r.Source = api.Bytes("\xf3\r\r\n") }, "compiled code"},
		"no name of Python": {func(r *api.Run) { r.SourceName = "x" }, "another name"},
		"a directory":       {func(r *api.Run) { r.SourceName = "d/x.py" }, "another name"},
		"a start variable":  {func(r *api.Run) { r.Env = map[string]string{"PYTHONHASHSEED": "0"} }, "PYTHONHASHSEED"},
		"OpenSSL's options": {func(r *api.Run) { r.Env = map[string]string{"OPENSSL_CONF": "/box/a.cnf"} }, "OPENSSL_CONF"},
		"pandas' options":   {func(r *api.Run) { r.Env = map[string]string{"PANDAS_COPY_ON_WRITE": "1"} }, "PANDAS_COPY_ON_WRITE"},
		"another PATH":      {func(r *api.Run) { r.Env = map[string]string{"PATH": "/usr/bin"} }, "PATH"},
		"a user's packages": {func(r *api.Run) { r.Files = []api.File{{Name: ".local/lib/python3.13/site-packages/a.pth"}} }, ".local"},
		"a zip archive":     {func(r *api.Run) { r.Source = api.Bytes("print(1)#PK\x05\x06") }, "zip"},
		"two processors":    {func(r *api.Run) { r.Limits.CPUs = 0.5 }, "cpus"},
		"the image by name": {func(r *api.Run) { r.Image = "python" }, "image"},
		"loopback":          {func(r *api.Run) { r.Network = api.NetworkLoopback }, "profile"},
	} {
		t.Run(name, func(t *testing.T) {
			r := harness.Py("print('x')")
			tt.change(&r)
			res := a.MustRun(t, r)
			if tt.cold == "" && (!res.Host.Template || res.Host.Cold != "") ||
				tt.cold != "" && (res.Host.Template || !strings.Contains(res.Host.Cold, tt.cold)) {
				t.Errorf("%+v; want %q", res.Host, tt.cold)
			}
			if res.Verdict != api.OK && name != "a zip archive" && name != "compiled code" {
				t.Errorf("%s: %s", res.Verdict, res.Stderr)
			}
		})
	}

	for _, image := range []string{"bash", "java", "node", "ruby"} {
		harness.Images.Load(t, a, image)
	}

	for name, tt := range map[string]struct {
		run  api.Run
		cold string
	}{
		"ruby, a memory limit":         {api.Run{Language: "ruby", Limits: api.Limits{Memory: 64 * api.MiB}}, ""},
		"ruby, a stack limit":          {api.Run{Language: "ruby", Limits: api.Limits{Stack: 16 * api.MiB}}, "stack"},
		"ruby, a variable of RubyGems": {api.Run{Language: "ruby", Env: map[string]string{"GEM_HOME": "/box"}}, "GEM_HOME"},
		"ruby, configuration":          {api.Run{Language: "ruby", Files: []api.File{{Name: ".gemrc"}}}, ".gemrc"},
		"node, a power of two":         {api.Run{Language: "javascript", Limits: api.Limits{Memory: 128 * api.MiB}}, ""},
		"node, another memory limit":   {api.Run{Language: "javascript", Limits: api.Limits{Memory: 100 * api.MiB}}, "power of two"},
		"node, a stack limit":          {api.Run{Language: "javascript", Limits: api.Limits{Stack: 16 * api.MiB}}, "stack limit"},
		"node, few processes":          {api.Run{Language: "javascript", Limits: api.Limits{Pids: 16}}, "pids"},
		"node, few descriptors":        {api.Run{Language: "javascript", Limits: api.Limits{OpenFiles: 32}}, "open_files"},
		"node, a variable of node's": {api.Run{Language: "javascript",
			Env: map[string]string{"NODE_OPTIONS": "--no-warnings"}}, "NODE_OPTIONS"},
		"node, a package.json": {api.Run{Language: "javascript",
			Files: []api.File{{Name: "package.json", Content: api.Bytes("{}")}}}, ""},
		"node, another name":             {api.Run{Language: "javascript", SourceName: "x.js"}, "another name"},
		"java":                           {api.Run{Language: "java"}, ""},
		"java, flags of the compiler":    {api.Run{Language: "java", Flags: []string{"-g", "-ea"}}, ""},
		"java, no assertions":            {api.Run{Language: "java", Flags: []string{"-da"}}, "-da"},
		"java, a preview":                {api.Run{Language: "java", Flags: []string{"--enable-preview"}}, "--enable-preview"},
		"java, another memory limit":     {api.Run{Language: "java", Limits: api.Limits{Memory: 300 * api.MiB}}, "power of two"},
		"java, a variable of java's":     {api.Run{Language: "java", Env: map[string]string{"JDK_JAVA_OPTIONS": "-Dx=y"}}, "JDK_JAVA_OPTIONS"},
		"java, another name":             {api.Run{Language: "java", SourceName: "Other.java"}, ""},
		"a variable of bash's":           {api.Run{Env: map[string]string{"HOME": "/tmp", "LC_ALL": "C", "BASHOPTS": "extglob"}}, ""},
		"bash, another name":             {api.Run{SourceName: "x.sh"}, ""},
		"bash, a variable of the loader": {api.Run{Env: map[string]string{"LD_DEBUG": "files"}}, "LD_DEBUG"},
		"bash, another PATH":             {api.Run{Env: map[string]string{"PATH": "/bin"}}, "PATH"},
	} {
		t.Run(name, func(t *testing.T) {
			r := tt.run
			switch r.Language {
			case "ruby":
				r.Source = api.Bytes("puts 1")
			case "java":
				r.Source = api.Bytes("class A { public static void main(String[] a) { } }")
			case "javascript":
				r.Source = api.Bytes("console.log(1)")
			default:
				r.Language, r.Source = "bash", api.Bytes("echo $HOME $0")
			}

			res := a.MustRun(t, r)
			if res.Host.Template != (tt.cold == "") || !strings.Contains(res.Host.Cold, tt.cold) || res.Verdict != api.OK {
				t.Errorf("%s, %+v; want %q", res.Verdict, res.Host, tt.cold)
			}
		})
	}

	r := harness.Py("import sys; print(sys.stdin.read())")
	r.Tests = []api.Test{{ID: "a", Stdin: api.Bytes("1"), Limits: api.Limits{Memory: 32 * api.MiB}}, {ID: "b", Stdin: api.Bytes("2")}}
	res := a.MustRun(t, r)
	if !res.Host.Template || res.Verdict != api.OK || string(res.Tests[1].Result.Stdout) != "2\n" ||
		res.Tests[0].Result.Usage.TemplateBytes == 0 {
		t.Errorf("tests: %+v, %+v", res.Host, res.Tests)
	}
}

// On a kernel that cannot begin a program from a template, runs have the ordinary start and say why.
func TestTemplatesNeedTheKernel(t *testing.T) {
	a := harness.StartAgent(t)
	a.NeedPython(t)
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Fatal(err)
	}

	res := a.MustRun(t, harness.Py("print(sum(range(1000)))"))
	want := ""
	if bytes.Contains(info, []byte("User Mode Linux")) {
		want = "user-mode Linux cannot begin programs from templates"
	}

	h, err := a.Health(t.Context())
	if err != nil || string(res.Stdout) != "499500\n" || res.Host.Template != (want == "") || res.Host.Cold != want ||
		h.Templates.Problem != want {
		t.Errorf("%s: %q, %+v, health %+v; want the reason %q (%v)", res.Verdict, res.Stdout, res.Host, h.Templates, want, err)
	}
}

// A template is made again after its life, and none is made if the operator wants none.
func TestTemplatesAreMadeAgain(t *testing.T) {
	a := harness.StartAgent(t, "--template-life", "1s")
	a.NeedPython(t)
	hash := func() string { return string(a.MustRun(t, harness.Py("print(hash('a'), hex(id(print)))")).Stdout) }
	first := hash()
	for deadline := harness.Patience(); hash() == first; time.Sleep(300 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the template is never made again")
		}
	}

	h, err := a.Health(t.Context())
	if err != nil || h.Templates.Made < 2 || h.Templates.Kept != 1 || h.Templates.Failed != 0 || h.Templates.Bytes < 1<<20 {
		t.Errorf("templates: %+v, %v", h.Templates, err)
	}

	a.Stop()
	a = harness.StartAgent(t, "--template-memory", "none")
	a.NeedPython(t)
	if res := a.MustRun(t, harness.Py("print(1)")); res.Host.Template || !strings.Contains(res.Host.Cold, "switched off") {
		t.Errorf("%+v", res.Host)
	}

	a.Stop()
	a = harness.StartAgent(t, "--template-memory", "1M")
	a.NeedPython(t)
	if res := a.MustRun(t,
		harness.Py("print(1)")); res.Verdict != api.OK || res.Host.Template || !strings.Contains(res.Host.Cold, "--template-memory") {
		t.Errorf("%s, %+v", res.Verdict, res.Host)
	}
}

// Limits bind a run that begins from a template: what it writes to is its own memory.
func TestTemplatesDoNotWidenLimits(t *testing.T) {
	a := harness.StartAgent(t, "--max-wall", harness.Slowly(30).String())
	a.NeedPython(t)

	for name, tt := range map[string]struct {
		source string
		limits api.Limits
		want   api.Verdict
	}{
		"memory":           {"x = bytearray(64 << 20)", api.Limits{Memory: 32 * api.MiB}, api.MemoryLimit},
		"memory that fits": {"x = bytearray(24 << 20)", api.Limits{Memory: 32 * api.MiB}, api.OK},
		"cpu":              {"while True: pass", api.Limits{CPU: api.Duration(200 * time.Millisecond), Wall: harness.Slowly(30)}, api.CPULimit},
		"wall":             {"import time; time.sleep(60)", api.Limits{Wall: api.Duration(300 * time.Millisecond)}, api.WallLimit},
		"one process":      {"print(1)", api.Limits{Pids: 1}, api.OK},
		"open files": {"try:\n while True: open('main.py').fileno(); l = globals().setdefault('l', []); " +
			"l.append(open('main.py'))\nexcept OSError as e: print(e.errno)", api.Limits{OpenFiles: 16}, api.OK},
		"threads' stacks": {"import threading\nt = threading.Thread(target=print, args=(1,)); t.start(); t.join()",
			api.Limits{Stack: api.MiB}, api.OK},
		"a deep stack": {"import sys; sys.setrecursionlimit(10**6)\ndef f(n): return n and f(n-1)\nprint(f(50000))",
			api.Limits{Memory: 256 * api.MiB}, api.OK},
		"a file that is too large": {"try: open('f', 'wb').write(bytes(2 << 20))\nexcept OSError as e: assert e.errno == 27\nelse: 1/0",
			api.Limits{FileSize: api.MiB}, api.OK},
		"and the default action of its signal": {"import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL)\n" +
			"open('f', 'wb').write(bytes(2 << 20))", api.Limits{FileSize: api.MiB}, api.Signaled},
	} {
		t.Run(name, func(t *testing.T) {
			r := harness.Py(tt.source)
			r.Limits = tt.limits
			if res := a.MustRun(t, r); res.Verdict != tt.want || !res.Host.Template {
				t.Errorf("%s, %+v: %s", res.Verdict, res.Host, res.Stderr)
			}
		})
	}

	// A template has mapped more than the interpreter maps at its start, so these limits have the ordinary start.
	for _, limits := range []api.Limits{{AddressSpace: 256 * api.MiB}, {Data: 256 * api.MiB}} {
		r := harness.Py("x = bytearray(64 << 20)\ntry: bytearray(300 << 20)\nexcept MemoryError: print('none')")
		r.Limits = limits
		res := a.MustRun(t, r)
		if harness.WantVerdict(t, res, api.OK); string(res.Stdout) != "none\n" || !strings.Contains(res.Host.Cold, "address_space") {
			t.Errorf("%+v: %q, %+v", limits, res.Stdout, res.Host)
		}
	}
}

// Node and Java make their heaps for the memory limit, and there is a template for each such limit: a
// program that needs too much memory, or nearly, ends as with the ordinary start.
func TestTemplatesKeepHeaps(t *testing.T) {
	a := harness.StartAgent(t, "--max-wall", harness.Slowly(60).String())
	grows := map[string]string{
		"javascript": "const all = []; for (;;) all.push(new Array(1e5).fill(1.5))",
		"java": "import java.util.*; class Main { public static void main(String[] a) { var all = new " +
			"ArrayList<byte[]>(); for (;;) all.add(new byte[100000]); } }",
	}
	churns := map[string]string{
		"javascript": "let s = 0; for (let i = 0; i < 600; i++) s += new Array(1e5).fill(i + 0.5).length; " +
			"console.log(s, require('v8').getHeapStatistics().heap_size_limit)",
		"java": "class Main { public static void main(String[] a) { long s = 0; for (int i = 0; i < 1000; i++) " +
			"s += new byte[1000000].length; System.out.println(s + \" \" + Runtime.getRuntime().maxMemory()); } }",
	}
	for language := range grows {
		if !harness.Chosen(language, harness.LanguageTests[language].OnlyAll) {
			continue
		}

		harness.Images.Load(t, a, imageOf(t, language))

		for i, memory := range []api.Size{256 * api.MiB, 64 * api.MiB, api.GiB} {
			if harness.LeftOut(i, 3) {
				continue
			}
			for what, source := range map[string]string{"grows": grows[language], "churns": churns[language]} {
				t.Run(fmt.Sprintf("%s %s %s", language, what, memory), func(t *testing.T) {
					r := api.Run{Language: language, Source: api.Bytes(source), Limits: api.Limits{Memory: memory,
						Wall: harness.Slowly(60), CPU: harness.Slowly(20)}}
					warm := a.MustRun(t, r)
					r.NoTemplate = true
					cold := a.MustRun(t, r)
					if !warm.Host.Template || cold.Host.Template || warm.Verdict != cold.Verdict || string(warm.Stdout) != string(cold.Stdout) {
						t.Errorf("from a template: %s, %+v: %s%s; with the ordinary start: %s: %s%s", warm.Verdict, warm.Host, warm.Stdout, warm.Stderr,
							cold.Verdict, cold.Stdout, cold.Stderr)
					}
					if want := map[string]api.Verdict{"grows": api.MemoryLimit, "churns": api.OK}[what]; warm.Verdict != want {
						t.Errorf("%s; want %s: %s", warm.Verdict, want, warm.Stderr)
					}
					t.Logf("template %d bytes, memory %d and %d", warm.Usage.TemplateBytes, *warm.Usage.Memory.Value, *cold.Usage.Memory.Value)
				})
			}
		}
	}
}
