// Command languages measures the cost of each language that comes with brig: its image, the
// time of the smallest program and of its compilation, and the least memory it runs in.
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
	"github.com/brig-sandbox/brig/internal/testagent"
)

func main() {
	var own testagent.Options
	own.Register(pflag.CommandLine)
	write := pflag.String("write", "", "replace the table of languages in this Markdown `FILE`")
	only := pflag.StringSlice("only", nil, "measure only these `LANGUAGES`")
	pflag.Parse()
	if len(*only) > 0 && *write != "" {
		fmt.Fprintln(os.Stderr, "languages: --write replaces the whole table, and --only measures a part: leave one out")
		os.Exit(2)
	}

	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()
	if err := measureAll(ctx, own, *only, *write); err != nil {
		fmt.Fprintln(os.Stderr, "languages:", err)
		os.Exit(1)
	}
}

// measureAll measures every language with a separate agent. It leaves nothing behind except
// images that were missing.
func measureAll(ctx context.Context, own testagent.Options, only []string, write string) (err error) {
	dir, err := os.MkdirTemp("/var/tmp", "brig-languages-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()

	if err := os.Chmod(dir, 0o711); err != nil { // cells pass through it
		return err
	}
	if err := own.EnsureImage(ctx, dir); err != nil {
		return err
	}

	agent, err := testagent.Start(ctx, own, dir, "--slots", "1", "--max-wall", timeLimit.String(),
		"--max-cpu", timeLimit.String())
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
		"| language | version | tiers | image | unpacked | compile | start | least memory |",
		"|---|---|---|---|---|---|---|---|",
	}

	var failed error
	for _, l := range all {
		if len(only) > 0 && !slices.Contains(only, l.Name) {
			continue
		}
		if !l.Stored && l.ImageFrom != "" { // an image of somebody else's registry
			fmt.Fprintf(os.Stderr, "languages: %s is left out: its image %s is not stored\n", l.Name, l.Image)
			continue
		}
		if !l.Stored {
			if err := build(ctx, own.Bin, filepath.Join(dir, "brigd.sock"), l.Image); err != nil {
				return err
			}
		}

		row, err := measure(ctx, agent.Client, l)
		if err != nil { // go on with the other languages
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

// The lines around the table in the document.
const (
	begin = "<!-- measured: written by make languages WRITE=1 -->"
	end   = "<!-- end of measured -->"
)

// build builds a missing image and stores it with the agent.
func build(ctx context.Context, bin, socket, image string) error {
	fmt.Fprintf(os.Stderr, "languages: building image %s\n", image)
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "brig"), "rootfs", "build", image, "--socket", socket)
	cmd.Stderr = os.Stderr
	return cmd.Run()
}
