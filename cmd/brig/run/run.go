// Package run has the commands that run programs: once, on tests, in a session, or as a bundle for runc.
package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/agent/relay"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/cmd/brig/images"
	"github.com/brig-sandbox/brig/cmd/brig/judging"
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/judge/diagnose"
)

// Command is brig run: plan, find the agent, run, report.
func Command(c *cli.CLI) *cobra.Command {
	o := new(runOptions)
	k, f := cli.NewCommand("run", runUsage)
	o.register(f)
	return c.Does(k, func() int {
		o.args, o.hasCode = f.Args(), f.Changed("code")
		o.hasDash = f.ArgsLenAtDash() >= 0
		src, err := o.plan(c)
		if err == nil {
			err = cli.RefuseExplicitZero(f)
		}
		if err != nil {
			return runFailed(c, o, err, true)
		}

		if !o.quiet {
			noteMisplacedFlags(c, f, o.args)
			noteWarnings(c, o.profile, o.warnings)
			noteSourceArguments(c, o)
			if o.problem != nil {
				judging.NoteFindings(c, "--tests "+o.testsDir, o.problem.Warnings)
			}
		}

		if o.out != "" { // fail now, not after the run
			if err := checkOutDir(o.out); err != nil {
				return runFailed(c, o, err, false)
			}
		}
		if err := prepareResult(c, o); err != nil {
			return c.Fail(err)
		}

		agent, err := c.Connect(o.socket, cli.CeilingFlags(o.run)...)
		if err != nil {
			return runFailed(c, o, err, false)
		}

		ctx, stop := cli.UntilInterrupt(agent)
		defer stop()

		res, err := execute(ctx, c, agent, o, src)
		var s cli.Interrupted
		if err != nil && errors.As(context.Cause(ctx), &s) { // before the program began
			return s.Exit()
		}
		if err != nil {
			err = withProgramRemedy(agent.Explain(err), o.run.Image, o.args,
				"to run a source file, leave --rootfs out; to run a program of the image: -- PROGRAM", "")
			return runFailed(c, o, err, false)
		}

		code := printReport(c, o, res)
		if code == cli.ExitCanceled && errors.As(context.Cause(ctx), &s) {
			return s.Exit()
		}
		return code
	})
}

// prepareResult empties the file of --result, if there is one, so that the result of an earlier run
// is not taken for this one's. From then on a missing reader of stdout or stderr does not end the
// run.
func prepareResult(c *cli.CLI, o *runOptions) error {
	if o.result == "" {
		return nil
	}
	c.Stdout, c.Stderr = &tolerantWriter{to: cli.Underlying(c.Stdout).(io.Writer)}, &tolerantWriter{to: c.Stderr}
	return o.writeResult(nil)
}

func (o *runOptions) writeResult(content []byte) error {
	if err := cli.WriteOutput(o.result, content); err != nil {
		return fmt.Errorf("--result: %w", err)
	}
	return nil
}

// execute finds the language and executes the run.
func execute(ctx context.Context, c *cli.CLI, agent *caller.Agent, o *runOptions, src cli.Source) (api.Result, error) {
	if err := resolveLanguage(ctx, c, agent, o, src); err != nil {
		return api.Result{}, err
	}

	packages := api.PackageRequest{Language: o.run.Language, Requirements: o.run.Requirements, Index: o.run.Index}
	return images.WithPackages(ctx, c.Quiet(o.quiet), agent, o.installer, packages, o.noBuild, func() (api.Result, error) {
		switch {
		case o.suite.Report != "":
			return runSuite(ctx, c, agent, o)
		case o.testsDir != "":
			return runTests(ctx, c, agent, o)
		}
		return executeRun(ctx, c, agent, o)
	})
}

