package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/judge/diagnose"
	"github.com/brig-sandbox/brig/service/client"
)

// ExplainCommand is brig explain.
func ExplainCommand(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("explain", `
Explain the outcome of a run of brig serve. brig history lists these runs. Runs of brig run
are not among them: for those use brig run -v, --json or --result FILE.

`+serviceText+`

Usage:
  brig explain RUN_ID [flags]
  brig explain --last [flags]

Examples:
  brig explain 7vt52xaicjjw4iogs43u6n42
  brig explain --last
  BRIG_URL=https://judge.example BRIG_API_KEY=brig_... brig explain 7vt52xaicjjw4iogs43u6n42 --json`)

	base := urlFlag(f)
	last := f.Bool("last", false, "explain the most recently requested run of this key")
	all := f.Bool("all", false, "also explain runs of other keys, once they have ended; needs a key with admin")
	asJSON := f.Bool("json", false, "print the service's answer as JSON")
	return c.Does(k, func() int {
		switch {
		case *last && f.NArg() > 0:
			return c.Hint("explain", fmt.Errorf("--last and a RUN_ID exclude each other"))
		case !*last && f.NArg() != 1:
			return c.Hint("explain", fmt.Errorf("brig explain needs the RUN_ID of a run, or --last: brig history lists runs"))
		}

		return withService(c, "explain", *base, func(ctx context.Context, service serviceHandle) error {
			id := f.Arg(0)
			if *last {
				page, err := service.History(ctx, client.Filter{Limit: 1, All: *all})
				if err != nil {
					return err
				}
				if len(page.Items) == 0 {
					return api.Refuse(api.CodeNotFound, "the history of %s has no run yet", service.at)
				}
				id = page.Items[0].ID
			}

			ask := service.Status
			if *all {
				ask = service.AnyStatus
			}

			s, err := ask(ctx, id)
			if p := new(api.Problem); errors.As(err, &p) && p.Code == api.CodeNotFound {
				return fmt.Errorf("%w; runs of brig run are not in a service's history: for those use brig run -v, "+
					"--json or --result FILE", err)
			}
			if err != nil {
				return err
			}
			if *asJSON {
				c.Stdout.Write(cli.Marshal(s))
				return nil
			}

			fmt.Fprint(c.Text(), explanation(s))
			return nil
		})
	})
}

// explainServiceError adds a remedy if the service did not answer, or refused the key.
func explainServiceError(err error, at, key string) error {
	var refused *api.Problem
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no service answers at %s: start brig serve, or name its address with --url or $BRIG_URL", at)
	case errors.As(err, &untrusted):
		return fmt.Errorf("the certificate of %s is not trusted: set $SSL_CERT_FILE to it, or to its issuer's: %w", at,
			untrusted.Err)
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("the service at %s does not use TLS: write http://", at)
	case !errors.As(err, &refused) || refused.Code != api.CodeUnauthorized:
		return err
	case key == "":
		return fmt.Errorf("the service at %s needs a key: put yours into $BRIG_API_KEY", at)
	default:
		return fmt.Errorf("the service at %s does not know the key in $BRIG_API_KEY: ask its operator for one", at)
	}
}

// explanation describes the outcome of a run in a few lines.
func explanation(s api.Status) string {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-9s %s\n", name, terminal.OneLine(fmt.Sprintf(format, args...)))
	}
	line("run", "%s, requested at %s", s.Run, s.Created.Format(time.RFC3339))
	switch {
	case s.Error != nil:
		line("error", "%s (%s): the program was not judged", s.Error.Detail, s.Error.Code)
		return b.String()
	case s.Result == nil:
		line("state", "%s", s.State)
		return b.String()
	}

	line("verdict", "%s", cli.VerdictText(s.Result.Decisive(), ""))
	if t := s.Result.Summary; t != nil && (t.Ran > 0 || s.Result.Verdict != api.CompileError) {
		line("tests", "%s", testsText(*s.Result))
	}

	for _, r := range diagnose.RelevantRefusals("", *s.Result) {
		line("refused", "%s", cli.RefusalText(r))
	}

	d := s.Result.Diagnosis
	if d == nil {
		return b.String()
	}

	test := diagnosedTest(*s.Result)
	switch place := strings.TrimSuffix(cli.PositionText(*d), ": "); {
	case place != "" && test != "":
		line("where", "%s, in test %s", place, terminal.Quote(test))
	case place != "":
		line("where", "%s", place)
	case test != "":
		line("where", "test %s", terminal.Quote(test))
	}

	line("what", "%s (%s): %s", d.Type, d.Category, d.Message)
	if d.Hint != "" {
		line("hint", "%s", d.Hint)
	}
	return b.String()
}

// diagnosedTest is the id of the test that a run's diagnosis is about (see diagnose.Into). It is
// empty if the diagnosis is about the run itself, or the history has not kept that test.
func diagnosedTest(r api.Result) string {
	for _, t := range r.Tests {
		if t.Result.Verdict == r.Verdict && t.Result.Diagnosis != nil {
			return t.ID
		}
	}
	return ""
}

// testsText counts the tests, and says why the first failed one failed if the history has kept it.
func testsText(r api.Result) string {
	text := cli.SummaryText(*r.Summary)
	for _, t := range r.Tests {
		switch {
		case t.ID != r.Summary.FirstFailed:
		case t.Difference != "":
			text += ": " + t.Difference
		case t.Result.Verdict != api.OK:
			text += ": " + cli.VerdictText(t.Result, "")
		}
	}
	return text
}
