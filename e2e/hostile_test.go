package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testenv"
)

var updateDocs = flag.Bool("update-docs", false, "write docs/corpus.md from what the cases did")

const hostileDir = "../testdata/hostile"

// An expectation is what must and must not come of a probe. See
// testdata/hostile/README.md for the form.
type expectation struct {
	Title    string              `json:"title"`
	Severity string              `json:"severity"`
	Layers   []string            `json:"layers"`
	Args     []string            `json:"args"`
	Profile  string              `json:"profile"`
	Limits   api.Limits          `json:"limits"`
	Verdicts []api.Verdict       `json:"verdicts"`
	Errno    map[string][]string `json:"errno"`
	Lines    int                 `json:"lines"`
	Stdout   []string            `json:"stdout"`
	Only     map[string][]string `json:"only"`
	Same     []string            `json:"same"`
	Absent   []string            `json:"absent"`
	Hit      string              `json:"hit"`
	WithinMS int64               `json:"within_ms"`
	Files    []string            `json:"files"`
	NoFiles  []string            `json:"no_files"`
	Control  struct {
		Reached []string  `json:"reached"`
		Stdout  []string  `json:"stdout"`
		Differs []string  `json:"differs"`
		Canary  string    `json:"canary"`
		Script  string    `json:"script"`
		Off     *layerOff `json:"off"`
	} `json:"control"`
}

func loadExpectation(t testing.TB, file string) expectation {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var e expectation
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&e); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return e
}

// canaries are what a probe would have to touch to reach the host.
type canaries struct {
	dir, file, env string
	listener       *net.TCPListener
	unix           []*net.UnixListener // abstract, path
	datagram       *net.UnixConn       // abstract
	victim         *exec.Cmd
	hits           atomic.Int64
}

const fileSecret = "canary-of-the-host-file"

func newCanaries(t testing.TB) *canaries {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "hostile-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	c := &canaries{dir: dir, file: filepath.Join(dir, "secret"), env: "canary-of-the-agents-environment"}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.file, []byte(fileSecret), 0o644); err != nil {
		t.Fatal(err)
	}
	if c.listener, err = net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.listener.Close() })
	go func() { // ends when the listener closes
		for {
			conn, err := c.listener.Accept()
			if err != nil {
				return
			}
			c.hits.Add(1)
			conn.Close()
		}
	}()
	for _, name := range []string{"@brig-hostile-canary-" + filepath.Base(dir), filepath.Join(dir, "sock")} {
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() { // ends when the listener closes
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				c.hits.Add(1)
				conn.Close()
			}
		}()
		c.unix = append(c.unix, l)
	}
	if c.datagram, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: "@brig-hostile-datagram-" + filepath.Base(dir), Net: "unixgram"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.datagram.Close() })
	go func() { // ends when the socket closes
		for {
			if _, err := c.datagram.Read(make([]byte, 1)); err != nil {
				return
			}
			c.hits.Add(1)
		}
	}()
	if err := os.Chmod(filepath.Join(dir, "sock"), 0o777); err != nil {
		t.Fatal(err)
	}
	c.victim = exec.Command("sleep", "3600")
	c.victim.Args = []string{"hostile-canary-process", "3600"}
	if err := c.victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.victim.Process.Kill(); _ = c.victim.Wait() })
	return c
}

// untouched fails the test when a probe reached a canary.
func (c *canaries) untouched(t testing.TB) {
	t.Helper()
	if b, err := os.ReadFile(c.file); err != nil || string(b) != fileSecret {
		t.Errorf("host file: %q, %v", b, err)
	}
	if n := c.hits.Swap(0); n != 0 {
		t.Errorf("%d connections reached the host's listeners", n)
	}
	if err := unix.Kill(c.victim.Process.Pid, 0); err != nil {
		t.Errorf("host process: %v", err)
	}
	var ws unix.WaitStatus
	if pid, _ := unix.Wait4(c.victim.Process.Pid, &ws, unix.WNOHANG, nil); pid != 0 {
		t.Errorf("host process was ended: %v", ws)
	}
}

