package rootfs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/testenv"
	"github.com/brig-sandbox/brig/rootfs/archive"
)

// The controls for the archives that Import refuses or makes harmless: an unpacker that trusts the
// archive does the damage, in a directory of the test, and the kernel permits it. Without these
// controls, a refusal would only show that the archive is unusual.
func TestHostileArchivesHarmATrustingUnpacker(t *testing.T) {
	testenv.NeedRoot(t)
	const own = "base/r" // the trusting unpacker unpacks here; it must not touch anything next to it
	for _, tt := range []struct {
		name string
		ms   members
		hurt string // the resulting path outside, or the harmful one inside
	}{
		{"IMG-01 dot-dot", members{file("../x", "1")}, "base/x"},
		{"IMG-01 dot-dot behind a directory", members{dir("a"), file("a/../../x", "1")}, "base/x"},
		{"IMG-02 an absolute name", members{file("ROOT/victim/new", "1")}, "victim/new"},
		{"IMG-03 a file through a link that climbs", members{symlink("up", ".."), file("up/x", "1")}, "base/x"},
		{"IMG-04 two hops", members{dir("inner"), symlink("inner/up", ".."), symlink("inner/up/esc", "../../victim"),
			file("inner/up/esc/new", "1")}, "victim/new"},
		{"IMG-05 a hard link out", members{hardlink("own", "../../victim/secret")}, "base/r/own"},
		{"IMG-06 a sibling with the same prefix", members{symlink("l", "../r-evil"), file("l/x", "1")}, "base/r-evil/x"},
		{"IMG-07 the root as a link", members{symlink(".", "../victim"), file("new", "1")}, "victim/new"},
		{"IMG-08 a system directory as a link", members{symlink("dev", "../../victim"), file("dev/new", "1")}, "victim/new"},
		{"IMG-10 a device", members{special("null", tar.TypeChar)}, "base/r/null"},
		{"IMG-10 a named pipe", members{special("pipe", tar.TypeFifo)}, "base/r/pipe"},
		{"IMG-11 setuid", members{with(file("su", "x"), func(h *tar.Header) { h.Mode = 0o4755 })}, "base/r/su"},
		{"IMG-11 a file's capabilities", members{capable("able")}, "base/r/able"},
		{"IMG-23 a file for all to write", members{with(file("open", "x"), func(h *tar.Header) { h.Mode = 0o777 })}, "base/r/open"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			top := t.TempDir()
			for _, d := range []string{own, "base/r-evil", "victim"} {
				if err := os.MkdirAll(filepath.Join(top, d), 0o755); err != nil {
					t.Fatal(err)
				}
			}

			if err := os.WriteFile(filepath.Join(top, "victim/secret"), nil, 0o600); err != nil {
				t.Fatal(err)
			}

			for _, h := range tt.ms {
				h.Name = strings.Replace(h.Name, "ROOT", top, 1)
			}

			unpackTrusting(t, filepath.Join(top, own), tarOf(t, tt.ms...))
			var st, secret unix.Stat_t
			if err := unix.Lstat(filepath.Join(top, tt.hurt), &st); err != nil {
				t.Fatalf("the archive does no harm: %v", err)
			}
			if err := unix.Lstat(filepath.Join(top, "victim/secret"), &secret); err != nil {
				t.Fatal(err)
			}

			kind := st.Mode & unix.S_IFMT
			switch id := tt.name[:6]; {
			case id == "IMG-05" && st.Ino != secret.Ino, id == "IMG-23" && st.Mode&0o022 != 0o022,
				id == "IMG-11" && st.Mode&unix.S_ISUID == 0 && attributes(t, filepath.Join(top, tt.hurt)) == 0,
				id == "IMG-10" && kind != unix.S_IFCHR && kind != unix.S_IFIFO:
				t.Errorf("%s is harmless: inode %d, mode %o", tt.hurt, st.Ino, st.Mode)
			}
		})
	}
}

// capable returns a file that has the capability CAP_NET_RAW.
func capable(name string) *tar.Header {
	return with(file(name, "x"), func(h *tar.Header) {
		h.PAXRecords = map[string]string{"SCHILY.xattr.security.capability": "\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"}
	})
}

