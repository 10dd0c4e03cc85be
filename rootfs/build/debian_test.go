package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/internal/flock"
	"github.com/brig-sandbox/brig/internal/testenv"
)

func TestHostSourcesFollowTheHostsOwnApt(t *testing.T) {
	const bookworm = `# our mirror
Types: deb deb-src
URIs: http://mirror.test/debian
Suites: bookworm bookworm-updates
 bookworm-backports
Components: main contrib
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.test/debian-security
Suites: bookworm-security
Components: main

Types: deb
Enabled: no
URIs: http://off.test/debian
Suites: bookworm
Components: main
`

	for _, tt := range []struct {
		name    string
		files   map[string]string
		release string
		want    []string // uri and suite; none: an error
	}{
		{"both forms, the release's parts, nothing else", map[string]string{
			"sources.list.d/debian.sources": bookworm,
			"sources.list": "deb [signed-by=/k arch=amd64] http://other.test/debian bookworm main # " +
				"here too\ndeb-src http://src.test/debian bookworm main\n",
			"sources.list.d/vendor.list": "deb https://vendor.test/apt bookworm stable\ndeb " +
				"https://vendor.test/apt vendor-bookworm main\n",
			"sources.list.d/vendor.sources": "Types: deb\nURIs: https://node.test\nSuites: nodistro\nComponents: main\n",
		}, "bookworm", []string{
			"http://other.test/debian trixie", "http://mirror.test/debian trixie", "http://mirror.test/debian trixie-updates",
			"http://mirror.test/debian-security trixie-security",
		}},
		{"one source twice", map[string]string{"sources.list": "deb http://m.test bookworm main\ndeb http://m.test " +
			"bookworm main\n"}, "bookworm",
			[]string{"http://m.test trixie"}},
		{"no source of the release", map[string]string{"sources.list": "deb http://m.test jammy main\n"}, "bookworm", nil},
		{"no sources", nil, "bookworm", nil},
		{"not Debian", map[string]string{"sources.list": "deb http://m.test jammy main\n"}, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			etc := t.TempDir()
			for name, text := range tt.files {
				path := filepath.Join(etc, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}

			sources, err := hostSources(etc, "trixie", tt.release)
			var got []string
			for _, s := range sources {
				got = append(got, s.uri+" "+s.suite)
			}

			if !slices.Equal(got, tt.want) {
				t.Errorf("sources %q; want %q", got, tt.want)
			}

			unstable, _ := hostSources(etc, "sid", tt.release)
			if slices.ContainsFunc(unstable, func(s aptSource) bool { return s.suite != "sid" }) || len(unstable) > 0 != (tt.want != nil) {
				t.Errorf("sources of sid: %+v; want no updates and no security", unstable)
			}
			if (err == nil) != (tt.want != nil) || err != nil && !strings.Contains(err.Error(), "BRIG_MIRROR") {
				t.Errorf("error %v; want the cure when there is none", err)
			}
		})
	}
}

func TestHostRelease(t *testing.T) {
	for text, want := range map[string]string{
		"ID=debian\nVERSION_CODENAME=bookworm\n":   "bookworm",
		"ID=\"debian\"\nVERSION_CODENAME='sid'\n":  "sid",
		"ID=ubuntu\nVERSION_CODENAME=jammy\n":      "",
		"ID=other\nID_LIKE=debian\nVERSION_ID=1\n": "",
	} {
		path := filepath.Join(t.TempDir(), "os-release")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := hostRelease(path); got != want {
			t.Errorf("hostRelease(%q) = %q; want %q", text, got, want)
		}
	}

	if got := hostRelease("/nonexistent"); got != "" {
		t.Errorf("without os-release: %q", got)
	}
}

