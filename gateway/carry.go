package gateway

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/client"
	"github.com/brig-sandbox/brig/diagnose"
	"github.com/brig-sandbox/brig/gateway/queue"
	"github.com/brig-sandbox/brig/history"
)

// An order is one run that a caller may have, on its way.
type order struct {
	id      string
	caller  caller
	run     api.Run
	size    int    // of the source, in bytes
	main    string // the source's name, where it is not the run's
	created time.Time
	active  *active // nil: the caller waits for the result, and for nothing else

	longest time.Duration // it may keep a slot; zero: nobody knows

	check  checkMode
	source []byte // what is checked, and its name is main

	large *large // of a run that is waited for and has much output: the result has some of it

	// do, when set, is done with a turn instead of the run, which then only says whose
	// it is and in what language.
	do func(context.Context) (api.Result, error)

	letGo func() // of the run's blobs; nil: nothing is held

	session string // of an exec

	left bool // the caller left while the agent had it, which then told nothing of it
}

// carry takes an order through the queue and the agent, and into the history, before
// anybody is told the result. ctx means that the caller still wants it.
func (g *Gateway) carry(ctx context.Context, o *order) (api.Result, error) {
	wait, enough := context.WithTimeoutCause(ctx, g.cfg.Wait, errWaited)
	defer enough()
	res, waited, err := g.inTurn(ctx, wait, o)
	runtime.Gosched() // whose turn it is now asks first: a slot stands idle, and what we have left to do needs none
	if err == nil {
		g.log.Debug("carried out", "run", o.id, "agent_run", res.Run)
		res.Run, res.Timing.Queued = o.id, int64(waited)
		for i := range res.Tests {
			res.Tests[i].Result.Run = o.id // the agent's own id leads nowhere here
		}
		diagnose.Into(o.run.Language, o.main, o.source, &res)
	}
	var e *api.Error
	if errors.As(err, &e) && e.Code == api.CodeAgentUnreachable {
		g.missed(err)
	}
	if err != nil && ctx.Err() != nil {
		if p, _ := problemFor(err); unbegun[p.Code] {
			err = ctx.Err() // it was taken back before it began, whatever the agent calls that
		}
	}
	if rerr := g.record(o, res, waited, err); rerr != nil && err == nil {
		return api.Result{}, rerr
	}
	if errors.Is(err, context.Canceled) && g.kill.Err() != nil {
		return res, &ofRun{o.id, errStopping()}
	}
	if err != nil {
		if p, _ := problemFor(err); began(p) {
			err = &ofRun{o.id, err}
		}
	}
	return res, err
}

var errWaited = errors.New("waited too long")

// inTurn waits for a turn and has the agent carry the run out. Others may use the
// agent as well: while its slots are taken, the turn is ours and we come again.
func (g *Gateway) inTurn(ctx, wait context.Context, o *order) (api.Result, time.Duration, error) {
	turn, err := g.turn(wait, o)
	if err != nil {
		return api.Result{}, 0, g.unserved(ctx, wait, err)
	}
	defer turn.Release()
	begun := time.Now()
	for pause := time.Millisecond; ; pause = min(2*pause, againSoon) {
		tried := time.Now()
		late := o.noLonger(turn)
		res, err := g.ask(ctx, o)
		late()
		var e *api.Error
		if err == nil || !errors.As(err, &e) || e.Code != api.CodeBusy && e.Code != api.CodeOverloaded {
			o.left = errors.Is(err, context.Canceled)
			return res, turn.Waited + tried.Sub(begun), err
		}
		select {
		case <-time.After(againAfter(pause, time.Since(tried))):
		case <-wait.Done():
			return res, turn.Waited, g.unserved(ctx, wait, err)
		}
	}
}

const (
	againSoon = 50 * time.Millisecond // the longest pause before a request is sent again
	againLate = time.Second           // of one that takes long to send
)

// againAfter is the pause after a refusal that took so long: a fifth of a processor at most
// sends and parses a large request again and again (TestALargeRequestIsSentAgainLessOften),
// and the agent expects it back by then.
func againAfter(pause, took time.Duration) time.Duration {
	return max(pause, min(4*took, againLate))
}

// turn waits for an order's turn. An exec's session is in use meanwhile.
func (g *Gateway) turn(ctx context.Context, o *order) (*queue.Turn, error) {
	if o.session == "" {
		return g.queue.Take(ctx, o.who())
	}
	if turn := g.queue.TryTake(o.who()); turn != nil {
		return turn, nil
	}
	waiting, begun := context.WithCancel(ctx)
	var using sync.WaitGroup
	using.Go(func() { g.keepInUse(waiting, o.session) })
	defer using.Wait()
	defer begun()
	return g.queue.Take(ctx, o.who())
}

func (o *order) who() queue.Who {
	return queue.Who{Key: o.caller.Name, Project: o.run.Labels.Project, Most: o.caller.Runs, Waiting: o.caller.Waiting}
}

// turnSlack is for what the agent does before and after a program.
const turnSlack = 2 * time.Second

