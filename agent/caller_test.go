package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/brig-sandbox/brig/agent"
	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
)

// TestUnprivilegedCaller is the unprivileged caller that TestUnprivilegedCallersMayOnlyRun starts. It prints a
// line for each request.
func TestUnprivilegedCaller(t *testing.T) {
	socket := os.Getenv("BRIG_TEST_SOCKET")
	if socket == "" {
		t.Skip("started by another test only")
	}

	c := client.New(socket)
	say := func(what string, err error) { fmt.Printf("%s: %s: %v\n", what, code(err), err) }
	_, err := c.Import(t.Context(), strings.NewReader("x"), "n", "")
	say("import", err)
	say("remove", c.RemoveImage(t.Context(), "n"))
	_, err = c.Clean(t.Context())
	say("clean", err)
	_, err = c.Run(t.Context(), anyRun)
	say("fails", err)
	_, err = c.RunStream(t.Context(), anyRun, nil, nil, nil)
	say("fails streamed", err)
	_, err = c.Images(t.Context())
	say("list", err)
}

func TestUnprivilegedCallersMayOnlyRun(t *testing.T) { // API-22 and the image routes
	if os.Getuid() != 0 {
		if os.Getenv("BRIG_TEST_MUST") == "1" {
			t.Fatal("needs root, to start a process without it")
		}
		t.Skip("needs root, to start a process without it")
	}

	store := shelf{"n": nil}
	uids := make(chan uint32, 2)
	socket, _ := serve(t, agent.Config{Images: store,
		Runner: runner(func(ctx context.Context, r api.Run, s api.Streams, c api.Caller) (api.Result, error) {
			uids <- c.UID
			return api.Result{}, errors.New("open /var/lib/brig/secret: broken")
		})})
	if err := errors.Join(os.Chmod(filepath.Dir(socket), 0o711), os.Chmod(socket, 0o666)); err != nil {
		t.Fatal(err)
	}

	const stranger = 65534
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestUnprivilegedCaller$", "-test.v")
	cmd.Dir = "/"
	cmd.Env = []string{"BRIG_TEST_SOCKET=" + socket}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	for _, want := range []string{
		"import: forbidden:", "remove: forbidden:", "clean: forbidden:",
		"fails: internal:", "fails streamed: internal:", "list: <nil>:",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}

	if strings.Contains(string(out), "/var/lib") {
		t.Errorf("a host path in:\n%s", out)
	}
	if a, b := <-uids, <-uids; a != stranger || b != stranger {
		t.Errorf("the runner saw uids %d and %d; want %d", a, b, stranger)
	}
	if _, ok := store["n"]; !ok || len(store) != 1 {
		t.Errorf("the store is %v; want it untouched", store)
	}

	// Root gets the complete error.
	if _, err := client.New(socket).Run(t.Context(), anyRun); !strings.Contains(fmt.Sprint(err), "/var/lib/brig/secret") {
		t.Errorf("root gets %v; want the cause", err)
	}
}
