// Package archtest checks the structure of the project: which packages may import which,
// how long a file may be, and what no file may contain. It has no code except its tests.
package archtest

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/brig-sandbox/brig"

// A rule says which of our packages the packages of one directory may import, and which
// of the guarded modules. For tests only the guarded modules are restricted.
type rule struct {
	dir    string // directory of the module; also applies to directories below without their own rule
	may    []string
	guards []string
	tests  []string // guarded modules that only the tests may link
	why    string
}

var rules = []rule{
	{dir: "api", why: "everyone speaks it, so it depends on no other package"},
	{dir: "api/decode", may: []string{"api"}, guards: []string{"json"}, why: "reads what callers send, for the two servers: clients do not link it"},
	{dir: "judge", may: []string{"api"}, why: "pure functions from what was seen of a run to what it means: a package that only reads results does not link them"},
	{dir: "cgroups", may: []string{"api"}, why: "cgroups, rootfs and seccomp each know one thing; runtime joins them"},
	{dir: "rootfs", may: []string{"internal/durable", "rootfs/archive", "rootfs/recipes"}, why: "cgroups, rootfs and seccomp each know one thing; runtime joins them"},
	{dir: "rootfs/archive", why: "reads what strangers made, in the admission child: it knows neither the store nor anything else of brig"},
	{dir: "rootfs/archive/archivetest", why: "makes archives for the tests of their reader and of the store"},
	{dir: "rootfs/oci", may: []string{"internal/confine"}, guards: []string{"registry"}, why: "reads registries and archives of layers, in a process without privilege: the agent, which holds root, is not linked with it, nor with what it links"},
	{dir: "rootfs/recipes", why: "files, whose names the store needs for its errors"},
	{dir: "rootfs/languages", may: []string{"api", "internal/strictyaml", "rootfs", "rootfs/recipes"}, why: "knows what manifests say, and nothing of runs"},
	{dir: "rootfs/build", may: []string{"internal/shareddir", "internal/strictyaml", "rootfs", "rootfs/recipes"}, why: "runs apt and npm for brig; the agent, which holds root, is not linked with it"},
	{dir: "seccomp", may: []string{"api"}, why: "cgroups, rootfs and seccomp each know one thing; runtime joins them"},
	{dir: "seccomp/load", may: []string{"internal/strictyaml", "seccomp"}, why: "reads profiles, and needs no libseccomp to; errors of YAML read alike everywhere"},
	{dir: "seccomp/engine", may: []string{"seccomp", "seccomp/load"}, why: "reads a foreign dialect, for the command line alone: the agent, which holds root, never does"},
	{dir: "seccomp/bpf", may: []string{"seccomp"}, guards: []string{"libseccomp"}, why: "the one place that is linked with libseccomp"},
	{dir: "seccomp/seccomptest", may: []string{"seccomp"}, why: "makes profiles for tests"},
	{dir: "internal/cache", why: "keeps bytes and knows nothing of what they are"},
	{dir: "runtime", may: []string{"api", "internal/cache", "cgroups", "internal/rollback", "internal/shareddir", "rootfs", "rootfs/languages", "runtime/cell", "runtime/image", "runtime/linux", "runtime/mount", "runtime/packages", "runtime/plan", "runtime/pool", "runtime/run", "runtime/session", "runtime/template", "runtime/volume", "seccomp"}, tests: []string{"runc"},
		why: "opens a host and joins its parts: no part knows the whole"},
	{dir: "runtime/ablate", why: "says which layers a build for tests leaves out, and knows nothing else"},
	{dir: "runtime/linux", why: "wraps system calls, and knows nothing of brig"},
	{dir: "runtime/mount", may: []string{"api", "runtime/ablate", "runtime/linux"}, why: "wraps the calls that make mounts, and knows nothing of cells"},
	{dir: "runtime/netns", may: []string{"runtime/linux", "runtime/plan"}, why: "prepares the network namespace of a run, and resolves and connects nothing"},
	{dir: "runtime/plan", may: []string{"api", "judge", "internal/cache", "rootfs", "rootfs/languages", "seccomp"}, why: "decides before the host is touched: linked without libcontainer, libseccomp and root, so that a bundle is decided the same way"},
	{dir: "runtime/packages", may: []string{"api", "rootfs", "rootfs/archive", "runtime/linux", "runtime/plan", "runtime/run"}, why: "installs packages by runs, and decides nothing about where they come from"},
	{dir: "runtime/template", may: []string{"api", "runtime/linux"}, why: "keeps templates, and does not know how one is made"},
	{dir: "runtime/volume", may: []string{"internal/durable", "api", "runtime/linux", "runtime/plan"}, why: "knows volumes and their users, and nothing of cells"},
	{dir: "runtime/calls", may: []string{"api", "runtime/linux", "seccomp"}, why: "decides on system calls for runs and for sessions, and knows neither"},
	{dir: "runtime/image", may: []string{"api", "internal/rollback", "rootfs", "runtime/ablate", "runtime/linux", "runtime/mount", "runtime/plan"}, why: "holds the files of images for cells, and knows nothing of what runs in them"},
	{dir: "runtime/cell", may: []string{"api", "cgroups", "internal/rollback", "runtime/ablate", "runtime/image", "runtime/linux", "runtime/mount", "runtime/plan", "seccomp", "seccomp/bpf", "rootfs"}, guards: []string{"runc", "cgroups", "spec"},
		why: "the one place that makes containers"},
	{dir: "runtime/pool", may: []string{"api", "internal/rollback", "runtime/cell", "runtime/image", "runtime/linux", "runtime/plan"}, why: "gives slots and cells to runs, and knows nothing of what a run does"},
	{dir: "runtime/run", may: []string{"api", "judge", "internal/cache", "cgroups", "runtime/calls", "runtime/cell", "runtime/linux", "runtime/netns", "runtime/plan", "runtime/pool", "runtime/template", "seccomp"}, why: "takes a run through its steps; of a session it knows the interface that it declares"},
	{dir: "runtime/session", may: []string{"api", "cgroups", "internal/rollback", "runtime/calls", "runtime/cell", "runtime/linux", "runtime/plan", "runtime/pool", "runtime/run", "runtime/volume", "seccomp"}, why: "keeps environments for many execs, which run executes"},
	{dir: "agent", may: []string{"api", "api/decode"}, why: "HTTP knows nothing of cells; brigd joins the two"},
	{dir: "agent/client", may: []string{"api"}, why: "a program that talks to an agent should not have to link one"},
	{dir: "agent/egress", may: []string{"api"}, why: "relays the network of a run in a process without privilege: the agent never links it"},
	{dir: "service/history", may: []string{"api"}, guards: []string{"sqlite"}, why: "keeps what runs came to, and knows nothing of HTTP"},
	{dir: "service/metrics", may: []string{"api"}, guards: []string{"prometheus"}, why: "counts for a gateway, and knows nothing of its routes"},
	{dir: "service/client", may: []string{"api"}, why: "a program that talks to a service should not have to link one"},
	{dir: "judge/check", may: []string{"api", "judge/diagnose", "rootfs/languages"}, why: "plans runs and reads their results; a caller that has an agent executes them; the checker of some languages is the command of their manifest"},
	{dir: "judge/problem/problemtest", may: []string{"judge/problem"}, why: "runs the tests of the readers of formats"},
	{dir: "judge/problem/yamlfile", may: []string{"internal/strictyaml", "judge/problem"}, why: "reads YAML of packages for the readers of formats"},
	{dir: "judge/problem/cms", may: []string{"api", "judge/problem", "judge/problem/yamlfile"}, why: "knows one format, and runs nothing"},
	{dir: "judge/calibrate", may: []string{"internal/durable", "api", "internal/inputfile"}, why: "knows kernels and what their times mean; a caller that has an agent runs them"},
	{dir: "judge/problem/dmoj", may: []string{"api", "judge/problem", "judge/problem/yamlfile"}, why: "knows one format, and runs nothing"},
	{dir: "judge/problem/polygon", may: []string{"api", "judge/problem"}, why: "knows one format, and runs nothing"},
	{dir: "judge/problem/format", may: []string{"judge/problem", "judge/problem/cms", "judge/problem/dmoj", "judge/problem/kattis", "judge/problem/polygon"}, why: "recognizes formats, and knows none"},
	{dir: "judge/problem/convert", may: []string{"api", "judge/problem", "judge/problem/kattis"}, why: "writes one format, whatever was read"},
	{dir: "judge/problem/store", may: []string{"api", "internal/durable", "api", "internal/inputfile", "judge/problem"}, why: "keeps packages, and knows no format and nothing of their users"},
	{dir: "judge/problem/kattis", may: []string{"api", "judge/problem", "judge/problem/yamlfile"}, why: "knows one format, and runs nothing"},
	{dir: "judge/problem", may: []string{"api", "internal/inputfile"}, why: "reads what strangers packed, and runs nothing: the agent, which holds root, never links it"},
	{dir: "judge/grade/verify", may: []string{"api", "judge/diagnose", "judge/grade", "judge/problem"}, why: "decides what shows that a package is right; a caller that has an agent executes it"},
	{dir: "judge/grade/generate", may: []string{"api", "judge/diagnose", "judge/grade", "judge/grade/verify", "judge/problem", "judge/problem/format"}, why: "decides which programs of a package make its tests; a caller that has an agent executes them"},
	{dir: "judge/grade", may: []string{"api", "judge/problem", "judge/problem/kattis"}, why: "decides what is run for a class and writes what came of it; a caller that has an agent executes it"},
	{dir: "batch/dataset", may: []string{"api"}, why: "reads what strangers published, and runs nothing: the agent, which holds root, never links it"},
	{dir: "judge/suite", may: []string{"api"}, why: "reads reports that programs wrote: the agent, which holds root, never links it"},
	{dir: "judge/diagnose", may: []string{"api"}, why: "pure functions from a result to its explanation, for any caller that shows one"},
	{dir: "judge/diagnose/diagnosetest", may: []string{"api"}, why: "reads the failed programs of its tests, for them and for e2e"},
	{dir: "internal/doctor", may: []string{"api", "cgroups", "internal/procfs"}, why: "looks at a host without an agent"},
	{dir: "runtime/bundle", may: []string{"api", "runtime/plan", "seccomp"}, guards: []string{"spec"}, why: "a pure function from a run to an OCI configuration"},
	{dir: "cmd/brigd", may: []string{"agent", "api", "internal/cache", "internal/procfs", "internal/sockdir", "internal/sysmon", "internal/usage", "rootfs", "rootfs/archive", "rootfs/languages", "runtime", "runtime/ablate", "runtime/volume", "seccomp", "seccomp/load"}, guards: []string{"runc"},
		why: "the agent stays small: it holds root, and libcontainer re-executes all of it"},
	{dir: "cmd/brig", may: []string{"internal/durable", "agent/client", "api", "batch", "batch/jetstream", "batch/local", "batch/metrics", "batch/worker", "runtime/bundle", "internal/cache", "judge/calibrate", "cgroups", "judge/check", "service/client", "internal/corpus", "batch/dataset", "judge/diagnose", "internal/doctor", "agent/egress", "service", "service/auth", "service/problems", "judge/grade", "judge/grade/generate", "judge/grade/verify", "service/history", "internal/confine", "internal/inputfile", "internal/shareddir", "internal/sockdir", "internal/sysmon", "internal/usage", "judge/problem", "judge/problem/convert", "judge/problem/format", "judge/problem/store", "rootfs", "rootfs/build", "rootfs/languages", "rootfs/oci", "seccomp", "seccomp/engine", "seccomp/load", "judge/suite"}, guards: []string{"cobra", "spec"},
		why: "holds no privilege, so it links neither libcontainer nor libseccomp"},
	{dir: "batch", may: []string{"internal/durable", "api", "api/decode"}, guards: []string{"json"}, why: "reads jobs, records results, and declares what moves them; it executes nothing"},
	{dir: "batch/jetstream", may: []string{"batch"}, guards: []string{"nats"}, why: "the one place that knows NATS: batches and workers know queues"},
	{dir: "batch/metrics", guards: []string{"prometheus"}, why: "serves figures, and knows nothing of batches"},
	{dir: "batch/worker", may: []string{"api", "batch"}, guards: []string{"json"}, why: "executes jobs on an agent that it gets as functions"},
	{dir: "service", may: []string{"agent/client", "api", "api/decode", "internal/cache", "judge/check", "judge/diagnose", "agent/egress", "service/auth", "service/batches", "service/connlimit", "service/events", "service/metrics", "service/problems", "service/queue", "service/quota", "judge/grade", "judge/grade/verify", "service/history", "judge/suite"}, why: "HTTP for the network; it holds no privilege, so it links nothing that needs any"},
	{dir: "service/problems", may: []string{"internal/durable", "api", "judge/grade", "internal/inputfile", "judge/problem", "judge/problem/format"}, why: "keeps packages of problems for keys, and makes runs of them; a process of its own reads what callers pack"},
	{dir: "service/auth", may: []string{"api", "internal/shareddir"}, why: "knows keys and their file, and nothing of what their holders ask for"},
	{dir: "service/batches", may: []string{"internal/durable", "api", "api/decode", "batch", "batch/local", "batch/worker", "service/quota"}, why: "keeps batches on disk and judges them; it knows keys by name, and executes jobs by a function of the gateway"},
	{dir: "service/connlimit", may: []string{"api"}, why: "decides about connections before their keys are known"},
	{dir: "service/events", may: []string{"api"}, why: "keeps events for readers, and knows nothing of runs, keys and requests"},
	{dir: "service/quota", why: "divides numbers between keys and knows nothing of what they count"},
	{dir: "service/queue", why: "gives slots and knows nothing of what is done with them"},
	{dir: "internal/bench", may: []string{"agent/client", "api", "judge", "service/client", "agent/egress", "internal", "rootfs", "rootfs/languages"}, why: "measures what a caller sees"},
	{dir: "internal/corpus", may: []string{"api"}, why: "the hostile programs and what must come of them, for tests and brig selftest"},
	{dir: "internal/bench/batches", may: []string{"api", "batch/jetstream", "batch/worker", "internal"}, why: "measures what brig batch costs, with simulated workers too"},
	{dir: "internal/bench/languages", may: []string{"agent/client", "api", "internal"}, why: "measures what each language costs"},
	{dir: "internal/bench/accuracy", may: []string{"api", "internal"}, why: "measures what results say"},
	{dir: "internal/e2e", may: []string{"agent/client", "api", "judge/check", "service/client", "internal/corpus", "judge/diagnose", "internal", "rootfs", "rootfs/build", "rootfs/languages"}, tests: []string{"registry"}, why: "tests what a caller sees"},
	{dir: "internal/testagent", may: []string{"agent/client", "rootfs"}, why: "an agent for the tools that measure one"},
	{dir: "service/client/python", why: "clients in other languages, whose tests alone are run from Go"},
	{dir: "deploy", why: "recipes, whose tests alone are in Go"},
	{dir: "deploy/packaging", why: "scripts and files for packages, whose tests alone are in Go"},
	{dir: "internal/usage", may: []string{"api"}, why: "makes the flags and help of both programs, those of the limits from their table"},
	{dir: "internal/inputfile", may: []string{"api"}, why: "reads files for commands and for readers of packages; sizes in its errors are written as everywhere"},
	{dir: "testdata", why: "programs that tests run, and what they print"},
	{dir: "internal"},
}

