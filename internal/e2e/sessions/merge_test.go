package sessions

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// changed returns how a session differs from a snapshot.
func changed(t testing.TB, a *harness.Agent, id, since string) []api.PathChange {
	t.Helper()
	var out bytes.Buffer
	if err := a.Diff(t.Context(), id, since, nil, &out); err != nil {
		t.Fatalf("diff: %v\n%s", err, a.Log)
	}
	var got []api.PathChange
	for line := range strings.Lines(out.String()) {
		var c api.PathChange
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		got = append(got, c)
	}
	return got
}

// conflicts decides as docs/sessions.md says: a path that both have changed, unless it is a directory for both; and what
// lies below a path that is no directory for the other one.
func conflicts(one, two []api.PathChange) []string {
	directory := func(c api.PathChange) bool { return c.Kind == api.Directory && c.Change != api.PathRemoved }
	var found []string
	for _, p := range one {
		for _, q := range two {
			same := p.Path == q.Path && !(directory(p) && directory(q) && p.Mode == q.Mode)
			below := !directory(p) && strings.HasPrefix(q.Path, p.Path+"/") || !directory(q) && strings.HasPrefix(p.Path, q.Path+"/")
			if same || below {
				found = append(found, p.Path, q.Path)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// What two forks of a snapshot have changed is brought together by diff and take. Conflicts of each kind are in the two
// diffs before anything is written; the snapshot and the forks stay as they are.
func TestMergeByDiffAndTake(t *testing.T) {
	a := harness.StartAgent(t)
	s := a.NewSession(t, nil)
	a.WantOutput(t, s.ID, "mkdir d e; echo 0 > f; echo 0 > g; echo 0 > d/x; echo 0 > e/y; ln -s f l", "")
	if _, err := a.MakeSnapshot(t.Context(), s.ID, api.SnapshotRequest{Name: "base"}); err != nil {
		t.Fatalf("%v\n%s", err, a.Log)
	}

	for _, c := range []struct {
		name, one, two string
		want           []string
	}{
		{"both changed", "echo 1 > f", "echo 2 > f", []string{"/box/f"}},
		{"both made", "echo 1 > n", "echo 2 > n", []string{"/box/n"}},
		{"one of them as a directory", "mkdir n", "echo 2 > n", []string{"/box/n"}},
		{"removed and changed", "rm f", "echo 2 > f", []string{"/box/f"}},
		{"removed and changed below", "rm -r d", "echo 2 > d/x", []string{"/box/d", "/box/d/x"}},
		{"removed and made below", "rm -r d", "echo 2 > d/n", []string{"/box/d", "/box/d/n"}},
		{"a file in place of a directory", "rm -r d; echo 1 > d", "echo 2 > d/n", []string{"/box/d", "/box/d/n"}},
		{"a link in place of a directory", "rm -r d; ln -s /etc d", "echo 2 > d/n", []string{"/box/d", "/box/d/n"}},
		{"a directory in place of a file", "rm f; mkdir f; echo 1 > f/n", "echo 2 > f", []string{"/box/f"}},
		{"modes", "chmod 700 f", "echo 2 > f", []string{"/box/f"}},
		{"two links", "ln -sf g l", "ln -sf d/x l", []string{"/box/l"}},
		{"different files", "echo 1 > f; mkdir n; echo 1 > n/a; echo 1 > d/a", "echo 2 > g; mkdir n; echo 2 > n/b; rm d/x", nil},
	} {
		one, two := fork(t, a, "base"), fork(t, a, "base")
		a.WantOutput(t, one.ID, c.one, "")
		a.WantOutput(t, two.ID, c.two, "")
		got := conflicts(changed(t, a, one.ID, "base"), changed(t, a, two.ID, "base"))
		for _, path := range c.want {
			if !slices.Contains(got, path) {
				t.Errorf("%s: the conflicts are %q, and have not %q", c.name, got, path)
			}
		}
		if len(c.want) == 0 {
			if len(got) > 0 {
				t.Errorf("%s: the conflicts are %q", c.name, got)
			}
			merge(t, a, one.ID, two.ID)
		}
		for _, id := range []string{one.ID, two.ID} {
			if err := a.DeleteSession(t.Context(), id); err != nil {
				t.Fatal(err)
			}
		}
	}
	a.WantOutput(t, fork(t, a, "base").ID, "cat f g d/x e/y; ls", "0\n0\n0\n0\nd\ne\nf\ng\nl\n")
}

// merge puts the changes of one session into a fork of another one, which becomes the snapshot "next".
func merge(t *testing.T, a *harness.Agent, one, two string) {
	t.Helper()
	if _, err := a.MakeSnapshot(t.Context(), two, api.SnapshotRequest{Name: "two"}); err != nil {
		t.Fatal(err)
	}
	to := fork(t, a, "two")
	var paths []string
	for _, c := range changed(t, a, one, "base") {
		if c.Change != api.PathRemoved && c.Kind != api.Directory {
			paths = append(paths, c.Path)
		}
	}
	if _, err := a.Take(t.Context(), to.ID, api.TakeRequest{From: one, Paths: paths}); err != nil {
		t.Fatalf("take: %v\n%s", err, a.Log)
	}
	if _, err := a.MakeSnapshot(t.Context(), to.ID, api.SnapshotRequest{Name: "next"}); err != nil {
		t.Fatal(err)
	}
	a.WantOutput(t, fork(t, a, "next").ID, "cat f g n/a n/b d/a; ls d", "1\n2\n1\n2\n1\na\n")
	a.WantOutput(t, two, "cat f; ls n", "0\nb\n")
}
