// Package page serves the page of the service below /ui/: a shell of HTML, and the scripts and styles that
// service/page/build makes of web. What the page shows it asks of the API, as any client does.
package page

import (
	"crypto/rand"
	"embed"
	"encoding/base64"
	"errors"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/core"
)

//go:embed dist
var dist embed.FS

//go:embed shell.html login.html linked.html
var templates embed.FS

// A server answers below /ui/.
type server struct {
	core   *core.Core
	html   *template.Template
	script string // names of the files that the shell starts with; they have the hash of their content
	style  string
}

// New returns the handler of all that is below /ui/. It panics if brig was built without the files of the page.
func New(c *core.Core) http.Handler {
	script, style, err := entries(dist)
	if err != nil {
		panic(err) // a fault of the build, which TestDist finds
	}

	s := &server{core: c, script: script, style: style}
	s.html = template.Must(template.ParseFS(templates, "*.html"))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ui/files/{name}", s.file)
	mux.HandleFunc("GET /ui/login", s.loginForm)
	mux.HandleFunc("POST /ui/login", s.login)
	mux.HandleFunc("POST /ui/logout", s.logout)
	mux.HandleFunc("GET /ui/link/{token}", s.linked)
	mux.HandleFunc("GET /ui/", s.shell)
	return mux
}

// entries finds the script and the style of the shell among the built files.
func entries(files fs.FS) (script, style string, err error) {
	all, err := fs.ReadDir(files, "dist")
	if err != nil {
		return "", "", err
	}
	for _, f := range all {
		name := strings.TrimSuffix(f.Name(), ".gz")
		switch {
		case strings.HasPrefix(name, "main-") && strings.HasSuffix(name, ".js"):
			script = name
		case strings.HasPrefix(name, "main-") && strings.HasSuffix(name, ".css"):
			style = name
		}
	}
	if script == "" || style == "" {
		return "", "", errors.New("service/page/dist has no main-*.js.gz or main-*.css.gz: run make page")
	}
	return script, style, nil
}

// file answers with a built file. Its name has the hash of its content, so a browser keeps it for a year.
func (s *server) file(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	kind := map[string]string{".js": "text/javascript", ".css": "text/css"}[path.Ext(name)]
	content, err := dist.ReadFile("dist/" + name + ".gz")
	if err != nil || kind == "" {
		s.core.Refuse(w, r, api.Refuse(api.CodeNotFound, "the page has no file %.100q: load the page again", name))
		return
	}

	h := w.Header()
	h.Set("Content-Type", kind+"; charset=utf-8")
	h.Set("Content-Encoding", "gzip")
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("X-Content-Type-Options", "nosniff")
	core.SetWriteDeadline(w)
	_, _ = w.Write(content) // if the client has left, nobody needs the error
}

// What a template of the page shows.
type view struct {
	Nonce, Script, Style, Version string

	Keys    bool   // the service has keys
	Caller  string // name of the key; empty: the service has none
	Admin   bool
	Problem string // of a login
	To      string // path to show after a login
}

// shell answers with the page, whatever the path below /ui/: the script shows what the path names.
func (s *server) shell(w http.ResponseWriter, r *http.Request) {
	v := view{Keys: s.core.Config.Keys != nil}
	if v.Keys {
		k, ok := s.caller(r)
		if !ok {
			http.Redirect(w, r, "/ui/login?to="+template.URLQueryEscaper(r.URL.RequestURI()), http.StatusSeeOther)
			return
		}
		v.Caller, v.Admin = k.Name, k.Admin
	}
	s.show(w, http.StatusOK, "shell.html", v)
}

// linked answers who has a link to a run, with or without a login. The page itself says nothing: its script asks the API
// with the token in the address, which no other site is told (TestThePageOfALink).
func (s *server) linked(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Referrer-Policy", "no-referrer")
	s.show(w, http.StatusOK, "linked.html", view{})
}

// caller returns the key of the browser that has logged in.
func (s *server) caller(r *http.Request) (auth.Key, bool) {
	cookie, err := r.Cookie(core.LoginCookie)
	if err != nil {
		return auth.Key{}, false
	}
	return s.core.Logins.Find(cookie.Value, time.Now(), s.core.Config.Keys)
}

// show answers with a template. Each response has a nonce of its own: style elements of the editor and of the terminal
// have it, and no markup that a program could write would know it.
func (s *server) show(w http.ResponseWriter, status int, name string, v view) {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails (crypto/rand, Go 1.24)
	v.Nonce = base64.RawStdEncoding.EncodeToString(random[:])
	v.Script, v.Style, v.Version = s.script, s.style, s.core.Config.Version

	var text strings.Builder
	if err := s.html.ExecuteTemplate(&text, name, v); err != nil {
		panic(err) // the templates take every view
	}

	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy(v.Nonce))
	h.Set("Cache-Control", "no-store")
	if h.Get("Referrer-Policy") == "" {
		h.Set("Referrer-Policy", "same-origin")
	}
	h.Set("X-Content-Type-Options", "nosniff")
	core.SetWriteDeadline(w)
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text.String())) // if the client has left, nobody needs the error
}

// policy is the Content-Security-Policy of the page. What a program prints is shown on it, so no markup of a program
// may become a script, a style, a form or a request elsewhere (TestHostileOutputOnThePage).
func policy(nonce string) string {
	return strings.Join([]string{
		"default-src 'none'", "script-src 'self'", "style-src 'self' 'nonce-" + nonce + "'", "img-src 'self' data:",
		"font-src 'self'", "connect-src 'self'", "form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'",
		"require-trusted-types-for 'script'",
	}, "; ")
}
