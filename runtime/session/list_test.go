package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// listOf lists a directory of the host as if it were /box.
func listOf(t *testing.T, ctx context.Context, dir string) (lister, error) {
	t.Helper()
	root, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	l := lister{ctx: ctx, root: root}
	return l, l.dir(".", 0)
}

func touch(t *testing.T, name string) {
	t.Helper()
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// AGT-43. What a list reports and keeps in memory is limited in bytes, whatever names a program
// chose: names that JSON writes with six bytes for each byte, below directories with such names.
func TestListOfLongNamesIsBounded(t *testing.T) {
	odd := strings.Repeat("\x01", 240)
	top := t.TempDir()
	deep := filepath.Join(top, odd, odd, odd)
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}

	for i := range 1000 {
		touch(t, filepath.Join(deep, fmt.Sprintf("%s%06d", odd[:200], i)))
	}

	l, err := listOf(t, t.Context(), top)
	if err != nil {
		t.Fatal(err)
	}

	body, err := json.Marshal(l.list)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(l.list.Files); !l.list.More || n < 100 || len(body) > api.ListFilesBytes*5/4 {
		t.Errorf("%d files in %d bytes, more %v", n, len(body), l.list.More)
	}
	if keeps := l.retainedBytes(); keeps < int64(len(body)) || keeps > listRetention {
		t.Errorf("%d bytes are kept for an answer of %d; want at most %d", keeps, len(body), listRetention)
	}
}

// The names of all directories on the way down are in memory together: there are no more of them
// than a list may have.
func TestListReadsNoMoreThanItReports(t *testing.T) {
	top := t.TempDir()
	at := top
	for range 4 {
		at = filepath.Join(at, "a")
		if err := os.Mkdir(at, 0o700); err != nil {
			t.Fatal(err)
		}
		for i := range 3000 {
			touch(t, filepath.Join(at, fmt.Sprint("b", i)))
		}
	}

	l, err := listOf(t, t.Context(), top)
	if err != nil || l.namesRead != api.ListFilesMax || len(l.list.Files) != api.ListFilesMax || !l.list.More {
		t.Errorf("%d names read, %d listed, more %v, %v; want %d of each", l.namesRead, len(l.list.Files), l.list.More, err, api.ListFilesMax)
	}
	if l, err := listOf(t, t.Context(), filepath.Join(top, "a/a/a")); err != nil || len(l.list.Files) != 6001 || l.list.More {
		t.Errorf("a list that fits: %d files, more %v, %v", len(l.list.Files), l.list.More, err)
	}

	left, leave := context.WithCancel(t.Context())
	leave()
	if l, err := listOf(t, left, top); !errors.Is(err, context.Canceled) || len(l.list.Files) > 0 {
		t.Errorf("a list that nobody waits for: %d files, %v", len(l.list.Files), err)
	}
}

// Lists wait in the order of their requests; one too many gets the error busy, and one whose caller
// leaves gets no slot.
func TestListQueue(t *testing.T) {
	turns := newListQueue(1, 2)
	first, err := turns.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	left, leave := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() { _, err := turns.acquire(left); gone <- err }()
	waitForWaiting(t, turns, 1)
	second := make(chan error, 1)
	go func() {
		end, err := turns.acquire(t.Context())
		if err == nil {
			end()
		}
		second <- err
	}()

	waitForWaiting(t, turns, 2)
	var e *api.Error
	if _, err := turns.acquire(t.Context()); !errors.As(err, &e) || e.Code != api.CodeBusy {
		t.Errorf("one too many: %v", err)
	}

	leave()
	if err := <-gone; err == nil {
		t.Error("one that left has a turn")
	}

	first()
	if err := <-second; err != nil {
		t.Error(err)
	}
	if len(turns.slots) != 0 || turns.waiting.Load() != 0 {
		t.Errorf("left: %d turns taken, %d wait", len(turns.slots), turns.waiting.Load())
	}
}

func waitForWaiting(t *testing.T, turns *listQueue, n int64) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); turns.waiting.Load() != n; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d wait; want %d", turns.waiting.Load(), n)
		}
	}
}
