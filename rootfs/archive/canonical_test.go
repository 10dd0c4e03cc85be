package archive

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/rootfs/archive/archivetest"
)

func TestCanonicalStreamGoesRoundTrip(t *testing.T) {
	want := []entry{
		{Kind: kindDir, Mode: 0o755, MTime: 1, Path: "a"},
		{Kind: kindFile, Mode: 0o644, MTime: 2, Path: "a/b", Size: 5},
		{Kind: kindSymlink, Path: "l", Link: "/x"},
		{Kind: kindHardlink, Path: "h", Link: "a/b"},
		{Kind: kindFile, Path: "empty"},
	}

	d, err := newDecoder(bytes.NewReader(stream(t, want...)), Bounds{})
	if err != nil {
		t.Fatal(err)
	}

	for _, w := range want {
		got, err := d.Next()
		if err != nil || got != w {
			t.Fatalf("Next() = %+v, %v; want %+v", got, err, w)
		}
		if body, err := io.ReadAll(d); err != nil || int64(len(body)) != w.Size {
			t.Fatalf("content of %d bytes, %v; want %d", len(body), err, w.Size)
		}
	}

	if _, err := d.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("at the end: %v; want io.EOF", err)
	}
}

// stream encodes entries; files are filled with x.
func stream(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var buf bytes.Buffer
	c, err := newEncoder(&buf)
	if err != nil {
		t.Fatal(err)
	}

	for _, e := range entries {
		if err := c.Entry(e, strings.NewReader(strings.Repeat("x", int(e.Size)))); err != nil {
			t.Fatal(err)
		}
	}

	if err := c.End(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// drain decodes a whole stream and discards the content.
func drain(b []byte, bounds Bounds) error { return drainKind(b, wholeTree, bounds) }

func drainLayer(b []byte, bounds Bounds) error { return drainKind(b, layerTree, bounds) }

func drainKind(b []byte, k kind, bounds Bounds) error {
	d, err := newDecoder(bytes.NewReader(b), bounds)
	if err == nil {
		d.layer = k == layerTree
	}

	for err == nil {
		if _, err = d.Next(); err == nil {
			_, err = io.Copy(io.Discard, d)
		}
	}

	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func TestDecoderTrustsNothing(t *testing.T) {
	good := stream(t, entry{Kind: kindFile, Mode: 0o644, Path: "a", Size: 3})
	if err := drain(good, Bounds{}); err != nil {
		t.Fatal(err)
	}

	patch := func(at int, with ...byte) []byte {
		b := bytes.Clone(good)
		copy(b[len(canonicalMagic)+at:], with)
		return b
	}

	end := entrySize + 1 + 3 // where the end entry starts
	for _, tt := range []struct {
		name string
		b    []byte
		want error
	}{
		{"nothing", nil, errStream},
		{"another version", append([]byte("brigfs\x00\x03"), good[8:]...), errStream},
		{"no end", good[:len(good)-entrySize], errStream},
		{"cut in an entry", good[:len(canonicalMagic)+10], errStream},
		{"cut in content", good[:len(canonicalMagic)+entrySize+2], errStream},
		{"more after the end", append(bytes.Clone(good), 0), errStream},
		{"an unknown kind", patch(0, 'c'), errStream},
		{"a set reserved byte", patch(1, 1), errStream},
		{"a setuid mode", patch(2, 0xff, 0x0f), errStream},
		{"a huge path", patch(4, 0xff, 0xff), errStream},
		{"a negative time", patch(15, 0x80), errStream},
		{"a negative size", patch(23, 0x80), errStream},
		{"a huge size", patch(22, 0x7f), ErrTooLarge},
		{"a wrong count at the end", patch(end+8, 9), errStream},
		{"a wrong sum at the end", patch(end+16, 9), errStream},
		{"a path that climbs", stream(t, entry{Kind: kindFile, Path: "../x"}), errStream},
		{"an absolute path", stream(t, entry{Kind: kindFile, Path: "/x"}), errStream},
		{"an empty path", stream(t, entry{Kind: kindDir}), errStream},
		{"a path in dev", stream(t, entry{Kind: kindFile, Path: "dev/null"}), errStream},
		{"a hard link that climbs", stream(t, entry{Kind: kindHardlink, Path: "a", Link: "b/../../c"}), errStream},
		{"a link to nothing", stream(t, entry{Kind: kindSymlink, Path: "a"}), errStream},
		{"a directory with a link", stream(t, entry{Kind: kindDir, Path: "a", Link: "b"}), errStream},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := drain(tt.b, Bounds{}); !errors.Is(err, tt.want) {
				t.Errorf("decode: %v; want %v", err, tt.want)
			}
		})
	}

	if err := drain(good, Bounds{Bytes: 2}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("three bytes of two: %v", err)
	}

	two := stream(t, entry{Kind: kindDir, Path: "a"}, entry{Kind: kindDir, Path: "b"})
	if err := drain(two, Bounds{Entries: 1}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("two entries of one: %v", err)
	}
}

// FuzzCanonical fuzzes the only parser that runs as root. A stream that it accepts must encode to
// the same bytes again: every tree has exactly one encoding.
func FuzzCanonical(f *testing.F) {
	f.Add(stream(f, entry{Kind: kindFile, Mode: 0o644, Path: "a/b", Size: 3}, entry{Kind: kindSymlink, Path: "l", Link: "/x"}))
	f.Add(stream(f, entry{Kind: kindDir, Mode: 0o755, Path: "d"}, entry{Kind: kindHardlink, Path: "h", Link: "d"}))
	f.Add([]byte(canonicalMagic))
	f.Add(stream(f, entry{Kind: kindWhiteout, Path: "a/b"}, entry{Kind: kindOpaque, Path: "a"}, entry{Kind: kindOpaque}))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := newDecoder(bytes.NewReader(b), Bounds{Bytes: 1 << 20})
		if err != nil {
			return
		}

		d.layer = true // it accepts all that a whole tree may have, and more
		var again bytes.Buffer
		c, err := newEncoder(&again)
		if err != nil {
			t.Fatal(err)
		}

		for {
			e, err := d.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil || c.Entry(e, d) != nil {
				return // truncated or refused
			}
		}

		if err := c.End(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(again.Bytes(), b) {
			t.Errorf("accepted %x, which encodes as %x", b, again.Bytes())
		}
	})
}

