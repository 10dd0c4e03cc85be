package judging

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/cmd/brig/images"
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
func calibrationFile(c *cli.CLI) (string, error) {
	data, err := c.DataDir()
	return filepath.Join(data, "calibration.json"), err
}

// CalibrateCommand makes brig calibrate.
func CalibrateCommand(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("calibrate", calibrateUsage)
	asJSON := cli.JSONFlag(f)
	wait := new(time.Duration)
	cli.SlotWait(f, wait)
	noBuild := new(bool)
	cli.NoBuildFlag(f, noBuild)
	repeat := f.Int("repeat", calibrate.Runs, "run each program so often; less often is quicker and less exact")
	socket := cli.SocketFlag(f)
	return c.Does(k, func() int {
		if f.NArg() != 0 {
			return c.Hint("calibrate", errors.New("brig calibrate has no arguments"))
		}
		if *repeat < 1 || *repeat > calibrate.MaxRuns {
			return c.Hint("calibrate", fmt.Errorf("--repeat is between 1 and %d, not %d", calibrate.MaxRuns, *repeat))
		}

		result, err := measure(c, *repeat, *socket, *wait, *noBuild)
		switch {
		case err != nil:
			return c.End(err)
		case *asJSON:
			c.Stdout.Write(cli.Marshal(result))
			return 0
		}

		t := cli.AlignedTable(c.Text())
		fmt.Fprintln(t, "KERNEL\tCLASS\tTIME\tSPREAD\tFACTOR")
		for _, m := range result.Kernels {
			fmt.Fprintf(t, "%s\t%s\t%s\t%.0f %%\t%.3f\n", m.Name, m.Class, short(m.CPU), 100*m.Spread, m.Factor)
		}

		t.Flush()
		fmt.Fprintf(c.Text(), "factor %.3f: native %.3f, memory %.3f, interpreted %.3f (above 1: slower than the reference machine)\n",
			result.Factor, result.Classes["native"], result.Classes["memory"], result.Classes["interpreted"])
		return 0
	})
}

// measure runs each kernel so often, one after the other, and stores what came of them.
func measure(c *cli.CLI, repeat int, socket string, wait time.Duration, noBuild bool) (calibrate.Calibration, error) {
	var none calibrate.Calibration
	file, err := calibrationFile(c)
	if err != nil {
		return none, err
	}

	here, err := calibrate.Here()
	if err != nil {
		return none, err
	}

	agent, err := c.Connect(socket)
	if err != nil {
		return none, err
	}

	ctx, stop := cli.UntilInterrupt(agent)
	defer stop()

	x, err := images.NewExecutor(ctx, c, agent, wait, noBuild)
	if err != nil {
		return none, agent.Explain(err)
	}

	times, images := map[string][]api.Duration{}, map[string]string{}
	shown := c.Progress("calibrating")
	defer shown.End()

	for round := range repeat {
		for _, k := range calibrate.Kernels() { // in turns, so that a disturbance meets all alike
			shown.SetStep(fmt.Sprintf("%s, round %d of %d", k.Name, round+1, repeat))
			cpu, image, err := kernel(ctx, x, k)
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
		c.Note("warning: the times of %s differ by more than 10 %%: calibrate while the machine has nothing else to do",
			strings.Join(noisy, ", "))
	}
	return result, result.Save(file)
}

// kernel runs one kernel once, and returns its processor time and the digest of its image.
func kernel(ctx context.Context, x *images.Executor, k calibrate.Kernel) (api.Duration, string, error) {
	language, err := x.Prepare(ctx, k.Language, cli.Source{})
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
func scaleCPU(c *cli.CLI, l *api.Limits, p *problem.Problem) (float64, error) {
	if l.CPU == 0 && l.Wall == 0 && p.Limits.Time == 0 {
		return 0, errors.New("--scale-cpu: nothing sets a limit of time that could be multiplied, and one that " +
			"follows from the jury's submissions is of this machine")
	}

	file, err := calibrationFile(c)
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

	c.Note("note: --scale-cpu: %s (factor %.3f, measured %s)", strings.Join(changed, ", "), known.Factor,
		known.Measured.Format(time.DateOnly))
	return known.Factor, nil
}

// ShowCalibration prints what is known of the speed of this machine, if something is.
func ShowCalibration(c *cli.CLI) {
	file, err := calibrationFile(c)
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
		fmt.Fprintf(c.Text(), "speed: %s\n", terminal.OneLine(err.Error()))
	default:
		fmt.Fprintf(c.Text(), "speed: factor %.3f, measured %s (brig calibrate)\n", known.Factor,
			known.Measured.Format(time.DateOnly))
	}
}
