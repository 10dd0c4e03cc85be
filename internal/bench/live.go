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
	"path/filepath"
	goruntime "runtime"
	"strings"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/client"
)

// What an agent of a model does: it makes a session for a few commands, executes one after the other in it, or cells in
// a kernel. All is measured through brig serve, in turns with bare processes.
const (
	liveTurns    = 5
	burst        = 100
	kernelCells  = 30
	nodeImage    = "node"
	betweenTasks = 150 * time.Millisecond // of a client that thinks; a cell is made ahead meanwhile
)

// live measures sessions as their clients use them.
func (b *bench) live(ctx context.Context) (err error) {
	if b.cfg.sessions == 0 {
		return nil
	}
	s, err := b.serve("live", "--wait", "10m") // on a loaded machine the last of a burst waits for long
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()

	c := s.client()
	if err := b.liveExecs(ctx, c); err != nil {
		return err
	}
	if err := b.liveTasks(ctx, c); err != nil {
		return err
	}
	return b.liveCells(ctx, s, c)
}

// liveExecs times commands in one session, in turns with the bare program.
func (b *bench) liveExecs(ctx context.Context, c *client.Client) error {
	var bare, execs sample
	for range liveTurns {
		turn, err := b.plain().spawn(ctx, b.spawner, 1, execsEach*b.cfg.sessions/liveTurns, 0)
		if err != nil {
			return err
		}
		bare.took = append(bare.took, turn.took...)

		ask := api.SessionRequest{Image: b.run.Image}
		if turn, err = b.execs(ctx, c, ask, execsEach*b.cfg.sessions/liveTurns); err != nil {
			return err
		}
		execs.took = append(execs.took, turn.took...)
	}

	b.addLine("")
	b.addLine("`%s` in a session over HTTP, in turns with the bare program: p50 %.2f ms, p99 %.2f ms; bare %.2f ms, "+
		"%.2f ms.", b.cfg.program, milli(execs.quantile(.5)), milli(execs.quantile(.99)), milli(bare.quantile(.5)),
		milli(bare.quantile(.99)))
	b.atMost("exec in a session over HTTP, p50 above bare", milli(execs.quantile(.5)-bare.quantile(.5)), 2, "ms")
	b.atMost("exec in a session over HTTP, p99 above bare", milli(execs.quantile(.99)-bare.quantile(.99)), 10, "ms")
	return nil
}

// liveTasks times sessions that are made for one command: one after the other, with a pause, and many at once.
func (b *bench) liveTasks(ctx context.Context, c *client.Client) error {
	root, err := b.agent.ImageDir(nodeImage)
	if err != nil {
		b.addLine("Sessions for `node -v` are not measured: the image %s is not stored.", nodeImage)
		return nil
	}

	plain, err := b.plainNode(root)
	if err != nil {
		return err
	}
	task := func() error { return nodeTask(ctx, c) }
	if err := task(); err != nil { // the image is read
		return err
	}

	var bare, paused, together sample
	for range liveTurns {
		turn, err := plain.spawn(ctx, b.spawner, 1, max(b.cfg.sessions/liveTurns, 1), 0)
		if err != nil {
			return err
		}
		bare.took = append(bare.took, turn.took...)

		for _, of := range []struct {
			to    *sample
			pause time.Duration
		}{{&paused, betweenTasks}, {&together, 0}} {
			for range max(b.cfg.sessions/liveTurns, 1) {
				time.Sleep(of.pause)
				begun := time.Now()
				if err := task(); err != nil {
					return err
				}
				of.to.took = append(of.to.took, time.Since(begun))
			}
		}
	}

	var wg sync.WaitGroup
	errs := make([]error, burst)
	begun := time.Now()
	for i := range burst {
		wg.Go(func() { errs[i] = task() })
	}
	wg.Wait()
	last := time.Since(begun)
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%d sessions at once: %w", burst, err)
	}

	b.addLine("A session for `node -v`, made, used and ended: p50 %.2f ms, p99 %.2f ms, %v apart; p50 %.2f ms, "+
		"p99 %.2f ms back to back; `node -v` alone %.2f ms, %.2f ms. %d at once: the last after %.2f s.",
		milli(paused.quantile(.5)),
		milli(paused.quantile(.99)), betweenTasks, milli(together.quantile(.5)), milli(together.quantile(.99)),
		milli(bare.quantile(.5)), milli(bare.quantile(.99)), burst, last.Seconds())
	b.atMost("session for node -v, made, used and ended, p50", milli(paused.quantile(.5)), 15, "ms")
	b.atMost("the same, p99", milli(paused.quantile(.99)), 60, "ms")
	b.atMost(fmt.Sprintf("%d of them at once, the last", burst), milli(last),
		burst*milli(paused.quantile(.5))/float64(goruntime.NumCPU()), "ms")
	return nil
}

