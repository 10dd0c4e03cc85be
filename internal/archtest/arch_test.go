// Package archtest checks the structure of the project: which packages may import which,
// how long a file may be, and what no file may contain. It has no code except its tests.
package archtest

import (
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/brig-sandbox/brig"

// A room is a top-level folder, or a part of one that has its own rule. Its packages may import each other, and what
// may lists: a package, or with /... a folder and all below it. Tests may import anything of ours.
type room struct {
	dir string // DIR/ is only what lies below DIR
	may []string
	why string
}

var rooms = []room{
	{"api", nil, "everyone speaks it, so it depends on the standard library alone"},
	{"api/decode", []string{"api"}, "reads what callers send, for the two servers: clients do not link it"},
	{"cgroups", nil, "cgroups, rootfs and seccomp each know one facility of the kernel; runtime joins them"},
	{"seccomp", []string{"internal/strictyaml"}, "as cgroups"},
	{"rootfs", []string{"internal/durable", "internal/flock", "internal/lookup", "rootfs/archive", "rootfs/recipes"},
		"as cgroups; the store knows no manifest, registry or tool"},
	{"rootfs/", []string{"api", "internal/child", "internal/confine", "internal/flock", "internal/inputfile", "internal/lookup",
		"internal/shareddir", "internal/strictyaml", "rootfs"},
		"reads and makes images and manifests, and knows nothing of runs"},
	{"runtime", []string{"api", "cgroups", "internal/cache", "internal/durable", "internal/flock", "internal/lookup", "internal/procfs",
		"internal/rollback", "internal/shareddir", "judge", "rootfs", "rootfs/archive", "rootfs/languages", "seccomp", "seccomp/bpf"},
		"makes cells and runs programs as root: it parses nothing that a stranger wrote"},
	{"agent", []string{"api", "api/decode", "internal/halfclose"}, "HTTP knows nothing of cells; brigd joins the two"},
	{"agent/", []string{"api", "internal/child"},
		"a program that talks to an agent, or relays the network of a run, links no agent"},
	{"judge", []string{"api"}, "pure functions from what was seen of a run to what it means"},
	{"judge/", []string{"api", "internal/durable", "internal/flock", "internal/inputfile", "internal/strictyaml",
		"internal/suggest", "internal/terminal", "rootfs/languages"},
		"decides what runs and reads what strangers packed; a caller that has an agent executes it"},
	{"batch", []string{"api", "api/decode", "internal/cache", "internal/durable", "internal/flock", "internal/shareddir"},
		"reads jobs, moves them and records results; it executes nothing"},
	{"service", []string{"agent/client", "agent/egress", "api", "api/decode", "batch/...", "internal/cache",
		"internal/child", "internal/confine", "internal/durable", "internal/flock", "internal/halfclose",
		"internal/inputfile", "internal/lookup", "internal/shareddir",
		"judge/...", "service/client", "service/dialect"},
		"HTTP for the network; it holds no privilege, so it links nothing that needs any"},
	{"service/dialect", []string{"api"}, "pure functions between the words of other programs and brig's; the service acts"},
	{"service/client", []string{"api"}, "a program that talks to a service links none"},
	{"internal", []string{"agent/client", "agent/egress", "api", "batch/jetstream", "batch/worker", "cgroups", "judge", "rootfs",
		"rootfs/languages", "service/client"}, "helpers, tests and the tools that measure"},
	{"internal/e2e/harness", []string{"agent/client", "api", "internal/...", "rootfs", "rootfs/archive", "rootfs/build",
		"rootfs/languages"}, "what the end-to-end tests share; nothing else imports it"},
	{"deploy", nil, "scripts, units and recipes, whose tests alone are in Go"},
	{"testdata", nil, "programs that tests run, and what they print"},
	{"cmd/brigd", []string{"agent", "api", "internal/...", "rootfs", "rootfs/archive", "rootfs/languages", "runtime/...", "seccomp",
		"seccomp/load"}, "wiring of the agent, which holds root: see agentLinks"},
	{"cmd/brig", []string{"agent/caller", "agent/client", "agent/egress", "agent/relay", "api", "batch/...",
		"internal/...", "judge/...", "rootfs/...", "runtime/bundle", "seccomp/...", "service/..."}, "wiring; it holds no privilege, so it links neither libcontainer nor libseccomp"},
}

// floors are the packages below runtime, the lowest first: a package imports those in front of it alone.
var floors = []string{"ablate", "linux", "mount", "plan", "bundle", "netns", "template", "image", "calls", "volume", "cell", "pool",
	"outputs", "run", "paths", "snapshot", "session", "packages", ""}

// agentLinks are all packages of ours that brigd is linked with: it holds root, and libcontainer re-executes all of it.
// It listens on no network, and reads no program, archive or foreign dialect; rootfs/archive reads in a child.
var agentLinks = []string{
	"agent", "api/...", "cgroups", "cmd/brigd", "internal/cache", "internal/durable", "internal/flock", "internal/halfclose",
	"internal/lookup", "internal/procfs", "internal/rollback", "internal/shareddir",
	"internal/sockdir", "internal/strictyaml", "internal/sysmon", "internal/usage", "judge", "rootfs", "rootfs/archive",
	"rootfs/languages", "rootfs/recipes",
	"runtime/...", "seccomp", "seccomp/bpf", "seccomp/load",
}

// guarded are foreign modules that only some packages may link; in tests also those of testsMay.
var guarded = map[string][]string{
	"github.com/opencontainers/runc":         {"runtime/cell", "cmd/brigd"},
	"github.com/opencontainers/cgroups":      {"runtime/cell"},
	"github.com/opencontainers/runtime-spec": {"runtime/cell", "runtime/bundle", "cmd/brig/run"},
	"github.com/spf13/cobra":                 {"cmd/brig/..."},
	"github.com/go-json-experiment/json":     {"api/decode", "batch", "batch/worker"},
	"github.com/seccomp/libseccomp-golang":   {"seccomp/bpf"},
	"github.com/nats-io":                     {"batch/jetstream"},
	"modernc.org/sqlite":                     {"service/history"},
	"github.com/prometheus":                  {"service/metrics", "batch/metrics"},
	"github.com/google/go-containerregistry": {"rootfs/oci"},
	"github.com/modelcontextprotocol/go-sdk": {"service/mcp/..."},
	"github.com/google/jsonschema-go":        {"service/mcp"},
}

var testsMay = map[string][]string{
	"github.com/opencontainers/runc":         {"runtime"},
	"github.com/google/go-containerregistry": {"internal/e2e/images"},
	"github.com/modelcontextprotocol/go-sdk": {"service", "internal/e2e/compatibility"},
}

// An importer is a file with what it imports.
type importer struct {
	file    string
	test    bool
	imports []string
}

func importers(t *testing.T) (all []importer) {
	t.Helper()
	eachGoFile(t, func(name string, text []byte) {
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}

		one := importer{file: name, test: strings.HasSuffix(name, "_test.go")}
		for _, spec := range f.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			one.imports = append(one.imports, imported)
		}

		all = append(all, one)
	})

	return all
}

