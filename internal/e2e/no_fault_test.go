package e2e

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
	by := responsible[e.Code]
	return len(by) == 0 || !slices.Contains(by, byHost) && (slices.Contains(by, byCaller) || slices.Contains(by, byOperator))
}

// The methods of the client that execute a program, for the programs of every test: none may end in
// an error that the caller or the operator has to fix. A test that expects a refusal uses refused,
// or the methods of a.Client.

func (a *agent) Run(ctx context.Context, r api.Run) (api.Result, error) {
	res, err := a.Client.Run(ctx, r)
	a.wantNoFault(err, r.Argv, r.Source)
	return res, err
}

func (a *agent) RunStream(ctx context.Context, r api.Run, stdin io.Reader, stdout, stderr io.Writer) (api.Result, error) {
	res, err := a.Client.RunStream(ctx, r, stdin, stdout, stderr)
	a.wantNoFault(err, r.Argv, r.Source)
	return res, err
}

func (a *agent) RunEvents(ctx context.Context, r api.Run, stdin io.Reader, events client.Events) (api.Result, error) {
	res, err := a.Client.RunEvents(ctx, r, stdin, events)
	a.wantNoFault(err, r.Argv, r.Source)
	return res, err
}

func (a *agent) Exec(ctx context.Context, session string, e api.Exec) (api.Result, error) {
	res, err := a.Client.Exec(ctx, session, e)
	a.wantNoFault(err, e.Argv, e.Source)
	return res, err
}

func (a *agent) ExecStream(ctx context.Context, session string, e api.Exec, stdin io.Reader, stdout, stderr io.Writer) (api.Result, error) {
	res, err := a.Client.ExecStream(ctx, session, e, stdin, stdout, stderr)
	a.wantNoFault(err, e.Argv, e.Source)
	return res, err
}

func (a *agent) ExecEvents(ctx context.Context, session string, e api.Exec, stdin io.Reader, events client.Events) (api.Result, error) {
	res, err := a.Client.ExecEvents(ctx, session, e, stdin, events)
	a.wantNoFault(err, e.Argv, e.Source)
	return res, err
}

func (a *agent) wantNoFault(err error, argv []string, source []byte) {
	if mustAct(err) {
		a.t.Errorf("a program ends in an error, not in a verdict: %v (argv %.200q, source %.200q)", err, argv, source)
	}
}

// wantNoFault is the same for an answer of the service to a request that executes a program. The
// answer can be read again.
func (s *service) wantNoFault(method, path string, res *http.Response) {
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
		s.t.Errorf("%s %s: a program ends in an error, not in a verdict: %d %s: %s", method, path, res.StatusCode, p.Code, p.Detail)
	}
}

// wantParty demands that an answer that tells its reader to change the request (4xx, but not 429,
// which says to wait) has a code that the caller, the operator or the author can do something about.
func (s *service) wantParty(p api.Problem) {
	s.t.Helper()
	others := func(by party) bool { return by != byHost }
	if by := responsible[p.Code]; len(by) == 0 ||
		p.Status < 500 && p.Status != http.StatusTooManyRequests && !slices.ContainsFunc(by, others) {
		s.t.Errorf("code %s with status %d is caused by %q: nobody can act on it", p.Code, p.Status, by)
	}
}
