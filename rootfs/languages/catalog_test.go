package languages

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The first run of an agent waits for Load. To parse the built-in manifests takes some 25,000 allocations, a large
// part of an agent's start, and is left until somebody asks for a language. Allocations are the same on every
// machine; times are not.
func TestLoadParsesNoBuiltInManifest(t *testing.T) {
	empty := t.TempDir()
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "README"), []byte("no manifest"), 0o600); err != nil {
		t.Fatal(err)
	}

	for name, dir := range map[string]string{
		"no directory": "", "a missing one": filepath.Join(empty, "missing"), "an empty one": empty,
		"one without manifests": other,
	} {
		load := testing.AllocsPerRun(5, func() {
			if _, err := Load(dir, nil); err != nil {
				t.Fatal(err)
			}
		})
		if load > 200 {
			t.Errorf("%s: Load made %.0f allocations", name, load)
		}
	}

	parsed := testing.AllocsPerRun(1, func() {
		if _, err := readBuiltin(); err != nil {
			t.Fatal(err)
		}
	})
	if parsed < 2000 {
		t.Errorf("parsing all manifests took %.0f allocations: 200 proves nothing", parsed)
	}
}

// What is left until later still refuses what is wrong at the start, before anybody runs anything.
func TestLoadRefusesAWrongManifestAtOnce(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"an unknown field", "alias: [x]", "field alias not found"},
		{"the alias of a built-in one", "name: mine\naliases: [python3]\nimage: x\nextensions: [mine]\n" +
			"source_file: main.mine\nrun: [x, \"{source}\"]\n", "both have the name or alias \"python3\""},
		{"an unknown tier", strings.ReplaceAll(goodManifest, "image: lua", "image: lua\ntier: none"), "does not exist"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "own.yaml"), []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir, []string{"strict"}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.want)
		}
	}
}
