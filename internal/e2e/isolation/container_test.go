package isolation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testenv"
)

// A ociConfig is the part of an OCI runtime configuration that the recipes have.
type ociConfig struct {
	OCIVersion string     `json:"ociVersion"`
	Process    ociProcess `json:"process"`
	Root       struct {
		Path     string `json:"path"`
		Readonly bool   `json:"readonly"`
	} `json:"root"`
	Hostname string     `json:"hostname"`
	Mounts   []ociMount `json:"mounts"`
	Linux    ociLinux   `json:"linux"`
}

type ociProcess struct {
	User struct {
		UID            int   `json:"uid"`
		GID            int   `json:"gid"`
		AdditionalGids []int `json:"additionalGids,omitempty"`
	} `json:"user"`
	Args            []string            `json:"args"`
	Env             []string            `json:"env"`
	Cwd             string              `json:"cwd"`
	Capabilities    map[string][]string `json:"capabilities"`
	NoNewPrivileges bool                `json:"noNewPrivileges,omitempty"`
}

type ociMount struct {
	Destination string   `json:"destination"`
	Type        string   `json:"type"`
	Source      string   `json:"source"`
	Options     []string `json:"options"`
}

type ociLinux struct {
	CgroupsPath   string              `json:"cgroupsPath"`
	Namespaces    []map[string]string `json:"namespaces"`
	Resources     any                 `json:"resources"`
	MaskedPaths   []string            `json:"maskedPaths"`
	ReadonlyPaths []string            `json:"readonlyPaths"`
	Seccomp       any                 `json:"seccomp,omitempty"`
}

const recipeDir = "../../../deploy/container"

// recipe reads a configuration of deploy/container. Fields that the type lacks would be left out of what is tested.
func recipe(t *testing.T, name string) (c ociConfig) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(recipeDir, name))
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return c
}

func (c *ociConfig) grant(names ...string) {
	for _, set := range []string{"bounding", "effective", "permitted"} {
		c.Process.Capabilities[set] = names
	}
}

func (c *ociConfig) source(destination, source string) {
	for i := range c.Mounts {
		if c.Mounts[i].Destination == destination {
			c.Mounts[i].Source = source
		}
	}
}