// noLonger gives a turn back when the program's limits have ended it for certain. The
// agent has its slot again then, while a caller who takes nothing of the output may
// still keep the answer from coming (API-15). Many tests may go on for hours: the agent
// gives whoever else comes a slot between two of them, so the turn is lent for that.
func (o *order) noLonger(turn *queue.Turn) (stop func()) {
	after, do := o.longest+turnSlack, turn.Release
	switch {
	case len(o.run.Tests) > 0:
		after, do = lendAfter, turn.Lend
	case o.longest == 0:
		return func() {}
	}
	t := time.AfterFunc(after, do)
	return func() { t.Stop() }
}

// lendAfter is how long tests have a turn for themselves.
const lendAfter = 5 * time.Second

// longestOf is how long a run without tests may keep its slot.
func longestOf(r api.Run) time.Duration {
	if len(r.Tests) > 0 {
		return 0
	}
	unsaid := api.DefaultCeiling().Wall
	return time.Duration(cmp.Or(r.Limits.Wall, unsaid)) + time.Duration(cmp.Or(r.CompileLimits.Wall, unsaid))
}

func errStopping() error {
	return api.Fail(api.CodeStopping, "the service is stopping: send the run again later")
}

// unserved says why there was no turn.
func (g *Gateway) unserved(ctx, wait context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case wait.Err() != nil:
		why := api.Fail(api.CodeWaited, "no slot was free within %v: send the run again later, or have the operator raise --wait or add slots", g.cfg.Wait)
		var last *api.Error
		if errors.As(err, &last) && last.Code == api.CodeBusy {
			why = api.Fail(api.CodeWaited, "the agent had no place for the run within %v (%s): send it again later, or have the operator raise --wait or add slots", g.cfg.Wait, last.Message)
		}
		if last != nil && last.Code == api.CodeOverloaded {
			why = api.Fail(api.CodeWaited, "there was no memory to promise within %v (%s): end sessions, ask for less, or have the operator bound the sessions of each key, or raise brigd --memory", g.cfg.Wait, last.Message)
		}
		return problem(http.StatusServiceUnavailable, why)
	}
	return err
}

// ask has the agent carry out the run, with events where somebody may read them.
func (g *Gateway) ask(ctx context.Context, o *order) (api.Result, error) {
	arrived := arrivalOf(ctx)
	if o.do != nil {
		arrived.keepsHistory()
		res, err := o.do(ctx)
		arrived.settle(&res)
		return res, err
	}
	findings, err := g.checked(ctx, o)
	if err != nil {
		return api.Result{}, err
	}
	arrived.keepsHistory()
	res, err := g.askRun(ctx, o)
	arrived.settle(&res)
	res.Findings = findings
	return res, err
}

// askRun is ask for a run, checked.
func (g *Gateway) askRun(ctx context.Context, o *order) (api.Result, error) {
	a := o.active
	if a == nil && len(o.run.Tests) > 0 {
		return g.askTests(ctx, o.run)
	}
	if a == nil && (o.run.Limits.Output <= largeOutput || o.run.StdinBlob != "") {
		return g.cfg.Agent.Run(ctx, o.run)
	}
	if a == nil {
		return g.askLarge(ctx, o)
	}
	first := a.begin()
	if o.run.StdinBlob != "" { // the agent's to send: nothing comes as it happens
		if first {
			a.feed.put(ctx, api.EventStarted, struct{}{})
		}
		return g.cfg.Agent.Run(ctx, o.run)
	}
	run, stdin := o.run, io.Reader(bytes.NewReader(o.run.Stdin))
	run.Stdin = nil
	out, errs := a.stream(ctx, api.EventStdout), a.stream(ctx, api.EventStderr)
	started := sync.OnceFunc(func() { a.feed.put(ctx, api.EventStarted, struct{}{}) })
	res, err := g.cfg.Agent.RunEvents(ctx, run, stdin, client.Events{
		Stdout: out, Stderr: errs,
		Started:  started,
		Compiled: func(c api.Compilation) { a.feed.put(ctx, api.EventCompiled, c) },
		// The first that is heard of a run with tests is that one of them has begun.
		Test:  func(t api.TestResult) { started(); t.Result.Run = o.id; a.feed.put(ctx, api.EventTest, t) },
		Usage: func(u api.LiveUsage) { started(); a.using(u); a.feed.put(ctx, api.EventUsage, u) },
	})
	heard(&res, out, errs)
	return res, err
}

// largeOutput is the default limit. What may be larger comes in pieces: in one, as
// JSON, it would be in memory here several times, to be decoded.
const largeOutput = 16 * api.MiB

// askTests has each test's result come by itself: together they can be more than one answer may
// be, and then each is thinned that is too much.
func (g *Gateway) askTests(ctx context.Context, run api.Run) (api.Result, error) {
	res, err := g.cfg.Agent.RunEvents(ctx, run, nil, client.Events{})
	if ctx.Err() != nil { // nobody wants it any more, as in the form without events
		return api.Result{}, ctx.Err()
	}
	return res, err
}

