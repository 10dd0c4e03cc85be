package limits

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// Limits that make no sense, and arguments that no program can be given: each is refused with its
// code and a message that names the cause but no host path. A negative duration does not parse at
// all, so it is a bad request rather than a bad limit.
func TestNonsenseIsRefusedByName(t *testing.T) {
	a := harness.StartAgent(t)
	limits := func(l api.Limits) api.Run { r := harness.Sh("exit 0"); r.Limits = l; return r }
	changed := func(f func(*api.Run)) api.Run { r := harness.Sh("exit 0"); f(&r); return r }
	for _, tt := range []struct {
		name string
		run  api.Run
		code api.Code
		text string
	}{
		{"a negative wall time", limits(api.Limits{Wall: -1}), api.CodeBadRequest, "must be positive"},
		{"a wall time under a millisecond", limits(api.Limits{Wall: 1}), api.CodeBadLimits, "wall"},
		{"a negative cpu time", limits(api.Limits{CPU: harness.Seconds(-1)}), api.CodeBadRequest, "must be positive"},
		{"memory below the least", limits(api.Limits{Memory: 4*api.MiB - 1}), api.CodeBadLimits, "least is 4M"},
		{"negative processors", limits(api.Limits{CPUs: -0.5}), api.CodeBadLimits, "cpus"},
		{"negative pids", limits(api.Limits{Pids: -1}), api.CodeBadLimits, "pids"},
		{"a weight over the kernel's", limits(api.Limits{Weight: 262145}), api.CodeBadLimits, "weight"},
		{"a cpuset that is prose", limits(api.Limits{Cpuset: "all of them"}), api.CodeBadLimits, "cpuset"},
		{"a cpuset that runs backwards", limits(api.Limits{Cpuset: "1-0"}), api.CodeBadLimits, "cpuset"},
		{"a cpuset of nothing but commas", limits(api.Limits{Cpuset: ",,"}), api.CodeBadLimits, "cpuset"},
		{"core files", limits(api.Limits{Core: api.MiB}), api.CodeBadLimits, "core"},
		{"no room for the three descriptors", limits(api.Limits{OpenFiles: 2}), api.CodeBadLimits, "open_files"},
		{"more open files than the ceiling", limits(api.Limits{OpenFiles: 1 << 40}), api.CodeAboveCeiling, "open_files"},
		{"a wall time over the ceiling", limits(api.Limits{Wall: harness.Seconds(31)}), api.CodeAboveCeiling, "wall"},
		{"swap where there is none to give", limits(api.Limits{Swap: api.MiB}), api.CodeAboveCeiling, "swap"},
		{"a preset that does not exist", changed(func(r *api.Run) { r.Preset = "heavy" }), api.CodeBadLimits, "heavy"},
		{"a mode that does not exist", changed(func(r *api.Run) { r.Mode = "sloppy" }), api.CodeBadRequest, "sloppy"},
		{"no program", changed(func(r *api.Run) { r.Argv = nil }), api.CodeBadRequest, "nothing to run"},
		{"neither image nor language", changed(func(r *api.Run) { r.Image = "" }), api.CodeBadRequest, "image"},
		{"NUL in an argument", changed(func(r *api.Run) { r.Argv = append(r.Argv, "a\x00b") }), api.CodeBadRequest, "NUL"},
		{"an environment name with =", changed(func(r *api.Run) { r.Env = map[string]string{"A=B": "c"} }), api.CodeBadRequest, "env"},
		{"arguments over the kernel's size", changed(func(r *api.Run) { r.Argv = append(r.Argv, strings.Repeat("x", 200<<10)) }),
			api.CodeTooLarge, "argv"},
		{"an absolute file name", changed(func(r *api.Run) { r.Files = []api.File{{Name: "/etc/passwd"}} }), api.CodeBadFile, "absolute"},
		{"a file name with ..", changed(func(r *api.Run) { r.Files = []api.File{{Name: "a/../../b"}} }), api.CodeBadFile, ".."},
		{"a file that is also a directory", changed(func(r *api.Run) { r.Files = []api.File{{Name: "a"}, {Name: "a/b"}} }),
			api.CodeBadFile, "directory"},
		{"a file given twice", changed(func(r *api.Run) { r.Files = []api.File{{Name: "a"}, {Name: "a"}} }), api.CodeBadFile, "twice"},
		{"an image by an unknown digest", changed(func(r *api.Run) { r.Image = "sha256:" + strings.Repeat("0", 64) }), api.CodeNoImage, ""},
		{"an image by a path that leads out", changed(func(r *api.Run) { r.Image = "../../etc" }), api.CodeNoImage, ""},
		{"a program without its x bit",
			api.Run{Image: "tiny", Argv: []string{"./x"}, Files: []api.File{{Name: "x", Content: api.Bytes("#!/bin/sh\n")}}},
			api.CodeBadProgram, "x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := a.Refused(t, tt.run, tt.code)
			if !strings.Contains(e.Message, tt.text) || strings.Contains(e.Message, "\n") || strings.Contains(e.Message, "/var/tmp") {
				t.Errorf("message %q: want one sentence with %q and no host path", e.Message, tt.text)
			}
			if e.RetrySafe {
				t.Errorf("%q is said to be worth a retry", e.Message)
			}
		})
	}

	if h, err := a.Health(t.Context()); err != nil || h.Leased != 0 || h.Memory != 0 {
		t.Errorf("refusals hold something: %+v, %v", h, err)
	}

	harness.WantVerdict(t, a.MustRun(t, harness.Sh("exit 0")), api.OK)
}