// rootfs makes what deploy/container/Containerfile puts into an image, on Busybox in place of Debian: there are no
// tools for images here.
func rootfs(t *testing.T) string {
	t.Helper()
	busybox := testenv.NeedTool(t, "busybox", "busybox-static")
	dir := filepath.Join(harness.PublicDir(t, "brig-container-"), "rootfs")
	for _, sub := range []string{"bin", "usr/bin", "etc/brig", "proc", "sys", "dev", "run/brig", "var/lib/brig",
		"var/lib/brig-gateway", "var/tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}

	for to, from := range map[string]string{"bin/busybox": busybox, "usr/bin/brig": harness.Binary(t, "brig"),
		"usr/bin/brigd": harness.Binary(t, "brigd"), "usr/bin/brigd-start": filepath.Join(recipeDir, "brigd-start")} {
		text, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), text, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	// Busybox acts by the name that it is called by, and the self-test's process has a name of its own.
	files := map[string]string{"bin/cat": "#!/bin/sh\nexec busybox cat \"$@\"\n", "etc/passwd": "root:x:0:0:root:/:/bin/sh\n",
		"etc/group": "root:x:0:\nbrig:x:62187:\n", "etc/brig/keys.yaml": ""}
	for to, text := range files {
		if err := os.WriteFile(filepath.Join(dir, to), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"sh", "mount"} {
		if err := os.Symlink("busybox", filepath.Join(dir, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}

	return dir
}

// A container is one that runc runs.
type container struct {
	t    *testing.T
	name string
	root string // where runc keeps its state
	log  *testenv.Log
	done chan struct{} // closed when it has ended
}

// runContainer has runc start a container. It ends with the test.
func runContainer(t *testing.T, c ociConfig) *container {
	t.Helper()
	runc := testenv.NeedTool(t, "runc", "runc")
	dir := t.TempDir()
	text, err := json.Marshal(c)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "config.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}

	k := &container{t: t, name: c.Linux.CgroupsPath, root: t.TempDir(), log: &testenv.Log{}, done: make(chan struct{})}
	cmd := exec.Command(runc, "--root", k.root, "run", "--bundle", dir, k.name)
	cmd.Stdin = strings.NewReader("") // runc 1.1.5 would give the host's /dev/null to the user of the container
	cmd.Stdout, cmd.Stderr = k.log, k.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = cmd.Wait(); close(k.done) }()
	t.Cleanup(k.stop)
	return k
}

// stop ends it as a runtime does: with SIGTERM, and by force where that is not enough, which is an error.
func (k *container) stop() {
	_ = exec.Command("runc", "--root", k.root, "kill", k.name, "TERM").Run() // it may have ended already
	select {
	case <-k.done:
	case <-time.After(time.Until(harness.Patience())):
		k.t.Errorf("%s did not end after SIGTERM\n%s", k.name, k.log)
	}
	_ = exec.Command("runc", "--root", k.root, "delete", "--force", k.name).Run()
	<-k.done
}

// said waits until the log has a text, and reports whether it came before the end of the container.
func (k *container) said(text string) bool {
	for deadline := harness.Patience(); ; time.Sleep(10 * time.Millisecond) {
		if strings.Contains(k.log.String(), text) {
			return true
		}
		select {
		case <-k.done:
			return strings.Contains(k.log.String(), text)
		default:
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}

// A selfcheck is a line of brig selftest --json.
type selfcheck struct {
	ID     string `json:"id"`
	OK     bool   `json:"ok"`
	Reason string `json:"reason"`
}

// selftest runs checks of brig selftest in the container, or all, and returns what does not hold.
func (k *container) selftest(ids ...string) string {
	cmd := exec.Command("runc", append([]string{"--root", k.root, "exec", k.name, "brig", "selftest", "--json"}, ids...)...)
	var said bytes.Buffer
	cmd.Stdin = strings.NewReader("")
	cmd.Stderr = &said
	out, err := cmd.Output()

	var all []selfcheck
	if json.Unmarshal(out, &all) != nil || len(all) == 0 {
		return fmt.Sprintf("brig selftest: %v: %s%s", err, out, &said)
	}
	if len(ids) == 0 && len(all) < 53 {
		return fmt.Sprintf("only %d checks", len(all))
	}

	var wrong []string
	for _, c := range all {
		if !c.OK {
			wrong = append(wrong, c.ID+": "+c.Reason)
		}
	}
	return strings.Join(wrong, "\n")
}

// containers has what all containers of a test share.
type containers struct {
	root string // of their images
	run  string // /run/brig of the agent
	n    int
}

func newContainers(t *testing.T) *containers {
	t.Helper()
	testenv.NeedRoot(t)
	a := harness.StartAgent(t)
	a.NeedPython(t)
	a.Stop()
	return &containers{root: rootfs(t)}
}

// start starts a configuration with directories of this host. The host has v1 and v2 side by side where the tests run
// on it: Debian's runc mounts only v1 then, without which the agent ends runs process by process.
func (s *containers) start(t *testing.T, c ociConfig) *container {
	t.Helper()
	return s.startIn(t, c, 0o711)
}

// startIn is start with a mode of the directory at /run/brig: a kubelet makes 0777.
func (s *containers) startIn(t *testing.T, c ociConfig, mode os.FileMode) *container {
	t.Helper()
	s.n++
	s.run = filepath.Join(harness.PublicDir(t, "brig-container-run-"), "brig")
	if err := errors.Join(os.Mkdir(s.run, mode), os.Chmod(s.run, mode)); err != nil {
		t.Fatal(err)
	}

	c.Linux.CgroupsPath = fmt.Sprintf("brig-e2e-%d-%d", os.Getpid(), s.n)
	c.Root.Path = s.root
	c.source("/run/brig", s.run)
	c.source("/var/lib/brig", harness.DataDir(t))
	at := slices.IndexFunc(c.Mounts, func(m ociMount) bool { return m.Destination == "/sys/fs/cgroup" })
	if _, err := os.Stat("/sys/fs/cgroup/unified"); err == nil && at >= 0 {
		unified := ociMount{"/sys/fs/cgroup/unified", "cgroup2", "cgroup2", []string{"nosuid", "noexec", "nodev", "ro"}}
		c.Mounts = slices.Insert(slices.Clone(c.Mounts), at+1, unified)
	}
	return runContainer(t, c)
}

// outcome runs Python in the agent of a container, and then checks of brig selftest. It returns what went wrong; what a
// container that ended said.
func (s *containers) outcome(t *testing.T, k *container, checks ...string) string {
	t.Helper()
	if !k.said("brigd is listening") {
		return k.log.String()
	}
	agent := client.New(filepath.Join(s.run, "brigd.sock"))
	defer agent.Close()
	res, err := agent.Run(t.Context(), harness.Py("print(6 * 7)"))
	switch {
	case err != nil:
		return err.Error()
	case res.Verdict != api.OK || string(res.Stdout) != "42\n":
		return fmt.Sprintf("verdict %s, output %q", res.Verdict, res.Stdout)
	}

	return k.selftest(checks...)
}

// The recipe suffices, for the agent and for the service beside it; and each thing that it grants is needed: without
// it the agent says which is missing, or a run fails. make test tries some of them, make test-long all.
func TestContainerRecipeIsExact(t *testing.T) {
	s := newContainers(t)
	full := recipe(t, "config.json")
	t.Run("the whole", func(t *testing.T) {
		k := s.start(t, full)
		if wrong := s.outcome(t, k); wrong != "" {
			t.Errorf("%s\n%s", wrong, k.log)
		}
		if strings.Contains(k.log.String(), "seccomp filter") {
			t.Errorf("it warns of a filter that it does not have:\n%s", k.log)
		}
		s.serve(t, recipe(t, "gateway.json"))
	})

	type removal struct {
		what   string
		change func(*ociConfig)
		says   string // is in what went wrong
		always bool   // make test tries it, too
		checks []string
	}
	removals := []removal{
		{"root", func(c *ociConfig) { c.Process.User.UID = 1000 }, "CAP_SYS_ADMIN", false, nil},
		{"the lack of a filter", func(c *ociConfig) {
			c.Linux.Seccomp = map[string]any{"defaultAction": "SCMP_ACT_ALLOW", "architectures": []string{"SCMP_ARCH_X86_64"},
				"syscalls": []any{map[string]any{"names": []string{"bpf"}, "action": "SCMP_ACT_ERRNO", "errnoRet": 1}}}
		}, "SEC-15", true, []string{"SEC-15"}},
	}
	for _, name := range full.Process.Capabilities["bounding"] {
		removals = append(removals, removal{name, func(c *ociConfig) {
			c.grant(slices.DeleteFunc(slices.Clone(full.Process.Capabilities["bounding"]), func(n string) bool { return n == name })...)
		}, name, name == "CAP_SYS_PTRACE" || name == "CAP_SYS_ADMIN", nil})
	}

	says := map[string]string{"/proc": "/proc", "/sys/fs/cgroup": "cgroup", "/run/brig": "read-only file system",
		"/var/lib/brig": "read-only file system", "/var/tmp": "/var/tmp/hostile-"}
	for _, m := range full.Mounts {
		if m.Destination == "/sys" || m.Destination == "/dev" {
			continue // every runtime gives them to every container; the agent runs without, and knows fewer facts of the host
		}
		removals = append(removals, removal{"mount " + m.Destination, func(c *ociConfig) {
			c.Mounts = slices.DeleteFunc(slices.Clone(c.Mounts), func(o ociMount) bool { return o.Destination == m.Destination })
		}, says[m.Destination], m.Destination == "/sys/fs/cgroup", []string{"root"}})
	}

	for _, r := range removals {
		t.Run("without "+r.what, func(t *testing.T) {
			if !r.always && !harness.Long() {
				return
			}

			c := recipe(t, "config.json")
			r.change(&c)
			wrong := s.outcome(t, s.start(t, c), r.checks...)
			if wrong == "" || r.says == "" || !strings.Contains(wrong, r.says) {
				t.Errorf("without it:\n%s\nwant %q", wrong, r.says)
			}
		})
	}
}

// serve starts the service beside the agent, with a key, and has it run a program.
func (s *containers) serve(t *testing.T, c ociConfig) {
	t.Helper()
	dir := harness.PublicDir(t, "brig-container-serve-")
	file, keys := harness.KeysFile(t, dir, "ann")
	if err := errors.Join(os.Chown(file, 62187, 62187), os.Chown(dir, 62187, 62187)); err != nil {
		t.Fatal(err)
	}

	s.n++
	c.Linux.CgroupsPath = fmt.Sprintf("brig-e2e-%d-%d", os.Getpid(), s.n)
	c.Root.Path = s.root
	c.source("/run/brig", s.run)
	c.source("/etc/brig/keys.yaml", file)
	c.source("/var/lib/brig-gateway", dir)
	c.Process.Env = slices.DeleteFunc(c.Process.Env, func(e string) bool { return strings.HasPrefix(e, "BRIG_SERVE_LISTEN=") })
	c.Process.Env = append(c.Process.Env, "BRIG_SERVE_LISTEN=unix:/var/lib/brig-gateway/http") // no network here leads to it

	k := runContainer(t, c)
	if !k.said("brig serves /var/lib/brig-gateway/http") {
		t.Fatalf("the service does not listen\n%s", k.log)
	}
	status, body := askUnix(t, filepath.Join(dir, "http"), keys["ann"], harness.Marshal(t, harness.Py("print(2 + 3)")))
	var res api.Result
	if err := json.Unmarshal(body, &res); err != nil || status != 200 || string(res.Stdout) != "5\n" {
		t.Errorf("the service: %d %s\n%s", status, body, k.log)
	}
	k.stop()
}