// guarded are foreign modules that only some packages may link.
var guarded = map[string]string{
	"runc":       "github.com/opencontainers/runc",
	"cgroups":    "github.com/opencontainers/cgroups",
	"spec":       "github.com/opencontainers/runtime-spec",
	"cobra":      "github.com/spf13/cobra",
	"json":       "github.com/go-json-experiment/json",
	"libseccomp": "github.com/seccomp/libseccomp-golang",
	"nats":       "github.com/nats-io",
	"sqlite":     "modernc.org/sqlite",
	"prometheus": "github.com/prometheus",
	"registry":   "github.com/google/go-containerregistry",
}

func TestImports(t *testing.T) {
	seen := map[string]bool{}
	eachGoFile(t, func(name string, text []byte) {
		dir := path.Dir(name)
		r, ok := ruleOf(dir)
		if !ok {
			t.Errorf("%s: no rule says what %s may import: add one with its reason", name, dir)
			return
		}
		seen[r.dir] = true
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range f.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if bad := violation(r, imported, strings.HasSuffix(name, "_test.go")); bad != "" {
				t.Errorf("%s imports %s: %s (%s)", name, imported, bad, r.why)
			}
		}
	})
	for _, must := range []string{"api", "runtime", "cmd/brig", "cmd/brigd"} {
		if !seen[must] {
			t.Errorf("no file was found below %s: this test looks in the wrong place", must)
		}
	}
}

