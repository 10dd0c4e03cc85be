package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
)

// mustAct reports whether an error requires the caller or the operator to act. A code without an
// entry does.
func mustAct(err error) bool {
	var e *api.Error
	if !errors.As(err, &e) || e.Code == api.CodeStopping {
		return false
	}
	by := Responsible[e.Code]
	return len(by) == 0 || !slices.Contains(by, byHost) && (slices.Contains(by, byCaller) || slices.Contains(by, byOperator))
}

// The methods of the client that execute a program, for the programs of every test: none may end in
// an error that the caller or the operator has to fix. A test that expects a refusal uses Refused,
// or the methods of a.Client.

// Run is the client's, for a program that must not end in an error.
func (a *Agent) Run(ctx context.Context, r api.Run) (api.Result, error) {
	res, err := a.Client.Run(ctx, r)
	a.WantNoFault(err, r.Argv, r.Source)
	return res, err
}

// RunStream is the client's, for a program that must not end in an error.
func (a *Agent) RunStream(ctx context.Context, r api.Run, stdin io.Reader, stdout, stderr io.Writer) (api.Result, error) {
	res, err := a.Client.RunStream(ctx, r, stdin, stdout, stderr)
	a.WantNoFault(err, r.Argv, r.Source)
	return res, err
}

// RunEvents is the client's, for a program that must not end in an error.
func (a *Agent) RunEvents(ctx context.Context, r api.Run, stdin io.Reader, events client.Events) (api.Result, error) {
	res, err := a.Client.RunEvents(ctx, r, stdin, events)
	a.WantNoFault(err, r.Argv, r.Source)
	return res, err
}

// Exec is the client's, for a program that must not end in an error.
func (a *Agent) Exec(ctx context.Context, session string, e api.Exec) (api.Result, error) {
	res, err := a.Client.Exec(ctx, session, e)
	a.WantNoFault(err, e.Argv, e.Source)
	return res, err
}

// ExecStream is the client's, for a program that must not end in an error.
func (a *Agent) ExecStream(ctx context.Context, session string, e api.Exec, stdin io.Reader, stdout, stderr io.Writer) (api.Result, error) {
	res, err := a.Client.ExecStream(ctx, session, e, stdin, stdout, stderr)
	a.WantNoFault(err, e.Argv, e.Source)
	return res, err
}

// ExecEvents is the client's, for a program that must not end in an error.
func (a *Agent) ExecEvents(ctx context.Context, session string, e api.Exec, stdin io.Reader, events client.Events) (api.Result, error) {
	res, err := a.Client.ExecEvents(ctx, session, e, stdin, events)
	a.WantNoFault(err, e.Argv, e.Source)
	return res, err
}

// WantNoFault fails the test if an error of a run asks the caller or the operator to act.
func (a *Agent) WantNoFault(err error, argv []string, source []byte) {
	if mustAct(err) {
		a.T.Errorf("a program ends in an error, not in a verdict: %v (argv %.200q, source %.200q)", err, argv, source)
	}
}

// WantNoFault is the same for an answer of the service to a request that executes a program. The
// answer can be read again.
func (s *Service) WantNoFault(method, path string, res *http.Response) {
	path, _, _ = strings.Cut(path, "?")
	if res.StatusCode < 400 || method != "POST" || path != "/v1/runs" && path != "/execute" && !strings.HasSuffix(path, "/exec") {
		return
	}

	text, err := io.ReadAll(res.Body)
	res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(text))
	var p api.Problem
	if err != nil || json.Unmarshal(text, &p) != nil {
		return // the test, which reads it too, finds that
	}
	if mustAct(&api.Error{Code: p.Code}) {
		s.T.Errorf("%s %s: a program ends in an error, not in a verdict: %d %s: %s", method, path, res.StatusCode, p.Code, p.Detail)
	}
}

// WantParty demands that an answer that tells its reader to change the request (4xx, but not 429,
// which says to wait) has a code that the caller, the operator or the author can do something about.
func (s *Service) WantParty(p api.Problem) {
	s.T.Helper()
	others := func(by party) bool { return by != byHost }
	if by := Responsible[p.Code]; len(by) == 0 ||
		p.Status < 500 && p.Status != http.StatusTooManyRequests && !slices.ContainsFunc(by, others) {
		s.T.Errorf("code %s with status %d is caused by %q: nobody can act on it", p.Code, p.Status, by)
	}
}
