package isolation

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// FS-07: no request names a working directory, and a program path through a magic link finds
// nothing of brig's there (CVE-2024-21626). The link to the run's own directory works, so the
// others would.
func TestHostileWorkDirThroughAMagicLink(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	const body = `{"image":"tiny","argv":["/bin/sh","-c","pwd -P"]%s}`
	if status, answer := postRun(t, a, fmt.Sprintf(body, "")); status != 200 || string(answer.Stdout) != "/box\n" {
		t.Fatalf("status %d, stdout %q: the test proves nothing", status, answer.Stdout)
	}

	for _, field := range []string{"cwd", "dir", "work_dir", "workdir", "working_dir"} {
		for _, path := range []string{"/proc/self/fd/7", "/proc/self/cwd/..", "/proc/1/root"} {
			status, answer := postRun(t, a, fmt.Sprintf(body, fmt.Sprintf(`,%q:%q`, field, path)))
			if status != 400 || answer.Error == nil || answer.Error.Code != api.CodeBadRequest {
				t.Errorf("%s %s: status %d, %+v; want 400, %s", field, path, status, answer.Error, api.CodeBadRequest)
			}
		}
	}

	harness.Both(t, func(t *testing.T, mode api.Mode) {
		where := func(name string) api.Run {
			return api.Run{Image: "tiny", Mode: mode, Argv: []string{name}, Env: map[string]string{"PWD": "/proc/self/fd/7"},
				Files: []api.File{{Name: "where", Content: api.Bytes("#!/bin/sh\npwd -P; readlink /proc/self/cwd\n"), Executable: true}}}
		}
		res := a.MustRun(t, where("/proc/self/cwd/where"))
		harness.WantVerdict(t, res, api.OK)
		if string(res.Stdout) != "/box\n/box\n" {
			t.Errorf("the working directory is %q", res.Stdout)
		}

		outside := []string{"/proc/1/cwd/where", "/proc/1/root/bin/sh", "/proc/1/exe"}
		for n := 3; n < 24; n++ {
			outside = append(outside, fmt.Sprintf("/proc/self/fd/%d", n), fmt.Sprintf("/proc/self/fd/%d/../bin/sh", n))
		}

		for _, name := range outside {
			a.Refused(t, where(name), api.CodeNoProgram)
		}

		res = a.MustRun(t, where("/proc/self/exe")) // the sealed first process of the cell, which finds no agent to connect to
		harness.WantVerdict(t, res, api.Nonzero)
		if len(res.Stdout)+len(res.Stderr) != 0 {
			t.Errorf("the first process says %q, %q", res.Stdout, res.Stderr)
		}

		harness.WantVerdict(t, a.MustRun(t, harness.Sh("exit 0")), api.OK)
	})
}

// runAnswer is the agent's response to a run: a result, or an error.
type runAnswer struct {
	api.Result
	Error *api.Error `json:"error"`
}

// postRun sends the text of a run unchanged.
func postRun(t *testing.T, a *harness.Agent, body string) (status int, answer runAnswer) {
	t.Helper()
	c, err := net.Dial("unix", a.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	_ = c.SetDeadline(time.Now().Add(harness.Slow(20 * time.Second)))
	if _, err := io.WriteString(c, harness.Post("/v1/runs", body)); err != nil {
		t.Fatal(err)
	}

	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()

	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, answer
}

// FS-22: of the host's paths a run's mount tables show one, the directory of its image, as
// docs/threat-model.md states; with a writable root none. The agent's own table has the others.
func TestHostilePathsInMountTables(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	list, err := a.Images(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	at := slices.IndexFunc(list, func(i api.Image) bool { return slices.Contains(i.Names, "tiny") })
	image := strings.TrimPrefix(list[at].Digest, "sha256:")

	// The path of a bind mount begins at its file system's root: only the last parts are certain.
	host := []string{"/" + filepath.Base(a.Dir) + "/", "/" + filepath.Base(harness.DataDir(t)) + "/", image, "/cells/"}
	shows := func(text string) (found []string) {
		for _, path := range host {
			if strings.Contains(text, path) {
				found = append(found, path)
			}
		}
		return found
	}

	for _, tt := range []struct {
		name     string
		mode     api.Mode
		writable bool
	}{{"kept cell", api.Strict, false}, {"fresh cell", api.Fresh, false}, {"exclusive", api.Exclusive, false},
		{"writable root", api.Strict, true}, {"exclusive with a writable root", api.Exclusive, true}} {
		t.Run(tt.name, func(t *testing.T) {
			r := harness.Sh("cat /proc/self/mountinfo /proc/self/mounts /proc/self/mountstats; touch /etc/x")
			r.Mode, r.WritableRoot = tt.mode, tt.writable
			res := a.MustRun(t, r)
			if writable := res.ExitCode == 0; writable != tt.writable {
				t.Errorf("the root is writable: %v; want %v", writable, tt.writable)
			}

			images := 0
			for line := range strings.Lines(string(res.Stdout)) {
				if f := strings.Fields(line); len(f) > 4 && f[4] == "/" && strings.HasSuffix(f[3], "/images/"+image+"/root") {
					images++
					continue
				}
				if found := shows(line); len(found) > 0 {
					t.Errorf("a run sees %q in %q", found, line)
				}
			}

			if tt.writable && images != 0 || images > 1 {
				t.Errorf("the image's directory is shown %d times", images)
			}
		})
	}

	own, err := os.ReadFile(fmt.Sprintf("/proc/%d/mountinfo", a.Cmd.Process.Pid))
	if err != nil || len(shows(string(own))) == 0 {
		t.Errorf("the agent's own table shows nothing of the kind, %v: the test proves nothing", err)
	}
}