func (g *Gateway) askLarge(ctx context.Context, o *order) (api.Result, error) {
	run, stdin := o.run, bytes.NewReader(o.run.Stdin)
	run.Stdin = nil
	l := &large{room: room{of: g.answers, key: o.caller.Name}}
	more := func(n int64) error { return l.room.grow(ctx, n) }
	l.out.room, l.errs.room = more, more
	res, err := g.cfg.Agent.RunEvents(ctx, run, stdin, client.Events{Stdout: &l.out, Stderr: &l.errs})
	if err != nil || res.Stage != api.StageRun {
		l.leave()
		return res, err
	}
	o.large = l
	res.Stdout, res.Stderr = l.out.gist(), l.errs.gist()
	return res, nil
}

// A streamEvent is a piece of what the program wrote, cut between characters.
type streamEvent struct {
	Data api.Bytes `json:"data"`
}

// A keptStream hands output on as events and keeps its beginning.
type keptStream struct {
	runes
	kept api.Bytes
	over bool
}

func keep(put func(api.Bytes)) *keptStream {
	k := new(keptStream)
	k.put = func(b api.Bytes) {
		room := int(history.KeepStream) - len(k.kept)
		if len(b) > room {
			k.over = true
		}
		k.kept = append(k.kept, b[:min(len(b), room)]...)
		put(b)
	}
	return k
}

// heard ends the streams and puts their beginnings into the result. A compile stage's
// output is there already, and a run that failed has none.
func heard(res *api.Result, out, errs *keptStream) {
	out.flush()
	errs.flush()
	if res.Stage == api.StageRun {
		res.Stdout, res.StdoutTruncated = out.kept, res.StdoutTruncated || out.over
		res.Stderr, res.StderrTruncated = errs.kept, res.StderrTruncated || errs.over
	}
}

func (a *active) stream(ctx context.Context, name api.EventName) *keptStream {
	return keep(func(b api.Bytes) { a.feed.put(ctx, name, streamEvent{b}) })
}

// unbegun are failures before a run began.
var unbegun = map[api.Code]bool{
	api.CodeWaited: true, api.CodeStopping: true, api.CodeBusy: true, api.CodeOverloaded: true, api.CodeAgentUnreachable: true,
}

// began reports whether a problem is of a run that the history has.
func began(p *api.Problem) bool {
	return p.Status >= http.StatusInternalServerError && !unbegun[p.Code]
}

// record keeps what became of an order, counts it and raises alarms. A run whose
// record is lost is not answered: a result that was told is in the history.
func (g *Gateway) record(o *order, res api.Result, waited time.Duration, err error) error {
	now := time.Now()
	var rec api.Record
	switch {
	case err == nil:
		rec = history.Of(res)
		if res.Diagnosis != nil {
			if rec.Diagnosis, err = json.Marshal(res.Diagnosis); err != nil {
				return err
			}
		}
	case errors.Is(err, context.Canceled):
		rec = history.Of(o.takenBack())
		rec.Queued = int64(waited)
	default:
		refused, _ := problemFor(err)
		if !began(refused) && o.active == nil {
			return nil // what was refused is no run; what was accepted is one, whatever becomes of it
		}
		rec = api.Record{Code: refused.Code, Message: refused.Detail, Queued: int64(waited)}
	}
	if len(res.Findings) > 0 {
		var jerr error
		if rec.Findings, jerr = json.Marshal(res.Findings); jerr != nil {
			return jerr
		}
	}
	rec.ID, rec.Owner, rec.Created = o.id, o.caller.Name, o.created
	rec.Project, rec.Task = o.run.Labels.Project, o.run.Labels.Task
	rec.Language, rec.SourceSize = o.run.Language, int64(o.size)
	if rec.Image == "" {
		rec.Image = o.run.Image
	}
	g.log.LogAttrs(context.Background(), slog.LevelInfo, "run", slog.String("run", o.id), slog.String("key", o.caller.Name), slog.String("project", rec.Project),
		slog.String("task", rec.Task), slog.String("language", rec.Language), slog.String("verdict", string(rec.Verdict)), slog.String("code", string(rec.Code)),
		slog.Int64("queued_ns", rec.Queued), slog.Int64("wall_ns", rec.Wall))
	within, cancel := context.WithTimeout(context.Background(), 30*time.Second) // also for a caller who has left
	defer cancel()
	if err := g.cfg.History.Add(within, rec); err != nil {
		var e *api.Error
		if !errors.As(err, &e) {
			e = api.Fail(api.CodeInternal, "%w", err)
		}
		return api.Fail(e.Code, "keep the run in the history: %w", err)
	}
	if err != nil {
		return nil
	}
	g.metrics.Ran(o.run.Language, res)
	for _, alert := range g.alarm.Next(o.caller.Name, now, res) {
		g.log.Warn("alert", "kind", alert.Kind, "key", alert.Owner, "project", alert.Project, "run", alert.Run, "text", alert.Text)
		if err := g.cfg.History.AddAlert(within, alert); err != nil {
			g.log.Error("alert not kept", "err", err)
		}
	}
	return nil
}
