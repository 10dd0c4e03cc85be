package api

import (
	"errors"
	"strings"
	"testing"
)

// Paths in a session are absolute and have any bytes but zero; they are cleaned, and lead nowhere above the root.
func TestCleanPath(t *testing.T) {
	for name, want := range map[string]string{
		"/": "/", "/tmp/x": "/tmp/x", "//tmp///x/": "/tmp/x", "/tmp/./x": "/tmp/x", "/tmp/../etc": "/etc", "/../../etc/passwd": "/etc/passwd",
		"/a b/ü/\xff\n": "/a b/ü/\xff\n", "/" + strings.Repeat("n", 255): "/" + strings.Repeat("n", 255),
	} {
		if got, err := CleanPath(name); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"", "x", "./x", "../x", "~/x", "/tmp/\x00", "/" + strings.Repeat("n", 256), strings.Repeat("/xy", 1366)} {
		_, err := CleanPath(name)
		var e *Error
		if !errors.As(err, &e) || e.Code != CodeBadFile || len(e.Message) > 500 {
			t.Errorf("%.20q: %v; want it refused", name, err)
		}
	}
}

// Next of a list is what after takes, for any path below the directory and no other.
func TestCursors(t *testing.T) {
	for _, name := range []string{"/tmp/x", "/tmp/\xff/ü", "/tmp/a b"} {
		if got, err := ParseCursor(Cursor(name), "/tmp"); err != nil || got != name {
			t.Errorf("%q: %q, %v", name, got, err)
		}
		if got, err := ParseCursor(Cursor(name), "/"); err != nil || got != name {
			t.Errorf("%q below /: %q, %v", name, got, err)
		}
	}
	for _, text := range []string{"", "x", "***", Cursor("/etc/x"), Cursor("/tmp"), Cursor("/tmp/../etc/x"),
		Cursor("tmp/x"), Cursor("/tmpx/y")} {
		if got, err := ParseCursor(text, "/tmp"); err == nil {
			t.Errorf("%q: %q; want it refused", text, got)
		}
	}
}

func TestPermissions(t *testing.T) {
	for _, tt := range []struct {
		kind FileKind
		mode uint32
		want string
	}{
		{RegularFile, 0o644, "-rw-r--r--"}, {Directory, 0o755, "drwxr-xr-x"}, {Symlink, 0o777, "lrwxrwxrwx"}, {OtherFile, 0, "?---------"},
		{RegularFile, 0o4755, "-rwsr-xr-x"}, {RegularFile, 0o6644, "-rwSr-Sr--"},
		{Directory, 0o1777, "drwxrwxrwt"}, {Directory, 0o1776, "drwxrwxrwT"},
	} {
		if got := Permissions(tt.kind, tt.mode); got != tt.want {
			t.Errorf("%s %o: %s; want %s", tt.kind, tt.mode, got, tt.want)
		}
	}
}
