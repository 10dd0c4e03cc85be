package main

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
)

func TestExplainOfOtherKeysRuns(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write(cli.Marshal(api.Status{Run: r.URL.RequestURI(), State: api.Running}))
	}))
	defer web.Close()
	for flag, want := range map[string]string{"--json=false": "run       /v1/runs/x,", "--all": "run       /v1/runs/x?all=true,"} {
		var out, errs bytes.Buffer
		c := &cli.CLI{Stdout: &out, Stderr: &errs, Env: func(string) string { return "" }}
		if code := brig(c, []string{"explain", "x", flag, "--url", web.URL}); code != 0 || !strings.HasPrefix(out.String(), want) {
			t.Errorf("%s: %d, %s%s; want %s", flag, code, &out, &errs, want)
		}
	}
}

// An untrusted certificate, and http in place of https or the reverse, give an error with a remedy.
func TestExplainReportsTLSErrors(t *testing.T) {
	plain, secret := httptest.NewServer(http.NotFoundHandler()), httptest.NewTLSServer(http.NotFoundHandler())
	defer plain.Close()
	defer secret.Close()

	secret.Config.ErrorLog = log.New(io.Discard, "", 0)

	for url, want := range map[string]string{
		secret.URL: "brig: the certificate of " + secret.URL + " is not trusted: set $SSL_CERT_FILE to it, or to its issuer's: x509: ",
		strings.Replace(plain.URL, "http:", "https:", 1):  "does not use TLS: write http://\n",
		strings.Replace(secret.URL, "https:", "http:", 1): "400 Bad Request: Client sent an HTTP request to an HTTPS server.\n",
	} {
		var errs bytes.Buffer
		c := &cli.CLI{Stdout: io.Discard, Stderr: &errs, Env: func(string) string { return "" }}
		if code := brig(c, []string{"explain", "x", "--url", url}); code != cli.ExitBrig || !strings.Contains(errs.String(), want) ||
			strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("%s: %d, %q; want %q", url, code, &errs, want)
		}
	}
}
