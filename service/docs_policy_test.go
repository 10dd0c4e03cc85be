package service

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// The page runs only the scripts that its policy names (API-11).
func TestDocumentationPolicyIsStrict(t *testing.T) {
	web := serveFake(t, http.NewServeMux(), nil)
	_, text, header := getPage(t, web, "/docs/")
	policy := header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("policy %q lacks %s", policy, want)
		}
	}

	inside := regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindAllString(text, -1)
	if len(inside) == 0 || strings.Count(policy, "'sha256-") != len(inside) ||
		strings.Count(text, "<script") != len(inside)+strings.Count(text, "<script src") {
		t.Errorf("%d scripts inside, policy %q", len(inside), policy)
	}
	if scripts, _, _ := strings.Cut(policy[strings.Index(policy, "script-src"):], ";"); strings.Contains(scripts, "unsafe") {
		t.Errorf("scripts: %s", scripts)
	}
	if regexp.MustCompile(`(src|href)="https?:`).MatchString(text) {
		t.Errorf("the page loads from elsewhere: %s", text)
	}

	for _, file := range []string{"swagger-ui.css", "swagger-ui-bundle.js", "swagger-ui-standalone-preset.js", "favicon-32x32.png",
		"oauth2-redirect.html"} {
		if status, body, _ := getPage(t, web, "/docs/"+file); status != 200 || len(body) < 100 {
			t.Errorf("%s: %d with %d bytes", file, status, len(body))
		}
	}

	if strings.Contains(text, "onload=") || strings.Contains(text, "onclick=") {
		t.Error("the page has handlers in its text, which the policy forbids")
	}
	if header.Get("X-Content-Type-Options") != "nosniff" {
		t.Error("a browser may guess the type of the page")
	}
	if strings.Contains(text, `persistAuthorization: true`) || !strings.Contains(text, "persistAuthorization: false") {
		t.Error("the page keeps an API key in the browser")
	}
}

// API-11: a request for an image or a script by a foreign page has no Origin; following a link is
// not such a request.
func TestForeignPagesFetchNothing(t *testing.T) {
	web := serveFake(t, http.NewServeMux(), nil)
	for _, tt := range []struct {
		site, mode, dest string
		want             int
	}{
		{"", "", "", 200},
		{"none", "navigate", "document", 200},
		{"same-origin", "cors", "empty", 200},
		{"cross-site", "navigate", "document", 200},
		{"cross-site", "no-cors", "image", 403},
		{"cross-site", "no-cors", "script", 403},
		{"cross-site", "navigate", "iframe", 403},
		{"same-site", "cors", "empty", 403},
	} {
		r, err := http.NewRequest(http.MethodGet, web.URL+"/openapi.json", nil)
		if err != nil {
			t.Fatal(err)
		}

		for name, v := range map[string]string{"Sec-Fetch-Site": tt.site, "Sec-Fetch-Mode": tt.mode, "Sec-Fetch-Dest": tt.dest} {
			if v != "" {
				r.Header.Set(name, v)
			}
		}

		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}

		res.Body.Close()
		if res.StatusCode != tt.want {
			t.Errorf("%+v: %d", tt, res.StatusCode)
		}
	}
}
