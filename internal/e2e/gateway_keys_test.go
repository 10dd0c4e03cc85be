package e2e

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// Keys are added and removed while the service runs, although it has dropped the root privileges
// that could open their file.
func TestKeysChangeWhileServing(t *testing.T) {
	a := startParallelAgent(t, sharedFlags...)
	file, keys := keysFile(t, a.dir, "ann", "bob", "op!")
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
	s := startService(t, a, "--keys", file)
	ann, bob := s.withKey(keys["ann"]), s.withKey(keys["bob"])
	status := func(as *service) int {
		res, err := as.request(t.Context(), "GET", "/v1/languages", nil)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	if status(ann) != 200 || status(bob) != 401 {
		t.Fatalf("ann %d, bob %d", status(ann), status(bob))
	}

	id := ann.session("p", "t")
	write(file, text)
	eventually(t, "a key that was added", func() bool { return status(bob) == 200 })
	write(file, without("ann"))
	eventually(t, "a key that was taken away", func() bool { return status(ann) == 401 })
	bob.refused("GET", "/v1/sessions/"+id, nil, 404, api.CodeNotFound)
	if !strings.Contains(s.log.String(), id) {
		t.Errorf("the log does not tell whose sessions are left\n%s", s.log)
	}

	write(file, []byte("keys: ["))
	eventually(t, "a broken file to be reported", func() bool { return strings.Contains(s.log.String(), "CANNOT BE RELOADED") })
	op := s.withKey(keys["op"])
	unread := func(as *service) bool {
		t.Helper()
		var h map[string]any
		as.call("GET", "/health", nil, 200, &h)
		return h["keys_unread_since"] != nil
	}
	if !unread(op) || unread(bob) || unread(s) {
		t.Error("health tells a holder of admin, and nobody else, that the keys are not those of the file")
	}
	if strings.Contains(op.getText("/metrics"), "\nbrig_keys_unread_since_seconds 0\n") {
		t.Error("the metrics do not tell it")
	}

	eventually(t, "an alert", func() bool {
		all := pages[struct{ Kind string }](op, "/v1/alerts?all=true")
		return len(all) == 1 && all[0].Kind == "keys-unread"
	})
	if none := pages[struct{ Kind string }](bob, "/v1/alerts?limit=9"); len(none) != 0 {
		t.Errorf("another key gets %v", none)
	}

	// A replacement file is read as soon as it can be opened.
	write(file+".new", text)
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}

	eventually(t, "a file that cannot be opened to be reported", func() bool { return strings.Contains(s.log.String(), "permission denied") })
	if status(ann) != 401 || status(bob) != 200 {
		t.Errorf("ann %d, bob %d; want it as it was", status(ann), status(bob))
	}
	if err := errors.Join(os.Chown(file, 0, 62187), os.Chmod(file, 0o640)); err != nil {
		t.Fatal(err)
	}

	eventually(t, "the keys of another file", func() bool { return status(ann) == 200 })
	ann.call("GET", "/v1/sessions/"+id, nil, 200, nil) // it is ann's session again
	if unread(op) || !strings.Contains(op.getText("/metrics"), "\nbrig_keys_unread_since_seconds 0\n") {
		t.Error("keys that can be read again are still reported as unread")
	}
	if all := pages[struct{ Kind string }](op, "/v1/alerts?all=true"); len(all) != 1 { // one alert for two broken files in succession
		t.Errorf("alerts %v", all)
	}

	write(file, []byte("keys:\n"))
	eventually(t, "the last key that was taken away", func() bool { return status(op) == 401 })
}

// One key's long jobs, as many as there are slots, do not make another key's run wait until they
// end.
func TestGatewayTestsLeaveSlotsToOtherKeys(t *testing.T) {
	a := startAgent(t, append(sharedFlags, "--slots", "1")...)
	file, keys := keysFile(t, a.dir, "ann", "bob")
	s := startService(t, a, "--keys", file)
	ann, bob := s.withKey(keys["ann"]), s.withKey(keys["bob"])
	first := ann.startDetached(manyTests(4096, "sleep 0.2"))
	var st api.Status
	eventually(t, "the first to have its turn", func() bool {
		ann.call("GET", "/v1/runs/"+first, nil, 200, &st)
		return st.State == api.Running
	})
	second := ann.startDetached(manyTests(4096, "sleep 0.2"))
	own := sh("echo mine")
	own.Limits.Memory = 64 * api.MiB
	for range 3 {
		var res api.Result
		bob.call("POST", "/v1/runs", own, 200, &res)
		wantVerdict(t, res, api.OK)
	}

	if ann.call("GET", "/v1/runs/"+first, nil, 200, &st); st.State != api.Running {
		t.Errorf("the job that went on is %s", st.State)
	}
	if ann.call("GET", "/v1/runs/"+second, nil, 200, &st); st.State != api.Queued {
		t.Errorf("the job that waits is %s", st.State)
	}

	for _, id := range []string{second, first} {
		ann.call("DELETE", "/v1/runs/"+id, nil, 200, nil)
		ann.waitDone(id)
	}
}