// Packages import what the rule of their room permits, and every permit is used: one that is not would let in what
// nobody has thought about.
func TestImports(t *testing.T) {
	used := map[string]bool{} // of a room's permits, as ROOM PERMIT
	for _, one := range importers(t) {
		dir := path.Dir(one.file)
		r, ok := roomOf(dir)
		if !ok {
			t.Errorf("%s: no room has %s: add a rule with its reason", one.file, dir)
			continue
		}

		used[r.dir] = true
		for _, imported := range one.imports {
			if bad := violation(dir, imported, one.test); bad != "" {
				t.Errorf("%s imports %s: %s", one.file, imported, bad)
			}
			if rel, ours := strings.CutPrefix(imported, module+"/"); ours && !one.test {
				used[r.dir+" "+permit(r, rel)] = true
			}
		}
	}

	for _, r := range rooms {
		if !used[r.dir] {
			t.Errorf("no file is in the room %s: remove its rule", r.dir)
		}
		for _, p := range r.may {
			if !used[r.dir+" "+p] {
				t.Errorf("nothing in %s imports %s: remove the permit", r.dir, p)
			}
		}
	}
}

// roomOf finds the rule of the nearest directory above.
func roomOf(dir string) (room, bool) {
	for at := dir; at != "."; at = path.Dir(at) {
		for _, r := range rooms {
			if r.dir == at+"/" && at != dir {
				return r, true
			}
		}
		for _, r := range rooms {
			if r.dir == at {
				return r, true
			}
		}
	}

	return room{}, false
}

