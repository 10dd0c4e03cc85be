package harness

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Alone fails a test that counts or times something of the whole machine, and does not stand in the list of those next
// to which .ci/test runs no others: these would change what it sees.
func Alone(t *testing.T) {
	t.Helper()
	list, err := os.ReadFile("../tests/alone")
	if err != nil {
		t.Fatal(err)
	}

	test, _, _ := strings.Cut(t.Name(), "/")
	listed := slices.ContainsFunc(slices.Collect(strings.Lines(string(list))), func(line string) bool {
		name, _, _ := strings.Cut(line, "#")
		return strings.TrimSpace(name) == test
	})
	if !listed {
		t.Fatalf("%s measures the whole machine: add it to internal/e2e/tests/alone", test)
	}
}
