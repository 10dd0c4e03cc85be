package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// measurements compares processor time, memory and output with what the programs themselves
// report.
func (t *tool) measurements(ctx context.Context, when string) error {
	for _, way := range []string{"threads1", "threads2", "threads4", "children", "grandchildren"} {
		if err := t.cpu(ctx, when, way, 200); err != nil {
			return err
		}
	}
	for _, way := range []string{"heap", "box", "shm", "mapped", "shared", "children"} {
		if err := t.memory(ctx, when, way, 48); err != nil {
			return err
		}
	}
	return t.output(ctx, when)
}

// runKnown runs a program that prints a number, and returns the number.
func (t *tool) runKnown(ctx context.Context, r api.Run) (api.Result, float64, error) {
	res, err := t.run(ctx, r)
	if err != nil {
		return res, 0, err
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(string(res.Stdout)), 64)
	if err != nil || res.Verdict != api.OK || res.Usage.CPU.Value == nil || res.Usage.Memory.Value == nil {
		return res, 0, fmt.Errorf("%v: verdict %s, exit code %d, stdout %.60q", r.Argv, res.Verdict, res.ExitCode, res.Stdout)
	}
	return res, n, nil
}

func (t *tool) cpu(ctx context.Context, when, way string, ms int) error {
	var worst float64
	met := true
	for range max(10/t.scale, 2) {
		r := t.program("burn", way, strconv.Itoa(ms))
		res, truth, err := t.runKnown(ctx, r)
		if err != nil {
			return err
		}
		off, ok := withinTolerance(float64(*res.Usage.CPU.Value), truth, 0.01, 2e6)
		if met = met && ok; math.Abs(off) > math.Abs(worst) {
			worst = off
		}
	}

	t.report.row(fmt.Sprintf("processor time, %s, %d ms, %s", way, ms, when), "within 1 % or 2 ms",
		fmt.Sprintf("%+.3f ms", worst/1e6), met)
	return nil
}

func (t *tool) memory(ctx context.Context, when, way string, mib int) error {
	const MiB = 1 << 20
	var worst, rss float64
	met := true
	for range max(5/t.scale, 2) {
		none, _, err := t.runKnown(ctx, t.program("alloc", way, "0"))
		if err != nil {
			return err
		}
		res, maxrss, err := t.runKnown(ctx, t.program("alloc", way, strconv.Itoa(mib)))
		if err != nil {
			return err
		}
		off, ok := withinTolerance(float64(*res.Usage.Memory.Value-*none.Usage.Memory.Value), float64(mib*MiB), 0.02, MiB)
		if met = met && ok; math.Abs(off) >= math.Abs(worst) {
			worst, rss = off, maxrss
		}
	}

	t.report.row(fmt.Sprintf("memory, %s, %d MiB in addition to the program's own, %s", way, mib,
		when), "within 2 % or 1 MiB",
		fmt.Sprintf("%+.2f MiB (ru_maxrss %.1f MiB)", worst/MiB, rss/MiB), met)
	return nil
}

func (t *tool) output(ctx context.Context, when string) error {
	r := api.Run{Image: t.image,
		Argv: []string{"/bin/sh", "-c", "head -c 1234567 /dev/zero; head -c 7654321 /dev/zero >&2"}}
	res, err := t.run(ctx, r)
	if err != nil {
		return err
	}
	out, errs := res.Usage.StdoutBytes, res.Usage.StderrBytes
	t.report.row("output, 1234567 and 7654321 bytes, "+when, "exact", fmt.Sprintf("%d and %d", out, errs),
		out == 1234567 && errs == 7654321 && len(res.Stdout) == 1234567)
	return nil
}

// spread compares the variation of the time of the same work, sandboxed and bare,
// alternately.
func (t *tool) spread(ctx context.Context) error {
	var sandboxed, bare []time.Duration
	n := 1000 / t.scale
	for i := 0; i < n; i += 50 {
		for range min(50, n) {
			res, _, err := t.runKnown(ctx, t.program("burn", "work", "10"))
			if err != nil {
				return err
			}
			sandboxed = append(sandboxed, time.Duration(*res.Usage.CPU.Value))
		}
		took, _, err := t.bare(ctx, "-", min(50, n), "burn", "work", "10")
		if err != nil {
			return err
		}
		bare = append(bare, took...)
	}

	show := func(v []time.Duration) string {
		us := time.Microsecond
		return fmt.Sprintf("p1 %s, p50 %s, p99 %s, deviation %s", quantile(v, .01).Round(us), quantile(v, .5).Round(us),
			quantile(v, .99).Round(us), deviation(v).Round(us))
	}

	t.report.row(fmt.Sprintf("the same work %d times, bare", len(bare)), "-", show(bare), true)
	t.report.row(fmt.Sprintf("the same work %d times, in the sandbox", len(sandboxed)), "-", show(sandboxed), true)
	return nil
}
