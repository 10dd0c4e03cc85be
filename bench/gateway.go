package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/ownservice"
	"github.com/brig-sandbox/brig/remote"
)

// A service is brig serve in front of the bench's agent.
type service struct{ *ownservice.Service }

// serve starts the service with flags.
func (b *bench) serve(dir string, flags ...string) (*service, error) {
	s, err := ownservice.Start(filepath.Join(b.cfg.own.Bin, "brig"), 10*time.Second, append([]string{
		"--socket", filepath.Join(b.agent.Dir, "brigd.sock"), "--data-dir", filepath.Join(b.agent.Dir, dir),
	}, flags...)...)
	return &service{s}, err
}

func (s *service) stop() error { return s.Stop(time.Minute) }

// rss is what the service's memory comes to.
func (s *service) rss() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	return kib / 1024, err
}

// client speaks to the service over so many connections as it needs.
func (s *service) client() *remote.Client {
	c := remote.New(s.URL, "")
	c.HTTP = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}
	return c
}

// gateway times runs through brig serve over TCP beside the agent's own socket, and
// puts a crowd before it.
func (b *bench) gateway(ctx context.Context) (err error) {
	if b.cfg.crowd == 0 {
		return nil
	}
	s, err := b.serve("gateway", "--queue", "1000")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	c := s.client()
	rate, err := b.beside(ctx, s, c.Run)
	if err != nil {
		return err
	}
	if err := b.readers(ctx, s); err != nil {
		return err
	}
	first, err := b.crowd(ctx, c, time.Duration(b.cfg.crowd)*time.Second)
	if err != nil {
		return err
	}
	b.say("64 clients on %d slots for %d s: %d runs, %.0f %% of the rate of the agent's socket, %d told to come again.",
		b.slots, b.cfg.crowd, first.ran.Load(), 100*float64(first.ran.Load())/float64(b.cfg.crowd)/rate, first.later.Load())
	b.want("requests of a crowd lost or hung", float64(first.lost.Load()), 0, "")
	rss, err := s.rss()
	if err != nil {
		return err
	}
	b.want("memory of the gateway after all that", rss, 60, "MiB resident")
	return b.crowded(ctx)
}

// crowded puts a crowd before a service in whose queue there is no place for most of it.
func (b *bench) crowded(ctx context.Context) (err error) {
	const places = 16
	s, err := b.serve("crowded", "--queue", strconv.Itoa(places))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	lasts := max(b.cfg.crowd/6, 1)
	c, err := b.crowd(ctx, s.client(), time.Duration(lasts)*time.Second)
	if err != nil {
		return err
	}
	b.say("The same for %d s with %d places in the queue: %d runs, %d told to come again.", lasts, places, c.ran.Load(), c.later.Load())
	b.least("requests told by name to come again, where the queue is full", float64(c.later.Load()), 1, "")
	b.want("requests of that crowd lost or hung", float64(c.lost.Load()), 0, "")
	return nil
}

// A pace is how fast runs go one way.
type pace struct {
	p50          float64 // ms, with one client
	full, queued float64 // runs a second: with as many clients as slots, and with twice as many, so that work waits
	used         time.Duration
	runs         int // that took the service so much processor time, while work waited
}

// beside times runs through the service, by Go's HTTP client and by a bare one, beside
// runs through the agent's socket, whose rate it returns.
func (b *bench) beside(ctx context.Context, s *service, run runner) (agentRate float64, err error) {
	bare := newBare(s.URL)
	defer bare.close()
	ways := []runner{b.agent.Client.Run, run, bare.Run}
	over, full, queued := make([][]float64, len(ways)), make([][]float64, len(ways)), make([][]float64, len(ways))
	var rates []float64
	var used time.Duration // by the service, with work waiting
	counted := 0
	for round := range b.cfg.rounds {
		fmt.Fprintf(os.Stderr, "gateway, round %d of %d\n", round+1, b.cfg.rounds)
		var socket pace
		for i, run := range ways {
			most := b.slots // requests at a time: the agent refuses more
			if i > 0 {
				most = 2 * b.slots // they wait in the service
			}
			p, err := b.pace(ctx, run, most, s.Cmd.Process.Pid)
			if err != nil {
				return 0, err
			}
			if i == 0 {
				socket = p
				rates = append(rates, p.queued)
				continue
			}
			used, counted = used+p.used, counted+p.runs
			over[i] = append(over[i], p.p50-socket.p50)
			full[i] = append(full[i], 100*p.full/socket.full)
			queued[i] = append(queued[i], 100*p.queued/socket.queued)
		}
	}
	b.say("")
	// The client of the agent's socket is package client, which is bare; Go's own HTTP client
	// takes more of the same processors, whatever it asks.
	b.say("Through brig serve over TCP, beside the agent's socket, by a client as bare as the socket's: %.2f ms more at p50, %.0f %% of the rate with %d clients, %.0f %% with %d; by Go's HTTP client: %.2f ms, %.0f %%, %.0f %%.",
		median(over[2]), median(queued[2]), 2*b.slots, median(full[2]), b.slots, median(over[1]), median(queued[1]), median(full[1]))
	b.say("Processor time of brig serve per run with %d clients: %s.", 2*b.slots, (used / time.Duration(counted)).Round(time.Microsecond))
	b.want("p50 through the gateway above the agent's socket", median(over[2]), 0.4, "ms")
	b.want("the same by Go's HTTP client", median(over[1]), 0.4, "ms")
	// The socket's callers wait for its slots among themselves, the service's in its queue.
	b.least(fmt.Sprintf("rate through the gateway, of the agent's socket, %d clients on %d slots", 2*b.slots, b.slots), median(queued[2]), 80, "%")
	b.least("the same by Go's HTTP client", median(queued[1]), 80, "%")
	b.least(fmt.Sprintf("the same with %d clients, where none waits and a slot stands idle while its client has the answer", b.slots), median(full[2]), 80, "%")
	b.least("the same by Go's HTTP client, nobody waiting", median(full[1]), 80, "%")
	return median(rates), nil
}

