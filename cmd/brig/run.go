package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/agent/relay"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/suggest"
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/judge/diagnose"
)

// runCommand is brig run: plan, find the agent, run, report.
func runCommand(c *cli) *cobra.Command {
	o := new(runOptions)
	k, f := newCommand("run", runUsage)
	o.register(f)
	return c.does(k, func() int {
		o.args, o.hasCode = f.Args(), f.Changed("code")
		o.hasDash = f.ArgsLenAtDash() >= 0
		src, err := o.plan(c)
		if err == nil {
			err = refuseExplicitZero(f)
		}
		if err != nil {
			return c.runFailed(o, err, true)
		}

		if !o.quiet {
			c.noteMisplacedFlags(f, o.args)
			c.noteWarnings(o.profile, o.warnings)
			c.noteSourceArguments(o)
			if o.problem != nil {
				c.noteFindings("--tests "+o.testsDir, o.problem.Warnings)
			}
		}

		if o.out != "" { // fail now, not after the run
			if err := checkOutDir(o.out); err != nil {
				return c.runFailed(o, err, false)
			}
		}
		if err := c.prepareResult(o); err != nil {
			return c.fail(err)
		}

		agent, err := c.connect(o.socket, ceilingFlags(o.run)...)
		if err != nil {
			return c.runFailed(o, err, false)
		}

		ctx, stop := untilInterrupt(agent)
		defer stop()

		res, err := c.execute(ctx, agent, o, src)
		var s interrupted
		if err != nil && errors.As(context.Cause(ctx), &s) { // before the program began
			return s.exit()
		}
		if err != nil {
			err = withProgramRemedy(agent.Explain(err), o.run.Image, o.args,
				"to run a source file, leave --rootfs out; to run a program of the image: -- PROGRAM", "")
			return c.runFailed(o, err, false)
		}

		code := c.report(o, res)
		if code == exitCanceled && errors.As(context.Cause(ctx), &s) {
			return s.exit()
		}
		return code
	})
}

// prepareResult empties the file of --result, if there is one, so that the result of an earlier run
// is not taken for this one's. From then on a missing reader of stdout or stderr does not end the
// run.
func (c *cli) prepareResult(o *runOptions) error {
	if o.result == "" {
		return nil
	}
	c.stdout, c.stderr = &tolerantWriter{to: underlying(c.stdout).(io.Writer)}, &tolerantWriter{to: c.stderr}
	return o.writeResult(nil)
}

func (o *runOptions) writeResult(content []byte) error {
	if err := writeOutput(o.result, content); err != nil {
		return fmt.Errorf("--result: %w", err)
	}
	return nil
}

// ceilingFlags returns the flags with which a private agent accepts this run: a user who may start an
// agent is its operator.
func ceilingFlags(r api.Run) []string {
	l, ceiling := r.Limits, api.DefaultCeiling()
	l.CPU = max(l.CPU, l.Wall) // as the agent takes it
	ceiling.CPUs = 1           // of a slot

	var args []string
	for _, row := range api.LimitTable() {
		if row.Top != "" && row.Above(l, ceiling) {
			args = append(args, "--max-"+row.Flag(), row.Text(l))
		}
	}
	return args
}

// untilInterrupt returns a context that the first Ctrl-C or other stop signal cancels. A second
// signal ends the process; one that comes together with the first does not count. It catches
// SIGPIPE: writing to a stdout that nobody reads any more then only gives an error, so that a
// private agent is stopped and not left behind. The returned function stops the agent, and then
// the handling of signals.
func untilInterrupt(agent *caller.Agent) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	done := make(chan struct{})
	go func() {
		var first time.Time
		var got os.Signal
		for {
			select {
			case got = <-signals:
			case <-done:
				return
			}

			switch {
			case first.IsZero():
				first = time.Now()
				cancel(interrupted{got})
			case time.Since(first) > 200*time.Millisecond:
				agent.Abandon()
				os.Exit(interrupted{got}.exit())
			}
		}
	}()

	return ctx, func() {
		if agent != nil {
			agent.Close() // signals are still caught: a second one must not leave its directory behind
		}
		signal.Stop(signals)
		close(done)
		cancel(nil)
	}
}

// interrupted is the cause of a context that a signal ended.
type interrupted struct{ signal os.Signal }

func (i interrupted) Error() string {
	if i.signal == os.Interrupt {
		return "interrupted"
	}
	return "interrupted: " + i.signal.String()
}

// exit is the code a shell gives for the signal.
func (i interrupted) exit() int {
	if n, ok := i.signal.(syscall.Signal); ok {
		return 128 + int(n)
	}
	return exitCanceled
}

// execute finds the language and executes the run.
func (c *cli) execute(ctx context.Context, agent *caller.Agent, o *runOptions, src source) (api.Result, error) {
	if err := c.resolveLanguage(ctx, agent, o, src); err != nil {
		return api.Result{}, err
	}

	packages := api.PackageRequest{Language: o.run.Language, Requirements: o.run.Requirements, Index: o.run.Index}
	return withPackages(ctx, c, agent, o.installer, packages, o.noBuild, func() (api.Result, error) {
		switch {
		case o.suite.report != "":
			return c.runSuite(ctx, agent, o)
		case o.testsDir != "":
			return c.runTests(ctx, agent, o)
		}
		return c.executeRun(ctx, agent, o)
	})
}

