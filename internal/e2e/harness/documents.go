package harness

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// CodeBlock returns the only code block of a document that contains a text.
func CodeBlock(t *testing.T, file, has string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	var found []string
	for _, b := range regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```").FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(b[1], has) {
			found = append(found, b[1])
		}
	}

	if len(found) != 1 {
		t.Fatalf("%s has %d blocks with %q", file, len(found), has)
	}
	return found[0]
}
