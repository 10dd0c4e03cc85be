package archtest

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// The documents make claims and name the test that proves each: the test must exist.
func TestDocumentsNameTestsThatExist(t *testing.T) {
	defined := map[string]bool{"TestCase": true} // Python's unittest
	hostile := map[string]bool{}
	testFunc := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Z]\w*)\(`)
	documents := map[string]string{}
	eachFile(t, func(name string, text []byte) {
		switch {
		case strings.HasSuffix(name, "_test.go"):
			for _, m := range testFunc.FindAllSubmatch(text, -1) {
				defined[string(m[1])] = true
			}
		case path.Dir(name) == "testdata/hostile" && path.Ext(name) == ".c":
			hostile[strings.TrimSuffix(path.Base(name), ".c")] = true
		case path.Ext(name) == ".md":
			documents[name] = string(text)
		}
	})

	named := 0
	for name, text := range documents {
		for _, test := range regexp.MustCompile(`\b(?:Test|Fuzz)[A-Z]\w*`).FindAllString(text, -1) {
			named++
			if !defined[test] {
				t.Errorf("%s names %s, which does not exist", name, test)
			}
		}

		for _, ids := range regexp.MustCompile(`TestHostile ([A-Z]+-\d+(?:, [A-Z]+-\d+)*)`).FindAllStringSubmatch(text, -1) {
			for _, id := range strings.Split(ids[1], ", ") {
				if !hostile[id] {
					t.Errorf("%s names the hostile program %s, which is not in testdata/hostile", name, id)
				}
			}
		}
	}

	if named < 10 {
		t.Errorf("only %d tests are named in the documents: this test looks in the wrong place", named)
	}
}

// The target of every link from one document to another exists.
func TestLinkTargetsOfDocumentsExist(t *testing.T) {
	all := map[string]bool{}
	documents := map[string]string{}
	eachFile(t, func(name string, text []byte) {
		all[name] = true
		if path.Ext(name) == ".md" {
			documents[name] = string(text)
		}
	})

	for name, text := range documents {
		for _, m := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(text, -1) {
			if to := path.Join(path.Dir(name), m[1]); !all[to] {
				t.Errorf("%s links to %s, which does not exist", name, to)
			}
		}
	}
}

// Every source file exists that a document names in backquotes by its path, or by the end of it. A name alone may be
// that of a user's file. Decisions and the changelog name what there was.
func TestDocumentsNameFilesThatExist(t *testing.T) {
	ends := map[string]bool{} // of all paths: a/b/c.go, b/c.go, c.go
	documents := map[string]string{}
	eachFile(t, func(name string, text []byte) {
		for end, more := name, true; more; _, end, more = strings.Cut(end, "/") {
			ends[end] = true
		}
		if path.Ext(name) == ".md" && path.Dir(name) != "docs/adr" && name != "CHANGELOG.md" {
			documents[name] = string(text)
		}
	})

	named := 0
	for name, text := range documents {
		for _, m := range regexp.MustCompile("`([\\w.-]+/[\\w./-]+\\.(?:go|c|h))`").FindAllStringSubmatch(text, -1) {
			named++
			if !ends[m[1]] {
				t.Errorf("%s names %s, which does not exist", name, m[1])
			}
		}
	}

	if named < 50 {
		t.Errorf("only %d files are named in the documents: this test looks in the wrong place", named)
	}
}