// pace times one way, with at most so many requests at a time.
func (b *bench) pace(ctx context.Context, run runner, most, service int) (p pace, err error) {
	one, err := sandboxed(ctx, run, b.run, 1, most, b.cfg.hot, 0)
	if err != nil {
		return p, err
	}
	full, err := sandboxed(ctx, run, b.run, b.slots, most, b.cfg.hot, 0)
	if err != nil {
		return p, err
	}
	before, err := processorTime(service)
	if err != nil {
		return p, err
	}
	queued, err := sandboxed(ctx, run, b.run, 2*b.slots, most, b.cfg.hot/2, 0)
	if err != nil {
		return p, err
	}
	after, err := processorTime(service)
	return pace{p50: float64(one.quantile(.5)) / 1e6, full: full.rate(), queued: queued.rate(), used: after - before, runs: len(queued.took)}, err
}

// readers holds a thousand streams of one run's events open, and has all of them
// told the end.
func (b *bench) readers(ctx context.Context, s *service) error {
	c := s.client()
	r := b.run
	r.Argv = []string{"sleep", "8"}
	st, err := c.Begin(ctx, r)
	if err != nil {
		return err
	}
	const want = 1000
	var open, told atomic.Int64
	var wg sync.WaitGroup
	for range want {
		wg.Go(func() {
			begun := false
			err := c.Events(ctx, st.Run, func(e remote.Event) error {
				if !begun {
					begun = true
					open.Add(1)
				}
				if e.Name == "result" && bytes.Contains(e.Data, []byte(`"verdict":"ok"`)) {
					told.Add(1)
				}
				return nil
			})
			if err != nil {
				fmt.Fprintln(os.Stderr, "events:", err)
			}
		})
	}
	wg.Wait()
	b.least("event streams open at a time and told the end, of 1000", float64(min(open.Load(), told.Load())), want, "")
	return nil
}

// told counts what a crowd's requests came to.
type told struct {
	ran, later atomic.Int64 // carried out; told by name to come again
	lost       atomic.Int64 // anything else
}

// crowd has 64 clients ask for so long, each as fast as it is answered: a request has an
// answer, or is told by name to come again, and when.
func (b *bench) crowd(ctx context.Context, c *remote.Client, lasts time.Duration) (*told, error) {
	t := new(told)
	until := time.Now().Add(lasts)
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for time.Now().Before(until) && ctx.Err() == nil {
				within, cancel := context.WithTimeout(ctx, 30*time.Second)
				res, err := c.Run(within, b.run)
				cancel()
				var p *api.Problem
				var gone net.Error
				switch {
				case err == nil && res.Verdict == api.OK:
					t.ran.Add(1)
				case errors.As(err, &p) && p.Status == http.StatusTooManyRequests && (p.Code == api.CodeQueueFull || p.Code == api.CodeKeyFull) && p.RetrySafe && p.RetryAfter > 0:
					t.later.Add(1)
					select { // he does as he is told
					case <-time.After(min(time.Duration(p.RetryAfter)*time.Second, time.Until(until))):
					case <-ctx.Done():
					}
				default:
					t.lost.Add(1)
					fmt.Fprintln(os.Stderr, "crowd:", err, errors.As(err, &gone))
				}
			}
		})
	}
	wg.Wait()
	if t.ran.Load() == 0 {
		return nil, errors.New("no run of the crowd was carried out")
	}
	return t, nil
}
