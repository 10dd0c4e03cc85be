package images

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// asOther runs a command as another user without groups, and returns what it prints.
func asOther(uid int, command ...string) (string, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// IMG-43: the process that reads images for root is out of reach: nobody's processes, and those of its own
// uid, read neither its environment nor its descriptors, it has no terminal and nothing of its caller's
// session, and no secret is in its environment. The control is a process of the same uid that took no
// such care.
func TestTheReaderIsOutOfReach(t *testing.T) {
	a := harness.StartAgentWith(t, harness.PublicDir(t, "brig-reader-"), "--slots", "1")
	next := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	asked, stall := make(chan string, 10), false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if stall && strings.Contains(r.URL.Path, "/manifests/") {
			user, password, _ := r.BasicAuth()
			asked <- user + ":" + password
			<-r.Context().Done()
			return
		}
		if _, _, ok := r.BasicAuth(); stall && !ok {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	}))

	defer server.Close()

	reference := push(t, server, "secret:1", layersOf(t, v1.Config{}, tarOf(t, textFile("x", "x", 0o644))))
	stall = true
	config := t.TempDir()
	text := fmt.Sprintf(`{"auths":{%q:{"username":"u","password":"SECRET"}}}`, strings.TrimPrefix(server.URL, "http://"))
	if err := os.WriteFile(filepath.Join(config, "config.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	cmd := exec.Command(harness.Binary(t, "brig"), "rootfs", "pull", reference)
	cmd.Env = append(os.Environ(), "BRIG_SOCKET="+a.Socket, "SUDO_UID=", "DOCKER_CONFIG="+config, "HTTP_PROXY=http://u:SECRET@127.0.0.1:1")
	cmd.Stderr = os.Stderr // what may be a terminal
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait() //nolint:errcheck // it is killed
	defer cmd.Process.Kill()

	select {
	case got := <-asked:
		if got != "u:SECRET" {
			t.Errorf("the registry got the credentials %q", got)
		}
	case <-time.After(time.Until(harness.Patience())):
		t.Fatal("the registry was not asked")
	}

	readers := harness.Descendants(t, cmd.Process.Pid)
	if len(readers) != 1 {
		t.Fatalf("%d processes read", len(readers))
	}

	pid := readers[0]
	proc := fmt.Sprintf("/proc/%d", pid)
	status, err := os.ReadFile(proc + "/status")
	if err != nil || !strings.Contains(string(status), "\nUid:\t2000065536\t2000065536\t2000065536\t2000065536\n") ||
		!strings.Contains(string(status), "\nNoNewPrivs:\t1\n") {
		t.Errorf("%v\n%s", err, status)
	}
	if environ, err := os.ReadFile(proc + "/environ"); err != nil || strings.Contains(string(environ), "SECRET") {
		t.Errorf("its environment is %q, %v", environ, err)
	}

	for _, uid := range []int{65534, 2000065536} {
		for _, what := range [][]string{{"cat", proc + "/environ"}, {"ls", proc + "/fd"}, {"head", "-c1", proc + "/mem"},
			{"readlink", proc + "/exe"}} {
			if out, err := asOther(uid, what...); err == nil {
				t.Errorf("uid %d may %v: %s", uid, what, out)
			}
		}
	}

	control := exec.Command("sleep", "600")
	control.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 2000065536, Gid: 2000065536}}
	if err := control.Start(); err != nil {
		t.Fatal(err)
	}
	defer control.Wait() //nolint:errcheck // it is killed
	defer control.Process.Kill()

	for deadline := harness.Patience(); ; time.Sleep(10 * time.Millisecond) { // until it is executed
		if out, err := asOther(2000065536, "ls", fmt.Sprintf("/proc/%d/fd", control.Process.Pid)); err == nil {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("the control cannot be read either: %v\n%s", err, out)
		}
	}

	session, err := unix.Getsid(pid)
	mine, err2 := unix.Getsid(cmd.Process.Pid)
	if err != nil || err2 != nil || session != pid || session == mine {
		t.Errorf("it is in session %d, brig in %d: %v, %v", session, mine, err, err2)
	}

	for fd := range 3 {
		if to, err := os.Readlink(fmt.Sprintf("%s/fd/%d", proc, fd)); err != nil || !strings.HasPrefix(to, "pipe:") {
			t.Errorf("descriptor %d is %s, %v", fd, to, err)
		}
	}

	limits, err := os.ReadFile(proc + "/limits")
	for _, want := range []string{"Max core file size 0 0", "Max open files 256 256", "Max data size 1073741824 1073741824"} {
		if err != nil || !strings.Contains(strings.Join(strings.Fields(string(limits)), " "), want) {
			t.Errorf("%v: no %q in\n%s", err, want, limits)
		}
	}
}

// IMG-44: root that acts for a user by sudo imports what that user can read, and nothing else of root:
// neither an archive of layers nor another one, and no file behind a directory or a link of root's.
// The controls are the same files, readable; and root itself.
func TestImportReadsWithTheUsersAccess(t *testing.T) {
	a := harness.StartAgentWith(t, harness.PublicDir(t, "brig-reader-"), "--slots", "1")
	dir := harness.PublicDir(t, "brig-files-")
	closed := filepath.Join(dir, "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}

	text := tarOf(t, textFile("etc/secret", "of root", 0o644))
	for name, mode := range map[string]os.FileMode{"secret.tar": 0o600, "open.tar": 0o644, "closed/open.tar": 0o644} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, mode); err != nil {
			t.Fatal(err)
		}
	}

	if err := os.Symlink(filepath.Join(closed, "open.tar"), filepath.Join(dir, "link.tar")); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		sudo, file string
		may        bool
	}{
		{"SUDO_UID=", "secret.tar", true}, {"SUDO_UID=65534", "open.tar", true}, {"SUDO_UID=65534", "secret.tar", false},
		{"SUDO_UID=65534", "closed/open.tar", false}, {"SUDO_UID=65534", "link.tar", false}, {"PKEXEC_UID=65534", "secret.tar", false},
	} {
		out, err := a.Brig(t, []string{"SUDO_UID=", tt.sudo}, "rootfs", "import", filepath.Join(dir, tt.file), "--name", "of-root")
		if (err == nil) != tt.may || !tt.may && !strings.Contains(out, "it is read as uid 65534") {
			t.Errorf("%s %s: %v\n%s", tt.sudo, tt.file, err, out)
		}
		if _, err := a.Brig(t, nil, "rootfs", "rm", "of-root"); (err == nil) != tt.may {
			t.Errorf("%s %s: the image is stored: %v", tt.sudo, tt.file, err == nil)
		}
	}
}