// What the agent allows only to root is not available through the service, although it was root
// when it started.
func TestGatewayIsNotRoot(t *testing.T) {
	a := startAgent(t, sharedFlags...)
	s := startService(t, a)
	rules, err := exec.Command(binary(t, "brig"), "profile", "show", "strict", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}

	r := sh("true")
	r.ProfileRules = rules
	wantVerdict(t, a.run(t, r), api.OK) // this test is root
	for range 3 {
		s.refused("POST", "/v1/runs", r, 403, api.CodeForbidden)
	}

	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
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
	a := startAgent(t, sharedFlags...)
	file, keys := keysFile(t, a.dir, "ann", "bob", "root!")
	s := startService(t, a, "--keys", file)
	ann, bob, root := s.withKey(keys["ann"]), s.withKey(keys["bob"]), s.withKey(keys["root"])

	for _, wrong := range []*service{s, s.withKey("brig_wrong"), s.withKey(keys["ann"] + "x")} {
		for _, path := range []string{"/v1/history", "/v1/languages", "/v1/stats"} {
			if h := wrong.refused("GET", path, nil, 401, api.CodeUnauthorized); h.Get("WWW-Authenticate") == "" {
				t.Error("401 without WWW-Authenticate")
			}
		}
		wrong.refused("POST", "/v1/runs", sh("true"), 401, api.CodeUnauthorized)
		wrong.refused("POST", "/execute", `{"code":"1"}`, 401, api.CodeUnauthorized)
	}

	s.call("GET", "/health", nil, 200, nil)

	id := ann.startDetached(sh("echo secret; sleep 60"))
	done := ann.startDetached(sh("echo past"))
	ann.waitDone(done)
	for _, path := range []string{id, done, "aaaaaaaaaaaaaaaaaaaaaaaa"} {
		bob.refused("GET", "/v1/runs/"+path, nil, 404, api.CodeNotFound)
		bob.refused("GET", "/v1/runs/"+path+"/events", nil, 404, api.CodeNotFound)
		bob.refused("DELETE", "/v1/runs/"+path, nil, 404, api.CodeNotFound)
	}

	var st api.Status
	if ann.call("GET", "/v1/runs/"+id, nil, 200, &st); st.State == api.Done {
		t.Error("another key has ended the run")
	}

	ann.call("DELETE", "/v1/runs/"+id, nil, 200, nil)
	ann.waitDone(id)

	content := "shared input"
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
	uses := api.Run{Image: "tiny", Argv: []string{"cat"}, StdinBlob: digest}
	ann.call("PUT", "/v1/blobs/"+digest, strings.NewReader(content), 204, nil)
	ann.call("HEAD", "/v1/blobs/"+digest, nil, 204, nil)
	bob.call("HEAD", "/v1/blobs/"+digest, nil, 404, nil)
	bob.refused("POST", "/v1/runs", uses, 404, api.CodeNoBlob)
	bob.refused("PUT", "/v1/blobs/"+digest, strings.NewReader("a guess"), 400, api.CodeBadRequest)
	bob.refused("POST", "/v1/runs", uses, 404, api.CodeNoBlob)
	var res api.Result
	ann.call("POST", "/v1/runs", uses, 200, &res)
	if string(res.Stdout) != content {
		t.Errorf("stdout %q", res.Stdout)
	}

	ann.call("POST", "/v1/runs?wait=false", uses, 202, &st)
	if st := ann.waitDone(st.Run); st.Result == nil || string(st.Result.Stdout) != content {
		t.Errorf("not waited for: %+v", st)
	}

	type entry struct{ Owner string }
	if all := pages[entry](bob, "/v1/history?limit=100"); len(all) != 0 {
		t.Errorf("bob's history %+v", all)
	}
	if all := pages[entry](ann, "/v1/history?limit=100"); len(all) != 4 {
		t.Errorf("ann's history %+v; run %s was cancelled, %s done\n%s", all, id, done, s.log)
	}

	bob.refused("GET", "/v1/history?all=true", nil, 403, api.CodeForbidden)
	bob.refused("GET", "/v1/stats?all=true", nil, 403, api.CodeForbidden)
	bob.refused("GET", "/v1/runs/"+st.Run, nil, 404, api.CodeNotFound)
	bob.refused("GET", "/v1/runs/"+st.Run+"?all=true", nil, 403, api.CodeForbidden)
	root.refused("GET", "/v1/runs/"+st.Run, nil, 404, api.CodeNotFound)
	root.call("GET", "/v1/runs/"+st.Run+"?all=true", nil, 200, nil)
	bob.refused("GET", "/metrics", nil, 403, api.CodeForbidden)
	root.getText("/metrics")
	if all := pages[entry](root, "/v1/history?limit=100&all=true"); len(all) != 4 {
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
		cmd := exec.CommandContext(t.Context(), binary(t, "brig"),
			append([]string{"serve", "--data-dir", t.TempDir(), "--socket", "/none/socket"}, strings.Fields(args)...)...)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) {
			t.Errorf("brig serve %s: %v, %q; want a refusal that names %s", args, err, out, want)
		}
	}
}
