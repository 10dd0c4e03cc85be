package gateway

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"
)

// docsPolicy lets the page below /docs/ do what it does and no more: a key is typed into it.
// The scripts it loads come from here, the ones it has inside are known by their hash, and it
// speaks to this service alone. Its styles are partly inline, and its pictures data: URLs.
func docsPolicy(page http.Handler) string {
	scripts := "'self'"
	for _, m := range inlineScript.FindAllStringSubmatch(pageText(page), -1) {
		sum := sha256.Sum256([]byte(m[1]))
		scripts += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return strings.Join([]string{
		"default-src 'none'", "script-src " + scripts, "style-src 'self' 'unsafe-inline'", "img-src 'self' data:",
		"font-src 'self' data:", "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
	}, "; ")
}

var inlineScript = regexp.MustCompile(`(?s)<script>(.*?)</script>`)

// pageText is what the page's handler answers.
func pageText(page http.Handler) string {
	r, err := http.NewRequest(http.MethodGet, "/docs/", nil)
	if err != nil {
		panic(err) // method and path are right
	}
	var w pageWriter
	page.ServeHTTP(&w, r)
	return w.String()
}

// A pageWriter keeps an answer.
type pageWriter struct {
	bytes.Buffer
	header http.Header
}

func (w *pageWriter) Header() http.Header {
	if w.header == nil {
		w.header = http.Header{}
	}
	return w.header
}

func (w *pageWriter) WriteHeader(int) {}
