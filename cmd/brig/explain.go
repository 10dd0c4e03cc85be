package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/remote"
)

// serviceURL is where brig serve listens by itself.
const serviceURL = "http://127.0.0.1:8080"

// explainCommand is brig explain.
func explainCommand(c *console, args []string) int {
	f := c.flags("explain", `
Say in words what became of a run that brig serve carried out.

The service's address is $BRIG_URL, or `+serviceURL+`; its key is $BRIG_API_KEY.

Usage:
  brig explain RUN_ID [flags]

Examples:
  brig explain 7vt52xaicjjw4iogs43u6n42
  BRIG_URL=https://judge.example BRIG_API_KEY=brig_... brig explain 7vt52xaicjjw4iogs43u6n42 --json`)
	base := f.String("url", "", "the service's `ADDRESS`")
	all := f.Bool("all", false, "explain another key's run too, once it has ended; for keys with admin")
	asJSON := f.Bool("json", false, "print the run as the service has it")
	if code, done := c.parse(f, args); done {
		return code
	}
	if f.NArg() != 1 {
		return c.hint("explain", fmt.Errorf("brig explain needs the RUN_ID of a run"))
	}
	at := *base
	if at == "" {
		at = c.env("BRIG_URL")
	}
	if at == "" {
		at = serviceURL
	}
	if u, err := url.Parse(at); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return c.hint("explain", fmt.Errorf("address %q: write it as %s", at, serviceURL))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, enough := context.WithTimeout(ctx, 30*time.Second)
	defer enough()
	key := c.env("BRIG_API_KEY")
	service := remote.New(at, key)
	ask := service.Status
	if *all {
		ask = service.AnyStatus
	}
	s, err := ask(ctx, f.Arg(0))
	if err != nil {
		return c.fail(unexplained(err, at, key))
	}
	if *asJSON {
		c.stdout.Write(marshal(s))
		return 0
	}
	fmt.Fprint(c.stdout, explanation(s))
	return 0
}

// unexplained says what to mend where the service did not answer, or not whoever has this key.
func unexplained(err error, at, key string) error {
	var refused *api.Problem
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no service answers at %s: start brig serve, or name its address with --url or $BRIG_URL", at)
	case errors.As(err, &untrusted):
		return fmt.Errorf("the certificate of %s is not trusted: set $SSL_CERT_FILE to it, or to its issuer's: %w", at, untrusted.Err)
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("the service at %s is one without TLS: write http://", at)
	case !errors.As(err, &refused) || refused.Code != api.CodeUnauthorized:
		return err
	case key == "":
		return fmt.Errorf("the service at %s needs a key: put yours into $BRIG_API_KEY", at)
	default:
		return fmt.Errorf("the service at %s does not know the key in $BRIG_API_KEY: ask its operator for one", at)
	}
}

// explanation is a run's fate in a few lines.
func explanation(s api.Status) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-9s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("run", "%s, asked for at %s", s.Run, s.Created.Format(time.RFC3339))
	switch {
	case s.Error != nil:
		line("error", "%s (%s): the program was not judged", s.Error.Detail, s.Error.Code)
		return b.String()
	case s.Result == nil:
		line("state", "%s", s.State)
		return b.String()
	}
	line("verdict", "%s", sentence(s.Result.Decisive()))
	if t := s.Result.Summary; t != nil && (t.Ran > 0 || s.Result.Verdict != api.CompileError) {
		line("tests", "%s", testsOf(*s.Result))
	}
	d := s.Result.Diagnosis
	if d == nil {
		return b.String()
	}
	test := diagnosedTest(*s.Result)
	switch place := strings.TrimSuffix(placeOf(*d), ": "); {
	case place != "" && test != "":
		line("where", "%s, in test %s", place, test)
	case place != "":
		line("where", "%s", place)
	case test != "":
		line("where", "test %s", test)
	}
	line("what", "%s (%s): %s", d.Type, d.Category, d.Message)
	if d.Hint != "" {
		line("hint", "%s", d.Hint)
	}
	return b.String()
}

// diagnosedTest is the id of the test that the diagnosis of a run is of (see diagnose.Into);
// empty: it is of the run, or the history has not kept that test.
func diagnosedTest(r api.Result) string {
	for _, t := range r.Tests {
		if t.Result.Verdict == r.Verdict && t.Result.Diagnosis != nil {
			return t.ID
		}
	}
	return ""
}

// testsOf counts the tests and says what was wrong with the first that failed, where
// the history has kept it.
func testsOf(r api.Result) string {
	text := tallyOf(*r.Summary)
	for _, t := range r.Tests {
		switch {
		case t.ID != r.Summary.FirstFailed:
		case t.Difference != "":
			text += ": " + t.Difference
		case t.Result.Verdict != api.OK:
			text += ": " + sentence(t.Result)
		}
	}
	return text
}
