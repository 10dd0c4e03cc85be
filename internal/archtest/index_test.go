package archtest

import (
	"path"
	"strings"
	"testing"
)

// Every document is on a shelf: docs/README.md links each page, and docs/adr/README.md each decision.
func TestDocumentsAreInAnIndex(t *testing.T) {
	pages, texts := []string{}, map[string]string{}
	eachFile(t, func(name string, text []byte) {
		if strings.HasPrefix(name, "docs/") && path.Ext(name) == ".md" {
			pages = append(pages, name)
			texts[name] = string(text)
		}
	})

	for _, page := range pages {
		index, link := "docs/README.md", strings.TrimPrefix(page, "docs/")
		if path.Dir(page) == "docs/adr" && path.Base(page) != "README.md" {
			index, link = "docs/adr/README.md", path.Base(page)
		}
		if page != "docs/README.md" && !strings.Contains(texts[index], "]("+link+")") {
			t.Errorf("%s has no link to %s: add a line", index, page)
		}
	}

	if len(pages) < 60 {
		t.Errorf("only %d documents were read: this test looks in the wrong place", len(pages))
	}
}
