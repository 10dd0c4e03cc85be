package archive

import (
	"archive/tar"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestDecide(t *testing.T) {
	header := func(flag byte, name string, change ...func(*tar.Header)) *tar.Header {
		h := &tar.Header{Typeflag: flag, Name: name, Linkname: "to", Mode: 0o644, ModTime: time.Unix(5, 7)}
		for _, c := range change {
			c(h)
		}
		return h
	}

	linked := func(to string) func(*tar.Header) { return func(h *tar.Header) { h.Linkname = to } }
	mode := func(m int64) func(*tar.Header) { return func(h *tar.Header) { h.Mode = m } }
	records := func(key, value string) func(*tar.Header) {
		return func(h *tar.Header) { h.PAXRecords = map[string]string{key: value} }
	}
	const at = 5_000_000_007
	for _, tt := range []struct {
		name string
		h    *tar.Header
		want entry  // zero: not written
		skip bool   // skipped without an error
		why  string // text in the refusal; empty: no refusal
	}{
		{name: "a file", h: header(tar.TypeReg, "a/b", func(h *tar.Header) { h.Size = 9 }),
			want: entry{Kind: kindFile, Mode: 0o644, MTime: at, Size: 9, Path: "a/b"}},
		{name: "an old-style file", h: header('\x00', "a"), want: entry{Kind: kindFile, Mode: 0o644, MTime: at, Path: "a"}},
		{name: "a directory loses its slash", h: header(tar.TypeDir, "./a//b/", mode(0o755)),
			want: entry{Kind: kindDir, Mode: 0o755, MTime: at, Path: "a/b"}},
		{name: "an absolute name loses its slashes", h: header(tar.TypeReg, "///a"),
			want: entry{Kind: kindFile, Mode: 0o644, MTime: at, Path: "a"}},
		{name: "a link to anywhere", h: header(tar.TypeSymlink, "a", linked("../../etc")),
			want: entry{Kind: kindSymlink, Mode: 0o644, MTime: at, Path: "a", Link: "../../etc"}},
		{name: "an absolute hard link", h: header(tar.TypeLink, "a", linked("/b/c")),
			want: entry{Kind: kindHardlink, Mode: 0o644, MTime: at, Path: "a", Link: "b/c"}},
		{name: "the root itself", h: header(tar.TypeDir, "./"), skip: true},
		{name: "a device in dev", h: header(tar.TypeChar, "./dev/null"), skip: true},
		{name: "a link in dev", h: header(tar.TypeSymlink, "dev/fd"), skip: true},
		{name: "dev itself", h: header(tar.TypeDir, "dev/", mode(0o755)), want: entry{Kind: kindDir, Mode: 0o755, MTime: at, Path: "dev"}},
		{name: "setuid, setgid, sticky and write for others go", h: header(tar.TypeReg, "a", mode(0o7777)),
			want: entry{Kind: kindFile, Mode: 0o755, MTime: at, Path: "a"}},
		{name: "a time before 1970 is 1970", h: header(tar.TypeReg, "a", func(h *tar.Header) { h.ModTime = time.Unix(-5, 0) }),
			want: entry{Kind: kindFile, Mode: 0o644, Path: "a"}},
		{name: "a time beyond 2262 is 1970", h: header(tar.TypeReg, "a", func(h *tar.Header) { h.ModTime = time.Unix(1<<40, 0) }),
			want: entry{Kind: kindFile, Mode: 0o644, Path: "a"}},
		{name: "a global header", h: header(tar.TypeXGlobalHeader, "pax_global_header", records("comment", "0123")), skip: true},
		{name: "a label", h: header('V', "label"), skip: true},
		{name: "a directory of an incremental archive", h: header('D', "a/", mode(0o755)),
			want: entry{Kind: kindDir, Mode: 0o755, MTime: at, Path: "a"}},
		{name: "the root of an incremental archive", h: header('D', "./"), skip: true},
		{name: "dots that are no dot-dot", h: header(tar.TypeReg, "..a/b../.../c"),
			want: entry{Kind: kindFile, Mode: 0o644, MTime: at, Path: "..a/b../.../c"}},

		{name: "dot-dot", h: header(tar.TypeReg, ".."), why: `".." in its name`},
		{name: "dot-dot that stays inside", h: header(tar.TypeReg, "a/../b"), why: `".." in its name`},
		{name: "dot-dot in dev", h: header(tar.TypeReg, "dev/../../x"), why: `".." in its name`},
		{name: "a NUL", h: header(tar.TypeReg, "a\x00b"), why: "NUL"},
		{name: "an empty name", h: header(tar.TypeReg, ""), why: "replaces the root"},
		{name: "the root as a link", h: header(tar.TypeSymlink, "."), why: "replaces the root"},
		{name: "an owner below zero", h: header(tar.TypeReg, "a", func(h *tar.Header) { h.Uid = -1 }), why: "owner -1:0"},
		{name: "a long name", h: header(tar.TypeReg, strings.Repeat("a/", 2100)), why: "4200 bytes"},
		{name: "a long part", h: header(tar.TypeReg, strings.Repeat("a", 256)), why: "256 bytes"},
		{name: "a deep name", h: header(tar.TypeReg, strings.Repeat("a/", 129)), why: "129 directories deep"},
		{name: "a link to nothing", h: header(tar.TypeSymlink, "a", linked("")), why: "no target"},
		{name: "a link with a NUL", h: header(tar.TypeSymlink, "a", linked("b\x00")), why: "NUL"},
		{name: "a hard link to the root", h: header(tar.TypeLink, "a", linked("./")), why: "is outside the image"},
		{name: "a hard link out", h: header(tar.TypeLink, "a", linked("../b")), why: "is outside the image"},
		{name: "a device elsewhere", h: header(tar.TypeBlock, "a"), why: "block device"},
		{name: "a device in a directory like dev", h: header(tar.TypeChar, "devices/x"), why: "character device"},
		{name: "a fifo", h: header(tar.TypeFifo, "a"), why: "named pipe"},
		{name: "a global header that renames", h: header(tar.TypeXGlobalHeader, "g", records("path", "x")), why: `sets "path" of all members`},
		{name: "a global header with a size", h: header(tar.TypeXGlobalHeader, "g", records("size", "1")), why: `sets "size"`},
		{name: "the rest of a file", h: header('M', "a"), why: "join the volumes"},
		{name: "an unknown type", h: header('Z', "a"), why: "unknown type"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, skip, err := wholeTree.decide(tt.h)
			if tt.why != "" {
				var r *refusal
				if !errors.As(err, &r) || r.kind != kindUnsafe || !strings.Contains(r.reason, tt.why) {
					t.Errorf("decide: %v; want a refusal that says %q", err, tt.why)
				}
				return
			}
			if err != nil || got != tt.want || (skip != "") != tt.skip {
				t.Errorf("decide = %+v, %q, %v; want %+v, skipped %v", got, skip, err, tt.want, tt.skip)
			}
			if !tt.skip {
				if err := got.check(false); err != nil {
					t.Errorf("the reader of the stream would refuse it: %v", err)
				}
			}
		})
	}
}

func TestReplaceAccount(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"an empty file starts with root", "", "root:x:0:0:root:/root:/bin/sh\nsandboxuser:x:1000:1000:brig:/box:/bin/sh\n"},
		{"others stay", "a:x:5:5::/:/bin/false\n", "a:x:5:5::/:/bin/false\nsandboxuser:x:1000:1000:brig:/box:/bin/sh\n"},
		{"a uid with zeros is the same uid", "a:x:01000:5::/:/bin/false\nb:x:10000:5::/:/x\n",
			"b:x:10000:5::/:/x\nsandboxuser:x:1000:1000:brig:/box:/bin/sh\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(addUser([]byte(tt.in))); got != tt.want {
				t.Errorf("addUser(%q) = %q; want %q", tt.in, got, tt.want)
			}
		})
	}

	if got, want := string(addGroup([]byte("root:x:0:\nsudo:x:27:sandboxuser,me\n"))),
		"root:x:0:\nsudo:x:27:me\nsandboxuser:x:1000:\n"; got != want {
		t.Errorf("addGroup = %q; want %q", got, want)
	}
}
