package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/procfs"
	"github.com/brig-sandbox/brig/service/client"
)

// dialectNames are those that brig serve has a flag for.
var dialectNames = []string{"piston", "judge0", "jobe", "sandboxfusion", "go-judge"}

// An asker sends a request and checks its answer.
type asker func(context.Context) error

// asker makes the asker of a path of the service.
func (s *service) asker(web *http.Client, path string, header []string, body any, says string) (asker, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}

	return func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+path, bytes.NewReader(raw))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/json")
		for i := 0; i+1 < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}

		res, err := web.Do(r)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err == nil && (res.StatusCode/100 != 2 || !strings.Contains(string(text), says)) {
			err = fmt.Errorf("%s: %d, %.300s; want %s", path, res.StatusCode, text, says)
		}
		return err
	}, nil
}

// dialects compares each dialect with /v1/runs, alternately with the same program, and has 64 clients call tools of MCP
// at once.
func (b *bench) dialects(ctx context.Context) (err error) {
	if b.cfg.spoken == 0 {
		return nil
	}
	stored, err := b.storedLanguages(ctx)
	if err != nil || !stored["python"] {
		fmt.Fprintln(os.Stderr, "dialects are skipped: python is not stored")
		return err
	}

	flags := []string{"--queue", "1000"}
	for _, name := range dialectNames {
		flags = append(flags, "--dialect", name)
	}
	s, err := b.serve("dialects", flags...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()

	web := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer web.CloseIdleConnections()

	all := spokenOf(stored["python-full"])
	b.addLine("Load average before: %s. Each dialect alternately with /v1/runs, the same program, %d times:", loadAverage(), b.cfg.spoken)
	for _, one := range all {
		if one.name == "go-judge" && !b.hasImage(ctx, "go-judge") {
			b.addLine("- go-judge: not measured, its image is not stored.")
			continue
		}
		if err := b.compareDialect(ctx, s, web, one); err != nil {
			return err
		}
	}
	return b.modelCrowd(ctx, s, web, all[len(dialectNames)])
}

// storedLanguages returns which languages are stored.
func (b *bench) storedLanguages(ctx context.Context) (map[string]bool, error) {
	all, err := b.agent.Client.Languages(ctx)
	stored := map[string]bool{}
	for _, l := range all {
		stored[l.Name] = l.Stored
	}
	return stored, err
}

func (b *bench) hasImage(ctx context.Context, name string) bool {
	all, err := b.agent.Client.Images(ctx)
	return err == nil && slices.ContainsFunc(all, func(i api.Image) bool { return slices.Contains(i.Names, name) })
}

// warmPairs is how many requests of each kind are not counted: the template and the connections are made.
const warmPairs = 20

// compareDialect alternates between a dialect and brig's own API. What the host does otherwise happens to both.
func (b *bench) compareDialect(ctx context.Context, s *service, web *http.Client, one spoken) error {
	foreign, err := s.asker(web, one.path, one.header, one.body, one.says)
	if err != nil {
		return err
	}
	own, err := s.asker(web, "/v1/runs", nil, one.same, `"verdict":"ok"`)
	if err != nil {
		return err
	}

	begun := time.Now()
	if _, err := alternate(ctx, own, foreign, warmPairs); err != nil {
		return err
	}
	if err := s.askedTheSame(ctx, begun); err != nil {
		return fmt.Errorf("%s: %w", one.name, err)
	}
	took, err := alternate(ctx, own, foreign, b.cfg.spoken)
	if err != nil {
		return err
	}

	used, err := s.processorTimes(ctx, own, foreign, b.cfg.spoken)
	if err != nil {
		return err
	}

	what := whatIsAdded(took)
	b.addLine("- %s: p50 %.2f ms, /v1/runs %.2f ms; median of the differences %+.2f ms. Processor time of brig serve per "+
		"request: %.2f ms, /v1/runs %.2f ms.", one.name, what.foreign, what.own, what.more, inMs(used.foreign), inMs(used.own))
	b.atMost("what "+one.name+" adds to /v1/runs at the median", what.more, 0.15, "ms")
	return nil
}

// alternate sends each request so often, and tells how long each pair took. Which is first alternates, too.
func alternate(ctx context.Context, own, foreign asker, pairs int) ([]pairTook, error) {
	timed := func(ask asker, took *time.Duration) error {
		begun := time.Now()
		err := ask(ctx)
		*took = time.Since(begun)
		return err
	}

	took := make([]pairTook, pairs)
	for i := range took {
		p := &took[i]
		steps := []func() error{
			func() error { return timed(own, &p.own) },
			func() error { return timed(foreign, &p.foreign) },
		}
		for k := range steps {
			if err := steps[(i+k)%len(steps)](); err != nil {
				return nil, err
			}
		}
	}
	return took, nil
}

// processorTimes tells how much processor time the service uses for each request, which is reliable on a host with other
// load, where the wall clock is not. The kernel tells it in steps of 10 ms, so each kind is sent often in a row: twice.
func (s *service) processorTimes(ctx context.Context, own, foreign asker, times int) (used pairTook, err error) {
	perRequest := func(ask asker) (time.Duration, error) {
		before, err := procfs.CPUTime(s.Cmd.Process.Pid)
		if err != nil {
			return 0, err
		}
		for range times {
			if err := ask(ctx); err != nil {
				return 0, err
			}
		}
		after, err := procfs.CPUTime(s.Cmd.Process.Pid)
		return (after - before) / time.Duration(2*times), err
	}

	for _, turn := range []struct {
		ask asker
		sum *time.Duration
	}{{own, &used.own}, {foreign, &used.foreign}, {foreign, &used.foreign}, {own, &used.own}} {
		one, err := perRequest(turn.ask)
		if err != nil {
			return used, err
		}
		*turn.sum += one
	}
	return used, nil
}

// askedTheSame checks in the history that both requests of the warm-up asked for the same program. A run may be written
// there after its answer.
func (s *service) askedTheSame(ctx context.Context, since time.Time) error {
	for until := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		page, err := s.client().History(ctx, client.Filter{Since: since})
		if err != nil {
			return err
		}
		if len(page.Items) >= 2*warmPairs {
			return sameProgram(page.Items)
		}
		if time.Now().After(until) {
			return fmt.Errorf("the history has %d runs of %d", len(page.Items), 2*warmPairs)
		}
	}
}

