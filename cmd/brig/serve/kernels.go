package serve

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
)

// kernelCommand is brig session kernel: interpreters that keep their variables.
func kernelCommand(c *cli.CLI) *cobra.Command {
	return c.Group("session kernel", `
Keep an interpreter in a session of brig serve: its variables remain from one cell to the
next. A kernel ends with its session. An agent alone has none.

`+serviceText+`

Usage:
  brig session kernel start [flags] ID
  brig session kernel exec [flags] ID KERNEL FILE
  brig session kernel exec [flags] -c CODE ID KERNEL
  brig session kernel ls ID
  brig session kernel interrupt ID KERNEL
  brig session kernel restart ID KERNEL
  brig session kernel rm ID KERNEL...

Examples:
  k=$(brig session kernel start $id)
  brig session kernel exec -c 'x = 20' $id $k
  brig session kernel exec -c 'x + 1' $id $k
  brig session kernel exec --out pictures $id $k plot.py
  brig session kernel rm $id $k`, []cli.Command{
		{Name: "start", Short: "start a kernel and print its id", Make: kernelStart},
		{Name: "exec", Short: "execute a cell in a kernel", Make: kernelExec},
		{Name: "ls", Short: "list the kernels of a session", Make: kernelList},
		{Name: "interrupt", Short: "end the cell that a kernel executes", Make: kernelInterrupt},
		{Name: "restart", Short: "give a kernel a fresh interpreter", Make: kernelRestart},
		{Name: "rm", Short: "end kernels, with all of their processes", Make: kernelRemove},
	})
}

// kernelStartTimeout is longer than an interpreter may take to start, and wait for room before.
const kernelStartTimeout = 3 * time.Minute

func kernelStart(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("session kernel start", `
Start a kernel in a session of brig serve and print its id. Its interpreter must be in the
image of the session.

`+serviceText+`

Usage:
  brig session kernel start [--language NAME] [flags] ID

Examples:
  brig session kernel start $id
  brig session kernel start --language javascript --cwd /tmp -e WHO=ann $id`)
	var ask api.KernelRequest
	var env []string
	f.StringVarP((*string)(&ask.Language), "language", "l", "", "python, javascript or bash: `NAME` (default python)")
	f.StringVar(&ask.Cwd, "cwd", "", "the interpreter starts in this `DIR` of the session (default /box)")
	f.StringArrayVarP(&env, "env", "e", nil, "set a variable: `K=V` (repeatable)")
	asJSON := f.Bool("json", false, "print the kernel as JSON")
	base := urlFlag(f)
	return c.Does(k, func() int {
		var err error
		if f.NArg() != 1 {
			err = errors.New("session kernel start needs the ID of a session")
		}
		if err == nil {
			ask.Env, err = variables(env)
		}
		if err == nil {
			err = ask.Validate()
		}
		if err != nil {
			return c.Hint("session kernel start", err)
		}

		return withServiceFor(c, "session kernel start", *base, kernelStartTimeout, func(ctx context.Context, s serviceHandle) error {
			made, err := s.StartKernel(ctx, f.Arg(0), ask)
			switch {
			case err != nil:
				return err
			case *asJSON:
				c.Stdout.Write(cli.Marshal(made))
			default:
				fmt.Fprintln(c.Text(), made.ID)
			}
			return nil
		})
	})
}

// variables reads K=V.
func variables(given []string) (map[string]string, error) {
	all := map[string]string{}
	for _, one := range given {
		name, value, ok := strings.Cut(one, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("--env %.80q: write K=V", one)
		}
		all[name] = value
	}
	return all, nil
}

func kernelList(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("session kernel ls", `
List the kernels of a session of brig serve.

`+serviceText+`

Usage:
  brig session kernel ls [--json] [--url ADDRESS] ID

Examples:
  brig session kernel ls $id`)
	asJSON := f.Bool("json", false, "print JSON")
	base := urlFlag(f)
	return c.Does(k, func() int {
		if f.NArg() != 1 {
			return c.Hint("session kernel ls", errors.New("session kernel ls needs the ID of a session"))
		}
		return withService(c, "session kernel ls", *base, func(ctx context.Context, s serviceHandle) error {
			all, err := s.Kernels(ctx, f.Arg(0))
			if err != nil {
				return err
			}
			return cli.PrintList(c, *asJSON, all, "KERNEL\tSTATE\tLANGUAGE\tCELLS\tWAITING\tDIRECTORY", func(k api.Kernel) string {
				return fmt.Sprintf("%s\t%s\t%s\t%d\t%d\t%s", k.ID, k.State, k.Language, k.Count, k.Waiting, k.Cwd)
			})
		})
	})
}

// onKernels makes a command that does something with each kernel that it names, and prints nothing.
func onKernels(c *cli.CLI, name, text string, maximum int, timeout time.Duration,
	do func(ctx context.Context, s serviceHandle, session, kernel string) error) *cobra.Command {
	k, f := cli.NewCommand(name, text)
	base := urlFlag(f)
	return c.Does(k, func() int {
		if n := f.NArg() - 1; n < 1 || n > maximum {
			return c.Hint(name, fmt.Errorf("%s needs the ID of a session and that of a kernel: see brig session kernel ls", name))
		}
		return withServiceFor(c, name, *base, timeout, func(ctx context.Context, s serviceHandle) error {
			var errs []error
			for _, kernel := range f.Args()[1:] {
				errs = append(errs, do(ctx, s, f.Arg(0), kernel))
			}
			return errors.Join(errs...)
		})
	})
}

func kernelInterrupt(c *cli.CLI) *cobra.Command {
	return onKernels(c, "session kernel interrupt", `
End the cell that a kernel executes: its program gets SIGINT, and its variables stay. One that
has not ended after 2 s loses its interpreter. A kernel that executes no cell does nothing.

`+serviceText+`

Usage:
  brig session kernel interrupt [--url ADDRESS] ID KERNEL

Examples:
  brig session kernel interrupt $id $k`, 1, serviceTimeout,
		func(ctx context.Context, s serviceHandle, session, kernel string) error {
			return s.InterruptKernel(ctx, session, kernel)
		})
}

func kernelRestart(c *cli.CLI) *cobra.Command {
	return onKernels(c, "session kernel restart", `
Give a kernel a fresh interpreter. Its variables are lost, and so is the cell that it executes.

`+serviceText+`

Usage:
  brig session kernel restart [--url ADDRESS] ID KERNEL

Examples:
  brig session kernel restart $id $k`, 1, kernelStartTimeout,
		func(ctx context.Context, s serviceHandle, session, kernel string) error {
			_, err := s.RestartKernel(ctx, session, kernel)
			return err
		})
}

func kernelRemove(c *cli.CLI) *cobra.Command {
	return onKernels(c, "session kernel rm", `
End kernels, with all of their processes.

`+serviceText+`

Usage:
  brig session kernel rm [--url ADDRESS] ID KERNEL...

Examples:
  brig session kernel rm $id $k`, api.SessionKernels, serviceTimeout,
		func(ctx context.Context, s serviceHandle, session, kernel string) error {
			return s.DeleteKernel(ctx, session, kernel)
		})
}
