package runtime

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/cache"
)

// FIO-21: a cancel that arrives while files are collected ends the collection, and the slot is free
// for the next run. Control: the same run without a cancel.
func TestCancelEndsCollecting(t *testing.T) {
	dir, second := privately(t)
	if !second {
		return
	}

	cancel := func() {}
	f := &fault{}
	h, err := Open(Config{
		RunDir: filepath.Join(dir, "run"), Slots: 1, Images: tinyStore(t), Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		fault: func(step string) error {
			if step == "run collect" {
				cancel()
			}
			return f.step(step)
		},
	})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})

	for _, want := range []api.Verdict{api.OK, api.Canceled, api.OK} {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		if cancel = func() {}; want == api.Canceled {
			cancel = stop
		}
		res, err := h.runner.Run(ctx,
			api.Run{Image: "tiny", Argv: []string{"/bin/sh", "-c", "echo x > x"}, Limits: api.Limits{Wall: api.Duration(20 * time.Second)}},
			api.Streams{}, api.Caller{})
		if err != nil || res.Verdict != want || (len(res.Files) == 1) != (want == api.OK) {
			t.Errorf("%s, %d files, %v; want %s", res.Verdict, len(res.Files), err, want)
		}
	}
}

// memoryOf is an api.Memory that says what a stage may have.
type memoryOf func() error

func (memoryOf) Keep(int64) error          { return nil }
func (m memoryOf) Begin(int64, bool) error { return m() }
func (memoryOf) Cancel(int64)              {}
func (memoryOf) End(int64, int64)          {}

// AGT-21. The blobs of a test are loaded after Begin has granted the memory, not before: here the
// very call that grants it removes them. Without them a test does not wait for memory.
func TestBlobsOfTestsAreLoadedWhenMemoryIsGranted(t *testing.T) {
	dir, second := privately(t)
	if !second {
		return
	}

	blobs, err := cache.Open(filepath.Join(dir, "blobs"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}

	h, err := Open(Config{RunDir: filepath.Join(dir, "run"), Slots: 2, Images: tinyStore(t), Blobs: blobs,
		Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})

	content := []byte("from a blob\n")
	digest := fmt.Sprintf("%x", sha256.Sum256(content))
	r := api.Run{Image: "tiny", Argv: []string{"cat"}}
	for i := range 4 {
		r.Tests = append(r.Tests, api.Test{ID: fmt.Sprint(i), StdinBlob: digest, ExpectedBlob: digest})
	}

	if _, err := h.runner.Run(t.Context(), r, api.Streams{}, api.Caller{}); !api.HasCode(err, api.CodeNoBlob) {
		t.Fatalf("without the blob: %v; want %s", err, api.CodeNoBlob)
	}

	reserve := func(granted func() error) api.Streams {
		full := 3
		return api.Streams{Wait: time.Minute, Memory: memoryOf(func() error {
			if full--; full >= 0 {
				time.AfterFunc(10*time.Millisecond, h.MemoryFreed)
				return api.Fail(api.CodeBusy, "no room yet")
			}
			return granted()
		})}
	}

	if err := blobs.Put(digest, bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}

	res, err := h.runner.Run(t.Context(), r, reserve(func() error { return nil }), api.Caller{})
	if err != nil || res.Summary == nil || res.Summary.Accepted != 4 {
		t.Errorf("%s, summary %+v, %v; want all accepted", res.Verdict, res.Summary, err)
	}

	_, err = h.runner.Run(t.Context(), r, reserve(func() error { return blobs.Remove(digest) }), api.Caller{})
	if !api.HasCode(err, api.CodeNoBlob) {
		t.Errorf("removed when the memory was granted: %v; want %s: it was loaded before", err, api.CodeNoBlob)
	}
}