// permit returns the entry of a room's rule that permits a package of ours; empty: none does.
func permit(r room, imported string) string {
	for _, p := range r.may {
		if matches(p, imported) {
			return p
		}
	}
	return ""
}

func matches(pattern, dir string) bool {
	base, all := strings.CutSuffix(pattern, "/...")
	return dir == base || all && below(dir, base)
}

// violation says how an import breaks a rule; empty if it does not.
func violation(dir, imported string, test bool) string {
	for prefix, may := range guarded {
		allowed := slices.ContainsFunc(may, func(p string) bool { return matches(p, dir) })
		if below(imported, prefix) && !allowed && !(test && slices.Contains(testsMay[prefix], dir)) {
			return "only " + strings.Join(may, ", ") + " may link " + prefix
		}
	}

	r, _ := roomOf(dir)
	rel, ours := strings.CutPrefix(imported, module+"/")
	switch {
	case rel == "internal/e2e/harness" && !below(dir, "internal/e2e"):
		return "only the end-to-end tests import what they share"
	case test:
		return ""
	case !ours && dir == "api" && strings.Contains(strings.Split(imported, "/")[0], "."):
		return "api imports the standard library alone"
	case !ours && dir == "judge" && strings.Contains(strings.Split(imported, "/")[0], "."):
		return "judge decides from values, and imports the standard library alone"
	case below(dir, "service/dialect") && dir != "service/dialect/dialecttest" &&
		slices.Contains([]string{"net/http", "os", "crypto/rand", "math/rand/v2", "context"}, imported):
		return "a dialect is made of pure functions"
	case !ours || rel == dir:
		return ""
	case below(dir, "runtime") && below(rel, "runtime"):
		if slices.Index(floors, floor(rel)) >= slices.Index(floors, floor(dir)) {
			return "of runtime a package imports only those in front of it: " + strings.Join(floors, " ")
		}
		return ""

	case inside(r, rel), permit(r, rel) != "":
		return ""
	}

	return r.dir + " may import only itself and " + strings.Join(r.may, ", ") + " (" + r.why + ")"
}

// inside reports whether a package is in the same room: then its rule is the same.
func inside(r room, dir string) bool {
	other, ok := roomOf(dir)
	return ok && other.dir == r.dir
}

func floor(dir string) string { return strings.TrimPrefix(strings.TrimPrefix(dir, "runtime"), "/") }

