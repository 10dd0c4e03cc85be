// Command accuracy checks the accuracy of brig's measurements and verdicts: it runs programs
// that know what they use in the sandbox, and compares with what brig reports.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/testagent"
)

func main() {
	var own testagent.Options
	own.Register(pflag.CommandLine)
	quick := pflag.Bool("quick", false, "make a tenth of the measurements, to check that the tool works")
	only := pflag.String("only", "", "measure only the parts with this `WORD` in their names, and write no report")
	write := pflag.String("write", "", "Markdown `FILE` to write the report to")
	pflag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()

	missed, err := run(ctx, own, *quick, *only, *write)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(2)
	case missed > 0:
		fmt.Fprintf(os.Stderr, "accuracy: %d targets missed\n", missed)
		os.Exit(1)
	}
}

// A tool has what every measurement needs.
type tool struct {
	own    testagent.Options
	agent  *testagent.Agent
	image  string
	dir    string
	scale  int                 // divisor of all counts
	progs  map[string]api.File // by name, static
	report report
}

// run builds the programs, starts an agent, measures, and leaves nothing behind.
func run(ctx context.Context, own testagent.Options, quick bool, only, write string) (missed int, err error) {
	dir, err := os.MkdirTemp("/var/tmp", "brig-accuracy-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	if err := os.Chmod(dir, 0o711); err != nil { // cells pass through it
		return 0, err
	}

	t := &tool{own: own, dir: dir, image: own.Name, scale: 1, progs: map[string]api.File{}}
	if quick {
		t.scale = 10
	}

	for _, name := range []string{"burn", "alloc", "bare"} {
		if err := t.build(ctx, name); err != nil {
			return 0, err
		}
	}

	if err := own.EnsureImage(ctx, dir); err != nil {
		return 0, err
	}

	// Enough memory for the files of every image: the cost of having less is not measured here.
	if t.agent, err = testagent.Start(ctx, own, dir, "--image-memory", "8G"); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, t.agent.Stop()) }()

	h, err := t.agent.Client.Health(ctx)
	if err != nil {
		return 0, err
	}

	t.report.setHeader(h)

	for _, part := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"measurements, idle", func(ctx context.Context) error { return t.measurements(ctx, "idle") }},
		{"cost of a program that exits immediately", t.emptyProgram},
		{"kills", t.kills},
		{"spread", t.spread},
		{"measurements and verdicts under load", t.underLoad},
		{"templates", t.templates},
		{"images evicted from the page cache", t.cold},
	} {
		if !strings.Contains(part.name, only) {
			continue
		}
		fmt.Fprintf(os.Stderr, "accuracy: %s\n", part.name)
		if err := part.do(ctx); err != nil {
			return 0, fmt.Errorf("%s: %w", part.name, err)
		}
	}

	missed = t.report.print()
	if write != "" && only == "" {
		return missed, t.report.write(write)
	}
	return missed, nil
}

// build compiles one of the programs, static, so that it costs the same in every image.
func (t *tool) build(ctx context.Context, name string) error {
	bin := filepath.Join(t.dir, name)
	out, err := exec.CommandContext(ctx, "gcc", "-O1", "-static", "-pthread", "-w", "-o", bin,
		filepath.Join("bench", "accuracy", "c", name+".c")).CombinedOutput()
	if err != nil {
		return fmt.Errorf("gcc %s.c: %w\n%s", name, err, out)
	}
	content, err := os.ReadFile(bin)
	if err != nil {
		return err
	}
	t.progs[name] = api.File{Name: name, Content: content, Executable: true}
	return nil
}

// program returns a run of one of the programs.
func (t *tool) program(name string, args ...string) api.Run {
	return api.Run{Image: t.image, Files: []api.File{t.progs[name]}, Argv: append([]string{"./" + name}, args...),
		Collect: api.Collect{None: true}}
}

// run executes r. It retries until a slot is free.
func (t *tool) run(ctx context.Context, r api.Run) (api.Result, error) {
	for {
		res, err := t.agent.Client.Run(ctx, r)
		var e *api.Error
		if errors.As(err, &e) && (e.Code == api.CodeBusy || e.Code == api.CodeOverloaded) {
			continue
		}
		return res, err
	}
}