// ruleOf finds the rule of the nearest directory above.
func ruleOf(dir string) (rule, bool) {
	for ; dir != "."; dir = path.Dir(dir) {
		for _, r := range rules {
			if r.dir == dir {
				return r, true
			}
		}
	}
	return rule{}, false
}

// violation says how an import breaks a rule; empty if it does not.
func violation(r rule, imported string, test bool) string {
	for name, prefix := range guarded {
		if below(imported, prefix) && !contains(r.guards, name) && !(test && contains(r.tests, name)) {
			return r.dir + " must not link it"
		}
	}
	rel, ours := strings.CutPrefix(imported, module+"/")
	switch {
	case (below(r.dir, "api") || r.dir == "judge") && r.guards == nil && !ours && !test && strings.Contains(strings.Split(imported, "/")[0], "."):
		return "api imports the standard library alone"
	case !ours || test || rel == r.dir || below(rel, r.dir) && r.dir == "internal":
		return ""
	case contains(r.may, rel):
		return ""
	}
	return r.dir + " may import of ours only: " + strings.Join(append(r.may, "itself"), ", ")
}

func below(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s || l == "internal" && below(s, l) {
			return true
		}
	}
	return false
}

func TestRulesRejectForbiddenImports(t *testing.T) {
	for _, c := range []struct {
		from, imports string
		test, broken  bool
	}{
		{"api", "golang.org/x/sys/unix", false, true},
		{"api", "encoding/json", false, false},
		{"api", module + "/judge", false, true},
		{"judge", "golang.org/x/sys/unix", false, true},
		{"service", module + "/judge", false, true},
		{"api", "github.com/go-json-experiment/json", false, true},
		{"api/decode", "github.com/go-json-experiment/json", false, false},
		{"cgroups", module + "/rootfs", false, true},
		{"rootfs/archive", module + "/rootfs", false, true},
		{"seccomp/load", module + "/seccomp/bpf", false, true},
		{"cmd/brig", "github.com/opencontainers/runc/libcontainer", false, true},
		{"cmd/brig", module + "/runtime", false, true},
		{"cmd/brig", module + "/seccomp/engine", false, false},
		{"cmd/brigd", module + "/seccomp/engine", false, true},
		{"cmd/brigd", module + "/judge/problem", false, true},
		{"runtime", module + "/judge/problem", false, true},
		{"cmd/brigd", module + "/batch/dataset", false, true},
		{"runtime/plan", module + "/judge/suite", false, true},
		{"agent", module + "/seccomp/engine", false, true},
		{"cmd/brigd", module + "/rootfs/oci", false, true},
		{"rootfs", module + "/rootfs/oci", false, true},
		{"cmd/brig", "github.com/google/go-containerregistry/pkg/name", false, true},
		{"cmd/brig", module + "/agent", true, false},
		{"agent", "github.com/opencontainers/runc/libcontainer", true, true},
		{"runtime", "github.com/opencontainers/runc/libcontainer", false, true},
		{"runtime/cell", "github.com/opencontainers/runc/libcontainer", false, false},
		{"runtime/plan", module + "/runtime/cell", false, true},
		{"runtime/run", module + "/runtime/session", false, true},
		{"runtime/pool", module + "/runtime/run", false, true},
		{"runtime/cell", module + "/runtime", false, true},
	} {
		r, ok := ruleOf(c.from)
		if !ok {
			t.Fatalf("no rule for %s", c.from)
		}
		if got := violation(r, c.imports, c.test); (got != "") != c.broken {
			t.Errorf("%s imports %s: %q; want broken: %v", c.from, c.imports, got, c.broken)
		}
	}
}