func (c *canaries) expand(args []string) []string {
	r := strings.NewReplacer("$CANARY", c.file, "$PORT", fmt.Sprint(c.listener.Addr().(*net.TCPAddr).Port), "$ENVCANARY", c.env,
		"$ABSTRACT", c.unix[0].Addr().String(), "$SOCK", c.unix[1].Addr().String(),
		"$DATAGRAM", c.datagram.LocalAddr().String(), "$VICTIM", fmt.Sprint(c.victim.Process.Pid))
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = r.Replace(a)
	}
	return out
}

type attempt struct{ ID, Call, Errno string }

// attempts reads the JSON lines of a probe.
func attempts(t testing.TB, out []byte) []attempt {
	t.Helper()
	var list []attempt
	for line := range bytes.Lines(out) {
		if !bytes.HasPrefix(line, []byte(`{"id":`)) {
			continue
		}
		var a attempt
		if err := json.Unmarshal(line, &a); err != nil {
			t.Errorf("line %q: %v", line, err)
		}
		list = append(list, a)
	}
	return list
}

// wanted finds the errnos an expectation allows a call: of its own name first, else of a pattern.
func (e expectation) wanted(call string) ([]string, bool) {
	if w, ok := e.Errno[call]; ok {
		return w, true
	}
	for pattern, w := range e.Errno {
		if ok, err := path.Match(pattern, strings.ReplaceAll(call, "/", "|")); err == nil && ok {
			return w, true
		}
		if ok, err := path.Match(strings.ReplaceAll(pattern, "/", "|"), strings.ReplaceAll(call, "/", "|")); err == nil && ok {
			return w, true
		}
	}
	return nil, false
}

// check demands of a result all that the expectation says.
func (e expectation) check(t testing.TB, c *canaries, res api.Result) {
	t.Helper()
	out := string(res.Stdout)
	if !slices.Contains(e.Verdicts, res.Verdict) {
		t.Errorf("verdict %s (signal %d, exit %d, denial %+v); want %v\nstdout %.600q\nstderr %.300q", res.Verdict, res.Signal, res.ExitCode, res.Denial, e.Verdicts, out, res.Stderr)
	}
	list := attempts(t, res.Stdout)
	if e.Lines != 0 && len(list) != e.Lines {
		t.Errorf("%d attempts; want %d", len(list), e.Lines)
	}
	for _, a := range list {
		if want, ok := e.wanted(a.Call); !ok && e.Errno != nil || ok && !slices.Contains(want, a.Errno) {
			t.Errorf("%s: %s; want %v", a.Call, a.Errno, want)
		}
	}
	for _, re := range e.Stdout {
		if !regexp.MustCompile(re).MatchString(out) {
			t.Errorf("stdout does not match %q: %.600q", re, out)
		}
	}
	for re, allowed := range e.Only {
		for _, m := range regexp.MustCompile("(?m)"+re).FindAllStringSubmatch(out, -1) {
			if !slices.Contains(allowed, m[1]) {
				t.Errorf("%q is not among %v", m[0], allowed)
			}
		}
	}
	for _, re := range e.Same {
		for _, m := range regexp.MustCompile("(?m)"+re).FindAllStringSubmatch(out, -1) {
			if first := regexp.MustCompile("(?m)" + re).FindStringSubmatch(out); m[1] != first[1] {
				t.Errorf("%q differs from %q", m[0], first[0])
			}
		}
	}
	for _, s := range append(c.expand(e.Absent), fileSecret, c.env, "RESIDUE") {
		if strings.Contains(out, s) || bytes.Contains(res.Stderr, []byte(s)) {
			t.Errorf("output contains %q", s)
		}
	}
	if e.Hit != "" && !hit(e.Hit)(res) {
		t.Errorf("limits hit: %v; want %s", res.LimitsHit, e.Hit)
	}
	if took := time.Duration(res.Timing.Wall + res.Timing.Finish); e.WithinMS != 0 && took > time.Duration(e.WithinMS)*time.Millisecond {
		t.Errorf("took %s; want within %d ms", took, e.WithinMS)
	}
	var names []string
	for _, f := range res.Files {
		names = append(names, f.Name)
		if bytes.Contains(f.Content, []byte(fileSecret)) {
			t.Errorf("file %s holds the host's canary", f.Name)
		}
	}
	for _, n := range e.NoFiles {
		if slices.Contains(names, n) {
			t.Errorf("file %s was collected", n)
		}
	}
	for _, n := range e.Files {
		if !slices.Contains(names, n) {
			t.Errorf("file %s was not collected: %v", n, names)
		}
	}
}

