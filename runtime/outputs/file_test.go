package outputs

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
)

// Whatever a program makes of its output file, only a regular one within the limit counts, and
// nothing else is an error of brig's (GRD-28; FIO-01, FIO-02, FIO-04, FIO-05).
func TestOutputFilesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	box, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()

	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string) error { return os.WriteFile(at(name), []byte(text), 0o600) }
	outside := filepath.Join(t.TempDir(), "answer")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}

	sparse := func(size int64) error { return errors.Join(write("sparse", ""), os.Truncate(at("sparse"), size)) }
	for _, tt := range []struct {
		name    string
		make    func() error
		missing string // empty: it counts
		content string
	}{
		{"output.txt", func() error { return write("output.txt", "42\n") }, "", "42\n"},
		{"empty", func() error { return write("empty", "") }, "", ""},
		{"unreadable", func() error { return errors.Join(write("unreadable", "7"), os.Chmod(at("unreadable"), 0)) }, "", "7"},
		{"full", func() error { return write("full", strings.Repeat("x", 1024)) }, "", strings.Repeat("x", 1024)},
		{"absent", func() error { return nil }, "left no file absent", ""},
		{"output.txt/below", func() error { return nil }, "left no file output.txt/below", ""},
		{"link", func() error { return os.Symlink(outside, at("link")) }, "symbolic link", ""},
		{"input", func() error { return os.Symlink("output.txt", at("input")) }, "symbolic link", ""},
		{"up", func() error { return os.Symlink("/box/../etc/passwd", at("up")) }, "symbolic link", ""},
		{"way/answer", func() error { return os.Symlink(filepath.Dir(outside), at("way")) }, "symbolic link", ""},
		{"dir", func() error { return os.Mkdir(at("dir"), 0o700) }, "is no file: directory", ""},
		{"fifo", func() error { return unix.Mkfifo(at("fifo"), 0o600) }, "is no file: FIFO", ""},
		{"socket", func() error {
			fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			return errors.Join(err, unix.Bind(fd, &unix.SockaddrUnix{Name: "socket"}), unix.Close(fd))
		}, "cannot be read: socket", ""},
		{"long", func() error { return write("long", strings.Repeat("x", 1025)) }, "too large: it has 1.0K, and limits.output is 1K", ""},
		{"sparse", func() error { return sparse(1 << 40) }, "too large: it has 1T", ""},
	} {
		if tt.name == "socket" {
			t.Chdir(dir) // a socket's name is short
		}
		if err := tt.make(); err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}

		o := &File{Name: tt.name, Limit: api.KiB, Content: []byte("of a pass before"), missing: "x"}
		if err := o.Read(box); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}

		output, missing := o.Judged(api.Result{Stdout: []byte("stdout")})
		if string(output) != tt.content || (missing == "") != (tt.missing == "") || !strings.Contains(missing, tt.missing) {
			t.Errorf("%s: %d bytes, %q; want %q", tt.name, len(output), missing, tt.missing)
		}
	}
}

// An agent that can open no more files judges nothing: the file is there.
func TestOutputFilesOfAnExhaustedHost(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "output.txt"), []byte("42\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	box, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()

	var have unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &have); err != nil {
		t.Fatal(err)
	}

	o := &File{Name: "output.txt", Limit: api.KiB}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: have.Max}); err != nil {
		t.Fatal(err)
	}

	err = o.Read(box)
	if restored := unix.Setrlimit(unix.RLIMIT_NOFILE, &have); restored != nil {
		t.Fatal(restored)
	}
	if !errors.Is(err, unix.EMFILE) || o.missing != "" {
		t.Errorf("%v, %q", err, o.missing)
	}
}

func TestTheOutputIsStdoutWithoutAFile(t *testing.T) {
	var none *File
	if output, missing := none.Judged(api.Result{Stdout: []byte("x")}); string(output) != "x" || missing != "" {
		t.Errorf("%q, %q", output, missing)
	}
}