// plainNode is node -v without a sandbox. Its output goes nowhere, as there is a box.
func (b *bench) plainNode(root string) (bare, error) {
	box := filepath.Join(b.agent.Dir, "node-box")
	err := os.MkdirAll(box, 0o777)
	return bare{root: root, box: box, argv: []string{"node", "-v"}}, err
}

// nodeTask makes a session, executes node in it, and ends it.
func nodeTask(ctx context.Context, c *client.Client) error {
	made, err := c.CreateSession(ctx, api.SessionRequest{Image: nodeImage})
	if err != nil {
		return fmt.Errorf("create a session: %w", err)
	}
	res, err := c.Exec(ctx, made.ID, api.Exec{Argv: []string{"node", "-v"}})
	if err == nil && (res.Verdict != api.OK || res.ExitCode != 0) {
		err = fmt.Errorf("node -v: verdict %s, exit code %d; want ok", res.Verdict, res.ExitCode)
	}
	return errors.Join(err, c.EndSession(ctx, made.ID))
}

// liveCells times cells of a Python kernel, and measures the private memory of a session that waits, and of its kernel.
func (b *bench) liveCells(ctx context.Context, s *service, c *client.Client) error {
	before, err := b.agent.privateMemory()
	if err != nil {
		return err
	}

	const waiting = 4
	var ids []string
	for range waiting {
		made, err := c.CreateSession(ctx, api.SessionRequest{Image: b.run.Image, Limits: api.Limits{Memory: 64 * api.MiB}})
		if err != nil {
			return fmt.Errorf("create a session: %w", err)
		}
		ids = append(ids, made.ID)
	}
	defer func() {
		for _, id := range ids {
			_ = c.EndSession(context.WithoutCancel(ctx), id)
		}
	}()

	time.Sleep(time.Second) // the base that is made ahead is there: it was there before
	after, err := b.agent.privateMemory()
	if err != nil {
		return err
	}

	kernel := s.URL + "/v1/sessions/" + ids[0] + "/kernels"
	var made api.Kernel
	err = postJSON(ctx, c.HTTP, kernel, api.KernelRequest{},
		func(r io.Reader) error { return json.NewDecoder(r).Decode(&made) })
	if err != nil {
		return err
	}

	var cells sample
	for i := range kernelCells + 1 {
		begun := time.Now()
		cell := api.Cell{Code: fmt.Sprintf("x = %d\nx + 1", i)}
		if err := postJSON(ctx, c.HTTP, kernel+"/"+made.ID+"/execute", cell, readCell); err != nil {
			return err
		}
		if i > 0 { // the first one starts the interpreter
			cells.took = append(cells.took, time.Since(begun))
		}
	}

	warm, err := b.agent.privateMemory()
	if err != nil {
		return err
	}
	own, err := ownPython(b.agent.Rootfs)
	if err != nil {
		return err
	}

	each := float64(after-before) / waiting / (1 << 20)
	more := float64(warm-after-own) / (1 << 20)
	b.addLine("%d cells in a Python kernel: p50 %.2f ms, p99 %.2f ms. Private memory: %.2f MiB of a session that waits, "+
		"and %.2f MiB of a warm kernel above the %.2f MiB of the interpreter alone.", kernelCells,
		milli(cells.quantile(.5)), milli(cells.quantile(.99)), each, more, float64(own)/(1<<20))
	b.atMost(fmt.Sprintf("%d cells in a Python kernel, p50", kernelCells), milli(cells.quantile(.5)), 5, "ms")
	b.atMost("private memory of a session that waits", each, 0.3, "MiB")
	b.atMost("private memory of a warm Python kernel, above the interpreter's own", more, 3, "MiB")
	return nil
}

// readCell reads the events of a cell, which must end well.
func readCell(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err == nil && !strings.Contains(string(text), `"status":"ok"`) {
		err = fmt.Errorf("a cell ended with %.300s", text)
	}
	return err
}

// postJSON posts a value, and has the answer read.
func postJSON(ctx context.Context, h *http.Client, url string, value any, read func(io.Reader) error) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	ask, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	ask.Header.Set("Content-Type", "application/json")
	answer, err := h.Do(ask)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusMultipleChoices {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1000))
		return fmt.Errorf("%s: %s: %s", url, answer.Status, text)
	}
	return read(answer.Body)
}
