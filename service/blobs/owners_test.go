package blobs

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/cache"
	"github.com/brig-sandbox/brig/service/core"
)

// bring uploads a blob of the least cost for a key, with limits in units of such blobs, and returns
// what was removed for it.
func bring(t *testing.T, l *blobOwners, key, digest string, maximum, all int64) (gone []string, err error) {
	t.Helper()
	d, err := l.beginUpload(t.Context(), key, digest, maximum*cache.Cost(0), all*cache.Cost(0))
	if err != nil {
		t.Fatal(err)
	}
	if gone, err = d.reserve(1); err != nil {
		gone = append(gone, d.cancel()...)
	} else {
		d.stored(1)
	}

	for _, digest := range gone {
		l.removed(digest)
	}
	return gone, err
}

// API-14: a key that names another's blob by digest does not get it.
func TestBlobsBelongToKeys(t *testing.T) {
	l := new(blobOwners)
	put := func(digest, want string) {
		t.Helper()
		if gone, err := bring(t, l, "a", digest, 2, 0); err != nil || fmt.Sprint(gone) != want {
			t.Errorf("%s: %v went, %v; want %s", digest, gone, err, want)
		}
	}

	put("d1", "[]")
	if !l.has("a", "d1") || l.has("b", "d1") || l.has("", "d1") {
		t.Error("a blob is not its bringer's alone")
	}

	put("d2", "[]")
	l.has("a", "d1")
	put("d3", "[d2]") // least recently used
	if !l.has("a", "d1") || l.has("a", "d2") || !l.has("a", "d3") {
		t.Error("what was used longest ago does not go first")
	}

	put("d1", "[]") // it replaces itself
	if got := l.keys["a"].size; got != 2*cache.Cost(0) || !l.has("a", "d3") || l.size != got || l.contents["d1"].users != 1 {
		t.Errorf("brought twice it counts %d, %d in all, of %d users", got, l.size, l.contents["d1"].users)
	}
}

// The key with the most blobs loses one, and a content is removed when its last key has lost it.
func TestTheKeyWithMostBlobsLosesThem(t *testing.T) {
	l := new(blobOwners)
	put := func(key, digest, want string) {
		t.Helper()
		if gone, err := bring(t, l, key, digest, 100, 5); err != nil || fmt.Sprint(gone) != want {
			t.Errorf("%s brings %s: %v went, %v; want %s", key, digest, gone, err, want)
		}
	}

	put("b", "shared", "[]")
	for i, want := range []string{"[]", "[]", "[]"} {
		put("a", fmt.Sprint("a", i), want)
	}

	put("a", "shared", "[]")
	put("a", "a3", "[a0]") // one of a, although b's is older
	put("a", "a4", "[a1]")
	put("b", "b1", "[a2]")
	put("c", "c1", "[]") // a loses the shared one, which b still has
	if l.has("a", "shared") || !l.has("b", "shared") || !l.has("b", "b1") || !l.has("a", "a4") {
		t.Error("a key that has less has lost a blob")
	}
	if l.size != 5*cache.Cost(0) {
		t.Errorf("all together count %d", l.size)
	}
}

// Blobs that accepted runs need stay. An upload that then finds no space is refused, and leaves
// nothing.
func TestPinnedBlobsStay(t *testing.T) {
	l := new(blobOwners)
	for _, d := range []string{"d1", "d2"} {
		if _, err := bring(t, l, "a", d, 2, 0); err != nil {
			t.Fatal(err)
		}
	}

	if _, missing := l.Pin("a", []string{"d1", "none"}); missing != "none" {
		t.Errorf("missing is %q", missing)
	}
	if gone, err := bring(t, l, "a", "d3", 2, 0); err != nil || fmt.Sprint(gone) != "[d2]" { // d1 was used after d2
		t.Errorf("%v, %v", gone, err)
	}

	letGo, _ := l.Pin("a", []string{"d1", "d3", "d1"})
	var refused *api.Error
	if gone, err := bring(t, l, "a", "d4", 2, 0); !errors.As(err, &refused) || refused.Code != api.CodeBusy || fmt.Sprint(gone) != "[d4]" {
		t.Errorf("next to held ones: %v, %v", gone, err)
	}
	if !l.has("a", "d1") || !l.has("a", "d3") || l.has("a", "d4") || l.size != 2*cache.Cost(0) {
		t.Error("a held one has gone, or the refused one counts")
	}

	letGo()
	letGo()
	if gone, err := bring(t, l, "a", "d4", 2, 0); err != nil || fmt.Sprint(gone) != "[d1]" {
		t.Errorf("after they were let go: %v, %v", gone, err)
	}
}

// Each of many evicted blobs gets enough time to be removed: a blob that is no longer accounted for
// but stays in the agent fills its disk.
func TestManyBlobsAreRemoved(t *testing.T) {
	before := removeTimeout
	removeTimeout = 5 * time.Second
	t.Cleanup(func() { removeTimeout = before })
	var gone atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("DELETE /v1/blobs/{digest}", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(removeTimeout / 8): // ten of them take longer than it
			gone.Add(1)
			w.WriteHeader(204)
		case <-r.Context().Done():
		}
	})

	dir, err := os.MkdirTemp("", "blobs") // t.TempDir is too long a name for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })

	ln, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}

	agent := &http.Server{Handler: mux}
	go agent.Serve(ln)
	t.Cleanup(func() { agent.Close() })

	b := &Blobs{Core: core.New(core.Config{Agent: client.New(filepath.Join(dir, "s"))}.WithDefaults())}
	var all []string
	for i := range 10 {
		d, err := b.Owners.beginUpload(t.Context(), "ann", fmt.Sprint(i), 1<<20, 0)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, d.cancel()...)
	}

	if b.remove(all); gone.Load() != 10 || len(b.Owners.contents) != 0 {
		t.Errorf("%d of 10 blobs were removed, and %d are still going", gone.Load(), len(b.Owners.contents))
	}
}
