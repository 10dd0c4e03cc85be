package runtime

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/session"
)

// What the limit on open files is divided by: a session that waits has no more files open than it is counted with,
// whatever it has executed, and whatever processes that has left.
func TestFilesOfASession(t *testing.T) {
	dir, second := privately(t)
	if !second {
		return
	}

	h, err := Open(Config{RunDir: filepath.Join(dir, "run"), Slots: 1, Images: tinyStore(t), noAhead: true})
	check(t, err)
	t.Cleanup(func() { check(t, h.Close()) })
	open := func() int {
		t.Helper()
		files, err := os.ReadDir("/proc/self/fd")
		check(t, err)
		return len(files)
	}

	limits := api.Limits{Memory: 32 * api.MiB, Scratch: api.MiB, Pids: 20}
	made := func() api.Session {
		t.Helper()
		s, err := h.CreateSession(t.Context(), api.SessionRequest{Image: "tiny", Limits: limits}, 0, api.Caller{})
		check(t, err)
		return s
	}
	used := func() {
		t.Helper()
		s := made()
		for range 5 {
			_, err := h.Exec(t.Context(), s.ID, api.Exec{Argv: []string{"/bin/sh", "-c", "sleep 600 >/dev/null 2>&1 &"}},
				api.Streams{}, api.Caller{})
			check(t, err)
		}
		_, err := h.PathStatus(t.Context(), s.ID, "/box", true, api.Caller{})
		check(t, err)
	}

	made() // opens what all share
	used()
	var first []api.Session
	for range 10 { // their ranges of ids keep their user namespaces
		first = append(first, made())
	}
	for _, s := range first {
		check(t, h.DeleteSession(s.ID, api.Caller{}))
	}
	const each = 4
	before := open()
	for range each {
		made()
	}
	if n := open() - before; n > each*(session.Files-1) { // no program has seen its root
		t.Errorf("%d new sessions have %d files open; want at most %d", each, n, each*(session.Files-1))
	}

	before = open()
	for range each {
		used()
	}
	if n := open() - before; n > each*session.Files {
		t.Errorf("%d sessions with processes left have %d files open; want at most %d", each, n, each*session.Files)
	}
}
