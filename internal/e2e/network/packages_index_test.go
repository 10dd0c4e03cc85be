package network

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/agent/egress"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
	"github.com/brig-sandbox/brig/rootfs"
)

// A packageIndex is an index of Python packages on this host's loopback, in the form of PEP 503.
type packageIndex struct {
	url string

	mu    sync.Mutex
	files map[string]map[string][]byte // guarded by mu; by project and file name
	taken map[string]int               // guarded by mu; how often a file was downloaded
	paths map[string][]byte            // guarded by mu; of indexes of other kinds, by path
	serve http.HandlerFunc             // if not nil, it answers requests for files instead
}

func newIndex(t testing.TB) *packageIndex {
	t.Helper()
	x := &packageIndex{files: map[string]map[string][]byte{}, taken: map[string]int{}, paths: map[string][]byte{}}
	s := httptest.NewServer(http.HandlerFunc(x.answer))
	t.Cleanup(s.Close)
	x.url = s.URL + "/simple"
	return x
}

func (x *packageIndex) answer(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	x.mu.Lock()
	defer x.mu.Unlock()

	if content, ok := x.paths[r.URL.Path]; ok {
		x.taken[r.URL.Path]++
		w.Write(content)
		return
	}

	switch files := x.files[parts[min(1, len(parts)-1)]]; {
	case len(parts) == 2 && files != nil:
		for _, name := range slices.Sorted(maps.Keys(files)) {
			fmt.Fprintf(w, "<a href=%q>%s</a>\n", name, name)
		}
	case len(parts) == 3 && files[parts[2]] != nil:
		x.taken[parts[2]]++
		if x.serve != nil {
			serve := x.serve
			x.mu.Unlock()
			defer x.mu.Lock()
			serve(w, r)
			return
		}
		w.Write(files[parts[2]])

	default:
		http.NotFound(w, r)
	}
}

func (x *packageIndex) downloads(file string) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.taken[file]
}

func (x *packageIndex) add(project, file string, content []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.files[project] == nil {
		x.files[project] = map[string][]byte{}
	}
	x.files[project][file] = content
}

