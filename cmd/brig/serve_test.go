package main

import (
	"strings"
	"testing"
)

func TestADataDirIsOneServices(t *testing.T) {
	dir := t.TempDir()
	f, err := holdDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := holdDir(dir); err == nil || !strings.Contains(err.Error(), "--data-dir") {
		t.Errorf("held twice: %v; want the name of --data-dir", err)
	}
	f.Close()
	if f, err = holdDir(dir); err != nil {
		t.Fatalf("held again: %v", err)
	}
	f.Close()
}