// PID-15: zero processes means not specified. The default applies; a runtime that passes the number
// on would set no limit.
func TestZeroProcessesAreTheDefault(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	c, err := net.Dial("unix", a.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()

	_ = c.SetDeadline(time.Now().Add(harness.Slow(20 * time.Second)))
	if _, err := io.WriteString(c, harness.Post("/v1/runs", `{"image":"tiny","argv":["/bin/sh","-c","exit 0"],"limits":{"pids":0}}`)); err != nil {
		t.Fatal(err)
	}

	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()

	var res api.Result
	if err := json.NewDecoder(answer.Body).Decode(&res); err != nil {
		t.Fatal(err)
	}

	harness.WantVerdict(t, res, api.OK)
	if res.Limits.Pids != api.Defaults().Pids || res.Limits.Pids < 1 {
		t.Errorf("%d processes in force; want the default", res.Limits.Pids)
	}
}

// FIO-16: a file that is no archive, or is a bomb, is the caller's error, and is refused at once.
func TestHostileArchivesAreRefusedOverTheSocket(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "1")
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	w := tar.NewWriter(z)
	err := w.WriteHeader(&tar.Header{Name: "zeros", Mode: 0o644, Size: 96 << 20})
	for range 96 {
		_, werr := w.Write(make([]byte, 1<<20))
		err = errors.Join(err, werr)
	}

	if err := errors.Join(err, w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}

	for name, archive := range map[string][]byte{"a bomb": bomb.Bytes(), "half an archive": bomb.Bytes()[:1000],
		"a zip": []byte("PK\x03\x04 and so on")} {
		began := time.Now()
		_, err := a.Import(t.Context(), bytes.NewReader(archive), "hostile", "")
		var e *api.Error
		if !errors.As(err, &e) || e.Code != api.CodeBadImage || e.RetrySafe {
			t.Errorf("%s: %v; want it refused as a bad image", name, err)
		}
		if took := time.Since(began); took > harness.Slow(20*time.Second) {
			t.Errorf("%s was refused after %s", name, took)
		}
	}

	a.Refused(t, api.Run{Image: "hostile", Argv: []string{"x"}}, api.CodeNoImage)
}

// Two runs whose memory together exceeds the agent's are not both admitted, and the second may
// retry. One that can never fit is refused as such.
func TestMemoryIsReservedOnce(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2", "--memory", "700M")
	big := func(script string) api.Run {
		r := harness.Sh(script)
		r.Limits.Memory = 400 * api.MiB
		return r
	}

	done := make(chan api.Result, 1)
	first := &harness.FirstWriteWriter{Came: make(chan struct{})}
	in, hold := io.Pipe()
	go func() {
		res, err := a.RunStream(t.Context(), big("echo; read -r _; exit 0"), in, first, nil)
		if err != nil {
			t.Error(err)
		}
		done <- res
	}()

	<-first.Came
	if e := a.Refused(t, big("exit 0"), api.CodeOverloaded); !e.RetrySafe {
		t.Errorf("%q is not said to be safe to retry", e.Message)
	}

	hold.Close()
	harness.WantVerdict(t, <-done, api.OK)
	harness.WantVerdict(t, a.MustRun(t, big("exit 0")), api.OK)

	never := harness.Sh("exit 0")
	never.Limits.Memory = 800 * api.MiB
	if e := a.Refused(t, never, api.CodeAboveCeiling); e.RetrySafe || !strings.Contains(e.Message, "700M") {
		t.Errorf("%q (retry-safe %v): a run that can never be admitted", e.Message, e.RetrySafe)
	}
}

