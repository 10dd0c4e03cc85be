package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
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
	shown := codeBlock(t, "../README.md", `"tests": [`)
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

// The documented loop grades a directory.
func TestDocumentedLoopGrades(t *testing.T) {
	a := startAgent(t, sharedFlags...)
	a.needPython(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tests/1.in": "1 2", "tests/1.ans": "3", "tests/2.in": "5 5", "tests/2.ans": "10",
		"submissions/ann.py":     "print(sum(map(int, input().split())))",
		"submissions/bob one.py": "print(3)",
		"submissions/cy.py":      "print(",
		"submissions/dan.xyz":    "?",
	} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.CommandContext(t.Context(), "sh", "-c", codeBlock(t, "../docs/languages.md", "for f in submissions"))
	c.Dir = dir
	c.Env = append(os.Environ(), "PATH="+filepath.Dir(binary(t, "brig"))+":"+os.Getenv("PATH"), "BRIG_SOCKET="+a.socket)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want := regexp.MustCompile(`^submissions/ann\.py: exit code 0, 2 of 2 accepted; .*
submissions/bob one\.py: exit code 1, 1 of 2 accepted, first failed: 2; .*
submissions/cy\.py: exit code 1, CE: 0 of 2 accepted, 2 not run, worst verdict: compile-error
submissions/dan\.xyz: exit code 125, 
$`)
	if !want.Match(out) {
		t.Errorf("it prints\n%s", out)
	}
	if why, err := os.ReadFile(filepath.Join(dir, "grades/cy.py.why")); err != nil || !bytes.Contains(why, []byte("SyntaxError")) {
		t.Errorf("of cy: %v, %s", err, why)
	}
}
