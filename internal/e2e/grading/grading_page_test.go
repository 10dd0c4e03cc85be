package grading

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// The README's example of tests over HTTP is sent as it is written there, and the response matches.
func TestREADMEGradesOverHTTP(t *testing.T) {
	shown := harness.CodeBlock(t, "../../../README.md", `"tests": [`)
	sent := regexp.MustCompile(`(?s)/v1/runs -H 'Content-Type: application/json' -d '(\{.*?\})'\n(.*?)\n\$ `).FindStringSubmatch(shown)
	if sent == nil {
		t.Fatalf("no request and answer in\n%s", shown)
	}

	a := harness.StartAgent(t, harness.SharedFlags...)
	a.NeedPython(t)
	var answer json.RawMessage
	harness.StartService(t, a).Call("POST", "/v1/runs", json.RawMessage(sent[1]), 200, &answer)
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
