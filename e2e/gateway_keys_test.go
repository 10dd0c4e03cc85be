package e2e

import (
	"errors"
	"os"
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
