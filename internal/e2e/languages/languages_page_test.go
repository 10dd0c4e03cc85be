package languages

import (
	"os"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

const languagesPage = "../../../docs/languages.md"

// The table of docs/languages.md has every built-in language and no other. For each it has the
// version, the tiers and the image from its manifest, and what was measured.
func TestLanguagesPageSaysWhatManifestsSay(t *testing.T) {
	text, err := os.ReadFile(languagesPage)
	if err != nil {
		t.Fatal(err)
	}

	_, table, _ := strings.Cut(string(text), "<!-- measured: ")
	table, _, _ = strings.Cut(table, "<!-- end of measured -->")
	rows := map[string][]string{}
	for line := range strings.Lines(table) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| language ") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != 8 {
			t.Fatalf("row %q has %d cells; want 8", line, len(cells))
		}
		rows[cells[0]] = cells
	}

	for _, l := range harness.BuiltinLanguages(t) {
		cells, ok := rows[l.Name]
		if !ok {
			t.Errorf("the table lacks %s: make languages WRITE=1", l.Name)
			continue
		}

		delete(rows, l.Name)
		tiers := api.Language{Tier: l.Tier}
		if len(l.Compile) > 0 {
			tiers.CompileTier = l.CompileTier
		}
		if cells[1] != l.Version || cells[2] != tiers.Tiers() || cells[3] != l.Image {
			t.Errorf("the table says %q of %s; its manifest says %s, %s, %s: make languages WRITE=1", cells[1:4], l.Name, l.Version,
				tiers.Tiers(), l.Image)
		}

		for i, unit := range []string{" MiB", " s", " ms", " MiB"} {
			if cell := cells[4+i]; !strings.HasSuffix(cell, unit) && !(i == 1 && cell == "-" && len(l.Compile) == 0) {
				t.Errorf("%s: %q is no figure in%s", l.Name, cell, unit)
			}
		}
	}

	for name := range rows {
		t.Errorf("the table has %s, which brig does not bring: make languages WRITE=1", name)
	}
}
