package network

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// clientServer serves on port 443 of an address, as every name: /hello, a git repository, an index
// of Python packages and a registry of npm packages. It returns the certificate to trust.
func clientServer(t *testing.T, address string) (authority []byte) {
	t.Helper()
	repository := newRepository(t)
	wheel := pythonWheel(t)
	module := npmPackage(t)
	sum := sha512.Sum512(module)
	git := &cgi.Handler{
		Path: "/usr/lib/git-core/git-http-backend", Root: "/",
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(repository), "GIT_HTTP_EXPORT_ALL=1"},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/hello", func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "hello from %s\n", r.Host) })
	mux.Handle("/repository/", git)
	mux.HandleFunc("/simple/demo/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<!DOCTYPE html><a href="/demo-1.0-py3-none-any.whl">demo-1.0-py3-none-any.whl</a>`)
	})
	mux.HandleFunc("/demo-1.0-py3-none-any.whl", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(wheel) })
	mux.HandleFunc("/demo", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"name":"demo","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"demo","version":"1.0.0",
			"dist":{"tarball":"https://registry.test/demo-1.0.0.tgz","integrity":"sha512-%s"}}}}`, base64.StdEncoding.EncodeToString(sum[:]))
	})

	mux.HandleFunc("/demo-1.0.0.tgz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(module) })
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "443"))
	if err != nil {
		t.Fatal(err)
	}

	server := httptest.NewUnstartedServer(mux)
	server.Listener.Close()
	server.Listener = listener
	cert, key, _ := harness.Certificate(t, "git.test", "index.test", "registry.test")
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err == nil {
		authority, err = os.ReadFile(cert)
	}
	if err != nil {
		t.Fatal(err)
	}

	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	t.Cleanup(server.Close)
	return authority
}

// newRepository makes a git repository with one file.
func newRepository(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "repository")
	for _, args := range [][]string{{"init", "-q", dir}, {"-C", dir, "add", "file"},
		{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "one"}} {
		if args[0] == "-C" && args[2] == "add" {
			if err := os.WriteFile(filepath.Join(dir, "file"), []byte("from the repository\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if out, err := exec.Command("git", args...).CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}

	return dir
}

// pythonWheel is the package demo.
func pythonWheel(t *testing.T) []byte {
	t.Helper()
	var file bytes.Buffer
	w := zip.NewWriter(&file)
	for _, member := range [][2]string{
		{"demo.py", "answer = 42\n"},
		{"demo-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n"},
		{"demo-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{"demo-1.0.dist-info/RECORD", "demo.py,,\ndemo-1.0.dist-info/METADATA,,\ndemo-1.0.dist-info/WHEEL,,\n" +
			"demo-1.0.dist-info/RECORD,,\n"},
	} {
		m, err := w.Create(member[0])
		if err == nil {
			_, err = m.Write([]byte(member[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// npmPackage is the package demo.
func npmPackage(t *testing.T) []byte {
	t.Helper()
	var file bytes.Buffer
	z := gzip.NewWriter(&file)
	w := tar.NewWriter(z)
	for _, member := range [][2]string{
		{"package/package.json", `{"name":"demo","version":"1.0.0","main":"index.js"}`},
		{"package/index.js", "module.exports = 42;\n"},
	} {
		err := w.WriteHeader(&tar.Header{Name: member[0], Mode: 0o644, Size: int64(len(member[1]))})
		if err == nil {
			_, err = w.Write([]byte(member[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}
