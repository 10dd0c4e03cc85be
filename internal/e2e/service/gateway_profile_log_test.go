package service

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/internal/testservice"
)

// L3: a key with profile_log gets log mode if the agent's operator allows it to callers other than
// root, and no other key does. If the operator does not allow it, no service with such a key
// starts.
func TestProfileLogOfAKeyHasEffect(t *testing.T) {
	run := api.Run{Image: "tiny", Argv: []string{"sh", "-c", "mkfifo pipe && echo made"}, Profile: "strict", ProfileMode: api.Log}
	a := harness.StartAgent(t, append(harness.SharedFlags, "--profile-log")...)
	file, keys := harness.KeysFile(t, a.Dir, "ann", "bob")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	text = bytes.Replace(text, []byte("}"), []byte(", profile_log: true}"), 1) // the first key, ann's
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}

	s := harness.StartService(t, a, "--keys", file)
	var res api.Result
	s.WithKey(keys["ann"]).Call("POST", "/v1/runs", run, 200, &res)
	harness.WantVerdict(t, res, api.OK)
	if string(res.Stdout) != "made\n" || len(res.Logged) == 0 {
		t.Errorf("stdout %q, stderr %q, logged %+v; want a pipe, and the call that made it in the log", res.Stdout, res.Stderr, res.Logged)
	}

	s.WithKey(keys["bob"]).Refused("POST", "/v1/runs", run, 403, api.CodeForbidden)

	closed := harness.StartAgent(t, harness.SharedFlags...)
	own, err := testservice.Start(harness.Binary(t, "brig"), time.Until(harness.Patience()), "--socket", closed.Socket, "--data-dir",
		filepath.Join(closed.Dir, "gateway"), "--keys", file)
	if err == nil {
		_ = own.Stop(harness.Slow(30 * time.Second))
		t.Fatal("a service starts whose key has a permission without effect")
	}
	if !strings.Contains(err.Error(), "profile_log is set on the keys ann,") || !strings.Contains(err.Error(), "brigd --profile-log") {
		t.Errorf("%v; want the key and the cure", err)
	}

	run.Argv = []string{"true"}
	open := harness.StartService(t, closed)
	open.Refused("POST", "/v1/runs", run, 403, api.CodeForbidden)
}