// buildProbe compiles one probe of the corpus.
func buildProbe(t testing.TB, id string, flags ...string) api.File {
	t.Helper()
	testenv.NeedTool(t, "gcc", "gcc")
	bin := filepath.Join(t.TempDir(), id)
	args := append([]string{"-static", "-O1", "-pthread", "-w", "-o", bin, filepath.Join(hostileDir, id+".c")}, flags...)
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("gcc %s: %v\n%s", id, err, out)
	}
	content, err := os.ReadFile(bin)
	if err != nil {
		t.Fatal(err)
	}
	return api.File{Name: id, Content: content, Executable: true}
}

// bare runs the same binary outside, as nobody and within a deadline: a probe that
// could not reach its goal there would prove nothing inside.
func (e expectation) bare(t *testing.T, c *canaries, probe api.File) {
	dir := filepath.Join(c.dir, "control-"+probe.Name)
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, probe.Name)
	if err := os.WriteFile(bin, probe.Content, 0o755); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, bin, c.expand(e.Args)...)
	cmd.Dir, cmd.Env = dir, []string{"PATH=/bin", "BRIG_HOSTILE_CANARY=" + c.env}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}, Setpgid: true}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("bare: %v\n%s", err, out)
	}
	got := map[string]string{}
	for _, a := range attempts(t, out) {
		got[a.Call] = a.Errno
	}
	e.further(t, out)
	for _, s := range e.Control.Stdout {
		if !bytes.Contains(out, []byte(s)) {
			t.Errorf("bare, the output lacks %q: the probe proves nothing", s)
		}
	}
	switch e.Control.Canary {
	case "env":
		if !bytes.Contains(out, []byte(c.env)) {
			t.Error("bare, the environment's canary is not seen: the probe proves nothing")
		}
	case "file":
		if b, err := os.ReadFile(filepath.Join(dir, "abs.txt")); err != nil || string(b) != fileSecret {
			t.Errorf("bare, the link does not lead to the canary: %q, %v", b, err)
		}
	case "listener":
		want := int64(0) // each is accepted by a goroutine of its own, in its own time
		for call, errno := range got {
			if strings.HasPrefix(call, "connect") && errno == "0" {
				want++
			}
		}
		for deadline := time.Now().Add(10 * time.Second); c.hits.Load() < max(want, 1); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("bare, %d of %d connections reach the canary: the probe proves nothing", c.hits.Load(), want)
			}
		}
		c.hits.Store(0)
	}
}

func hostileLimits() api.Limits {
	return api.Limits{Wall: seconds(4), Memory: 64 * api.MiB, Pids: 60, Output: api.MiB}
}

// Every case of the corpus in a fresh cell, a kept cell, and a kept cell in which
// a run just left everything it could.
func TestHostile(t *testing.T) {
	c := newCanaries(t)
	t.Setenv("BRIG_HOSTILE_CANARY", c.env)
	a := startAgent(t, "--slots", "1")
	files, err := filepath.Glob(filepath.Join(hostileDir, "*.expect.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	residue := buildProbe(t, "residue")
	stored := storedBytes(t, a)
	var table []string
	for _, file := range files {
		id := strings.TrimSuffix(filepath.Base(file), ".expect.json")
		e := loadExpectation(t, file)
		ok := t.Run(id, func(t *testing.T) {
			probe := buildProbe(t, id)
			once := func(t *testing.T, mode api.Mode) {
				r := program(probe, c.expand(e.Args)...)
				r.Mode, r.Profile, r.Limits = mode, e.Profile, e.Limits.Over(hostileLimits())
				e.check(t, c, a.run(t, r))
				c.untouched(t)
				stored.unchanged(t)
			}
			t.Run("control", func(t *testing.T) { e.control(t, a, c, probe) })
			t.Run("fresh", func(t *testing.T) { once(t, api.Fresh) })
			t.Run("pooled", func(t *testing.T) { once(t, api.Strict) })
			t.Run("after residue", func(t *testing.T) {
				r := program(residue)
				r.Limits = hostileLimits()
				wantVerdict(t, a.run(t, r), api.OK)
				once(t, api.Strict)
			})
		})
		table = append(table, row(id, e, ok))
	}
	if *updateDocs {
		writeCorpus(t, table)
	}
}
