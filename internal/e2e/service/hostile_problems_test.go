package service

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// GRD-17: a package that is made to take much memory, time or space of what reads it is refused, and
// the service stays within its memory, answers others meanwhile and keeps nothing of it.
func TestHostileProblemPackages(t *testing.T) {
	s := serveLoaded(t, newLoadedAgent(t), "--max-blob", "64M")
	const head = "problem_format_version: 2025-09\nname: X\nuuid: 0c1bd2e4-0000-4000-8000-000000000001\n"
	with := func(n int, more map[string]string) []byte {
		files := map[string]string{"problem.yaml": head, "submissions/accepted/a.py": ""}
		for i := range n {
			name := fmt.Sprintf("data/secret/%04d", i)
			files[name+".in"], files[name+".ans"] = "", ""
		}
		for name, text := range more {
			files[name] = text
		}
		return zipOf(t, files)
	}

	for _, tt := range []struct {
		name   string
		body   []byte
		status int
	}{
		{"arguments that every test repeats",
			with(4000, map[string]string{"data/secret/test_group.yaml": "args: [" + strings.Repeat("x", 100<<10) + "]\n"}), 413},
		{"aliases of aliases",
			with(1, map[string]string{"problem.yaml": head + "keywords: &a [x]\n" + strings.Repeat("x: [*a, *a, *a, *a]\n", 20000)}), 422},
		{"3 GB of zeros", zerosZip(t, 100, 30<<20), 413},
		{"a million names", directoryOf(t, 1_200_000), 422},
		{"3 GB of zeros in a tar", zerosTar(t, 3<<30), 413},
		{"a tar of nested headers", longNames(t), 422},
	} {
		t.Run(tt.name, func(t *testing.T) {
			done := make(chan struct{})
			go func() {
				defer close(done)

				for range 20 { // others are answered meanwhile
					begun := time.Now()
					res, err := http.Get("http://" + s.at + "/health")
					if err != nil {
						t.Error(err)
						return
					}
					res.Body.Close()
					if took := time.Since(begun); took > harness.Slow(20*time.Second) {
						t.Errorf("the health took %v", took)
					}
					time.Sleep(50 * time.Millisecond)
				}
			}()

			begun := time.Now()
			req, err := http.NewRequestWithContext(t.Context(), "PUT", "http://"+s.at+"/v1/problems/p", bytes.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}

			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()

			text, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}

			var p api.Problem
			if err := json.Unmarshal(text, &p); err != nil || res.StatusCode != tt.status {
				t.Errorf("%d bytes: %d %.600s, %v", len(tt.body), res.StatusCode, text, err)
			}

			t.Logf("%d bytes: %d after %v: %.200s", len(tt.body), res.StatusCode, time.Since(begun), p.Detail)
			<-done
		})
	}

	left, err := os.ReadDir(filepath.Join(s.data, "problems"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
	if peak, maximum := s.peak(t), s.ceiling(t); peak > maximum/4 {
		t.Errorf("the service took %s of %s", api.Size(peak), api.Size(maximum))
	} else {
		t.Logf("the service took %s", api.Size(peak))
	}
}

// directoryOf is a zip that has the list of n empty files.
func directoryOf(t *testing.T, n int) []byte {
	t.Helper()

	// The names are those of one member, repeated: a list of members need not have them.
	one := zipOf(t, map[string]string{"a": ""})
	at := bytes.Index(one, []byte("PK\x01\x02"))
	end := bytes.Index(one, []byte("PK\x05\x06"))
	entry := one[at:end]
	body := append(bytes.Clone(one[:at]), bytes.Repeat(entry, n)...)
	tail := bytes.Clone(one[end:])
	put := func(at, size, v int) {
		for i := range size {
			tail[at+i] = byte(v >> (8 * i))
		}
	}

	put(8, 2, n&0xffff)
	put(10, 2, n&0xffff)
	put(12, 4, n*len(entry))
	put(16, 4, at)
	return append(body, tail...)
}

// zerosZip is a zip of n tests whose inputs have size zeros each. They are compressed once.
func zerosZip(t *testing.T, n int, size int64) []byte {
	t.Helper()
	var one bytes.Buffer
	f, err := flate.NewWriter(&one, flate.BestSpeed)
	if err != nil {
		t.Fatal(err)
	}

	zeros := make([]byte, size)
	if _, err := f.Write(zeros); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}

	sum := crc32.ChecksumIEEE(zeros)

	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := range n {
		w, err := z.CreateRaw(&zip.FileHeader{
			Name: fmt.Sprintf("%d.in", i), Method: zip.Deflate, CRC32: sum,
			UncompressedSize64: uint64(size), CompressedSize64: uint64(one.Len()),
		})
		if err == nil {
			_, err = w.Write(one.Bytes())
		}
		if err == nil {
			_, err = z.Create(fmt.Sprintf("%d.ans", i))
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// zerosTar is a tar.zst of files with size bytes in all.
func zerosTar(t *testing.T, size int64) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}

	w := tar.NewWriter(z)
	zeros := make([]byte, 64<<20)
	for i := int64(0); i < size; i += int64(len(zeros)) {
		if err := w.WriteHeader(&tar.Header{Name: fmt.Sprintf("%d.in", i), Mode: 0o644, Size: int64(len(zeros)),
			Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// longNames is a tar whose names are longer than any name may be.
func longNames(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for i := range 20 {
		h := &tar.Header{Name: strings.Repeat("a/", 300<<10) + fmt.Sprint(i), Mode: 0o644, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
	}

	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A service that is killed while it stores a package has the old one or the new one, whole, and nothing
// else is left.
func TestKilledWhileAProblemIsStored(t *testing.T) {
	agent := newLoadedAgent(t)
	put := func(s *loadedService, body []byte) (p api.StoredProblem, err error) {
		req, err := http.NewRequestWithContext(t.Context(), "PUT", "http://"+s.at+"/v1/problems/p", bytes.NewReader(body))
		if err != nil {
			return p, err
		}

		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return p, err
		}
		defer res.Body.Close()

		text, err := io.ReadAll(res.Body)
		if err == nil && res.StatusCode != http.StatusOK {
			err = fmt.Errorf("%d: %s", res.StatusCode, text)
		}
		if err != nil {
			return p, err
		}
		return p, json.Unmarshal(text, &p)
	}

	versions := [2][]byte{}
	digests := [2]string{}
	s := serveLoaded(t, agent)
	for i := range versions {
		noise := make([]byte, 8<<20)
		_, _ = rand.Read(noise) // never fails
		versions[i] = zipOf(t, map[string]string{"1.in": string(noise), "1.ans": fmt.Sprint(i)})
		p, err := put(s, versions[i])
		if err != nil {
			t.Fatal(err)
		}
		digests[i] = p.Digest
	}

	stored := map[string]int{}
	for i := range 12 {
		answered := make(chan string)
		go func() {
			p, _ := put(s, versions[i%2]) // most end with the service
			answered <- p.Digest
		}()
		time.Sleep(time.Duration(10+i*25) * time.Millisecond)
		if err := s.own.Cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}

		<-s.own.Done
		answer := <-answered
		s = serveLoaded(t, agent)
		res, err := http.Get("http://" + s.at + "/v1/problems/p")
		if err != nil {
			t.Fatal(err)
		}

		var p api.StoredProblem
		err = json.NewDecoder(res.Body).Decode(&p)
		res.Body.Close()
		if err != nil || p.Digest != digests[0] && p.Digest != digests[1] || answer != "" && p.Digest != answer {
			t.Errorf("after kill %d: %+v, %v; the answer was %q", i, p, err, answer)
		}

		stored[p.Digest]++
		left, err := os.ReadDir(filepath.Join(s.data, "problems"))
		if err != nil || len(left) != 1 {
			t.Errorf("after kill %d: %v is left, %v", i, left, err)
		}
	}

	t.Logf("stored: %v", stored)
}