// FuzzAdmit feeds raw archives to the child's code. The decoder must accept every stream that admit
// completes.
func FuzzAdmit(f *testing.F) {
	plain := tarOf(f, dir("a"), file("a/b", "x"), symlink("l", "a"), hardlink("h", "a/b"))
	f.Add(plain)
	f.Add(gzipped(f, plain))
	f.Fuzz(func(t *testing.T, archive []byte) {
		var canonical bytes.Buffer
		bounds := Bounds{Bytes: 1 << 20, Entries: 200}
		if admit(bytes.NewReader(archive), &canonical, wholeTree, bounds) == nil {
			if err := drain(canonical.Bytes(), bounds); err != nil {
				t.Errorf("admitted, but: %v", err)
			}
		}

		canonical.Reset()
		if admit(bytes.NewReader(archive), &canonical, layerTree, bounds) == nil {
			if err := drainLayer(canonical.Bytes(), bounds); err != nil {
				t.Errorf("admitted as a layer, but: %v", err)
			}
		}
	})
}

// FuzzUnpackStaysInside makes archives of names and links that are likely to collide, and runs
// policy, stream and unpacking on them in one process.
func FuzzUnpackStaysInside(f *testing.F) {
	testenv.NeedRoot(f)
	f.Add([]byte("l\x0a\x01f\x0b\x00f\x0c\x00"))
	f.Add([]byte("d\x00\x00l\x12\x34h\x21\x43f\x12\x00"))
	f.Fuzz(func(t *testing.T, program []byte) {
		var canonical bytes.Buffer
		// The stream still contains the entries before a refused one.
		for _, k := range []kind{wholeTree, layerTree} {
			canonical.Reset()
			_ = admit(bytes.NewReader(tarOf(t, membersOf(program)...)), &canonical, k, Bounds{Bytes: 1 << 20, Entries: 200})
			unpackNextToVictim(t, canonical.Bytes(), k)
		}
	})
}

