package plan

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

// storedImage makes a store with one image, by its description alone.
func storedImage(t *testing.T, name string, c rootfs.Config) *rootfs.Store {
	t.Helper()
	dir, hex := t.TempDir(), strings.Repeat("0a", 32)
	text, err := json.Marshal(map[string]any{"digest": "sha256:" + hex, "config": c})
	if err != nil {
		t.Fatal(err)
	}

	for file, content := range map[string][]byte{"images/" + hex + "/image.json": text, "names/" + name: []byte("sha256:" + hex + "\n")} {
		path := filepath.Join(dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}

	return rootfs.OpenReadOnly(dir)
}

// IMG-55: arguments and environment that come from several places and are too much together are
// refused, and are no failure of brig. The controls are as much as any one place may have.
func TestProgramsThatNoStartMessageHolds(t *testing.T) {
	known, err := languages.Load("", nil)
	if err != nil {
		t.Fatal(err)
	}

	env := func(name string, n int) map[string]string { return map[string]string{name: strings.Repeat("x", n)} }
	many := func(name string, n int) map[string]string {
		all := map[string]string{}
		for i := range n {
			all[fmt.Sprint(name, i)] = ""
		}
		return all
	}

	image := storedImage(t, "cpp", rootfs.Config{Env: []string{"I=" + strings.Repeat("i", 24<<10)}})
	pl := &Planner{Images: image, Languages: known, Memory: 8 * api.GiB, SessionLife: api.Duration(time.Hour), Ceiling: api.Limits{}}
	exec := func(session, exec map[string]string, args ...string) func() error {
		return func() error {
			s, err := pl.Session(t.Context(), api.SessionRequest{Image: "cpp", Env: session}, api.Caller{})
			if err != nil {
				return err
			}
			_, _, err = pl.Exec(s, api.Exec{Argv: append([]string{"x"}, args...), Env: exec})
			return err
		}
	}

	job := func(r api.Run) func() error {
		return func() error { _, err := pl.Job(t.Context(), r, api.Caller{}); return err }
	}
	sources := func(n int) (files []api.File) {
		for i := range n {
			files = append(files, api.File{Name: fmt.Sprintf("%0200d.c", i)})
		}
		return files
	}

	for name, tt := range map[string]struct {
		plan func() error
		ok   bool
	}{
		"image and run":                     {job(api.Run{Image: "cpp", Argv: []string{"x"}, Env: env("R", 127<<10)}), true},
		"image and session":                 {exec(env("S", 127<<10), nil), true},
		"session and exec":                  {exec(env("S", 100_000), env("E", 90_000)), false},
		"image, session and exec":           {exec(env("S", 100_000), env("E", 60_000)), false},
		"session and arguments":             {exec(env("S", 100_000), nil, strings.Repeat("a", 90_000)), false},
		"many variables":                    {exec(many("S", 3000), many("E", 3000)), true},
		"many variables and arguments":      {exec(many("S", 3000), many("E", 3000), make([]string, 3000)...), false},
		"sources that a compiler gets":      {job(api.Run{Language: "c", Source: api.Bytes("x"), Files: sources(500)}), true},
		"many sources that a compiler gets": {job(api.Run{Language: "c", Source: api.Bytes("x"), Files: sources(900)}), false},
		"arguments and those of a test": {job(api.Run{Language: "c", Source: api.Bytes("x"), Argv: []string{strings.Repeat("a", 60_000)},
			Tests: []api.Test{{ID: "1", Args: []string{strings.Repeat("b", 60_000)}}}}), true},
	} {
		err := tt.plan()
		if tt.ok && err != nil || !tt.ok && !api.HasCode(err, api.CodeTooLarge) {
			t.Errorf("%s: %v; want it accepted: %v", name, err, tt.ok)
		}
	}
}

// In a session with a volume a working directory below /workspace is hidden by the volume: an exec
// starts in the volume. The controls are sessions without one, and other directories.
func TestStartDirOfSessionsWithAVolume(t *testing.T) {
	for _, tt := range []struct {
		dir    string
		volume *api.VolumeRequest
		want   string
	}{
		{"/workspace/app", &api.VolumeRequest{}, "/workspace"},
		{"/workspace/app", nil, "/workspace/app"},
		{"/workspace", &api.VolumeRequest{}, "/workspace"},
		{"/workspaces/app", &api.VolumeRequest{}, "/workspaces/app"},
		{"", &api.VolumeRequest{}, ""},
	} {
		s := &Session{Ask: api.SessionRequest{Volume: tt.volume}, Image: rootfs.Image{Config: rootfs.Config{WorkingDir: tt.dir}}}
		run, _, err := new(Planner).Exec(s, api.Exec{Argv: []string{"x"}})
		if err != nil || run.Dir != tt.want {
			t.Errorf("%q, volume %v: %+v, %v; want %q", tt.dir, tt.volume != nil, run, err, tt.want)
		}
	}
}

// What judges a test, and a process with pipes by name, get words that the request does not have: one more than
// fits is an error of the caller's, before anything runs.
func TestStartsOfJudges(t *testing.T) {
	words := func(n int) []string { return strings.Split(strings.Repeat("x,", n-1)+"x", ",") }
	run := func(argv int) *Run { return &Run{Argv: words(argv), Env: []string{"A=1"}} }
	manager := &api.Interactor{Protocol: api.ProtocolCMS, Processes: 7, ProgramIO: api.FIFOIO}
	for _, tt := range []struct {
		name string
		job  func(less int) *Job // whose program has so many words less than fit
		want string
	}{
		{"a manager", func(n int) *Job {
			return &Job{Run: run(1), Interactor: &Job{Run: run(MaxStartWords - 2 - 14 - 2 - n)},
				Request: api.Run{Interactor: manager, Tests: []api.Test{{ID: "1"}, {ID: "2", CheckArgs: words(2)}}}}
		}, `test "2": interactor: `},
		{"a process", func(n int) *Job {
			return &Job{Run: run(MaxStartWords - 2 - 3 - 2 - n), Interactor: &Job{Run: run(1)},
				Request: api.Run{Interactor: manager, Tests: []api.Test{{Args: words(2)}}}}
		}, "arguments and environment"},
		{"a checker", func(n int) *Job {
			return &Job{Run: run(1), Checker: &Job{Run: run(MaxStartWords - 2 - 3 - 2 - n)},
				Request: api.Run{Check: &api.Check{Protocol: api.ProtocolTestlib}, Tests: []api.Test{{ID: "1", CheckArgs: words(2)}}}}
		}, `test "1": check: `},
	} {
		if err := tt.job(0).checkStarts(); err != nil {
			t.Errorf("%s that just fits: %v", tt.name, err)
		}
		if err := tt.job(-1).checkStarts(); !api.HasCode(err, api.CodeTooLarge) || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s with one word more: %v; want %s", tt.name, err, tt.want)
		}
	}
}
