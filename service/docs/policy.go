package docs

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"regexp"
	"strings"
	"sync"
)

// docsPolicy returns a Content-Security-Policy that allows the page below /docs/ only what it
// needs, because users type keys into it. Scripts are loaded from this service, inline scripts are
// allowed by their hash, and the page connects only to this service. Some of its styles are inline,
// and its images are data: URLs.
func docsPolicy(page http.Handler) string {
	scripts := "'self'"
	for _, m := range inlineScript().FindAllStringSubmatch(pageText(page), -1) {
		sum := sha256.Sum256([]byte(m[1]))
		scripts += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return strings.Join([]string{
		"default-src 'none'", "script-src " + scripts, "style-src 'self' 'unsafe-inline'", "img-src 'self' data:",
		"font-src 'self' data:", "connect-src 'self'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
	}, "; ")
}

var inlineScript = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)<script>(.*?)</script>`) })

// pageText returns the text of the page.
func pageText(page http.Handler) string {
	r, err := http.NewRequest(http.MethodGet, "/docs/", nil)
	if err != nil {
		panic(err) // method and path are valid constants
	}
	var w pageWriter
	page.ServeHTTP(&w, r)
	return w.String()
}

// A pageWriter buffers a response.
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
