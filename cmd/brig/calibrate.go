package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/judge/calibrate"
	"github.com/brig-sandbox/brig/judge/grade/class"
	"github.com/brig-sandbox/brig/judge/problem"
)

const calibrateUsage = `
Measure how fast this machine is: eight fixed programs run five times each in the sandbox,
one after the other, and the median of their processor times is compared with a reference
machine. The result is stored; brig doctor prints it, and --scale-cpu of brig grade and
brig problem verify multiplies limits of time by it. Nothing else uses it.

Usage:
  brig calibrate [flags]

Examples:
  brig calibrate
  brig grade hw3/tests submissions/ --cpu 2s --scale-cpu

The result is in $XDG_DATA_HOME/brig/calibration.json, by default below ~/.local/share. It
is of one processor and one kernel: with another one, calibrate again.`

// calibrationFile is where the calibration of this machine is.
func (c *cli) calibrationFile() (string, error) {
	data, err := c.dataDir()
	return filepath.Join(data, "calibration.json"), err
}

func calibrateCommand(c *cli) *cobra.Command {
	k, f := newCommand("calibrate", calibrateUsage)
	asJSON := jsonFlag(f)
	wait := new(time.Duration)
	slotWait(f, wait)
	noBuild := new(bool)
	noBuildFlag(f, noBuild)
	socket := socketFlag(f)
	return c.does(k, func() int {
		if f.NArg() != 0 {
			return c.hint("calibrate", errors.New("brig calibrate has no arguments"))
		}

		result, err := c.calibrate(*socket, *wait, *noBuild)
		switch {
		case err != nil:
			return c.end(err)
		case *asJSON:
			c.stdout.Write(marshal(result))
			return 0
		}

		t := alignedTable(c.text())
		fmt.Fprintln(t, "KERNEL\tCLASS\tTIME\tSPREAD\tFACTOR")
		for _, m := range result.Kernels {
			fmt.Fprintf(t, "%s\t%s\t%s\t%.0f %%\t%.3f\n", m.Name, m.Class, short(m.CPU), 100*m.Spread, m.Factor)
		}

		t.Flush()
		fmt.Fprintf(c.text(), "factor %.3f: native %.3f, memory %.3f, interpreted %.3f (above 1: slower than the reference machine)\n",
			result.Factor, result.Classes["native"], result.Classes["memory"], result.Classes["interpreted"])
		return 0
	})
}

// calibrate runs the kernels, one after the other, and stores what came of them.
func (c *cli) calibrate(socket string, wait time.Duration, noBuild bool) (calibrate.Calibration, error) {
	var none calibrate.Calibration
	file, err := c.calibrationFile()
	if err != nil {
		return none, err
	}

	here, err := calibrate.Here()
	if err != nil {
		return none, err
	}

	agent, err := c.connect(socket)
	if err != nil {
		return none, err
	}

	ctx, stop := untilInterrupt(agent)
	defer stop()

	x, err := c.newExecutor(ctx, agent, wait, noBuild)
	if err != nil {
		return none, agent.Explain(err)
	}

	times, images := map[string][]api.Duration{}, map[string]string{}
	shown := c.progress("calibrating")
	defer shown.end()

	for round := range calibrate.Runs {
		for _, k := range calibrate.Kernels() { // in turns, so that a disturbance meets all alike
			shown.setStep(fmt.Sprintf("%s, round %d of %d", k.Name, round+1, calibrate.Runs))
			cpu, image, err := x.kernel(ctx, k)
			if cause := context.Cause(ctx); cause != nil {
				return none, cause
			}
			if err != nil {
				return none, agent.Explain(fmt.Errorf("kernel %s: %w", k.Name, err))
			}
			times[k.Name] = append(times[k.Name], cpu)
			images[k.Language] = image
		}
	}

	result, err := calibrate.Judge(here, images, times, time.Now())
	if err != nil {
		return none, err
	}
	if noisy := result.Noisy(); len(noisy) > 0 {
		c.note("warning: the times of %s differ by more than 10 %%: calibrate while the machine has nothing else to do",
			strings.Join(noisy, ", "))
	}
	return result, result.Save(file)
}

// kernel runs one kernel once, and returns its processor time and the digest of its image.
func (x *executor) kernel(ctx context.Context, k calibrate.Kernel) (api.Duration, string, error) {
	language, err := x.prepare(ctx, k.Language, source{})
	if err != nil {
		return 0, "", err
	}

	text, name := calibrate.Source(k.Language)
	r := api.Run{Language: language.Name, Source: text, SourceName: name,
		Tests: []api.Test{{ID: k.Name, Args: []string{k.Name}}}, KeepOutput: class.Output}
	cpu := api.Duration(20 * time.Second)
	r.Limits = api.Limits{CPU: cpu, Wall: api.BusyWall(cpu), Memory: 256 * api.MiB}.CappedBy(x.Ceiling)
	res, failed := x.Run(ctx, r, nil)
	switch {
	case failed != nil:
		return 0, "", failed
	case len(res.Tests) != 1:
		return 0, "", fmt.Errorf("it ended with the verdict %s", res.Verdict)
	}

	one := res.Tests[0].Result
	if one.Verdict != api.OK || len(one.Stdout) == 0 || one.Usage.CPU.Value == nil {
		return 0, "", fmt.Errorf("it ended with the verdict %s, exit code %d and %d bytes of output", one.Verdict,
			one.ExitCode, len(one.Stdout))
	}
	return api.Duration(*one.Usage.CPU.Value), res.Host.Image, nil
}

// scaleCPU multiplies the limits of time of the command line and of the package by the factor of this
// machine, says so, and returns the factor.
func (c *cli) scaleCPU(l *api.Limits, p *problem.Problem) (float64, error) {
	if l.CPU == 0 && l.Wall == 0 && p.Limits.Time == 0 {
		return 0, errors.New("--scale-cpu: nothing sets a limit of time that could be multiplied, and one that " +
			"follows from the jury's submissions is of this machine")
	}

	file, err := c.calibrationFile()
	if err != nil {
		return 0, err
	}

	here, err := calibrate.Here()
	if err != nil {
		return 0, err
	}

	known, err := calibrate.Load(file, here)
	if err != nil {
		return 0, fmt.Errorf("--scale-cpu: %w", err)
	}

	var changed []string
	for _, one := range []struct {
		name  string
		limit *api.Duration
	}{{"--cpu", &l.CPU}, {"--wall", &l.Wall}, {"the package's time limit", &p.Limits.Time}} {
		if *one.limit > 0 {
			scaled := calibrate.Scale(*one.limit, known.Factor)
			changed = append(changed, fmt.Sprintf("%s is %s instead of %s", one.name, scaled, *one.limit))
			*one.limit = scaled
		}
	}

	c.note("note: --scale-cpu: %s (factor %.3f, measured %s)", strings.Join(changed, ", "), known.Factor,
		known.Measured.Format(time.DateOnly))
	return known.Factor, nil
}

// showCalibration prints what is known of the speed of this machine, if something is.
func (c *cli) showCalibration() {
	file, err := c.calibrationFile()
	if err != nil {
		return
	}

	here, err := calibrate.Here()
	if err != nil {
		return
	}

	known, err := calibrate.Load(file, here)
	switch {
	case errors.Is(err, calibrate.ErrNone):
	case err != nil:
		fmt.Fprintf(c.text(), "speed: %s\n", terminal.OneLine(err.Error()))
	default:
		fmt.Fprintf(c.text(), "speed: factor %.3f, measured %s (brig calibrate)\n", known.Factor,
			known.Measured.Format(time.DateOnly))
	}
}
