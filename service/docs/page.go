// Package docs serves the page on which the API can be read and tried.
package docs

import (
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/swaggest/swgui"
	"github.com/swaggest/swgui/v5/static"
	"github.com/swaggest/swgui/v5cdn"
	"github.com/vearutop/statigz"
)

// Page returns the page below /docs/, on which the API can be read and tried. missing answers for files that it
// has not.
func Page(missing http.HandlerFunc) http.Handler {
	page := docsPage()
	policy := docsPolicy(page)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Content-Security-Policy", policy)
		found := &foundWriter{ResponseWriter: w}
		if page.ServeHTTP(found, r); found.notFound {
			missing(w, r)
		}
	})
}

// docsPage returns the page with its files, which are part of brig. They are those of swgui's package
// v5emb, which would read and hash all of them in every command of brig.
func docsPage() http.Handler {
	const here = "/docs/"
	elsewhere := v5cdn.NewHandlerWithConfig(swgui.Config{
		Title: "brig", SwaggerJSON: "/openapi.json", BasePath: here, HideCurl: false,
		SettingsUI: map[string]string{"tryItOutEnabled": "true", "persistAuthorization": "false"},
	})
	text := strings.NewReplacer(v5cdn.AssetsBase, here, v5cdn.FaviconBase, here).Replace(pageText(elsewhere))
	files := sync.OnceValue(func() http.Handler { return http.StripPrefix(here, statigz.FileServer(static.FS)) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != here {
			files().ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, text) // if the client has left, nobody needs the error
	})
}

// A foundWriter forwards responses other than 404, which it leaves to the caller.
type foundWriter struct {
	http.ResponseWriter
	notFound bool
}

func (f *foundWriter) WriteHeader(status int) {
	if f.notFound = status == http.StatusNotFound; !f.notFound {
		f.ResponseWriter.WriteHeader(status)
	}
}

func (f *foundWriter) Write(b []byte) (int, error) {
	if f.notFound {
		return len(b), nil
	}
	return f.ResponseWriter.Write(b)
}
