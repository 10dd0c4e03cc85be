package plan

import (
	"errors"
	"slices"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/seccomp"
)

// OWN-11: a session owns its image if it asks for that and may. It then has a writable root, cells of its own kind, and
// a profile that no other session has.
func TestOwnImageIsAPermission(t *testing.T) {
	pl := allLanguages(t)
	stranger, root := api.Caller{UID: 1234}, api.Caller{}
	ask := api.SessionRequest{Language: "python", OwnImage: true}
	_, err := pl.Session(t.Context(), ask, stranger)
	var e *api.Error
	if !errors.As(err, &e) || e.Code != api.CodeForbidden {
		t.Fatalf("a caller who is not root: %v", err)
	}

	plain, err := pl.Session(t.Context(), api.SessionRequest{Language: "python", WritableRoot: true}, stranger)
	if err != nil || plain.Cell.Key.OwnsImage || plain.Cell.Policy.OwnsImage || plain.Cell.Policy.Profile.OwnsImage {
		t.Fatalf("a writable root: %+v, %v", plain, err)
	}

	own, err := pl.Session(t.Context(), ask, root)
	if err != nil {
		t.Fatal(err)
	}
	pl.OwnImage = true
	permitted, err := pl.Session(t.Context(), ask, stranger)
	if err != nil {
		t.Fatal(err)
	}

	for who, s := range map[string]*Session{"root": own, "a caller who may": permitted} {
		k := s.Cell.Key
		if !k.OwnsImage || !k.Writable || s.Cell.Layer == nil || !s.Ask.WritableRoot || k == plain.Cell.Key {
			t.Errorf("%s: %+v", who, k)
		}
		if f := s.Cell.Policy; !f.OwnsImage || f.Hash == plain.Cell.Policy.Hash || f.Name != plain.Cell.Policy.Name {
			t.Errorf("%s: policy %s, %s", who, f.Name, f.Hash)
		}
		if s.Reservation() != plain.Reservation() {
			t.Errorf("%s: reserves %s; a writable root %s", who, s.Reservation(), plain.Reservation())
		}
		run, _, err := pl.Exec(s, api.Exec{Argv: []string{"x"}})
		if err != nil || !slices.Contains(run.Env, "HOME=/root") {
			t.Errorf("%s: %v, %v", who, run, err)
		}
	}

	// The other session has the answers that it had, and strict keeps them.
	strict, err := pl.Session(t.Context(), api.SessionRequest{Language: "python", OwnImage: true, Profile: "strict"}, root)
	if err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]*Policy{"a writable root": plain.Cell.Policy, "strict": strict.Cell.Policy} {
		if slices.ContainsFunc(f.Profile.Rules, func(r seccomp.Rule) bool { return r.Answer == seccomp.Pretend() }) {
			t.Errorf("%s pretends", name)
		}
	}
}
