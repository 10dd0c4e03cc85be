package service

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// Keys are added and removed while the service runs, although it has dropped the root privileges
// that could open their file.
func TestKeysChangeWhileServing(t *testing.T) {
	a := harness.StartParallelAgent(t, harness.SharedFlags...)
	file, keys := harness.KeysFile(t, a.Dir, "ann", "bob", "op!")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	without := func(name string) []byte {
		var kept []string
		for _, line := range strings.SplitAfter(string(text), "\n") {
			if !strings.Contains(line, name) {
				kept = append(kept, line)
			}
		}
		return []byte(strings.Join(kept, ""))
	}

	write := func(name string, text []byte) {
		t.Helper()
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	write(file, without("bob"))
	s := harness.StartService(t, a, "--keys", file)
	ann, bob := s.WithKey(keys["ann"]), s.WithKey(keys["bob"])
	status := func(as *harness.Service) int {
		res, err := as.Request(t.Context(), "GET", "/v1/languages", nil)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	if status(ann) != 200 || status(bob) != 401 {
		t.Fatalf("ann %d, bob %d", status(ann), status(bob))
	}

	id := newSession(ann, "p", "t")
	write(file, text)
	harness.Eventually(t, "a key that was added", func() bool { return status(bob) == 200 })
	write(file, without("ann"))
	harness.Eventually(t, "a key that was taken away", func() bool { return status(ann) == 401 })
	bob.Refused("GET", "/v1/sessions/"+id, nil, 404, api.CodeNotFound)
	if !strings.Contains(s.Log.String(), id) {
		t.Errorf("the log does not tell whose sessions are left\n%s", s.Log)
	}

	write(file, []byte("keys: ["))
	harness.Eventually(t, "a broken file to be reported", func() bool { return strings.Contains(s.Log.String(), "CANNOT BE RELOADED") })
	op := s.WithKey(keys["op"])
	unread := func(as *harness.Service) bool {
		t.Helper()
		var h map[string]any
		as.Call("GET", "/health", nil, 200, &h)
		return h["keys_unread_since"] != nil
	}
	if !unread(op) || unread(bob) || unread(s) {
		t.Error("health tells a holder of admin, and nobody else, that the keys are not those of the file")
	}
	if strings.Contains(op.GetText("/metrics"), "\nbrig_keys_unread_since_seconds 0\n") {
		t.Error("the metrics do not tell it")
	}

	harness.Eventually(t, "an alert", func() bool {
		all := harness.Pages[struct{ Kind string }](op, "/v1/alerts?all=true")
		return len(all) == 1 && all[0].Kind == "keys-unread"
	})
	if none := harness.Pages[struct{ Kind string }](bob, "/v1/alerts?limit=9"); len(none) != 0 {
		t.Errorf("another key gets %v", none)
	}

	// A replacement file is read as soon as it can be opened.
	write(file+".new", text)
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}

	harness.Eventually(t, "a file that cannot be opened to be reported",
		func() bool { return strings.Contains(s.Log.String(), "permission denied") })
	if status(ann) != 401 || status(bob) != 200 {
		t.Errorf("ann %d, bob %d; want it as it was", status(ann), status(bob))
	}
	if err := errors.Join(os.Chown(file, 0, 62187), os.Chmod(file, 0o640)); err != nil {
		t.Fatal(err)
	}

	harness.Eventually(t, "the keys of another file", func() bool { return status(ann) == 200 })
	ann.Call("GET", "/v1/sessions/"+id, nil, 200, nil) // it is ann's session again
	if unread(op) || !strings.Contains(op.GetText("/metrics"), "\nbrig_keys_unread_since_seconds 0\n") {
		t.Error("keys that can be read again are still reported as unread")
	}
	if all := harness.Pages[struct{ Kind string }](op, "/v1/alerts?all=true"); len(all) != 1 { // one alert for two broken files in succession
		t.Errorf("alerts %v", all)
	}

	write(file, []byte("keys:\n"))
	harness.Eventually(t, "the last key that was taken away", func() bool { return status(op) == 401 })
}

// One key's long jobs, as many as there are slots, do not make another key's run wait until they
// end.
func TestGatewayTestsLeaveSlotsToOtherKeys(t *testing.T) {
	a := harness.StartAgent(t, append(harness.SharedFlags, "--slots", "1")...)
	file, keys := harness.KeysFile(t, a.Dir, "ann", "bob")
	s := harness.StartService(t, a, "--keys", file)
	ann, bob := s.WithKey(keys["ann"]), s.WithKey(keys["bob"])
	first := ann.StartDetached(harness.ManyTests(4096, "sleep 0.2"))
	var st api.Status
	harness.Eventually(t, "the first to have its turn", func() bool {
		ann.Call("GET", "/v1/runs/"+first, nil, 200, &st)
		return st.State == api.Running
	})
	second := ann.StartDetached(harness.ManyTests(4096, "sleep 0.2"))
	own := harness.Sh("echo mine")
	own.Limits.Memory = 64 * api.MiB
	for range 3 {
		var res api.Result
		bob.Call("POST", "/v1/runs", own, 200, &res)
		harness.WantVerdict(t, res, api.OK)
	}

	if ann.Call("GET", "/v1/runs/"+first, nil, 200, &st); st.State != api.Running {
		t.Errorf("the job that went on is %s", st.State)
	}
	if ann.Call("GET", "/v1/runs/"+second, nil, 200, &st); st.State != api.Queued {
		t.Errorf("the job that waits is %s", st.State)
	}

	for _, id := range []string{second, first} {
		ann.Call("DELETE", "/v1/runs/"+id, nil, 200, nil)
		ann.WaitDone(id)
	}
}

// What the agent allows only to root is not available through the service, although it was root
// when it started.
func TestGatewayIsNotRoot(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	s := harness.StartService(t, a)
	rules, err := exec.Command(harness.Binary(t, "brig"), "profile", "show", "strict", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}

	r := harness.Sh("true")
	r.ProfileRules = rules
	harness.WantVerdict(t, a.MustRun(t, r), api.OK) // this test is root
	for range 3 {
		s.Refused("POST", "/v1/runs", r, 403, api.CodeForbidden)
	}

	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}

	for _, want := range []string{"Uid:\t62187\t62187\t62187\t62187", "CapPrm:\t0000000000000000", "NoNewPrivs:\t1"} {
		if !strings.Contains(string(status), want) {
			t.Errorf("the service is not %q:\n%s", want, status)
		}
	}
}