// executeRun executes a run without tests.
func executeRun(ctx context.Context, c *cli.CLI, agent *caller.Agent, o *runOptions) (api.Result, error) {
	var kept headTail // of the program's stderr
	screen := c.Screen()
	stream := func(stdout, stderr io.Writer) (api.Result, error) {
		return cli.RetryWhileBusy(ctx, c, o.wait, func(ctx context.Context) (api.Result, error) {
			relayed := relay.Request{Network: o.run.Network, Allow: o.run.Allow}
			res, used, err := relay.With(ctx, c.RelayUser, relayed,
				func(ctx context.Context, network func([]*os.File)) (api.Result, error) {
					events := client.Events{
						Stdout: stdout, Stderr: stderr, Network: network,
						Compiled: func(made api.Compilation) {
							if !o.json {
								printCompilerOutput(c, made.Stdout, made.Stderr)
							}
						},
					}
					return o.withTerminal(c, screen, &events, func(stdin io.Reader, tty *api.TTY) (api.Result, error) {
						o.run.TTY = tty
						return agent.RunEvents(ctx, o.run, stdin, events)
					})
				})

			res.Network = used
			return res, err
		})
	}

	if !o.json {
		res, err := stream(screen.Stdout(), io.MultiWriter(screen.Stderr(), &kept))
		screen.End()
		o.explain(&res, kept.bytes())
		return res, err
	}

	var out, errs bytes.Buffer
	res, err := stream(&out, &errs)
	if res.Stage == api.StageRun {
		res.Stdout, res.Stderr = out.Bytes(), errs.Bytes()
	}

	o.explain(&res, nil)
	return res, err
}

// explain adds the diagnosis of a failed result, and records the refused calls that may explain
// the failure. printed is the program's stderr, if the result does not have it.
func (o *runOptions) explain(res *api.Result, printed []byte) {
	seen := *res
	if len(printed) > 0 && res.Stage == api.StageRun {
		seen.Stderr = printed
	}
	diagnose.Annotate(o.run.Language, o.run.SourceName, o.run.Source, &seen)
	res.Diagnosis = seen.Diagnosis
	o.refused = diagnose.RelevantRefusals(o.run.Language, seen)
}

// printCompilerOutput prints a compiler's output to stderr, since it is not the program's output: some
// compilers write their errors to stdout. If the compiler succeeded but made no valid program, the
// result repeats the output that was printed before, and adds the reason: only that is printed.
func printCompilerOutput(c *cli.CLI, stdout, stderr []byte) {
	all := slices.Concat(stdout, stderr)
	terminal.Writer{To: c.Stderr}.Write(bytes.TrimPrefix(all, c.CompilerOutput)) //nolint:errcheck // as io.Writer
	c.CompilerOutput = all
}

// resolveLanguage finds the language of a source, and builds its image if that is missing. An
// extension takes precedence over a #! line, which may name a mere launcher of the program.
func resolveLanguage(ctx context.Context, c *cli.CLI, agent *caller.Agent, o *runOptions, src cli.Source) error {
	if o.isCommand() && o.run.Check == nil && o.run.Interactor == nil {
		return nil
	}

	all, err := agent.Languages(ctx)
	if err != nil {
		return err
	}
	if err := resolveJudges(ctx, c, agent, o, all); err != nil || o.isCommand() {
		return err
	}

	l, err := cli.LanguageOf(all, o.run.Language, src)
	if err != nil {
		return err
	}

	o.run.Language = l.Name
	if len(o.run.Requirements) > 0 {
		o.run.Index, o.installer = images.IndexOf(c, l, o.packages.Index), l
	}
	if o.run.Image != "" {
		return nil
	}
	return images.EnsureImage(ctx, c.Quiet(o.quiet), agent, l, o.noBuild)
}

// runFailed reports an error of brig on stderr and, if they are set, as the output of --json and
// --result. With usage it also refers to --help.
func runFailed(c *cli.CLI, o *runOptions, err error, usage bool) int {
	if code, silent := cli.SilentExit(err); silent {
		return code
	}

	var e *api.Error
	if !errors.As(err, &e) {
		e = api.Refuse(api.CodeBadRequest, "%w", err)
	}

	body := cli.Marshal(struct {
		Error *api.Error `json:"error"`
	}{e})
	if o.json {
		c.Stdout.Write(body)
	}
	if o.result != "" {
		if werr := o.writeResult(body); werr != nil {
			c.Note("%v", werr)
		}
	}
	if usage {
		return c.Hint(cmp.Or(o.command, "run"), err)
	}
	return c.Fail(err)
}