// membersOf decodes a program that has three bytes per member: kind, name, link.
func membersOf(program []byte) members {
	places := []string{
		"a", "b", "a/b", "a/b/a", "b/a", "..", "../..", "a/..", "a/../..", "/", "/a", "/b/a", "../victim", "../../victim", "/victim",
		"a/secret", "b/secret", "../victim/secret", "a/victim/secret", "etc", "etc/passwd", "etc/group", "dev", "proc", "box", "tmp", "sandbox",
		"dev/a", ".", "a/.", "b//a",
		".wh.a", "a/.wh.b", "a/.wh..wh..opq", ".wh..wh..opq", "b/.wh.a", "a/.wh...", "b/.wh..wh..opq", "victim/.wh.secret",
	}

	var ms members
	for ; len(program) >= 3 && len(ms) < 24; program = program[3:] {
		name, link := places[int(program[1])%len(places)], places[int(program[2])%len(places)]
		switch program[0] % 4 {
		case 0:
			ms = append(ms, dir(name+"/"))
		case 1:
			ms = append(ms, file(strings.TrimSuffix(name, "/"), "x"))
		case 2:
			ms = append(ms, symlink(name, link))
		case 3:
			ms = append(ms, hardlink(name, link))
		}
	}

	return ms
}

// FuzzUnpackOfAnyStreamStaysInside assumes that the child is compromised.
func FuzzUnpackOfAnyStreamStaysInside(f *testing.F) {
	testenv.NeedRoot(f)
	f.Add(stream(f, entry{Kind: kindSymlink, Path: "up", Link: "../victim"}, entry{Kind: kindFile, Path: "up/secret", Size: 1}))
	f.Add(stream(f, entry{Kind: kindSymlink, Path: "etc", Link: "../victim"}, entry{Kind: kindHardlink, Path: "h", Link: "etc/secret"}))
	f.Add(stream(f, entry{Kind: kindSymlink, Path: "up", Link: "../victim"}, entry{Kind: kindWhiteout, Path: "up/secret"},
		entry{Kind: kindOpaque, Path: "up"}))
	f.Fuzz(func(t *testing.T, b []byte) {
		unpackNextToVictim(t, b, wholeTree)
		unpackNextToVictim(t, b, layerTree)
	})
}

// unpackNextToVictim unpacks a stream next to a victim directory, finishes the tree and removes it, as
// after a refused import.
func unpackNextToVictim(t *testing.T, b []byte, k kind) {
	t.Helper()
	parent := t.TempDir()
	victim := archivetest.Plant(t, parent)
	if err := os.Mkdir(filepath.Join(parent, "root"), 0o755); err != nil {
		t.Fatal(err)
	}

	root, err := os.Open(filepath.Join(parent, "root"))
	if err != nil {
		t.Fatal(err)
	}

	if d, err := newDecoder(bytes.NewReader(b), Bounds{Bytes: 1 << 20, Entries: 200}); err == nil {
		d.layer = k == layerTree
		_ = unpack(t.Context(), d, &tree{root: root, layer: d.layer}) // any error is fine
		if d.layer {
			_ = FinishLayer(root)
		} else {
			_ = Finalize(root, nil)
		}
	}

	victim.MustBeUntouched(t)
	if err := errors.Join(root.Close(), os.RemoveAll(filepath.Join(parent, "root"))); err != nil {
		t.Error(err)
	}

	victim.MustBeUntouched(t)
}

// An archive with names of more than 256 MiB is too large: it is no error of the child, which the agent
// would call internal. Its files are counted as they lie on disk.
func TestNamesAreBoundedTogether(t *testing.T) {
	d, err := newDecoder(bytes.NewReader(stream(t, entry{Kind: kindFile, Path: "a", Size: 4097},
		entry{Kind: kindSymlink, Path: "b", Link: "a"}, entry{Kind: kindDir, Path: "c"})), Bounds{})
	if err != nil {
		t.Fatal(err)
	}

	d.names = maxNames - 2
	if _, err = d.Next(); err == nil {
		_, err = io.Copy(io.Discard, d)
	}
	if err != nil || d.blocks != 2 {
		t.Fatalf("the first member: %v, %d blocks", err, d.blocks)
	}
	if _, err := d.Next(); !errors.Is(err, ErrTooLarge) || errors.Is(err, errStream) {
		t.Errorf("names of more than %d bytes: %v; want ErrTooLarge", maxNames, err)
	}
}
