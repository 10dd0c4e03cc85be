package runs

import (
	"bytes"
	"cmp"
	"context"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// executeAtTerminal executes a run with a terminal for which a request has said what is typed. The result has what the
// terminal showed as its stdout. It does not say that nothing more is typed: a program that reads on waits, as for a
// person, until its limits end it.
func (rs *Runs) executeAtTerminal(ctx context.Context, o *Request) (api.Result, error) {
	shown := &screen{most: int(cmp.Or(o.Run.Limits.Output, api.Defaults().Output)), keep: core.AgentResponseOf(ctx).KeepOutput}
	res, err := rs.Config.Agent.RunEvents(ctx, o.Run, bytes.NewReader(o.typed), client.Events{Stdout: shown})
	if ctx.Err() != nil { // the caller left: return that error, as Agent.Run does
		return api.Result{}, ctx.Err()
	}
	if res.Stage == api.StageRun {
		res.Stdout, res.StdoutTruncated = shown.kept, res.StdoutTruncated || shown.cut
	}
	return res, err
}

// A screen keeps the beginning of what a terminal shows. Its memory is that of the response.
type screen struct {
	most int
	keep func(bytes int) bool // reports whether there is memory for more
	kept api.Bytes
	cut  bool
}

func (s *screen) Write(p []byte) (int, error) {
	fits := min(len(p), s.most-len(s.kept))
	if s.cut || fits > 0 && !s.keep(fits) {
		s.cut = true
		return len(p), nil
	}
	s.kept, s.cut = append(s.kept, p[:fits]...), fits < len(p)
	return len(p), nil
}
