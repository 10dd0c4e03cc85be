package run

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/inputfile"
	"github.com/brig-sandbox/brig/judge/diagnose"
)

func sessionExec(c *cli.CLI, start StartProcess) *cobra.Command {
	k, f := cli.NewCommand("session exec", `
Execute a command, or code in the session's language, in a session. It behaves like
brig run: stdin, live output, exit code. Background processes that it leaves stay in the
session; a limit that ends the command ends them as well.

Usage:
  brig session exec [flags] ID -- CMD [ARGS...]
  brig session exec [flags] -c CODE ID [ARGS...]
  brig session exec [flags] --source FILE ID [ARGS...]

Examples:
  brig session exec $id -- make test
  brig session exec --wall 2s -c 'print(2+2)' $id
  brig session exec --source hello.cs $id      (a session of csharp)
  brig session exec $id -- sh -c 'server >/tmp/log 2>&1 &'
  brig session exec -d -t $id -- bash   (prints its number: brig session attach)
  brig session exec -i --resident $id -- python3 -i   (stdin stays open, without a slot)

Flags go before ID: everything after ID belongs to the program. If one of these flags is
there, brig prints a note, unless -- precedes it.`)

	f.SetInterspersed(false)
	o := new(runOptions)
	l := &o.run.Limits
	f.StringVarP(&o.code, "code", "c", "", "execute this `CODE` in the session's language")
	source := f.String("source", "", "execute this `FILE` in the session's language")
	f.Var(&l.Memory, "memory", "memory of the command with its child processes")
	f.Var(&l.Wall, "wall", "time from start to end")
	f.Var(&l.CPU, "cpu", "processor time of the command with its child processes")
	f.Float64Var(&l.CPUs, "cpus", 0, "processors that are used at once")
	f.Int64Var(&l.Pids, "pids", 0, "processes and threads of the command")
	f.Var(&l.Output, "output", "bytes of stdout and of stderr")
	for _, name := range []string{"wall", "cpu"} {
		f.Lookup(name).DefValue = "" // as the session says
	}

	f.StringArrayVarP(&o.env, "env", "e", nil, "set a variable: `K=V` (repeatable)")
	f.StringArrayVar(&o.collect, "collect", nil, "collect the files of /box that match `GLOB` (repeatable)")
	o.registerBlobs(f)
	f.StringVar(&o.out, "out", "", "write the collected files to this `DIR`")
	f.BoolVar(&o.force, "force", false, "let --out overwrite files")
	f.BoolVar(&o.json, "json", false, "print the result as JSON instead of the program's output")
	f.StringVar(&o.result, "result", "", "write the result, or brig's error, as JSON to this `FILE`")
	f.BoolVarP(&o.stats, "stats", "v", false, "print verdict and usage to stderr")
	f.BoolVar(&o.run.MergeStderr, "merge-stderr", false, "stdout gets what is written to stderr, too, in the order of writing")
	o.registerTimeline(f)
	o.registerQuiet(f)
	o.registerTerminal(f)
	f.BoolVar(&o.resident, "resident", false, "the command stays, as a server or a REPL does: it holds no slot, and may run as long as the session lives")
	detach := f.BoolP("detach", "d", false, "start it as a process of a session of brig serve, and print its number: it outlives this command")
	base := f.String("url", "", "with -d: the service's `ADDRESS` (default $BRIG_URL); its key is $BRIG_API_KEY")
	cli.SocketVar(f, &o.socket)
	return c.Does(k, func() int {
		o.hasCode = f.Changed("code")
		words := f.Args()
		if len(words) == 0 {
			return c.Hint("session exec", fmt.Errorf("session exec needs the ID of a session"))
		}

		id, words := words[0], words[1:]
		if len(words) > 0 && words[0] == "--" {
			words = words[1:]
		}
		if err := cmp.Or(o.checkQuiet(), o.checkTerminal(), o.checkBlobs(), o.planSurroundings(), checkDetach(f, *detach)); err != nil {
			return c.Hint("session exec", err)
		}

		e := api.Exec{Argv: words, Env: o.run.Env, Limits: *l, Collect: api.Collect{Globs: o.collect, Blobs: o.collectBlobs},
			Interactive: !o.json, Timeline: o.run.Timeline, MergeStderr: o.run.MergeStderr, Resident: o.resident}
		switch {
		case o.hasCode && *source != "":
			return c.Hint("session exec", fmt.Errorf("-c and --source exclude each other"))
		case o.hasCode:
			e.Source = cli.SourceBytes([]byte(o.code))
		case *source != "":
			text, err := cli.ReadFile(*source)
			if err != nil {
				return runFailed(c, o, err, false)
			}
			e.Source, e.SourceName = cli.SourceBytes(text), filepath.Base(*source)
		}

		if len(words) == 0 && e.Source == nil {
			return c.Hint("session exec",
				fmt.Errorf("there is nothing to execute: write -- CMD after the ID, or use -c CODE or --source FILE before it"))
		}

		err := e.Validate()
		if err == nil && len(o.collect) > 0 && o.out == "" && !o.json && o.result == "" {
			err = fmt.Errorf("--collect needs a destination: add --out DIR, --json or --result FILE")
		}
		if err != nil {
			return c.Hint("session exec", err)
		}
		if !o.quiet {
			noteMisplacedFlags(c, f, f.Args())
		}
		if *detach {
			return start(c, *base, id, detached(e, o.tty))
		}
		return execInSession(c, o, id, e)
	})
}