const maxLines = 400 // of a file

func TestFilesAreShort(t *testing.T) {
	eachFile(t, func(name string, text []byte) {
		switch path.Ext(name) {
		case ".go", ".c", ".h", ".py", ".js":
		default:
			return
		}
		if n := bytes.Count(text, []byte("\n")); n > maxLines {
			t.Errorf("%s has %d lines; the most is %d: split it by subject", name, n, maxLines)
		}
	})
}

func TestNoFileNamesTheMachineItWasWrittenOn(t *testing.T) {
	eachFile(t, func(name string, text []byte) {
		for i, line := range bytes.Split(text, []byte("\n")) {
			for _, p := range []string{"/wor" + "k/", "/hom" + "e/"} {
				if bytes.Contains(line, []byte(p)) {
					t.Errorf("%s:%d: contains %s: %s", name, i+1, p, line)
				}
			}
		}
	})
}

func eachGoFile(t *testing.T, do func(name string, text []byte)) {
	eachFile(t, func(name string, text []byte) {
		if strings.HasSuffix(name, ".go") {
			do(name, text)
		}
	})
}

// eachFile calls do for every text file of the module, with its name relative to the root.
func eachFile(t *testing.T, do func(name string, text []byte)) {
	t.Helper()
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == ".git" || name == "bin" || name == "build"):
			return filepath.SkipDir
		case !d.Type().IsRegular() || name == ".git": // a file in a linked work tree
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err == nil && bytes.IndexByte(text[:min(len(text), 1024)], 0) < 0 {
			do(name, text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
