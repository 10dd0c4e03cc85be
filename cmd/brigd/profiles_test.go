package main

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Probable mistakes in the operator's profiles are logged when brigd starts.
func TestProfileMistakesAreLogged(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"opens.yaml":  "extends: default\nappend:\n- {names: [clone], action: log, why: to see}\n",
		"closes.yaml": "extends: default\nappend:\n- {names: [clone], action: kill, why: one process}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	var log bytes.Buffer
	profiles, err := loadProfiles(dir, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil || len(profiles) != 2 {
		t.Fatalf("%d profiles: %v", len(profiles), err)
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "profile=opens.yaml") ||
		!strings.Contains(got, "line 3: log lets clone run") {
		t.Errorf("the log says\n%s", got)
	}
}
