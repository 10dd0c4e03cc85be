package service

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/core"
)

// The page and all that it loads come from this service, under a policy that lets nothing else in.
func TestThePageIsServedFromHere(t *testing.T) {
	web := serveFake(t, http.NewServeMux(), nil)
	nonces := map[string]bool{}
	for _, path := range []string{"/", "/ui", "/ui/", "/ui/runs", "/ui/runs/none", "/ui/x/y"} {
		status, text, header := getPage(t, web, path)
		if status != 200 || !strings.HasPrefix(header.Get("Content-Type"), "text/html") || header.Get("Cache-Control") != "no-store" {
			t.Fatalf("%s: %d, %v", path, status, header)
		}

		nonce := regexp.MustCompile(`data-nonce="([^"]+)"`).FindStringSubmatch(text)
		if nonce == nil || nonces[nonce[1]] {
			t.Fatalf("%s: its nonce is none, or that of another response: %v", path, nonce)
		}
		nonces[nonce[1]] = true
		want := "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-" + strings.ReplaceAll(nonce[1], "&#43;", "+") +
			"'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; " +
			"frame-ancestors 'none'; require-trusted-types-for 'script'"
		if got := header.Get("Content-Security-Policy"); got != want {
			t.Errorf("%s: policy\n%s\nwant\n%s", path, got, want)
		}
		if strings.Contains(text, "<script>") || regexp.MustCompile(`(?i)\son[a-z]+=|style=`).MatchString(text) {
			t.Errorf("%s has a script or a style inside, which the policy forbids: %s", path, text)
		}
	}

	_, text, _ := getPage(t, web, "/ui/")
	loaded := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(text, -1)
	for _, m := range loaded {
		if strings.HasPrefix(m[1], "data:") || m[1] == "/docs/" {
			continue
		}
		status, _, header := getPage(t, web, m[1])
		if status != 200 || !strings.Contains(header.Get("Cache-Control"), "immutable") || header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %d, %v", m[1], status, header)
		}
	}
	if len(loaded) < 3 {
		t.Errorf("the page loads %v; want a script and a style", loaded)
	}

	for _, path := range []string{"/ui/files/none.js", "/ui/files/", "/ui/files/..%2fpage.go", "/ui/files/sources.sum"} {
		if status, _, _ := getPage(t, web, path); status == 200 && path != "/ui/files/" {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// The page of a link needs no login, names no other page of the service, and tells its address to nobody.
func TestThePageOfALink(t *testing.T) {
	keys, _ := keysOf(t, auth.Key{Name: "ann"})
	web := serveFake(t, http.NewServeMux(), func(c *Config) { c.Keys = keys })
	status, text, header := getPage(t, web, "/ui/link/"+strings.Repeat("A", 43))
	if status != 200 || header.Get("Referrer-Policy") != "no-referrer" || header.Get("Cache-Control") != "no-store" ||
		!strings.Contains(header.Get("Content-Security-Policy"), "require-trusted-types-for 'script'") {
		t.Errorf("%d, %v", status, header)
	}
	if !strings.Contains(text, "data-linked") || strings.Contains(text, "AAAA") || strings.Contains(text, "data-caller") {
		t.Errorf("%s", text)
	}
	if _, text, _ := getPage(t, web, "/ui/link/x/y"); strings.Contains(text, "data-linked") {
		t.Error("a path below a link is one, too")
	}
}

// What a browser loads for the page stays small: at most 60 KB before anything shows, 320 KB with the editor and the
// terminal.
func TestThePageIsSmall(t *testing.T) {
	const first, all = 60_000, 320_000
	files, err := os.ReadDir("page/dist")
	if err != nil {
		t.Fatal(err)
	}

	begin, total, atOnce := int64(0), int64(0), loadedAtOnce(t)
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		total += info.Size()
		if strings.HasPrefix(f.Name(), "main-") || atOnce[f.Name()] {
			begin += info.Size()
		}

		content, err := os.Open("page/dist/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		defer content.Close()
		r, err := gzip.NewReader(content)
		if err != nil {
			t.Fatalf("%s: %v", f.Name(), err)
		}
		if n, err := io.Copy(io.Discard, r); err != nil || n == 0 {
			t.Errorf("%s has %d bytes: %v", f.Name(), n, err)
		}
	}
	t.Logf("first %d bytes (%d files), all %d", begin, len(atOnce)+2, total)
	if begin == 0 || begin > first || total > all {
		t.Errorf("the page begins with %d bytes, of at most %d, and has %d, of at most %d", begin, first, total, all)
	}
}

// loadedAtOnce returns the files that the first script needs before it runs.
func loadedAtOnce(t *testing.T) map[string]bool {
	t.Helper()
	mains, err := filepath.Glob("page/dist/main-*.js.gz")
	if err != nil || len(mains) != 1 {
		t.Fatalf("%v, %v", mains, err)
	}

	all, left := map[string]bool{}, mains
	for len(left) > 0 {
		content, err := os.ReadFile(left[0])
		if err != nil {
			t.Fatal(err)
		}
		r, err := gzip.NewReader(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		script, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}

		left = left[1:]
		for _, m := range regexp.MustCompile(`(?:from|import)"\./(part-\w+\.js)"`).FindAllSubmatch(script, -1) {
			if name := string(m[1]) + ".gz"; !all[name] {
				all[name], left = true, append(left, "page/dist/"+name)
			}
		}
	}
	return all
}

// API-11: a browser that has logged in may do what its key may, from this page alone.
func TestCookiesOfThePage(t *testing.T) {
	keys, as := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "ben"})
	web := serveFake(t, echoAgent(), func(c *Config) { c.Keys = keys })
	client := web.Client()
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	ask := func(method, path, body string, headers ...string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, web.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { res.Body.Close() })
		return res
	}

	res := ask("GET", "/ui/runs?q=lang:cpp", "")
	if res.StatusCode != 303 || res.Header.Get("Location") != "/ui/login?to=%2Fui%2Fruns%3Fq%3Dlang%3Acpp" {
		t.Fatalf("without a login: %d to %q", res.StatusCode, res.Header.Get("Location"))
	}

	const form = "application/x-www-form-urlencoded"
	logIn := func(key, to string, headers ...string) *http.Response {
		return ask("POST", "/ui/login", url.Values{"key": {key}, "to": {to}}.Encode(), append([]string{"Content-Type", form}, headers...)...)
	}
	tokenOf := func(name string) string { return strings.TrimPrefix(as[name][1], "Bearer ") }
	if res := logIn("brig_wrong", "/ui/"); res.StatusCode != 401 || len(res.Cookies()) > 0 {
		t.Fatalf("a wrong key: %d, %v", res.StatusCode, res.Cookies())
	}
	if res := logIn(tokenOf("ann"), "/ui/", "Origin", "https://elsewhere.example"); res.StatusCode != 403 {
		t.Fatalf("a login by a foreign page: %d", res.StatusCode)
	}

	for to, want := range map[string]string{"/ui/runs": "/ui/runs", "": "/ui/", "https://evil.example/": "/ui/", "//evil.example/ui/": "/ui/",
		"/ui//evil.example": "/ui/", `/ui/\evil.example`: "/ui/", "/docs/": "/ui/"} {
		if res := logIn(tokenOf("ann"), to); res.StatusCode != 303 || res.Header.Get("Location") != want {
			t.Errorf("login to %q leads to %q, %d; want %q", to, res.Header.Get("Location"), res.StatusCode, want)
		}
	}

	cookieOf := func(name string) string {
		t.Helper()
		got := logIn(tokenOf(name), "/ui/").Cookies()
		if len(got) != 1 || got[0].Name != core.LoginCookie || !got[0].HttpOnly || got[0].SameSite != http.SameSiteStrictMode ||
			got[0].Path != "/" || strings.Contains(got[0].Value, tokenOf(name)) {
			t.Fatalf("cookies %v", got)
		}
		return got[0].Name + "=" + got[0].Value
	}
	secure := logIn(tokenOf("ann"), "/ui/", "Origin", "https://"+strings.TrimPrefix(web.URL, "http://")).Cookies()
	if len(secure) != 1 || !secure[0].Secure {
		t.Errorf("behind a proxy with TLS: %v", secure)
	}

	ann, ben := cookieOf("ann"), cookieOf("ben")
	const kind = "application/json"
	const run = `{"argv": ["x"], "image": "y"}`
	for _, tt := range []struct {
		name, method, path, body string
		headers                  []string
		want                     int
	}{
		{"a read", "GET", "/v1/history", "", []string{"Cookie", ann}, 200},
		{"the health", "GET", "/health", "", []string{"Cookie", ann}, 200},
		{"a run of the page", "POST", "/v1/runs", run, []string{"Cookie", ann, "Content-Type", kind, core.PageHeader, "1"}, 200},
		{"without the page's header", "POST", "/v1/runs", run, []string{"Cookie", ann, "Content-Type", kind}, 403},
		{"a form", "POST", "/v1/runs", run, []string{"Cookie", ann, "Content-Type", form, core.PageHeader, "1"}, 415},
		{"a foreign page", "POST", "/v1/runs", run, []string{"Cookie", ann, "Content-Type", kind, core.PageHeader, "1",
			"Origin", "https://evil.example"}, 403},
		{"a picture of a foreign page", "GET", "/v1/history", "", []string{"Cookie", ann, "Sec-Fetch-Site", "cross-site",
			"Sec-Fetch-Mode", "no-cors"}, 403},
		{"an unknown cookie", "GET", "/v1/history", "", []string{"Cookie", core.LoginCookie + "=x"}, 401},
		{"no cookie", "GET", "/v1/history", "", nil, 401},
		{"a wrong key with a cookie", "GET", "/v1/history", "", []string{"Cookie", ann, "Authorization", "Bearer no"}, 401},
		{"the page", "GET", "/ui/", "", []string{"Cookie", ann}, 200},
		{"MCP by a cookie", "POST", "/mcp", "{}", []string{"Cookie", ann, "Content-Type", kind, core.PageHeader, "1"}, 401},
	} {
		if res := ask(tt.method, tt.path, tt.body, tt.headers...); res.StatusCode != tt.want {
			b, _ := io.ReadAll(res.Body)
			t.Errorf("%s: %d, want %d: %.200s", tt.name, res.StatusCode, tt.want, b)
		}
	}

	var mine api.Result
	if s := send(t, web, "POST", "/v1/runs", run, &mine, as["ann"]...); s != 200 {
		t.Fatalf("a run: %d", s)
	}
	for cookie, want := range map[string]int{ann: 200, ben: 404} {
		if res := ask("GET", "/v1/runs/"+mine.Run, "", "Cookie", cookie); res.StatusCode != want {
			t.Errorf("the run of ann by %.20s...: %d, want %d", cookie, res.StatusCode, want)
		}
	}

	if res := ask("POST", "/ui/logout", "", "Cookie", ann, "Origin", "https://evil.example"); res.StatusCode != 403 {
		t.Errorf("a logout by a foreign page: %d", res.StatusCode)
	}
	if res := ask("POST", "/ui/logout", "", "Cookie", ann); res.StatusCode != 303 || len(res.Cookies()) != 1 || res.Cookies()[0].MaxAge >= 0 {
		t.Errorf("logout: %d, %v", res.StatusCode, res.Cookies())
	}
	for cookie, want := range map[string]int{ann: 401, ben: 200} {
		if res := ask("GET", "/v1/history", "", "Cookie", cookie); res.StatusCode != want {
			t.Errorf("after the logout of ann, %.20s...: %d, want %d", cookie, res.StatusCode, want)
		}
	}
}