func TestPackageCacheTrustsOnlyWhatItCanCheck(t *testing.T) {
	build, cache, next := t.TempDir(), filepath.Join(t.TempDir(), "cache"), t.TempDir()
	var wanted []wantedDeb
	for name, text := range map[string]string{"a_1_all.deb": "package a", "b_1%3a2_amd64.deb": "package b", "c_1_all.deb": "package c",
		"d_1_all.deb": "unwanted", "notes.txt": "no package"} {
		if err := os.WriteFile(filepath.Join(build, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(text, "package") {
			sum := sha256.Sum256([]byte(text))
			wanted = append(wanted, wantedDeb{name, int64(len(text)), hex.EncodeToString(sum[:])})
		}
	}

	if err := os.Symlink("/etc/hostname", filepath.Join(build, "evil.deb")); err != nil {
		t.Fatal(err)
	}

	for range 2 { // saving twice changes nothing
		if err := saveDebs(build, cache); err != nil {
			t.Fatal(err)
		}
	}

	kept, err := filepath.Glob(filepath.Join(cache, "*"))
	if err != nil || len(kept) != 4 {
		t.Fatalf("cache holds %q, %v; want four packages", kept, err)
	}

	for _, path := range kept {
		switch {
		case strings.HasSuffix(path, "_b_1%3a2_amd64.deb"):
			err = os.WriteFile(path, []byte("package B"), 0o644) // damaged, of the same size
		case strings.HasSuffix(path, "_c_1_all.deb"):
			err = os.Chtimes(path, time.Time{}, time.Now().Add(-maxDebAge-time.Hour))
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	missing, err := loadDebs(cache, next, wanted)
	if err != nil {
		t.Fatal(err)
	}
	if len(missing) != 2 || slices.ContainsFunc(missing, func(d wantedDeb) bool { return d.file == "a_1_all.deb" }) {
		t.Errorf("missing %v; want the damaged and the old one", missing)
	}

	loaded, err := os.ReadDir(next)
	if err != nil || len(loaded) != 1 || loaded[0].Name() != "a_1_all.deb" {
		t.Errorf("loaded %v, %v; want only the wanted, sound and recent one", loaded, err)
	}
	if kept, _ := filepath.Glob(filepath.Join(cache, "*")); len(kept) != 2 {
		t.Errorf("cache holds %q; want the sound one and the unwanted", kept)
	}
}

func TestKilledBuildKeepsItsDownloads(t *testing.T) {
	build, cache := t.TempDir(), filepath.Join(t.TempDir(), "cache")
	if err := os.MkdirAll(filepath.Join(build, "debs/partial"), 0o755); err != nil {
		t.Fatal(err)
	}

	for _, name := range []string{"debs/a_1_all.deb", "debs/partial/b_1_all.deb"} {
		if err := os.WriteFile(filepath.Join(build, name), []byte("package"), 0o644); err != nil {
			t.Fatal(err)
		}
	}

	if err := salvageDebs(build, cache); err != nil {
		t.Fatal(err)
	}

	kept, _ := filepath.Glob(filepath.Join(cache, "*"))
	if len(kept) != 1 || !strings.HasSuffix(kept[0], "_a_1_all.deb") {
		t.Errorf("cache holds %q; want the one that was whole", kept)
	}
	if err := salvageDebs(filepath.Join(build, "gone"), cache); err != nil {
		t.Errorf("of a build that another removed: %v", err)
	}
}

func TestPackagesMustMatchTheIndex(t *testing.T) {
	sum := strings.Repeat("a1", 32)
	d, err := parsePrintedURI("'http://m.test/pool/a_1%3a2_all.deb' a_1%3a2_all.deb 123 SHA256:" + sum + "\n")
	if want := (wantedDeb{"a_1%3a2_all.deb", 123, sum}); err != nil || d != want {
		t.Errorf("parsed %+v, %v; want %+v", d, err, want)
	}

	for _, line := range []string{
		"", "'u' a.deb 123", "'u' a.deb 123 MD5Sum:" + sum[:32], "'u' ../a.deb 1 SHA256:" + sum, "'u' a.deb x SHA256:" + sum,
		"'u' a.deb 1 SHA256:" + sum[:8],
	} {
		if d, err := parsePrintedURI(line); err == nil {
			t.Errorf("%q: taken for %+v", line, d)
		}
	}
}

// A recipe names the suite: of the packages that brig adds by itself, an older one lacks tzdata-legacy.
func TestOldSuitesLackPackages(t *testing.T) {
	all := Recipe{Packages: []string{"nim", "gcc"}}.withBase().Packages
	for names, want := range map[string]bool{"tzdata-legacy\n": true, "a\ntzdata-legacy\n": true, "": false, "tzdata-legacy-tests\n": false} {
		got := withoutUnknown(all, names)
		if slices.Contains(got, "tzdata-legacy") != want || !slices.Contains(got, "tzdata") || !slices.Contains(got, "nim") ||
			want && !slices.Equal(got, all) {
			t.Errorf("with %q it installs %q", names, got)
		}
	}
}

func TestBuildSaysWhatIsMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for name, want := range map[string]string{"python": "apt-get install mmdebstrap", "tiny": "apt-get install busybox-static"} {
		r, err := FindRecipe(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := Image(t.Context(), r, new(strings.Builder), Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Image(%s) without tools: %v; want it to say %q", name, err, want)
		}
	}
}

func TestBuildFromADeadMirrorFailsWithItsReasonAndLeavesNothing(t *testing.T) {
	testenv.NeedRoot(t)
	if err := needTools("mmdebstrap", "apt-get"); err != nil {
		t.Skip(err)
	}

	r, err := FindRecipe("python")
	if err != nil {
		t.Fatal(err)
	}

	err = Image(t.Context(), r, new(strings.Builder), Options{Mirror: "http://127.0.0.1:9/debian"})
	if err == nil || !strings.Contains(err.Error(), "apt-get update") || !strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("Build: %v; want what apt said", err)
	}

	noBuildLeft(t)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()

	if err := Image(ctx, r, new(strings.Builder), Options{Mirror: "http://127.0.0.1:9/debian"}); err == nil {
		t.Error("a build outlived its caller")
	}

	noBuildLeft(t)
}

// noBuildLeft fails if there is a build directory whose build has ended.
func noBuildLeft(t *testing.T) {
	t.Helper()
	left, err := filepath.Glob("/var/tmp/brig-build-*")
	if err != nil {
		t.Fatal(err)
	}

	for _, path := range left {
		dir, err := os.Open(path)
		if err != nil {
			continue // another build removed it
		}
		if flock.Try(dir) == nil {
			t.Errorf("left behind: %s", path)
		}
		dir.Close()
	}
}