// checkDetach refuses flags that say what a process cannot have.
func checkDetach(f *pflag.FlagSet, detach bool) error {
	if !detach {
		if f.Changed("url") {
			return fmt.Errorf("--url is for -d: without it, the session is one of an agent (--socket)")
		}
		return nil
	}
	for _, name := range []string{"socket", "json", "result", "collect", "collect-blobs", "out", "stats", "timeline", "merge-stderr"} {
		if f.Lookup(name) != nil && f.Changed(name) {
			return fmt.Errorf("-d and --%s exclude each other: a process of brig serve outlives this command; see brig session attach", name)
		}
	}
	return nil
}

// detached is the process of a service that an exec asks for.
func detached(e api.Exec, tty bool) api.ProcessRequest {
	p := api.ProcessRequest{Source: e.Source, SourceName: e.SourceName, Argv: e.Argv, Env: e.Env, Limits: e.Limits,
		Stdin: api.ProcessStdinOpen, Detach: true}
	if tty {
		p.TTY = &api.TTY{}
	}
	return p
}

func execInSession(c *cli.CLI, o *runOptions, id string, e api.Exec) int {
	if err := prepareResult(c, o); err != nil {
		return c.Fail(err)
	}

	agent, err := connectRunning(c, o.socket)
	if err != nil {
		return runFailed(c, o, err, false)
	}

	ctx, stop := cli.UntilInterrupt(agent)
	defer stop()

	var kept headTail
	screen := c.Screen()
	events := client.Events{Stdout: screen.Stdout(), Stderr: io.MultiWriter(screen.Stderr(), &kept),
		Compiled: func(made api.Compilation) {
			if !o.json {
				printCompilerOutput(c, made.Stdout, made.Stderr)
			}
		}}

	var out, errs bytes.Buffer
	if o.json {
		events.Stdout, events.Stderr = &out, &errs
	}

	res, err := o.withTerminal(c, screen, &events, func(stdin io.Reader, tty *api.TTY) (api.Result, error) {
		e.TTY = tty
		return agent.ExecEvents(ctx, id, e, stdin, events)
	})
	screen.End()
	if err != nil {
		if e.Source == nil {
			word := e.Argv[0]
			err = withProgramRemedy(err, "", e.Argv,
				fmt.Sprintf("to execute a source file in the session's language: brig session exec --source %s %s", word, id),
				fmt.Sprintf("flags go before the ID: brig session exec %s ... %s", word, id))
		}
		return runFailed(c, o, err, false)
	}

	if o.json && res.Stage == api.StageRun {
		res.Stdout, res.Stderr = out.Bytes(), errs.Bytes()
	}

	seen := res
	if len(seen.Stderr) == 0 {
		seen.Stderr = kept.bytes()
	}

	o.refused = diagnose.RelevantRefusals("", seen) // the session knows its language
	return printReport(c, o, res)
}

func sessionPut(c *cli.CLI) *cobra.Command {
	var executable, volume bool
	return simple(c, "put", `
Put a file into /box of a session, or, if NAME is an absolute path, there; it replaces an
existing file. FILE - reads standard input.

Usage:
  brig session put [--executable] [--volume] ID FILE [NAME]

Examples:
  brig session put $id data.csv
  brig session put --volume $id data.csv
  brig session put $id data.csv /tmp/in/data.csv
  tar c src | brig session put $id - in/src.tar`, 2, 3, func(f *pflag.FlagSet) {
		volumeFlag(f, &volume)
		f.BoolVarP(&executable, "executable", "x", false, "make it executable (default: as FILE is)")
	}, func(words []string, socket string) int {
		name := filepath.Base(words[1])
		if len(words) == 3 {
			name = words[2]
		} else if words[1] == "-" {
			return c.Hint("session put", fmt.Errorf("standard input has no name: add one"))
		}
		if err := checkAbsolute(name, volume); err != nil {
			return c.Hint("session put", err)
		}

		var content io.Reader = c.Stdin
		if words[1] != "-" {
			file, info, err := inputfile.Open(words[1])
			if err != nil {
				return c.Fail(err)
			}
			defer file.Close()
			executable = executable || info.Mode()&0o111 != 0
			content = file
		}

		return withRunningAgent(c, socket, func(ctx context.Context, agent *caller.Agent) error {
			if isAbsolute(name) {
				mode := "0644"
				if executable {
					mode = "0755"
				}
				return agent.Paths(words[0]).Put(ctx, name, mode, content)
			}
			return agent.Files(words[0], volume).Put(ctx, name, content, executable)
		})
	})
}

