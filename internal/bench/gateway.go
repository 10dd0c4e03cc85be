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
	"github.com/brig-sandbox/brig/internal/procfs"
	"github.com/brig-sandbox/brig/internal/testservice"
	"github.com/brig-sandbox/brig/service/client"
)

// A service is brig serve in front of the bench's agent.
type service struct{ *testservice.Service }

// serve starts the service with flags.
func (b *bench) serve(dir string, flags ...string) (*service, error) {
	s, err := testservice.Start(filepath.Join(b.cfg.own.Bin, "brig"), 10*time.Second, append([]string{
		"--socket", filepath.Join(b.agent.Dir, "brigd.sock"), "--data-dir", filepath.Join(b.agent.Dir, dir),
	}, flags...)...)
	return &service{s}, err
}

func (s *service) stop() error { return s.Stop(time.Minute) }

// rss returns the resident memory of the service, in MiB.
func (s *service) rss() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	return kib / 1024, err
}

// client returns a client of the service with as many connections as it needs.
func (s *service) client() *client.Client {
	c := client.New(s.URL, "")
	c.HTTP = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}
	return c
}

// gateway times runs through brig serve over TCP, compared with the agent's own socket,
// and then puts the service under the load of a crowd of clients.
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
	rate, err := b.compareWithSocket(ctx, s, c.Run)
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

	b.addLine("64 clients on %d slots for %d s: %d runs, %.0f %% of the rate of the agent's socket, %d requests refused with Retry-After.",
		b.slots, b.cfg.crowd, first.ran.Load(), 100*float64(first.ran.Load())/float64(b.cfg.crowd)/rate, first.refused.Load())
	b.atMost("requests of 64 clients with neither a result nor a correct refusal", float64(first.lost.Load()), 0, "")
	rss, err := s.rss()
	if err != nil {
		return err
	}

	b.atMost("memory of the gateway after this load", rss, 60, "MiB resident")
	return b.crowdFullQueue(ctx)
}

// crowdFullQueue puts a crowd of clients before a service whose queue is too short for most of
// them.
func (b *bench) crowdFullQueue(ctx context.Context) (err error) {
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

	b.addLine("The same for %d s with a queue of %d requests: %d runs, %d requests refused with Retry-After.", lasts,
		places, c.ran.Load(), c.refused.Load())
	b.atLeast("requests refused with an error code and Retry-After while the queue is full",
		float64(c.refused.Load()), 1, "")
	b.atMost(fmt.Sprintf("requests of 64 clients with neither a result nor a correct refusal, with a queue of %d", places),
		float64(c.lost.Load()), 0, "")
	return nil
}

// A speed is the speed of runs through one kind of client.
type speed struct {
	p50          float64       // ms, with one client
	full, queued float64       // runs per second: with as many clients as slots, and with twice as many, so that requests queue
	used         time.Duration // processor time of the service for the queued runs
	runs         int           // number of queued runs
}

