package isolation

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

const (
	outcomesV1 = "../../../testdata/outcomes.v1" // by TestHostile -outcomes on a host with v1 or hybrid groups
	outcomesV2 = "../../../testdata/outcomes.v2" // by .ci/test-v2 and test-v2-qemu with WRITE=1
	corpusPage = "../../../docs/reports/corpus.md"
)

// writeOutcomes writes one line per case: outcome, id, held or FAILED.
func writeOutcomes(t testing.TB, outcomes map[string]bool) {
	t.Helper()
	if *harness.OutcomesFile == "" {
		return
	}

	f, err := os.OpenFile(*harness.OutcomesFile, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		t.Fatal(err)
	}

	for _, id := range slices.Sorted(maps.Keys(outcomes)) {
		word := "held"
		if !outcomes[id] {
			word = "FAILED"
		}
		fmt.Fprintln(f, "outcome", id, word)
	}

	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func readOutcomes(t testing.TB, file string) map[string]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()

	outcomes := map[string]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		var id, word string
		if _, err := fmt.Sscanf(s.Text(), "outcome %s %s", &id, &word); err != nil {
			t.Fatalf("%s: %q: %v", file, s.Text(), err)
		}
		outcomes[id] = word
	}

	return outcomes
}

const corpusHead = `# Hostile programs

` + "`go test ./internal/e2e/isolation -run TestCorpusPage -update-docs`" + ` writes this page from the
cases and their outcomes. The outcomes on cgroup v1 come from
` + "`go test ./internal/e2e/isolation -run 'TestHostile$' -outcomes ../../../testdata/outcomes.v1`" + `,
and those on v2 from ` + "`WRITE=1 make test-v2`" + `. "held" means that every check of the case passed.

Each case runs in a fresh cell, in a kept cell, and in a kept cell after a run that left everything
it could. Each case also has a control: it shows that the program reaches its goal without brig, in
a simple jail, or under brig with one layer less. [layers.md](layers.md) says which layers still
stop a case when one layer is left out.

| id | title | severity | layers | v1 | v2 |
|---|---|---|---|---|---|
`

func corpusPageText(t testing.TB) string {
	v1, v2 := readOutcomes(t, outcomesV1), readOutcomes(t, outcomesV2)
	var b strings.Builder
	b.WriteString(corpusHead)
	word := func(m map[string]string, id string) string {
		if w := m[id]; w != "" {
			return w
		}
		return "not yet run"
	}

	for _, e := range harness.Expectations(t) {
		id := e.ID
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", id, e.Title, e.Severity,
			strings.ReplaceAll(strings.Join(e.Layers, ", "), "|", "\\|"), word(v1, id), word(v2, id))
	}

	return b.String() + otherTestsTable()
}

// The page is what the cases and their outcomes generate.
func TestCorpusPage(t *testing.T) {
	want := corpusPageText(t)
	if *harness.UpdateDocs {
		if err := os.WriteFile(corpusPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}

	got, err := os.ReadFile(corpusPage)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/reports/corpus.md is not what the cases make: go test ./internal/e2e/isolation -run TestCorpusPage -update-docs")
	}
	if strings.Contains(want, "| FAILED |") || strings.Contains(want, "| not yet run |") {
		t.Error("docs/reports/corpus.md has cases that did not hold, or were not run, on v1 or v2: its head says how to run them")
	}
}

// What docs/reports/corpus.md says about other tests is true: they exist and carry the id.
func TestCorpusNamesTestsThatExist(t *testing.T) {
	for _, e := range otherTests {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", e.file))
		if err != nil {
			t.Error(err)
			continue
		}
		for _, want := range []string{"func " + e.test + "(t *testing.T)", e.id} {
			if !bytes.Contains(text, []byte(want)) {
				t.Errorf("%s has no %q", e.file, want)
			}
		}
	}
}