// wheel adds a wheel of a pure package, or of one for the given platform tag.
func (x *packageIndex) wheel(t testing.TB, name, version, tag string, files map[string]string, requires ...string) {
	t.Helper()
	if tag == "" {
		tag = "py3-none-any"
	}

	all := map[string]string{}
	maps.Copy(all, files)
	info := fmt.Sprintf("%s-%s.dist-info/", name, version)
	all[info+"WHEEL"] = "Wheel-Version: 1.0\nGenerator: brig-test\nRoot-Is-Purelib: true\nTag: " + tag + "\n"
	meta := fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\n", name, version)
	for _, r := range requires {
		meta += "Requires-Dist: " + r + "\n"
	}

	all[info+"METADATA"] = meta
	if all[info+"RECORD"] == "" {
		var record strings.Builder
		for _, n := range slices.Sorted(maps.Keys(all)) {
			record.WriteString(n + ",,\n")
		}
		all[info+"RECORD"] = record.String() + info + "RECORD,,\n"
	}

	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, n := range slices.Sorted(maps.Keys(all)) {
		w, err := z.CreateHeader(&zip.FileHeader{Name: n, Method: zip.Store})
		if err == nil {
			_, err = w.Write([]byte(all[n]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	if err := z.Close(); err != nil {
		t.Fatal(err)
	}

	x.add(strings.ReplaceAll(name, "_", "-"), fmt.Sprintf("%s-%s-%s.whl", name, version, tag), out.Bytes())
}

// source adds a source package whose own back end, backend.py, builds it (PEP 517).
func (x *packageIndex) source(t testing.TB, name, version string, files map[string]string) {
	t.Helper()
	all := maps.Clone(files)
	all["PKG-INFO"] = fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\n", name, version)
	all["pyproject.toml"] = "[build-system]\nrequires = []\nbuild-backend = \"backend\"\nbackend-path = [\".\"]\n"
	var out bytes.Buffer
	g := gzip.NewWriter(&out)
	w := tar.NewWriter(g)
	for _, n := range slices.Sorted(maps.Keys(all)) {
		err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("%s-%s/%s", name, version, n), Mode: 0o644, Size: int64(len(all[n]))})
		if err == nil {
			_, err = w.Write([]byte(all[n]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	if w.Close() != nil || g.Close() != nil {
		t.Fatal("the source package could not be packed")
	}

	x.add(name, fmt.Sprintf("%s-%s.tar.gz", name, version), out.Bytes())
}

// builtWheel is a back end that makes a wheel with the files below out after running script.
func builtWheel(name, version, script string) string {
	return fmt.Sprintf(`
import os, subprocess, sys, sysconfig, zipfile
def build_wheel(wheels, config_settings=None, metadata_directory=None):
    name, version = %q, %q
    os.makedirs("out", exist_ok=True)
%s
    info = f"{name}-{version}.dist-info"
    file = f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(wheels, file), "w") as z:
        for root, _, files in os.walk("out"):
            for f in files: z.write(os.path.join(root, f), os.path.relpath(os.path.join(root, f), "out"))
        z.writestr(info + "/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        z.writestr(info + "/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: py3-none-any\n")
        z.writestr(info + "/RECORD", "")
    return file
`, name, version, strings.ReplaceAll("    "+strings.TrimSpace(script), "\n", "\n    "))
}

// numpyWheel adds a wheel of numpy 2, made from Debian's package and the libraries that it links with,
// which lie in numpy.libs as in the wheels of its authors.
func (x *packageIndex) numpyWheel(t testing.TB, a *harness.Agent) {
	t.Helper()
	harness.Images.Load(t, a, "python-full")
	store, err := rootfs.Open(filepath.Join(a.Data, "images"))
	if err != nil {
		t.Fatal(err)
	}

	img, err := store.Lookup("python-full")
	if err != nil {
		t.Fatal(err)
	}

	files := map[string]string{}
	dist := filepath.Join(img.Path, "usr/lib/python3/dist-packages")
	err = filepath.WalkDir(filepath.Join(dist, "numpy"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "tests" || d.Name() == "__pycache__") {
			return orSkip(err)
		}
		if !d.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		rel, _ := filepath.Rel(dist, path)
		files[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}

	libs := []string{"libgcc_s.so.1", "libgfortran.so.5", "libstdc++.so.6", "openblas-pthread/libopenblas.so.0",
		"openblas-pthread/libblas.so.3", "openblas-pthread/liblapack.so.3"}
	var names []string
	for _, lib := range libs {
		found, err := filepath.Glob(filepath.Join(img.Path, "usr/lib/*-linux-gnu", lib))
		if err != nil || len(found) != 1 {
			t.Fatalf("%s: %v, %v", lib, found, err)
		}
		text, err := os.ReadFile(found[0])
		if err != nil {
			t.Fatal(err)
		}
		files["numpy.libs/"+filepath.Base(lib)] = string(text)
		names = append(names, filepath.Base(lib))
	}

	files["numpy/_distributor_init_local.py"] = fmt.Sprintf("import ctypes, os\nfor n in %q.split():\n"+
		"    ctypes.CDLL(os.path.join(os.path.dirname(os.path.dirname(__file__)), 'numpy.libs', n), ctypes.RTLD_GLOBAL)\n",
		strings.Join(names, " "))
	version, err := filepath.Glob(filepath.Join(dist, "numpy-2.*.dist-info"))
	if err != nil || len(version) != 1 {
		t.Fatalf("numpy 2 is not in python-full: %v, %v", version, err)
	}

	v := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(version[0]), "numpy-"), ".dist-info")
	x.wheel(t, "numpy", v, "cp313-cp313-linux_"+map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH], files)
}

func orSkip(err error) error {
	if err != nil {
		return err
	}
	return fs.SkipDir
}

// startInstaller starts an agent that can install Python packages, and removes what it installs.
func startInstaller(t testing.TB, flags ...string) *harness.Agent {
	t.Helper()
	t.Cleanup(harness.LockStore(t, harness.DataDir(t), "packages")) // other tests of packages remove all sets of the store, too
	a := harness.StartAgent(t, flags...)
	harness.Images.Load(t, a, "python")
	harness.Images.Load(t, a, "python-pip")
	removePackages(t, a)
	t.Cleanup(func() { removePackages(t, a) })
	return a
}

func removePackages(t testing.TB, a *harness.Agent) {
	t.Helper()
	sets, err := a.PackageSets(context.Background())
	for _, s := range sets {
		if rerr := a.RemovePackages(context.Background(), s.Key); err == nil {
			err = rerr
		}
	}
	if err != nil && !api.HasCode(err, api.CodeAgentUnreachable) { // the test has killed the agent
		t.Error(err)
	}
}

// installPackages has packages installed from an index, and relays as brig run does.
func installPackages(a *harness.Agent, ctx context.Context, x *packageIndex, language string,
	requirements ...string) (api.PackageSet, error) {
	policy, err := egress.InstallPolicy(ctx, api.LanguagePackages{}, x.url)
	if err != nil {
		return api.PackageSet{}, err
	}

	var relay *egress.Relay
	var failed error
	set, err := a.InstallPackages(ctx, api.PackageRequest{Language: language, Requirements: requirements, Index: x.url}, client.Events{
		Network: func(sockets []*os.File) { relay, failed = egress.Start(policy, sockets) },
	})
	if relay != nil && failed == nil {
		relay.Close()
	}
	if failed != nil {
		err = failed
	}
	return set, err
}

// mustInstallPackages is install for packages that can be installed.
func mustInstallPackages(t testing.TB, a *harness.Agent, x *packageIndex, requirements ...string) api.PackageSet {
	t.Helper()
	set, err := installPackages(a, t.Context(), x, "python", requirements...)
	if err != nil {
		t.Fatalf("install %q: %v\n%s", requirements, err, a.Log)
	}
	return set
}

// pyWith is a run of a Python program with packages.
func pyWith(x *packageIndex, source string, requirements ...string) api.Run {
	r := harness.Py(source)
	r.Requirements, r.Index = requirements, x.url
	return r
}