func below(p, dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") }

// The agent holds root. It is linked with no package of ours but those of the list, over whatever way.
func TestAgentLinksLittle(t *testing.T) {
	c := exec.Command("go", "list", "-deps", "./cmd/brigd")
	c.Dir = "../.."
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}

	used := map[string]bool{}
	for linked := range strings.FieldsSeq(string(out)) {
		rel, ours := strings.CutPrefix(linked, module+"/")
		if !ours {
			continue
		}
		i := slices.IndexFunc(agentLinks, func(p string) bool { return matches(p, rel) })
		if i < 0 {
			t.Errorf("brigd is linked with %s", rel)
			continue
		}
		used[agentLinks[i]] = true
	}

	for _, p := range agentLinks {
		if !used[p] {
			t.Errorf("brigd is not linked with %s: remove it", p)
		}
	}
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
		{"judge", module + "/judge/problem", false, true},
		{"judge/suite", module + "/judge/problem", false, false},
		{"api", "github.com/go-json-experiment/json", false, true},
		{"api", module + "/api/decode", false, true},
		{"api/decode", "github.com/go-json-experiment/json", false, false},
		{"cgroups", module + "/rootfs", false, true},
		{"rootfs/archive", module + "/cgroups", false, true},
		{"seccomp/load", module + "/rootfs", false, true},
		{"cmd/brig", "github.com/opencontainers/runc/libcontainer", false, true},
		{"cmd/brig", module + "/runtime", false, true},
		{"cmd/brig", module + "/seccomp/engine", false, false},
		{"cmd/brigd", module + "/seccomp/engine", false, true},
		{"cmd/brigd", module + "/judge/problem", false, true},
		{"runtime", module + "/judge/problem", false, true},
		{"runtime", module + "/judge", false, false},
		{"runtime/plan", module + "/judge/suite", false, true},
		{"agent", module + "/seccomp/engine", false, true},
		{"agent/client", module + "/agent", false, true},
		{"service/client", module + "/service", false, true},
		{"service/dialect/sandboxfusion", module + "/service/core", false, true},
		{"service/dialect/sandboxfusion", "net/http", false, true},
		{"service/dialect/gojudge", "crypto/rand", false, true},
		{"service/dialect/catalog", module + "/service/dialect/sandboxfusion", false, false},
		{"service", module + "/runtime/plan", false, true},
		{"rootfs", module + "/rootfs/oci", false, true},
		{"cmd/brig", "github.com/google/go-containerregistry/pkg/name", false, true},
		{"cmd/brig/run", module + "/runtime", false, true},
		{"cmd/brig/run", "github.com/spf13/cobra", false, false},
		{"cmd/brigd", "github.com/spf13/cobra", false, true},
		{"cmd/brig", module + "/agent", true, false},
		{"cmd/brig", module + "/internal/e2e/harness", false, true},
		{"runtime", module + "/internal/e2e/harness", true, true},
		{"internal/e2e/limits", module + "/internal/e2e/harness", true, false},
		{"agent", "github.com/opencontainers/runc/libcontainer", true, true},
		{"runtime", "github.com/opencontainers/runc/libcontainer", false, true},
		{"runtime/cell", "github.com/opencontainers/runc/libcontainer", false, false},
		{"runtime/plan", module + "/runtime/cell", false, true},
		{"runtime/run", module + "/runtime/session", false, true},
		{"runtime/session", module + "/runtime/run", false, false},
		{"runtime/pool", module + "/runtime/run", false, true},
		{"runtime/cell", module + "/runtime", false, true},
	} {
		if got := violation(c.from, c.imports, c.test); (got != "") != c.broken {
			t.Errorf("%s imports %s: %q; want broken: %v", c.from, c.imports, got, c.broken)
		}
	}
}

const maxCode = 450 // lines of a file that are neither blank nor a comment

func TestFilesAreShort(t *testing.T) {
	eachFile(t, func(name string, text []byte) {
		switch path.Ext(name) {
		case ".go", ".c", ".h", ".py", ".js":
		default:
			return
		}
		if isGenerated(text) {
			return
		}
		if n := codeLines(text); n > maxCode {
			t.Errorf("%s has %d lines of code; the maximum is %d: split it by subject", name, n, maxCode)
		}
	})
}

// isGenerated reports whether nobody writes or reads a file: what it is made of is beside it.
func isGenerated(text []byte) bool {
	return bytes.Contains(text, []byte("\n// Code "+"generated by protoc-gen-go. DO NOT EDIT.\n"))
}

func codeLines(text []byte) (n int) {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && !bytes.HasPrefix(line, []byte("//")) && !bytes.HasPrefix(line, []byte("#")) {
			n++
		}
	}
	return n
}

func TestNoFileNamesTheMachineItWasWrittenOn(t *testing.T) {
	eachFile(t, func(name string, text []byte) {
		for i, line := range bytes.Split(text, []byte("\n")) {
			// What programs and clients of E2B call the directory of a program, and no directory of a machine.
			line = bytes.ReplaceAll(line, []byte("/hom"+"e/user"), nil)
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
		case d.IsDir() && (name == ".git" || name == "bin" || name == "build" || d.Name() == "node_modules"): // git ignores all but the first
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
