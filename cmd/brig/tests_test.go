package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestFindTestsInTheOrderPeopleCount(t *testing.T) {
	dir := t.TempDir()
	want := []string{"0", "1", "2", "02b", "10", "a-2-x", "a-10", "a-10-1", "b", "secret/2", "secret/10", "secret/123456789012345678901234567890"}
	if err := os.Mkdir(filepath.Join(dir, "secret"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, i := range rand.Perm(len(want)) {
		ext := []string{".ans", ".out"}[i%2]
		for _, name := range []string{want[i] + ".in", want[i] + ext} {
			if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	pairs, err := findTests(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range pairs {
		got = append(got, p.id)
	}
	if !slices.Equal(got, want) {
		t.Errorf("order %q\nwant  %q", got, want)
	}
	if err := os.WriteFile(filepath.Join(dir, "lost.ans"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := findTests(dir); err == nil || !strings.Contains(err.Error(), "lost.ans answers nothing") {
		t.Errorf("an answer to nothing: %v", err)
	}
}