func sessionGet(c *cli.CLI) *cobra.Command {
	var volume bool
	return simple(c, "get", `
Get a file from /box of a session, or, if NAME is an absolute path, from there, and write
it to standard output, or to FILE, which is created or replaced.

Usage:
  brig session get [--volume] ID NAME [FILE]

Examples:
  brig session get $id result.txt
  brig session get --volume $id out/plot.png plot.png
  brig session get $id /etc/os-release`, 2, 3, func(f *pflag.FlagSet) { volumeFlag(f, &volume) },
		func(words []string, socket string) int {
			if err := checkAbsolute(words[1], volume); err != nil {
				return c.Hint("session get", err)
			}
			return withRunningAgent(c, socket, func(ctx context.Context, agent *caller.Agent) error {
				get := agent.Files(words[0], volume).Get
				if isAbsolute(words[1]) {
					get = func(ctx context.Context, path string, to io.Writer) error {
						return agent.Paths(words[0]).Get(ctx, path, 0, -1, nil, to)
					}
				}
				if len(words) == 2 {
					screen := c.Screen()
					err := get(ctx, words[1], screen.Stdout())
					screen.End()
					return err
				}

				file, err := os.CreateTemp(filepath.Dir(words[2]), ".brig-*")
				if err != nil {
					return err
				}
				defer os.Remove(file.Name()) // fails once it has been renamed

				err = get(ctx, words[1], file)
				if cerr := file.Close(); err == nil {
					err = cerr
				}
				if err == nil {
					err = os.Chmod(file.Name(), 0o644)
				}
				if err == nil {
					err = os.Rename(file.Name(), words[2])
				}
				return err
			})
		})
}

func sessionFiles(c *cli.CLI) *cobra.Command {
	var asJSON, volume bool
	var depth int
	return simple(c, "files", `
List the files in /box of a session, or below a directory in it. If DIR is an absolute
path, list what is there, in as many levels of directories as --depth says.

Usage:
  brig session files [--json] [--volume] ID [DIR]
  brig session files [--json] [--depth N] ID /DIR

Examples:
  brig session files $id
  brig session files --volume $id out
  brig session files --depth 3 $id /tmp`, 1, 2, func(f *pflag.FlagSet) {
		f.BoolVar(&asJSON, "json", false, "print JSON")
		f.IntVar(&depth, "depth", 0, "levels of directories below an absolute path, at most 32 (default 1)")
		volumeFlag(f, &volume)
	}, func(words []string, socket string) int {
		dir := ""
		if len(words) == 2 {
			dir = words[1]
		}
		err := checkAbsolute(dir, volume)
		if err == nil && depth != 0 && !isAbsolute(dir) {
			err = fmt.Errorf("--depth is for an absolute path: below /box all levels are listed")
		}
		if err != nil {
			return c.Hint("session files", err)
		}

		return withRunningAgent(c, socket, func(ctx context.Context, agent *caller.Agent) error {
			if isAbsolute(dir) {
				return listPaths(ctx, c, agent, words[0], dir, depth, asJSON)
			}
			found, err := agent.Files(words[0], volume).List(ctx, dir)
			if err != nil {
				return err
			}
			if asJSON {
				c.Stdout.Write(cli.Marshal(found))
				return nil
			}

			t := cli.AlignedTable(c.Text())
			for _, file := range found.Files {
				fmt.Fprintf(t, "%s\t%d\t%q\n", file.Kind, file.Size, file.Name) // quoted: the name comes from a program
			}

			if err := t.Flush(); err != nil {
				return err
			}

			for _, s := range found.Skipped {
				c.Note("%q is not listed: %s", s.Name, s.Reason)
			}

			if found.More {
				c.Note("the list is incomplete: there are more files than one list can hold")
			}
			return nil
		})
	})
}