// attributes returns the length in bytes of the list of a file's extended attribute names.
func attributes(t *testing.T, path string) int {
	t.Helper()
	n, err := unix.Llistxattr(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// unpackTrusting unpacks like a trusting program: it joins names and overwrites existing files.
func unpackTrusting(t *testing.T, dir string, tarball []byte) {
	t.Helper()
	r := tar.NewReader(bytes.NewReader(tarball))
	for {
		h, err := r.Next()
		if err != nil {
			return // the end, as the test's archives are valid
		}

		at := filepath.Join(dir, h.Name)
		if filepath.IsAbs(h.Name) {
			at = h.Name
		}
		if h.Typeflag != tar.TypeDir {
			_ = os.Remove(at) // most do not exist
		}

		switch h.Typeflag {
		case tar.TypeDir:
			err = os.Mkdir(at, 0o755)
		case tar.TypeSymlink:
			err = os.Symlink(h.Linkname, at)
		case tar.TypeLink:
			err = os.Link(filepath.Join(dir, h.Linkname), at)
		case tar.TypeChar:
			err = unix.Mknod(at, unix.S_IFCHR|0o600, int(unix.Mkdev(uint32(h.Devmajor), uint32(h.Devminor))))
		case tar.TypeFifo:
			err = unix.Mkfifo(at, 0o600)
		default:
			if err = os.WriteFile(at, nil, 0o600); err == nil {
				err = unix.Chmod(at, uint32(h.Mode))
			}
			for key, value := range h.PAXRecords {
				if name, ok := strings.CutPrefix(key, "SCHILY.xattr."); ok && err == nil {
					err = unix.Setxattr(at, name, []byte(value), 0)
				}
			}
		}

		if err != nil {
			t.Fatal(err)
		}
	}
}

// The opposite controls: an archive that is refused for one property is accepted without it.
func TestBenignTwinsOfHostileArchivesAreAccepted(t *testing.T) {
	for _, tt := range []struct {
		name string // attack id and case of the corpus
		ms   members
		has  string
	}{
		{"IMG-01 dots in a name", members{file("..x/y..", "1")}, "..x/y.."},
		{"IMG-05 a hard link inside", members{dir("a"), file("a/secret", "1"), hardlink("x", "a/secret")}, "x"},
		{"IMG-05 a hard link through a link that stays",
			members{dir("d"), file("d/secret", "1"), symlink("up", "d"), hardlink("x", "up/secret")}, "x"},
		{"IMG-05 a hard link to a link is one more name of the link",
			members{file("secret", "1"), symlink("l", "/secret"), hardlink("sub/x", "l")}, "secret"},
		{"IMG-07 the root as a directory", members{dir("/."), dir("."), file("x", "1")}, "x"},
		{"IMG-10 a file where a device was", members{file("null", "1")}, "null"},
		{"IMG-14 as deep as allowed", members{file(strings.Repeat("d/", 127)+"f", "1")}, strings.Repeat("d/", 127) + "f"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			img, err := importTar(t, newStore(t), Options{}, tt.ms...)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(filepath.Join(img.Path, tt.has)); err != nil || string(text) != "1" {
				t.Errorf("%s holds %q, %v", tt.has, text, err)
			}
		})
	}
}

// IMG-19: the digest covers the whole file, to its last byte; the control is the same archive with
// its own digest.
func TestDigestIsOfEveryByte(t *testing.T) {
	tarball := tarOf(t, file("a", "1"))
	padded := append(bytes.Clone(tarball), make([]byte, 512)...)
	s := newStore(t)
	if _, err := s.Import(t.Context(), bytes.NewReader(padded), Options{ExpectDigest: digestOf(tarball)}); err == nil {
		t.Error("an archive with one more block passes for the one without")
	}
	mustBeEmpty(t, s)
	if _, err := s.Import(t.Context(), bytes.NewReader(tarball), Options{ExpectDigest: digestOf(tarball)}); err != nil {
		t.Errorf("the archive itself: %v", err)
	}
}

// IMG-21: brig treats commands, hooks and environment in an image as data. The control: the same
// command leaves its mark when it runs.
func TestMetadataInAnImageIsOnlyData(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "ran")
	script := "#!/bin/sh\ntouch " + mark + "\n"
	if out, err := exec.Command("sh", "-c", strings.TrimPrefix(script, "#!/bin/sh\n")).CombinedOutput(); err != nil {
		t.Fatalf("the command of the test does nothing: %v, %s", err, out)
	}
	if err := os.Remove(mark); err != nil {
		t.Fatalf("the command of the test leaves no mark: %v", err)
	}

	hook := map[string]any{"path": "/hook", "args": []string{"sh", "-c", script}}
	text, err := json.Marshal(map[string]any{
		"config": map[string]any{"Entrypoint": []string{"/hook"}, "Env": []string{"LD_PRELOAD=/evil.so"},
			"Labels": map[string]string{"run": script}},
		"hooks":  map[string]any{"prestart": []any{hook}, "createRuntime": []any{hook}, "poststop": []any{hook}},
		"digest": "sha256:" + strings.Repeat("0", 64), "size": -1,
	})
	if err != nil {
		t.Fatal(err)
	}

	executable := func(name string) *tar.Header {
		return with(file(name, script), func(h *tar.Header) { h.Mode = 0o755 })
	}
	s := newStore(t)
	ms := members{dir("etc"), executable("hook"), executable("bin/sh"), executable("sbin/ldconfig"), executable("etc/rc.local"),
		executable(".dockerinit")}
	for _, name := range []string{"config.json", "manifest.json", "image.json", "etc/nsswitch.conf", "etc/ld.so.preload"} {
		ms = append(ms, file(name, string(text)))
	}

	img, err := importTar(t, s, Options{Name: "x"}, ms...)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Lookup("x"); err != nil || got.Digest != img.Digest || got.Size != img.Size || got.Size < 0 {
		t.Errorf("Lookup = %+v, %v; want the store's own record", got, err)
	}
	if kept := readInRoot(t, img, "config.json"); kept != string(text) {
		t.Errorf("config.json holds %q", kept)
	}
	if _, err := os.Lstat(mark); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something of the image ran as root: %v", err)
	}
}