// modelClients is the number of clients that call tools of MCP at once.
const modelClients = 64

// modelCrowd has many clients call a tool at once.
func (b *bench) modelCrowd(ctx context.Context, s *service, web *http.Client, one spoken) error {
	call, err := s.asker(web, one.path, one.header, one.body, one.says)
	if err != nil {
		return err
	}

	const each = 10
	told := make([]callerTook, modelClients)
	begun := time.Now()
	var clients sync.WaitGroup
	for i := range told {
		clients.Go(func() {
			for range each {
				at := time.Now()
				err := call(ctx)
				told[i].add(time.Since(at), err)
			}
		})
	}
	clients.Wait()

	c := together(told)
	if c.first != nil {
		fmt.Fprintf(os.Stderr, "calls of tools failed, the first: %.500s\n", c.first)
	}
	if len(c.took) == 0 {
		return errors.New("no call of a tool succeeded")
	}
	b.addLine("%d clients that call run_code of MCP at once, %d times each: %.0f calls/s, p50 %.0f ms, p99 %.0f ms, %d without a result; "+
		"load average after: %s.", modelClients, each, float64(len(c.took))/time.Since(begun).Seconds(), c.quantile(.5),
		c.quantile(.99), c.lost, loadAverage())
	b.atMost("calls of 64 clients of MCP without a result", float64(c.lost), 0, "")
	return nil
}

// loadAverage is the host's, of the last minute.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
