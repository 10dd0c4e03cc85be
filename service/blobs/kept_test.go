package blobs

import (
	"fmt"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/core"
)

// Kept files are bounded in number and in time, and are of one key in one dialect.
func TestKeptFilesAreBounded(t *testing.T) {
	now := time.Unix(1e9, 0)
	k := &Kept{Blobs: new(Blobs), Now: func() time.Time { return now }}
	ann, bob := core.Caller{Key: auth.Key{Name: "ann"}}, core.Caller{Key: auth.Key{Name: "bob"}}
	for _, key := range []string{"ann", "bob"} {
		if _, err := bring(t, &k.Blobs.Owners, key, "d", 4, 0); err != nil {
			t.Fatal(err)
		}
	}

	has := func(c core.Caller, dialect string, ids ...string) bool {
		t.Helper()
		found, all := k.Find(c, dialect, ids)
		if all && len(found) != len(ids) {
			t.Errorf("%d files of %d ids", len(found), len(ids))
		}
		return all
	}
	if has(ann, "jobe", "a") || !has(ann, "jobe") {
		t.Error("there is a file before one is kept")
	}

	k.record(share{"ann", "jobe"}, File{ID: "a", Digest: "d"})
	if !has(ann, "jobe", "a") || !has(ann, "jobe", "a", "a") || has(ann, "jobe", "a", "b") || has(bob, "jobe", "a") ||
		has(core.Caller{}, "jobe", "a") || has(ann, "gojudge", "a") {
		t.Error("a kept file is not of its key and dialect alone")
	}
	k.record(share{"ann", "jobe"}, File{ID: "gone", Digest: "a digest that the key has no more"})
	if has(ann, "jobe", "gone") {
		t.Error("a file is kept whose blob is not")
	}

	if got := k.List(ann, "jobe"); len(got) != 1 || got[0].ID != "a" || len(k.List(bob, "jobe"))+len(k.List(ann, "piston")) > 0 {
		t.Errorf("the list of files is %v", got)
	}
	k.Forget(bob, "jobe", "a")
	k.Forget(ann, "piston", "a")
	k.Forget(ann, "jobe", "none")

	now = now.Add(keptFor)
	if !has(ann, "jobe", "a") {
		t.Error("a file is forgotten early")
	}
	now = now.Add(keptFor) // after its last use
	if !has(ann, "jobe", "a") {
		t.Error("a use does not count")
	}
	now = now.Add(keptFor + 1)
	if has(ann, "jobe", "a") {
		t.Error("a file that nobody used is still kept")
	}

	if got := k.List(ann, "jobe"); len(got) > 0 {
		t.Errorf("nobody used %v", got)
	}
	k.record(share{"ann", "jobe"}, File{ID: "a", Digest: "d"})
	if k.Forget(ann, "jobe", "a"); has(ann, "jobe", "a") || len(k.List(ann, "jobe")) > 0 {
		t.Error("a file that its key deleted is still kept")
	}

	k.record(share{"bob", "jobe"}, File{ID: "b", Digest: "d"})
	for i := range maxKept + 10 {
		k.record(share{"ann", "jobe"}, File{ID: fmt.Sprint(i), Digest: "d"})
		if !has(ann, "jobe", "0") {
			t.Fatal("what is used is forgotten")
		}
	}
	files := k.shares[share{"ann", "jobe"}]
	if files.order.Len() != maxKept || len(files.byID) != maxKept || has(ann, "jobe", "10") || !has(ann, "jobe", "11") ||
		!has(bob, "jobe", "b") {
		t.Errorf("%d files, %d ids", files.order.Len(), len(files.byID))
	}
}