// IMG-14: ten GiB of zeros are refused before most of them are generated, so they cannot have
// filled disk or memory.
func TestAnEndlessBombIsCheapToRefuse(t *testing.T) {
	const whole, fair = 10 << 30, 1 << 30
	for name, compress := range map[string]func(io.Writer) closer{"gzip": gzipWriter, "zstd": zstdWriter} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			had := peakMemory(t)
			in, out := io.Pipe()
			made := make(chan int64)
			go func() { // ends when the reader is closed
				z := compress(out)
				w := tar.NewWriter(z)
				err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "zeros", Size: whole, Mode: 0o644})
				n, block := int64(0), make([]byte, 1<<20)
				for ; err == nil && n < whole; n += int64(len(block)) {
					_, err = w.Write(block)
				}
				out.CloseWithError(err)
				made <- n
			}()

			_, err := s.Import(t.Context(), in, Options{})
			in.Close()
			if !errors.Is(err, archive.ErrTooLarge) {
				t.Errorf("Import: %v; want ErrTooLarge", err)
			}
			if n := <-made; n > fair {
				t.Errorf("%d bytes were made before it was refused; want less than %d", n, fair)
			}
			if grown := peakMemory(t) - had; grown > 256<<20 {
				t.Errorf("memory grew by %d bytes", grown)
			}

			mustBeEmpty(t, s)
		})
	}
}

// peakMemory returns the sum of the peak memory of this process and that of its largest child.
func peakMemory(t *testing.T) (n int64) {
	t.Helper()
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var ru unix.Rusage
		if err := unix.Getrusage(who, &ru); err != nil {
			t.Fatal(err)
		}
		n += ru.Maxrss << 10
	}
	return n
}

// IMG-14: a limit on the number of members stops an archive of empty members that compresses to
// almost nothing; the control has a tenth of the limit.
func TestTooManyEntriesAreRefused(t *testing.T) {
	s := newStore(t)
	var one bytes.Buffer
	if err := tar.NewWriter(&one).WriteHeader(file("x", "")); err != nil {
		t.Fatal(err)
	}

	many := func(n int) []byte {
		var out bytes.Buffer
		w, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
		if err != nil {
			t.Fatal(err)
		}

		for range n {
			if _, err := w.Write(one.Bytes()[:512]); err != nil {
				t.Fatal(err)
			}
		}

		if _, err := w.Write(make([]byte, 1024)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}

	bounds := archive.Bounds{Entries: 2000}
	if _, err := s.Import(t.Context(), bytes.NewReader(many(60_000)), Options{Bounds: bounds}); err == nil ||
		!strings.Contains(err.Error(), "more than 2000 members") {
		t.Errorf("Import: %v; want its number of members refused", err)
	}

	mustBeEmpty(t, s)
	if _, err := s.Import(t.Context(), bytes.NewReader(many(200)), Options{Bounds: bounds}); err != nil {
		t.Errorf("a few: %v", err)
	}
}
