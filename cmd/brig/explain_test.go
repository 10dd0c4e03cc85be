package main

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

func TestExplanation(t *testing.T) {
	test := func(id string, v api.Verdict, a api.Answer, difference string) api.TestResult {
		return api.TestResult{ID: id, Answer: a, Difference: difference, Result: api.Result{Verdict: v, ExitCode: 3}}
	}
	good, bad, broken := test("0", api.OK, api.Accepted, ""), test("1", api.OK, api.WrongAnswer, `line 1: "4" instead of "3"`),
		test("2", api.Nonzero, "", "")
	done := func(v api.Verdict, asked int, tests ...api.TestResult) api.Status {
		r := api.Result{Verdict: v, Tests: tests}
		if asked > 0 {
			s := api.Summarize(asked, tests)
			r.Summary = &s
		}
		return api.Status{Run: "r", Created: time.Unix(0, 0).UTC(), State: api.Done, Result: &r}
	}

	wrongFirst := done(api.Nonzero, 2, bad, broken)
	why := &api.Diagnosis{Category: api.CategoryValue, Type: "ValueError", Message: "x", File: "main.py", Line: 3}
	wrongFirst.Result.Tests[1].Result.Diagnosis, wrongFirst.Result.Diagnosis = why, why
	lost := done(api.OK, 3, good, bad)
	lost.Result.Tests = nil

	for _, tt := range []struct {
		name string
		s    api.Status
		want string // after the first line
	}{
		{"under way", api.Status{State: api.Running}, "state     running\n"},
		{"not judged", api.Status{State: api.Done, Error: &api.Problem{Code: api.CodeInternal, Detail: "no"}},
			"error     no (internal): the program was not judged\n"},
		{"without tests", done(api.OK, 0), "verdict   ok\n"},
		{"all accepted", done(api.OK, 1, good), "verdict   ok\ntests     1 of 1 accepted\n"},
		{"a wrong answer", done(api.OK, 2, good, bad),
			"verdict   ok\ntests     1 of 2 accepted, first failed: 1: line 1: \"4\" instead of \"3\"\n"},
		{"not all ran", done(api.OK, 3, bad),
			"verdict   ok\ntests     0 of 3 accepted, 2 not run, first failed: 1: line 1: \"4\" instead of \"3\"\n"},
		{"the tests were not kept", lost, "verdict   ok\ntests     1 of 3 accepted, 1 not run, first failed: 1\n"},
		{"a test ended badly", done(api.WallLimit, 2, good, broken), "tests     1 of 2 accepted, first failed: 2: nonzero: exit code 3\n"},
		{"an exit code of a test's", done(api.Nonzero, 2, good, broken),
			"verdict   nonzero: exit code 3\ntests     1 of 2 accepted, first failed: 2: nonzero: exit code 3\n"},
		{"the diagnosis is not of the first that failed", wrongFirst,
			"first failed: 1: line 1: \"4\" instead of \"3\"\nwhere     main.py:3, in test 2\nwhat      ValueError (value): x\n"},
		{"no test ran", done(api.CompileError, 2), "verdict   compile-error: the program does not compile\n"},
	} {
		_, rest, _ := strings.Cut(explanation(tt.s), "\n")
		if !strings.HasSuffix(rest, tt.want) {
			t.Errorf("%s:\n%swant\n%s", tt.name, rest, tt.want)
		}
	}
}

func TestExplainOfOtherKeysRuns(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write(marshal(api.Status{Run: r.URL.RequestURI(), State: api.Running}))
	}))
	defer web.Close()
	for flag, want := range map[string]string{"--json=false": "run       /v1/runs/x,", "--all": "run       /v1/runs/x?all=true,"} {
		var out, errs bytes.Buffer
		c := &cli{stdout: &out, stderr: &errs, env: func(string) string { return "" }}
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
		c := &cli{stdout: io.Discard, stderr: &errs, env: func(string) string { return "" }}
		if code := brig(c, []string{"explain", "x", "--url", url}); code != exitBrig || !strings.Contains(errs.String(), want) ||
			strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("%s: %d, %q; want %q", url, code, &errs, want)
		}
	}
}
