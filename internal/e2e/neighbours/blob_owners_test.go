package neighbours

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// API-28. A user of the agent who knows the digest of another user's blob, such as that of hidden tests, neither reads
// nor removes it. The control is root, whose blob it is.
func TestHostileBlobsOfAnotherUser(t *testing.T) {
	a, group := harness.StartAgent(t, harness.SharedFlags...), harness.SharedGroup(t)
	secret := fmt.Sprintf("the hidden answer %d\n", time.Now().UnixNano()) // the store keeps what an earlier test has stored
	digest, err := a.PutBlob(t.Context(), []byte(secret))
	if err != nil {
		t.Fatal(err)
	}

	user := http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return dialAs(a.Socket, 65534, group)
	}}}
	ask := func(method, path string, body []byte) (status int, answer []byte) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://brig"+path, bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}

		res, err := user.Do(r)
		if err != nil {
			t.Fatal(err)
		}

		answer, err = io.ReadAll(res.Body)
		if err := errors.Join(err, res.Body.Close()); err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, answer
	}

	cat := api.Run{Image: "tiny", Argv: []string{"cat"}, StdinBlob: digest}
	request, err := json.Marshal(cat)
	if err != nil {
		t.Fatal(err)
	}

	if status, _ := ask(http.MethodHead, "/v1/blobs/"+digest, nil); status != http.StatusNotFound {
		t.Errorf("HEAD of root's blob: %d", status)
	}
	if status, answer := ask(http.MethodGet, "/v1/blobs/"+digest, nil); status != http.StatusNotFound ||
		bytes.Contains(answer, []byte(secret)) {
		t.Errorf("GET of root's blob: %d, %s", status, answer)
	}
	var got bytes.Buffer
	if err := a.GetBlob(t.Context(), digest, &got); err != nil || got.String() != secret {
		t.Errorf("root reads %q, %v", &got, err)
	}

	for name, r := range map[string]api.Run{
		"stdin":    cat,
		"a file":   {Image: "tiny", Argv: []string{"cat", "x"}, Files: []api.File{{Name: "x", Blob: digest}}},
		"a test":   {Image: "tiny", Argv: []string{"cat"}, Tests: []api.Test{{ID: "1", StdinBlob: digest}}},
		"expected": {Image: "tiny", Argv: []string{"cat"}, Tests: []api.Test{{ID: "1", ExpectedBlob: digest}}},
		"a test's": {Image: "tiny", Argv: []string{"cat"}, Tests: []api.Test{{ID: "1", Files: []api.File{{Name: "x", Blob: digest}}}}},
	} {
		body, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if status, answer := ask(http.MethodPost, "/v1/runs", body); status != http.StatusNotFound ||
			!bytes.Contains(answer, []byte(api.CodeNoBlob)) {
			t.Errorf("root's blob as %s: %d, %s", name, status, answer)
		}
	}

	if status, answer := ask(http.MethodDelete, "/v1/blobs/"+digest, nil); status != http.StatusNoContent {
		t.Errorf("DELETE: %d, %s", status, answer)
	}
	if res := a.MustRun(t, cat); string(res.Stdout) != secret {
		t.Errorf("root reads %q", res.Stdout)
	}

	if status, answer := ask(http.MethodPut, "/v1/blobs/"+digest, []byte(secret)); status != http.StatusOK {
		t.Errorf("PUT of the same content: %d, %s", status, answer)
	}

	var res api.Result
	status, answer := ask(http.MethodPost, "/v1/runs", request)
	if err := json.Unmarshal(answer, &res); err != nil || status != http.StatusOK || string(res.Stdout) != secret {
		t.Errorf("the user's own: %d, %s", status, answer)
	}
	if status, answer := ask(http.MethodPut, "/v1/blobs/"+digest, []byte("other content\n")); status != http.StatusBadRequest {
		t.Errorf("PUT of other content: %d, %s", status, answer)
	}
}

// dialAs connects to a socket as another user, in a thread that ends with that.
func dialAs(socket string, uid, gid uint32) (net.Conn, error) {
	type dialed struct {
		c   net.Conn
		err error
	}

	result := make(chan dialed)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		c, err := func() (net.Conn, error) {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				return nil, err
			}

			f := os.NewFile(uintptr(fd), "socket")
			defer func() { _ = f.Close() }() // FileConn has its own

			if _, _, errno := unix.RawSyscall(unix.SYS_SETRESGID, uintptr(gid), uintptr(gid), uintptr(gid)); errno != 0 {
				return nil, fmt.Errorf("setresgid: %w", errno)
			}
			if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid)); errno != 0 {
				return nil, fmt.Errorf("setresuid: %w", errno)
			}
			if err := unix.Connect(fd, &unix.SockaddrUnix{Name: socket}); err != nil {
				return nil, err
			}
			return net.FileConn(f)
		}()

		result <- dialed{c, err}
	}()

	d := <-result
	return d.c, d.err
}
