package sessions

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// The retention of tombstones of ended sessions is limited in number and in time, for each owner
// separately.
func TestEndedSessionsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _, err := openRegistry("")
		if err != nil {
			t.Fatal(err)
		}

		end := func(owner, id string) {
			if _, _, err := b.reserve(reservationPrefix+id, sessionEntry{owner: owner}, func(_, _ sessionUsage) error { return nil }); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(b.commit(reservationPrefix+id, id, 0), b.end(id, "why")); err != nil {
				t.Fatal(err)
			}
		}

		told := func(owner, id string) api.Code {
			var e *api.Error
			if _, err := b.find(owner, id); !errors.As(err, &e) {
				t.Fatalf("%s finds %s: %v", owner, id, err)
			}
			return e.Code
		}

		end("ann", "a")
		for i := range 2 * maxTombstones {
			end("bob", fmt.Sprint("b", i))
		}

		if c := told("ann", "a"); c != api.CodeSessionEnded {
			t.Errorf("ann's: %s; bob's many are in its place", c)
		}
		if first, last := told("bob", "b0"), told("bob", fmt.Sprint("b", 2*maxTombstones-1)); first != api.CodeNotFound ||
			last != api.CodeSessionEnded {
			t.Errorf("bob's first %s, last %s", first, last)
		}
		if c := told("bob", "a"); c != api.CodeNotFound {
			t.Errorf("ann's session is %s to bob", c)
		}

		time.Sleep(tombstoneTTL)
		if c := told("ann", "a"); c != api.CodeNotFound {
			t.Errorf("after %v: %s", tombstoneTTL, c)
		}
		if end("ann", "c"); len(b.tombstones["ann"]) != 1 || len(b.tombstones["bob"]) > maxTombstones || len(b.all) != 0 {
			t.Errorf("%d of ann's and %d of bob's are kept", len(b.tombstones["ann"]), len(b.tombstones["bob"]))
		}
	})
}

// A full disk has its own code.
func TestRegistryOnAFullDisk(t *testing.T) {
	if p, ours := core.ProblemFor(saveError(&fs.PathError{Op: "write", Path: "sessions", Err: syscall.ENOSPC})); p.Status != 503 ||
		p.Code != api.CodeHostExhausted || !ours {
		t.Errorf("a full disk: %+v", p)
	}
}

// Sessions that an earlier process left are in the file until they have ended, whatever sessions
// are created meanwhile, and no longer: the process after the next does not see them again.
func TestStaleSessionsAreKeptUntilTheyHaveEnded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions")
	if err := os.WriteFile(path, []byte("left\ngone\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	b, left, err := openRegistry(path)
	if err != nil || !slices.Equal(left, []string{"left", "gone"}) {
		t.Fatalf("%q, %v", left, err)
	}

	next := func(want ...string) {
		t.Helper()
		if _, left, err := openRegistry(path); err != nil || !slices.Equal(left, want) {
			t.Errorf("the next service learns of %q, %v; want %q", left, err, want)
		}
	}

	if err := b.drop("gone"); err != nil {
		t.Fatal(err)
	}

	next("left")
	none := func(_, _ sessionUsage) error { return nil }
	if _, _, err := b.reserve("?1", sessionEntry{}, none); err != nil {
		t.Fatal(err)
	}
	if err := b.commit("?1", "new", 0); err != nil {
		t.Fatal(err)
	}

	next("new", "left")
	if err := b.drop("new", "left"); err != nil {
		t.Fatal(err)
	}

	next()
}
