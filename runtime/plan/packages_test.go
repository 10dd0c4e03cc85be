package plan

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

// packagePlanner is a planner with the language python, whose images are stored by name alone.
func packagePlanner(t *testing.T) (*Planner, func(name, digest string)) {
	t.Helper()
	dir := t.TempDir()
	name := func(name, digit string) {
		hex := strings.Repeat(digit, 64)
		text, err := json.Marshal(map[string]string{"digest": "sha256:" + hex})
		if err == nil {
			err = os.MkdirAll(filepath.Join(dir, "images", hex, "root"), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "images", hex, "image.json"), text, 0o644)
		}
		if err == nil {
			err = os.MkdirAll(filepath.Join(dir, "names"), 0o755)
		}
		if err == nil { // a new file, as a store writes it: the time of the directory says that names have changed
			_ = os.Remove(filepath.Join(dir, "names", name))
			err = os.WriteFile(filepath.Join(dir, "names", name), []byte("sha256:"+hex+"\n"), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	name("python", "1")
	name("python-pip", "2")
	known, err := languages.Load("", nil)
	if err != nil {
		t.Fatal(err)
	}
	return &Planner{Images: rootfs.OpenReadOnly(dir), Languages: known, Memory: 16 * api.GiB}, name
}

// PKG-06. The key of a set depends on all that decides what is in it: above all on the index and on who
// relayed it. A caller can therefore put nothing into a set that another one uses; sets of root are
// looked up by everybody.
func TestKeysOfPackages(t *testing.T) {
	pl, name := packagePlanner(t)
	keys := func(r api.PackageRequest, uid uint32) []string {
		t.Helper()
		r.Language = "python"
		lang, err := pl.language(api.Run{Language: r.Language})
		if err != nil {
			t.Fatal(err)
		}

		as := api.Run{Language: r.Language, Requirements: r.Requirements, Index: r.Index}
		image, err := pl.image(t.Context(), as, lang)
		if err != nil {
			t.Fatal(err)
		}

		w, err := pl.wantedPackages(as, lang, image, api.Caller{UID: uid})
		if err != nil {
			t.Fatal(err)
		}
		return w.keys
	}

	ask := api.PackageRequest{Requirements: []string{"numpy==2.*", "Pandas"}}
	root := keys(ask, 0)[0]
	same := keys(api.PackageRequest{Requirements: []string{"pandas", "NUMPY ==2.*", "pandas"}, Index: "https://pypi.org/simple"}, 0)
	if same[0] != root || len(same) != 1 {
		t.Errorf("the same packages in another form have the keys %v; want %s", same, root)
	}

	user, other := keys(ask, 1000), keys(ask, 1001)
	if user[0] == root || user[0] == other[0] || user[1] != root || other[1] != root {
		t.Errorf("keys of root %s, of users %v and %v", root, user, other)
	}

	seen := []string{root, user[0], other[0]}
	for what, r := range map[string]api.PackageRequest{
		"another version": {Requirements: []string{"numpy==2.1", "pandas"}}, "fewer": {Requirements: []string{"numpy==2.*"}},
		"another index": {Requirements: ask.Requirements, Index: "https://mirror.example.org/simple"},
	} {
		key := keys(r, 0)[0]
		if slices.Contains(seen, key) {
			t.Errorf("%s: the same key", what)
		}
		seen = append(seen, key)
	}

	for _, image := range []string{"python", "python-pip"} {
		name(image, "3")
		if key := keys(ask, 0)[0]; slices.Contains(seen, key) {
			t.Errorf("another image %s: the same key", image)
		} else {
			seen = append(seen, key)
		}
	}
}

func TestInstallationsArePlanned(t *testing.T) {
	pl, _ := packagePlanner(t)
	ask := api.PackageRequest{Language: "py", Requirements: []string{"numpy==2.*", "a"}}
	p, err := pl.Install(t.Context(), ask, api.Caller{})
	if err != nil {
		t.Fatal(err)
	}

	r := p.Run
	if !slices.Equal(r.Argv, []string{"/usr/lib/brig/install-python", "requirements.txt", "https://pypi.org/simple"}) ||
		string(r.Files[0].Content) != "a\nnumpy==2.*\n" || !slices.Equal(r.Network.Ports, []uint16{80, 443}) ||
		!r.Cell.Key.Install || r.Cell.Key.Writable || !r.Cell.Key.Network || !r.Collect.None || r.Cell.Policy.Name != NetworkTier {
		t.Errorf("argv %q, file %q, ports %v, cell %+v", r.Argv, r.Files[0].Content, r.Network.Ports, r.Cell.Key)
	}
	if p.Set.Pinned || p.Set.Owner != 0 || p.Set.Language != "python" {
		t.Errorf("set %+v", p.Set)
	}

	ask.Index = "http://127.0.0.1:3141/simple"
	if p, err = pl.Install(t.Context(), ask, api.Caller{}); err != nil || !slices.Equal(p.Run.Network.Ports, []uint16{3141}) {
		t.Errorf("another index: %v, %v; want its port alone", p.Run.Network, err)
	}

	for name, tt := range map[string]struct {
		change func(*api.PackageRequest)
		uid    uint32
		code   api.Code
	}{
		"a user, not offered":        {func(*api.PackageRequest) {}, 1000, api.CodeForbidden},
		"a language without":         {func(r *api.PackageRequest) { r.Language = "bash" }, 0, api.CodeNoImage},
		"an unknown language":        {func(r *api.PackageRequest) { r.Language = "x" }, 0, api.CodeNoLanguage},
		"an option as a requirement": {func(r *api.PackageRequest) { r.Requirements = []string{"--pre"} }, 0, api.CodeBadRequest},
		"the port of names":          {func(r *api.PackageRequest) { r.Index = "http://127.0.0.1:53/" }, 0, api.CodeBadRequest},
	} {
		one := ask
		tt.change(&one)
		if _, err := pl.Install(t.Context(), one, api.Caller{UID: tt.uid}); !api.HasCode(err, tt.code) {
			t.Errorf("%s: %v; want %s", name, err, tt.code)
		}
	}

	_, err = pl.Job(t.Context(), api.Run{Language: "python", Source: api.Bytes("x"), Requirements: []string{"numpy"}}, api.Caller{})
	if !api.HasCode(err, api.CodePackagesMissing) {
		t.Errorf("a run with packages that are not installed: %v", err)
	}
}

func TestPackagesAreFoundByTheEnvironment(t *testing.T) {
	l := Language{Manifest: languages.Manifest{Env: map[string]string{"A": "1"},
		Packages: &languages.Packages{Env: map[string]string{"PATH": "/packages/bin:{path}"}}}}
	before := l.Env
	l.addPackages()
	if l.Env["PATH"] != "/packages/bin:"+SearchPath || l.Env["A"] != "1" || l.CompileEnv["PATH"] != l.Env["PATH"] || len(before) != 1 {
		t.Errorf("%v, %v, before %v", l.Env, l.CompileEnv, before)
	}
	l = Language{Manifest: languages.Manifest{Packages: l.Packages}, imageEnv: map[string]string{"PATH": "/opt/bin"}}
	if l.addPackages(); l.Env["PATH"] != "/packages/bin:/opt/bin" {
		t.Errorf("%v", l.Env)
	}
}