// compareWithSocket times runs through the service, by Go's HTTP client and by a bare one, and
// compares them with runs through the agent's socket, whose rate it returns.
func (b *bench) compareWithSocket(ctx context.Context, s *service, run runner) (agentRate float64, err error) {
	bare := newBare(s.URL)
	defer bare.close()

	ways := []runner{b.agent.Client.Run, run, bare.Run}
	over, full, queued := make([][]float64, len(ways)), make([][]float64, len(ways)), make([][]float64, len(ways))
	var rates []float64
	var used time.Duration // by the service, while requests queue
	counted := 0
	for round := range b.cfg.rounds {
		fmt.Fprintf(os.Stderr, "gateway, round %d of %d\n", round+1, b.cfg.rounds)
		var socket speed
		for i, run := range ways {
			maximum := b.slots // concurrent requests: the agent refuses more
			if i > 0 {
				maximum = 2 * b.slots // they queue in the service
			}

			p, err := b.measureSpeed(ctx, run, maximum, s.Cmd.Process.Pid)
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

	b.addLine("")

	// The agent's socket is measured with package client, which is a bare client; Go's own
	// HTTP client takes more time of the same processors, whatever it requests.
	b.addLine("Through brig serve over TCP, compared with the agent's socket, with a client as simple as the "+
		"socket's: %.2f ms more at p50, %.0f %% of the rate with %d clients, %.0f %% with %d; with Go's HTTP client: "+
		"%.2f ms, %.0f %%, %.0f %%.",
		median(over[2]), median(queued[2]), 2*b.slots, median(full[2]), b.slots, median(over[1]),
		median(queued[1]), median(full[1]))
	b.addLine("Processor time of brig serve per run with %d clients: %s.", 2*b.slots,
		(used / time.Duration(counted)).Round(time.Microsecond))
	b.atMost(gatewayMore, median(over[2]), 0.4, "ms")
	b.atMost("the same with Go's HTTP client", median(over[1]), 0.4, "ms")

	// Callers of the socket wait in the bench for a slot, callers of the service in its queue.
	b.atLeast(fmt.Sprintf("rate through the gateway, relative to the agent's socket, %d clients on %d slots", 2*b.slots,
		b.slots), median(queued[2]), 80, "%")
	b.atLeast("the same with Go's HTTP client", median(queued[1]), 80, "%")
	b.atLeast(fmt.Sprintf("the same with %d clients, where no request queues and a slot is idle until its client "+
		"sends the next request", b.slots), median(full[2]), 80, "%")
	b.atLeast("the same with Go's HTTP client, without queueing", median(full[1]), 80, "%")
	return median(rates), nil
}

// measureSpeed times one kind of client, with at most that many concurrent requests.
func (b *bench) measureSpeed(ctx context.Context, run runner, maximum, service int) (p speed, err error) {
	one, err := sandboxed(ctx, run, b.run, 1, maximum, b.cfg.hot, 0)
	if err != nil {
		return p, err
	}

	full, err := sandboxed(ctx, run, b.run, b.slots, maximum, b.cfg.hot, 0)
	if err != nil {
		return p, err
	}

	before, err := procfs.CPUTime(service)
	if err != nil {
		return p, err
	}

	queued, err := sandboxed(ctx, run, b.run, 2*b.slots, maximum, b.cfg.hot/2, 0)
	if err != nil {
		return p, err
	}

	after, err := procfs.CPUTime(service)
	return speed{p50: float64(one.quantile(.5)) / 1e6, full: full.rate(), queued: queued.rate(), used: after - before,
		runs: len(queued.took)}, err
}

// readers opens a thousand streams of one run's events, and checks that all of them
// receive the end.
func (b *bench) readers(ctx context.Context, s *service) error {
	c := s.client()
	r := b.run
	r.Argv = []string{"sleep", "8"}
	st, err := c.Begin(ctx, r)
	if err != nil {
		return err
	}

	const want = 1000
	var open, ended atomic.Int64
	var wg sync.WaitGroup
	for range want {
		wg.Go(func() {
			begun := false
			err := c.Events(ctx, st.Run, func(e client.Event) error {
				if !begun {
					begun = true
					open.Add(1)
				}
				if e.Name == "result" && bytes.Contains(e.Data, []byte(`"verdict":"ok"`)) {
					ended.Add(1)
				}
				return nil
			})
			if err != nil {
				fmt.Fprintln(os.Stderr, "events:", err)
			}
		})
	}

	wg.Wait()
	b.atLeast("concurrent event streams that received the end, of 1000", float64(min(open.Load(), ended.Load())), want, "")
	return nil
}

// crowdOutcome counts the outcomes of a crowd's requests.
type crowdOutcome struct {
	ran, refused atomic.Int64 // executed; refused with a request to retry
	lost         atomic.Int64 // any other outcome
}

// crowd lets 64 clients send requests for the time lasts, each as fast as it is answered. A
// request must be answered with a result, or be refused with an error code and a Retry-After.
func (b *bench) crowd(ctx context.Context, c *client.Client, lasts time.Duration) (*crowdOutcome, error) {
	t := new(crowdOutcome)
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
				case errors.As(err, &p) && p.Status == http.StatusTooManyRequests &&
					(p.Code == api.CodeQueueFull || p.Code == api.CodeKeyQueueFull) && p.RetrySafe && p.RetryAfter > 0:
					t.refused.Add(1)
					select { // honours Retry-After
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
		return nil, errors.New("no run of the 64 clients was executed")
	}
	return t, nil
}
