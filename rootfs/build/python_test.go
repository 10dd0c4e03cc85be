package build

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/rootfs"
)

// TestBuildNeverRunsAsHostRoot builds the Python image twice, from the host's mirror. It takes
// about 15 s and downloads some 30 MB.
func TestBuildNeverRunsAsHostRoot(t *testing.T) {
	if os.Getenv("BRIG_TEST_BUILD") == "" {
		t.Skip("set BRIG_TEST_BUILD=1 to build the Python image")
	}

	s := newStore(t)
	r, err := FindRecipe("python")
	if err != nil {
		t.Fatal(err)
	}

	r.Finish += "\n(echo; echo map $(cat /proc/self/uid_map); id -u | sed 's/^/uid /') >&2\n"
	cache := t.TempDir()
	var images [2]bytes.Buffer
	var log bytes.Buffer
	for i := range images {
		log.Reset()
		start := time.Now()
		if err := Image(t.Context(), r, &images[i], Options{Cache: cache, Log: &log}); err != nil {
			t.Fatal(err)
		}
		t.Logf("build %d: %v, %d bytes, %s", i, time.Since(start), images[i].Len(), digestOf(images[i].Bytes()))
	}

	if !bytes.Equal(images[0].Bytes(), images[1].Bytes()) {
		t.Error("two builds differ")
	}
	if want := "map 0 2000000000 65536\nuid 0\n"; !strings.Contains(log.String(), want) {
		t.Errorf("the build does not say %q:\n%s", want, &log)
	}

	img, err := s.Import(t.Context(), &images[0], rootfs.Options{Name: "python"})
	if err != nil {
		t.Fatal(err)
	}

	t.Logf("unpacked: %d bytes, %d entries", img.Size, img.Entries)
	if img.Size > 150<<20 {
		t.Errorf("unpacked it has %d bytes; want at most 150 MiB", img.Size)
	}

	out, err := chrootIn(img, "python3", "-c", pythonProbe)
	if want := "3.13 utf-8 ok"; err != nil || strings.TrimSpace(out) != want {
		t.Errorf("python says %q, %v; want %q", out, err, want)
	}

	out, err = chrootIn(img, "/bin/sh", "-c", "id; id | awk '{print NF}'; which python; ls -l / | wc -l; echo a | sed s/a/b/; date +%Z")
	if want := "uid=1000(sandboxuser) gid=1000(sandboxuser) groups=1000(sandboxuser)\n3\n/usr/bin/python\n"; err != nil ||
		!strings.HasPrefix(out, want) || !strings.HasSuffix(out, "b\nUTC\n") {
		t.Errorf("sh says %q, %v; want it to start with %q", out, err, want)
	}
}

const pythonProbe = `
import asyncio, bz2, ctypes, dataclasses, decimal, fractions, hashlib, heapq, json, lzma, math, multiprocessing
import random, re, readline, sqlite3, ssl, statistics, subprocess, sys, threading, unittest, zlib, zoneinfo
import collections.abc, pathlib, locale
assert pathlib.__cached__ and pathlib.Path(pathlib.__cached__).exists()
assert zoneinfo.ZoneInfo("Europe/Berlin") and zoneinfo.ZoneInfo("US/Pacific")
assert sqlite3.connect(":memory:").execute("select 2+2").fetchone() == (4,)
print("%d.%d" % sys.version_info[:2], sys.stdout.encoding, "ok")
`

func chrootIn(img rootfs.Image, argv ...string) (string, error) {
	cmd := exec.Command("/usr/bin/env", append([]string{"-i", "PATH=/usr/bin:/bin", "LANG=C.UTF-8"}, argv...)...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: img.Path, Credential: &syscall.Credential{Uid: 1000, Gid: 1000}}
	out, err := cmd.CombinedOutput()
	return string(out), err
}