// Requests that do not come from our client (malformed, oversized, unknown) get a 4xx and a code,
// and the agent continues.
func TestRawRequests(t *testing.T) {
	a := harness.StartAgent(t)
	for _, tt := range []struct {
		name, request string
		status        int
		code          api.Code
	}{
		{"no JSON", harness.Post("/v1/runs", "hello"), 400, api.CodeBadRequest},
		{"cut JSON", harness.Post("/v1/runs", `{"image":"tiny"`), 400, api.CodeBadRequest},
		{"an unknown field", harness.Post("/v1/runs", `{"image":"tiny","argv":["true"],"host_path":"/etc"}`), 400, api.CodeBadRequest},
		{"two values", harness.Post("/v1/runs", `{"image":"tiny","argv":["true"]} {}`), 400, api.CodeBadRequest},
		{"a deep nest", harness.Post("/v1/runs", strings.Repeat("[", 100_000)), 400, api.CodeBadRequest},
		{"a length no agent takes", "POST /v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n", 413, api.CodeTooLarge},
		{"no such path", "GET /v2/runs HTTP/1.1\r\nHost: x\r\n\r\n", 404, api.CodeNotFound},
		{"a limit in words", harness.Post("/v1/runs", `{"image":"tiny","argv":["true"],"limits":{"wall":"soon"}}`), 400, api.CodeBadRequest},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := net.Dial("unix", a.Socket)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()

			_ = c.SetDeadline(harness.Patience())
			_, _ = io.WriteString(c, tt.request) // the agent may refuse it before it has read it
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()

			var answer struct{ Error *api.Error }
			if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || answer.Error == nil {
				t.Fatalf("status %d without an error of ours: %v", res.StatusCode, err)
			}
			if res.StatusCode != tt.status || answer.Error.Code != tt.code {
				t.Errorf("status %d, code %s (%s); want %d, %s", res.StatusCode, answer.Error.Code, answer.Error.Message, tt.status, tt.code)
			}

			harness.WantVerdict(t, a.MustRun(t, harness.Sh("exit 0")), api.OK)
		})
	}
}

// A caller without root may run, but may not bring its own profile, let denied calls through or
// change an image. A caller outside the group gets no connection.
func TestAnUnprivilegedCaller(t *testing.T) {
	a := harness.StartAgent(t, "--group", "nogroup")
	brig := harness.Binary(t, "brig")
	dir := t.TempDir()
	profile := filepath.Join(dir, "mine.yaml")
	if err := os.WriteFile(profile, []byte("extends: default\n"), 0o644); err != nil {
		t.Fatal(err)
	}

	for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	public := filepath.Join(a.Dir, "brig") // the checkout may be closed to others
	harness.CopyFile(t, brig, public)

	for _, tt := range []struct {
		name string
		gid  uint32
		args []string
		exit int
		text string
	}{
		{"a run", 65534, []string{"run", "--rootfs", "tiny", "--", "true"}, 0, ""},
		{"a profile of one's own", 65534, []string{"run", "--profile", profile, "--rootfs", "tiny", "--", "true"}, 125, "needs root"},
		{"log mode", 65534, []string{"run", "--profile-mode", "log", "--rootfs", "tiny", "--", "true"}, 125, "only to root"},
		{"a removal", 65534, []string{"rootfs", "rm", "tiny"}, 125, "root"},
		{"a stranger", 12345, []string{"run", "--rootfs", "tiny", "--", "true"}, 125, "group"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.Command(public, tt.args...)
			cmd.Dir = "/"
			cmd.Env = []string{"BRIG_SOCKET=" + a.Socket, "PATH=/usr/bin:/bin"}
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: tt.gid}}
			var errs bytes.Buffer
			cmd.Stderr = &errs
			err := cmd.Run()
			var ended *exec.ExitError
			if err != nil && !errors.As(err, &ended) {
				t.Fatal(err)
			}
			if got := cmd.ProcessState.ExitCode(); got != tt.exit || !strings.Contains(errs.String(), tt.text) {
				t.Errorf("exit %d, stderr %q; want %d with %q", got, &errs, tt.exit, tt.text)
			}
		})
	}

	harness.WantVerdict(t, a.MustRun(t, harness.Sh("exit 0")), api.OK) // the image is still there
}