// API-14: another key can neither see, cancel nor use what belongs to a key.
func TestGatewayKeys(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	file, keys := harness.KeysFile(t, a.Dir, "ann", "bob", "root!")
	s := harness.StartService(t, a, "--keys", file)
	ann, bob, root := s.WithKey(keys["ann"]), s.WithKey(keys["bob"]), s.WithKey(keys["root"])

	for _, wrong := range []*harness.Service{s, s.WithKey("brig_wrong"), s.WithKey(keys["ann"] + "x")} {
		for _, path := range []string{"/v1/history", "/v1/languages", "/v1/stats"} {
			if h := wrong.Refused("GET", path, nil, 401, api.CodeUnauthorized); h.Get("WWW-Authenticate") == "" {
				t.Error("401 without WWW-Authenticate")
			}
		}
		wrong.Refused("POST", "/v1/runs", harness.Sh("true"), 401, api.CodeUnauthorized)
		wrong.Refused("POST", "/execute", `{"code":"1"}`, 401, api.CodeUnauthorized)
	}

	s.Call("GET", "/health", nil, 200, nil)

	id := ann.StartDetached(harness.Sh("echo secret; sleep 60"))
	done := ann.StartDetached(harness.Sh("echo past"))
	ann.WaitDone(done)
	for _, path := range []string{id, done, "aaaaaaaaaaaaaaaaaaaaaaaa"} {
		bob.Refused("GET", "/v1/runs/"+path, nil, 404, api.CodeNotFound)
		bob.Refused("GET", "/v1/runs/"+path+"/events", nil, 404, api.CodeNotFound)
		bob.Refused("DELETE", "/v1/runs/"+path, nil, 404, api.CodeNotFound)
	}

	var st api.Status
	if ann.Call("GET", "/v1/runs/"+id, nil, 200, &st); st.State == api.Done {
		t.Error("another key has ended the run")
	}

	ann.Call("DELETE", "/v1/runs/"+id, nil, 200, nil)
	ann.WaitDone(id)

	content := "shared input"
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
	uses := api.Run{Image: "tiny", Argv: []string{"cat"}, StdinBlob: digest}
	ann.Call("PUT", "/v1/blobs/"+digest, strings.NewReader(content), 204, nil)
	ann.Call("HEAD", "/v1/blobs/"+digest, nil, 204, nil)
	bob.Call("HEAD", "/v1/blobs/"+digest, nil, 404, nil)
	bob.Refused("POST", "/v1/runs", uses, 404, api.CodeNoBlob)
	bob.Refused("PUT", "/v1/blobs/"+digest, strings.NewReader("a guess"), 400, api.CodeBadRequest)
	bob.Refused("POST", "/v1/runs", uses, 404, api.CodeNoBlob)
	var res api.Result
	ann.Call("POST", "/v1/runs", uses, 200, &res)
	if string(res.Stdout) != content {
		t.Errorf("stdout %q", res.Stdout)
	}

	ann.Call("POST", "/v1/runs?wait=false", uses, 202, &st)
	if st := ann.WaitDone(st.Run); st.Result == nil || string(st.Result.Stdout) != content {
		t.Errorf("not waited for: %+v", st)
	}

	type entry struct{ Owner string }
	if all := harness.Pages[entry](bob, "/v1/history?limit=100"); len(all) != 0 {
		t.Errorf("bob's history %+v", all)
	}
	if all := harness.Pages[entry](ann, "/v1/history?limit=100"); len(all) != 4 {
		t.Errorf("ann's history %+v; run %s was cancelled, %s done\n%s", all, id, done, s.Log)
	}

	bob.Refused("GET", "/v1/history?all=true", nil, 403, api.CodeForbidden)
	bob.Refused("GET", "/v1/stats?all=true", nil, 403, api.CodeForbidden)
	bob.Refused("GET", "/v1/runs/"+st.Run, nil, 404, api.CodeNotFound)
	bob.Refused("GET", "/v1/runs/"+st.Run+"?all=true", nil, 403, api.CodeForbidden)
	root.Refused("GET", "/v1/runs/"+st.Run, nil, 404, api.CodeNotFound)
	root.Call("GET", "/v1/runs/"+st.Run+"?all=true", nil, 200, nil)
	bob.Refused("GET", "/metrics", nil, 403, api.CodeForbidden)
	root.GetText("/metrics")
	if all := harness.Pages[entry](root, "/v1/history?limit=100&all=true"); len(all) != 4 {
		t.Errorf("everyone's history %+v", all)
	}
}

// API-12: without keys the service does not listen on an address that other hosts can reach.
func TestServeWithoutKeysRefusesPublicAddresses(t *testing.T) {
	for args, want := range map[string]string{
		"--listen 0.0.0.0:0":                    "--keys",
		"--listen :0":                           "--keys",
		"--listen [::]:0":                       "--keys",
		"--listen 192.0.2.1:80":                 "--keys",
		"--listen 127.0.0.1:0 --keys /none":     "/none",
		"--listen 127.0.0.1":                    "host:port",
		"--listen 127.0.0.1:0 --tls-cert x":     "--tls-key",
		"--listen 127.0.0.1:0 --config /none":   "/none",
		"--listen 127.0.0.1:0 --user nobodyyyy": "nobodyyyy",

		"--listen 127.0.0.1:0 --history-runs 0":     "--history-runs",
		"--listen 127.0.0.1:0 --history-bytes 1000": "--history-bytes",
	} {
		cmd := exec.CommandContext(t.Context(), harness.Binary(t, "brig"),
			append([]string{"serve", "--data-dir", t.TempDir(), "--socket", "/none/socket"}, strings.Fields(args)...)...)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("brig serve %s: %v, %q; want a refusal that names %s", args, err, out, want)
		}
	}
}
