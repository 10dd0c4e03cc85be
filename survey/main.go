// Command survey measures what each language brig brings costs: its image, the
// time of the least program and of compiling it, and the least memory it runs in.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/docblock"
	"github.com/brig-sandbox/brig/internal/ownagent"
)

func main() {
	var own ownagent.Options
	own.Register(pflag.CommandLine)
	write := pflag.String("write", "", "Markdown `FILE` whose table of languages is replaced")
	only := pflag.StringSlice("only", nil, "measure these `LANGUAGES` alone")
	pflag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()
	if err := survey(ctx, own, *only, *write); err != nil {
		fmt.Fprintln(os.Stderr, "survey:", err)
		os.Exit(1)
	}
}

// survey measures every language with an agent of its own, and leaves nothing
// behind but images that were missing.
func survey(ctx context.Context, own ownagent.Options, only []string, write string) (err error) {
	dir, err := os.MkdirTemp("/var/tmp", "brig-survey-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := os.Chmod(dir, 0o711); err != nil { // cells pass through it
		return err
	}
	if err := own.Settle(ctx, dir); err != nil {
		return err
	}
	agent, err := ownagent.Start(ctx, own, dir, "--slots", "1", "--max-wall", most.String(), "--max-cpu", most.String())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, agent.Stop()) }()
	health, err := agent.Client.Health(ctx)
	if err != nil {
		return err
	}
	all, err := agent.Client.Languages(ctx)
	if err != nil {
		return err
	}
	lines := []string{
		fmt.Sprintf("Linux %s, cgroups %s, brig %s.", health.Kernel, health.CgroupMode, health.Version), "",
		"| language | version | tiers | image | unpacked | compile | start | least memory |", "|---|---|---|---|---|---|---|---|",
	}
	var failed error
	for _, l := range all {
		if len(only) > 0 && !slices.Contains(only, l.Name) {
			continue
		}
		if !l.Stored {
			if err := build(ctx, own.Bin, filepath.Join(dir, "brigd.sock"), l.Image); err != nil {
				return err
			}
		}
		row, err := measure(ctx, agent.Client, l)
		if err != nil { // the others are worth their figures all the same
			failed = errors.Join(failed, fmt.Errorf("%s: %w", l.Name, err))
			continue
		}
		fmt.Println(row)
		lines = append(lines, row)
	}
	if write != "" {
		err = docblock.Replace(write, begin, end, strings.Join(lines, "\n"))
	}
	return errors.Join(failed, err)
}

// The lines between which the document holds the table.
const (
	begin = "<!-- measured: written by make languages WRITE=1 -->"
	end   = "<!-- end of measured -->"
)

// build makes an image that is missing and stores it with the agent.
func build(ctx context.Context, bin, socket, image string) error {
	fmt.Fprintf(os.Stderr, "survey: building image %s\n", image)
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "brig"), "rootfs", "build", image, "--socket", socket)
	cmd.Stderr = os.Stderr
	return cmd.Run()
}
