package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// urgentNap is how long the jobs of the measurements of urgency sleep: the order of jobs then decides the times, and
// not the processors.
const urgentNap = 200 * time.Millisecond

// urgent measures that urgent jobs are as fast as others with all slots, come before the others of their file, and
// overtake another batch of the same engine.
func (t *tool) urgent(ctx context.Context) error {
	nap := kind{jobs: 60, run: api.Run{
		Image:  t.own.Name,
		Argv:   []string{"/bin/sleep", fmt.Sprint(urgentNap.Seconds())},
		Limits: api.Limits{Memory: 64 * api.MiB},
	}}

	socket := []string{"--socket", filepath.Join(t.agent.Dir, "brigd.sock")}

	var ratio []float64
	for range t.rounds {
		plain, err := t.batch(ctx, nap, socket...)
		if err != nil {
			return err
		}
		all, err := t.batch(ctx, nap, slices.Concat(socket, []string{"--urgent"})...)
		if err != nil {
			return err
		}
		ratio = append(ratio, all.wall.Seconds()/plain.wall.Seconds())
	}

	t.report.add(fmt.Sprintf("%d urgent jobs of %v, relative to the same that are not urgent", nap.jobs, urgentNap),
		"at most 105 %", median(ratio) <= 1.05, "%.0f %%", 100*median(ratio))

	if err := t.urgentOfAFile(ctx, nap, socket); err != nil {
		return err
	}
	return t.urgentBehind(ctx, nap, socket)
}

// urgentOfAFile has the last lines of a file urgent.
func (t *tool) urgentOfAFile(ctx context.Context, nap kind, socket []string) (err error) {
	const ordinary, urgent = 90, 30
	in := filepath.Join(t.dir, "urgent.jsonl")
	nap.jobs = ordinary
	if err := writeJobs(in, nap); err != nil {
		return err
	}

	f, err := os.OpenFile(in, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()

	for i := range urgent {
		if _, err := fmt.Fprintf(f, "\n{\"id\": \"urgent-%d\", \"urgent\": true}", i); err != nil {
			return err
		}
	}

	out := filepath.Join(t.dir, "urgent.out")
	cmd := exec.CommandContext(ctx, t.brig,
		append([]string{"batch", in, "-o", out, "--quiet", "--keep", "summary"}, socket...)...)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("brig batch: %w: %s", err, text)
	}

	text, err := os.ReadFile(out)
	if err != nil {
		return err
	}

	// Without --ordered results are written as they come, so the order of the lines is that of the
	// judging.
	before, left := 0, urgent // ordinary results before the last urgent one
	for sc := bufio.NewScanner(bytes.NewReader(text)); left > 0 && sc.Scan(); {
		var one api.JobResult
		if err := json.Unmarshal(sc.Bytes(), &one); err != nil {
			return err
		}
		if strings.HasPrefix(one.ID, "urgent-") {
			left--
		} else {
			before++
		}
	}

	if left > 0 {
		return fmt.Errorf("%d urgent jobs have no result", left)
	}

	t.report.add(fmt.Sprintf("jobs before the last of %d urgent ones at the end of a file of %d", urgent, ordinary+urgent),
		"at most 10", before <= 10, "%d", before)
	return os.Remove(out)
}

// urgentBehind has an urgent batch overtake a large one on the same engine and workers.
func (t *tool) urgentBehind(ctx context.Context, nap kind, socket []string) error {
	engine, err := startEngine(ctx, t.dir)
	if err != nil {
		return err
	}
	defer engine.stop()

	with := slices.Concat(socket, []string{"--engine", engine.url})
	nap.jobs = 20
	alone, err := t.batch(ctx, nap, with...)
	if err != nil {
		return err
	}

	large := nap
	large.jobs = 150
	in := filepath.Join(t.dir, "large.jsonl")
	if err := writeJobs(in, large); err != nil {
		return err
	}

	big := exec.CommandContext(ctx, t.brig,
		append([]string{"batch", in, "-o", filepath.Join(t.dir, "large.out"), "--quiet", "--keep", "summary"}, with...)...)
	if err := big.Start(); err != nil {
		return err
	}

	time.Sleep(5 * urgentNap)
	behind, err := t.batch(ctx, nap, "--local", "none", "--engine", engine.url, "--urgent") // it brings no slots of its own
	err = errors.Join(err, big.Wait())
	if err != nil {
		return err
	}

	extra := behind.wall - alone.wall
	t.report.add(fmt.Sprintf("%d urgent jobs behind %d others on the same workers, more than alone", nap.jobs, large.jobs),
		"at most 1 s", extra <= time.Second,
		"%.2f s (alone %.2f s)", extra.Seconds(), alone.wall.Seconds())
	return nil
}
