package hostfiles_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/hostfiles"
)

// A path leads to a regular file below the folder, whatever is there, or the error says why not. Nothing waits.
func TestHostileHostFiles(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "src")
	write := func(name, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(top, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("secret", "secret")
	write("src-other/secret", "secret")
	write("src/a.in", "a")
	write("src/d/b.in", "b")
	write("src/large", strings.Repeat("x", 101))
	for name, to := range map[string]string{
		"inside": "d/b.in", "out": "../secret", "absolute": filepath.Join(top, "secret"), "own": filepath.Join(dir, "a.in"),
		"up": "..", "loop": "loop", "proc": "/proc/self/root",
	} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}

	devices := unix.Mknod(filepath.Join(dir, "null"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))) == nil // as root
	if devices {
		if err := os.Symlink("null", filepath.Join(dir, "to-null")); err != nil {
			t.Fatal(err)
		}
	}

	f, err := hostfiles.New(dir + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for path, want := range map[string]string{
		dir + "/a.in":       "a",
		dir + "/d/b.in":     "b",
		dir + "//d/../a.in": "a",
		dir + "/inside":     "b",
		dir + "/d//b.in":    "b",
		dir + "/./a.in":     "a",
	} {
		file, size, err := f.Open(path, 100)
		if err != nil {
			t.Errorf("%.100q: %v; want %q", path, err, want)
			continue
		}
		text, err := io.ReadAll(file)
		if file.Close(); err != nil || string(text) != want || size != int64(len(text)) {
			t.Errorf("%.100q: %q of %d bytes, %v; want %q", path, text, size, err, want)
		}
	}

	for path, wrong := range map[string]string{ // a text of the error
		dir + "/../secret":                    "leads out of " + dir,
		dir + "/d/../../secret":               "leads out of " + dir,
		dir + "/out":                          "leads out of " + dir,
		dir + "/absolute":                     "leads out of " + dir,
		dir + "/own":                          "leads out of " + dir,
		dir + "/up/secret":                    "leads out of " + dir,
		dir + "/proc" + top + "/secret":       "leads out of " + dir,
		dir + "/loop":                         "leads out of " + dir,
		dir + "/none":                         "does not exist",
		dir + "/a.in/x":                       "cannot be read: not a directory",
		dir + "/" + strings.Repeat("x", 5000): "cannot be read: file name too long",
		dir + "/":                             "does not exist",
		dir + "/d":                            "is a directory",
		dir + "/fifo":                         "is a FIFO",
		dir + "/large":                        "the maximum is 100",
		dir:                                   "is not below",
		dir + "-other/secret":                 "is not below",
		"src/a.in":                            "is not below",
		"":                                    "is not below",
		"/etc/passwd":                         "is not below",
		dir + "/a.in\x00":                     "is not below",
		dir + "/null":                         "is a device",
		dir + "/to-null":                      "is a device",
	} {
		if strings.HasSuffix(path, "null") && !devices {
			continue
		}
		file, _, err := f.Open(path, 100)
		if err == nil {
			file.Close()
		}
		if err == nil || !strings.Contains(err.Error(), wrong) || !api.HasCode(err, api.CodeBadFile, api.CodeTooLarge) {
			t.Errorf("%.100q: %v; want %q", path, err, wrong)
		}
	}
}

func TestFoldersThatCannotBeUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"", "src", file, file + "/x", filepath.Dir(file) + "/none"} {
		if f, err := hostfiles.New(path); err == nil {
			t.Errorf("%q: %+v", path, f)
		}
	}
}