// executeRun executes a run without tests.
func (c *cli) executeRun(ctx context.Context, agent *caller.Agent, o *runOptions) (api.Result, error) {
	var kept headTail // of the program's stderr
	stream := func(stdout, stderr io.Writer) (api.Result, error) {
		return retryWhileBusy(ctx, c, o.wait, func(ctx context.Context) (api.Result, error) {
			relayed := relay.Request{Network: o.run.Network, Allow: o.run.Allow}
			res, used, err := relay.With(ctx, c.relayUser, relayed,
				func(ctx context.Context, network func([]*os.File)) (api.Result, error) {
					return agent.RunEvents(ctx, o.run, c.stdin, client.Events{
						Stdout: stdout, Stderr: stderr, Network: network,
						Compiled: func(made api.Compilation) {
							if !o.json {
								c.printCompilerOutput(made.Stdout, made.Stderr)
							}
						},
					})
				})

			res.Network = used
			return res, err
		})
	}

	if !o.json {
		res, err := stream(c.stdout, io.MultiWriter(c.stderr, &kept))
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
func (c *cli) printCompilerOutput(stdout, stderr []byte) {
	all := slices.Concat(stdout, stderr)
	terminal.Writer{To: c.stderr}.Write(bytes.TrimPrefix(all, c.compilerOutput)) //nolint:errcheck // as io.Writer
	c.compilerOutput = all
}

// resolveLanguage finds the language of a source, and builds its image if that is missing. An
// extension takes precedence over a #! line, which may name a mere launcher of the program.
func (c *cli) resolveLanguage(ctx context.Context, agent *caller.Agent, o *runOptions, src source) error {
	if o.isCommand() && o.run.Check == nil && o.run.Interactor == nil {
		return nil
	}

	all, err := agent.Languages(ctx)
	if err != nil {
		return err
	}
	if err := c.resolveJudges(ctx, agent, o, all); err != nil || o.isCommand() {
		return err
	}

	l, err := languageOf(all, o.run.Language, src)
	if err != nil {
		return err
	}

	o.run.Language = l.Name
	if len(o.run.Requirements) > 0 {
		o.run.Index, o.installer = c.indexOf(l, o.packages.index), l
	}
	if o.run.Image != "" {
		return nil
	}
	return c.ensureImage(ctx, agent, l, o.noBuild)
}

// languageOf chooses one of all: the one called name, or that of the source.
func languageOf(all []api.Language, name string, src source) (api.Language, error) {
	ext := strings.ToLower(strings.TrimPrefix(src.ext, "."))
	matchers := []func(api.Language) bool{func(l api.Language) bool { return hasName(name, l) }}
	if name == "" {
		matchers = []func(api.Language) bool{
			func(l api.Language) bool { return slices.Contains(l.Extensions, ext) },
			func(l api.Language) bool { return runsWithInterpreter(src.interpreter, l) },
		}
	}

	for _, match := range matchers {
		if i := slices.IndexFunc(all, match); i >= 0 {
			return all[i], nil
		}
	}

	var known, named []string
	for _, l := range all {
		known, named = append(known, l.Extensions...), append(named, l.Name)
	}

	switch {
	case name != "":
		return api.Language{},
			api.Refuse(api.CodeNoLanguage, "there is no language %.80q%s (known: %s)", name,
				suggest.Text(strings.ToLower(name), named), strings.Join(named, " "))
	case ext == "":
		return api.Language{},
			api.Refuse(api.CodeNoLanguage, "the program %.80q of the #! line belongs to no language (known: %s): add --language",
				src.interpreter, strings.Join(named, " "))
	}

	return api.Language{}, api.Refuse(api.CodeNoLanguage, "no language has the extension .%s (known: %s): add --language",
		ext, strings.Join(known, " "))
}

// runFailed reports an error of brig on stderr and, if they are set, as the output of --json and
// --result. With usage it also refers to --help.
func (c *cli) runFailed(o *runOptions, err error, usage bool) int {
	var s interrupted
	switch {
	case errors.As(err, &s):
		return s.exit()
	case errors.Is(err, syscall.EPIPE):
		return 128 + int(syscall.SIGPIPE) // nobody reads the output, so there is nobody to report it to
	}

	var e *api.Error
	if !errors.As(err, &e) {
		e = api.Refuse(api.CodeBadRequest, "%w", err)
	}

	body := marshal(struct {
		Error *api.Error `json:"error"`
	}{e})
	if o.json {
		c.stdout.Write(body)
	}
	if o.result != "" {
		if werr := o.writeResult(body); werr != nil {
			c.note("%v", werr)
		}
	}
	if usage {
		return c.hint(cmp.Or(o.command, "run"), err)
	}
	return c.fail(err)
}

// marshal returns indented JSON with a newline. It is called with types that always encode.
// encoding/json leaves DEL and U+0080 to U+009F as they are, and a terminal takes U+009B for ESC [.
// They occur only in strings, where an escape means the same.
func marshal(v any) []byte {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err)
	}
	b = controls.ReplaceAllFunc(b, func(c []byte) []byte {
		r, _ := utf8.DecodeRune(c)
		return fmt.Appendf(nil, `\u%04x`, r)
	})
	return append(b, '\n')
}

// controls are the control characters that encoding/json writes as they are.
var controls = regexp.MustCompile("[\x7f\u0080-\u009f]")
