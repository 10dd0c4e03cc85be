package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// codeBlock returns the only code block of a document that contains a text.
func codeBlock(t *testing.T, file, has string) string {
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

// The README's example of tests over HTTP is sent as it is written there, and the response matches.
func TestREADMEGradesOverHTTP(t *testing.T) {
	shown := codeBlock(t, "../../README.md", `"tests": [`)
	sent := regexp.MustCompile(`(?s)/v1/runs -H 'Content-Type: application/json' -d '(\{.*?\})'\n(.*?)\n\$ `).FindStringSubmatch(shown)
	if sent == nil {
		t.Fatalf("no request and answer in\n%s", shown)
	}

	a := startAgent(t, sharedFlags...)
	a.needPython(t)
	var answer json.RawMessage
	startService(t, a).call("POST", "/v1/runs", json.RawMessage(sent[1]), 200, &answer)
	rest := answer
	for part := range strings.SplitSeq(sent[2], "...") {
		part = strings.Trim(part, " \n")
		_, after, ok := bytes.Cut(rest, []byte(part))
		if !ok {
			t.Fatalf("%s\nis not in, or not after the others:\n%s", part, answer)
		}
		rest = after
	}
}
