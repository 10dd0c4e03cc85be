package sessions

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// Languages whose program is a shell script: as the source, as an artifact in a directory that the manifest leaves to
// brig, and as one at a fixed place; and one that lists its artifacts, whose names are the source.
var scriptLanguages = map[string]string{
	"script": `run: [sh, "{source}"]`,
	"moved": `run: [sh, "{dir}out/main"]
compile: [sh, -c, 'mkdir out; cp "$1" out/main', sh, "{source}"]
artifacts: [out]`,
	"fixed": `run: [sh, out/main]
compile: [sh, -c, 'mkdir out; cp "$1" out/main', sh, "{source}"]
artifacts: [out]`,
	"classes": `run: [ls, -A, out]
compile: [sh, -c, 'mkdir out; for name in $(cat "$1"); do : >out/$name; done', sh, "{source}"]
artifacts: [out]`,
}

func startScripts(t *testing.T) *harness.Agent {
	t.Helper()
	dir := t.TempDir()
	for name, commands := range scriptLanguages {
		text := "name: " + name + "\nimage: tiny\nsource_file: main.sh\n" + commands + "\n"
		if err := os.WriteFile(filepath.Join(dir, name+".yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return harness.StartAgent(t, "--languages", dir, "--slots", "2")
}

func scriptSession(t *testing.T, a *harness.Agent, language string) api.Session {
	t.Helper()
	return a.NewSession(t, func(s *api.SessionRequest) { s.Image, s.Language = "", language })
}

// wantOwnProgram demands that a program which prints its own file prints its own text last.
func wantOwnProgram(t *testing.T, a *harness.Agent, id string, e api.Exec) {
	res, err := a.Exec(t.Context(), id, e)
	if err != nil || res.Verdict != api.OK || !strings.HasSuffix(string(res.Stdout), string(e.Source)) {
		t.Errorf("%v, verdict %s, stdout %q, stderr %q; want its own text %q", err, res.Verdict, res.Stdout, res.Stderr, e.Source)
	}
}

// Execs of one session that run at the same time run each its own program, also if callers give them the same name.
// The two programs of a round wait for each other, so that they do run at the same time; those of a language whose
// programs have one place run one after the other.
func TestExecsAtOnceRunTheirOwnPrograms(t *testing.T) {
	a := startScripts(t)
	for _, language := range []string{"script", "moved", "fixed"} {
		for _, name := range []string{"", "given.sh"} {
			t.Run(language+" "+name, func(t *testing.T) {
				s := scriptSession(t, a, language)
				meet := func(own, other string) api.Bytes {
					return api.Bytes(": >" + own + "; until test -e " + other + "; do sleep 0.02; done; cat \"$0\"\n")
				}
				sources := []api.Bytes{meet("a", "b"), meet("b", "a")}
				if language == "fixed" {
					sources = []api.Bytes{api.Bytes("sleep 0.2; cat \"$0\" # one\n"), api.Bytes("sleep 0.1; cat \"$0\" # two\n")}
				}

				var all sync.WaitGroup
				for _, source := range sources {
					all.Go(func() { wantOwnProgram(t, a, s.ID, api.Exec{Source: source, SourceName: name}) })
				}

				all.Wait()

				// What had a number is removed.
				want := map[string]string{"script": "main.sh\n", "moved": "out\n", "fixed": "out\n"}[language]
				if language == "script" && name != "" {
					want = name + "\n"
				}

				a.WantOutput(t, s.ID, "rm -f a b; ls -A", want)
			})
		}
	}
}

// A process that an exec has left running keeps its program, and no exec takes a file of the session for its own.
func TestLeftProcessesKeepTheirProgram(t *testing.T) {
	a := startScripts(t)
	for language, names := range map[string][2]string{"script": {"main.sh", "main_3.sh"}, "moved": {"out/main", ".exec-3/out/main"}} {
		t.Run(language, func(t *testing.T) {
			s := scriptSession(t, a, language)
			a.Put(t, s.ID, "main_2.sh", "mine")
			a.Put(t, s.ID, ".exec-2/out/main", "mine")

			left := `(until test -e go; do sleep 0.02; done; cat "$0" >seen; : >done) >/dev/null 2>&1 & echo "$0"` + "\n"
			res := a.MustExec(t, s.ID, api.Exec{Source: api.Bytes(left)})
			if string(res.Stdout) != names[0]+"\n" {
				t.Errorf("the first program is %q; want %s", res.Stdout, names[0])
			}

			res = a.MustExec(t, s.ID, api.Exec{Source: api.Bytes(`: >go; until test -e done; do sleep 0.02; done; echo "$0"; cat seen` + "\n")})
			if want := names[1] + "\n" + left; string(res.Stdout) != want {
				t.Errorf("next to a process that is left: %q; want %q", res.Stdout, want)
			}

			again := api.Exec{Source: api.Bytes(`echo "$0"` + "\n")}
			for deadline := time.Now().Add(time.Minute); ; { // the process is about to end
				res = a.MustExec(t, s.ID, again)
				if string(res.Stdout) == names[0]+"\n" || time.Now().After(deadline) {
					break
				}
			}

			if string(res.Stdout) != names[0]+"\n" {
				t.Errorf("when the process has ended: %q; want %s", res.Stdout, names[0])
			}

			a.WantOutput(t, s.ID, "cat main_2.sh .exec-2/out/main", "minemine")
			a.WantOutput(t, s.ID, "test ! -e main_3.sh && test ! -e .exec-3", "")
		})
	}
}

// What an earlier program has left of its artifacts is not part of the next one.
func TestArtifactsOfAnEarlierExecAreRemoved(t *testing.T) {
	a := startScripts(t)
	s := scriptSession(t, a, "classes")
	for _, names := range []string{"a\nb\n", "c\n", "a\nc\n"} {
		res := a.MustExec(t, s.ID, api.Exec{Source: api.Bytes(names)})
		if string(res.Stdout) != names {
			t.Errorf("%q, %q; want %q", res.Stdout, res.Stderr, names)
		}
	}
}
