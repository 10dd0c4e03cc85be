package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/cmd/brig/images"
	"github.com/brig-sandbox/brig/internal/terminal"
)

// StartProcess starts a process in a session of the service at base; empty: the one in the environment.
type StartProcess func(c *cli.CLI, base, session string, ask api.ProcessRequest) int

// SessionCommand is brig session: sandboxes that last. processes are the commands about processes, which a service keeps.
func SessionCommand(c *cli.CLI, start StartProcess, processes []cli.Command) *cobra.Command {
	exec := func(c *cli.CLI) *cobra.Command { return sessionExec(c, start) }
	return c.Group("session", `
Create a long-lived sandbox and work in it: files below /box and /tmp, and background
processes, remain from one command to the next. A session ends when it is removed, when
it gets no request for some time, when its lifetime is over, or when the agent stops. It
belongs to the user that created it.

Usage:
  brig session create [flags]
  brig session exec [flags] ID -- CMD [ARGS...]
  brig session exec [flags] -c CODE ID [ARGS...]
  brig session exec -d [flags] ID -- CMD [ARGS...]
  brig session ps ID
  brig session attach ID PID
  brig session kernel start|exec|ls|interrupt|restart|rm ID ...
  brig session ls
  brig session put ID FILE [NAME]
  brig session get ID NAME [FILE]
  brig session files ID [DIR]
  brig session stat ID PATH
  brig session mkdir ID PATH
  brig session mv ID FROM TO
  brig session unlink [-r] ID PATH
  brig session snapshot ID [PATH...]
  brig session diff [--since SNAPSHOT] ID
  brig session take TO FROM PATH...
  brig session rm ID...

Examples:
  id=$(brig session create --language python --memory 256M --idle 10m)
  brig session put $id data.csv
  brig session exec $id -- ls -l
  brig session exec -c 'print(open("data.csv").read())' $id
  brig session get $id result.txt
  brig session rm $id

A session needs an agent that outlives the commands: brigd must be running. Processes
that outlive their command need a brig serve: exec -d, ps, attach and kernel.`, append([]cli.Command{
		{Name: "create", Short: "create a session and print its id", Make: sessionCreate},
		{Name: "exec", Short: "execute a command or code in a session", Make: exec},
		{Name: "ls", Short: "list live sessions", Make: sessionList},
		{Name: "put", Short: "put a file into a session", Make: sessionPut},
		{Name: "get", Short: "get a file from a session", Make: sessionGet},
		{Name: "files", Short: "list the files of a session", Make: sessionFiles},
		{Name: "stat", Short: "describe a file of a session", Make: sessionStat},
		{Name: "mkdir", Short: "make a directory in a session", Make: sessionMakeDir},
		{Name: "mv", Short: "rename a file of a session", Make: sessionMove},
		{Name: "unlink", Short: "remove a file of a session", Make: sessionUnlink},
		{Name: "snapshot", Short: "make a snapshot of the files of a session", Make: sessionSnapshot},
		{Name: "diff", Short: "list how files of a session differ from a snapshot", Make: sessionDiff},
		{Name: "take", Short: "copy files of another session into a session", Make: sessionTake},
		{Name: "rm", Short: "end sessions, with all processes in them", Make: sessionRemove},
	}, processes...))
}

// connectRunning connects to an agent that outlives this command.
func connectRunning(c *cli.CLI, socket string) (*caller.Agent, error) {
	return caller.Running(cmp.Or(socket, c.Env("BRIG_SOCKET")))
}

func sessionCreate(c *cli.CLI) *cobra.Command {
	k, f := cli.NewCommand("session create", `
Create a session and print its id. --memory, --cpus, --pids and --scratch limit the
session as a whole; limits such as --wall are the defaults of each command.

Usage:
  brig session create [--language NAME] [flags]
  brig session create --rootfs IMAGE [flags]
  brig session create --snapshot SNAPSHOT [flags]

Examples:
  brig session create --language python
  brig session create --rootfs tiny --memory 128M --pids 50 --wall 10s --idle 15m --life 2h
  brig session create --language python --volume thesis --volume-size 1G
  brig session create --snapshot ready`)

	var volume api.VolumeRequest
	var ask api.SessionRequest
	var env, labels []string
	f.StringVarP(&ask.Language, "language", "l", "", "`NAME` of the language (default python, if there is no --rootfs)")
	f.StringVar(&ask.Image, "rootfs", "", "use this stored `IMAGE`, by name or digest")
	f.StringVar(&ask.Snapshot, "snapshot", "",
		"begin with the files of this `SNAPSHOT`, by id or name, and with its language or image unless one is named")
	cli.LimitFlags(f, &ask.Limits, map[string]string{
		"memory": "memory of the whole session, reserved for its lifetime",
		"cpus":   "processors that the whole session uses at once",
		"pids":   "processes and threads of the whole session",
	}, api.OfBoth, api.OfSession)

	cli.LimitFlags(f, &ask.ExecLimits, map[string]string{
		"wall":   "time of a command from start to end",
		"cpu":    "processor time of a command (default as --wall)",
		"output": "bytes of a command's stdout and of its stderr",
	}, api.OfExec)

	f.Var(&ask.ExecLimits.Memory, "exec-memory", "memory of a command (default as --memory)")
	f.Int64Var(&ask.ExecLimits.Pids, "exec-pids", 0, "processes and threads of a command (default as --pids)")
	f.StringVar(&volume.Name, "volume", "",
		"mount the volume `NAME` at /workspace; it outlives the session, and is created if missing")
	f.Var(&volume.Size, "volume-size", fmt.Sprintf("size of the volume if it is created (default %s)", api.VolumeSize))
	f.BoolVar(&volume.ReadOnly, "volume-read-only", false, "mount the volume read-only; other sessions may write to it")
	f.BoolVar(&volume.Shared, "volume-shared", false, "let other sessions with this flag write to the volume too")
	f.BoolVar(&volume.Temporary, "volume-temporary", false,
		"a volume of the label run alone, which brig end --run removes with it")
	f.StringVar(&ask.Preset, "preset", "", "limits to start from: hardened or light")
	f.Var(&ask.Idle, "idle",
		fmt.Sprintf("end the session after this time without a request (default %s)", api.SessionIdle))
	f.Var(&ask.Life, "life", fmt.Sprintf("end the session after this time in any case (default %s)", api.SessionLife))
	f.StringVar(&ask.Profile, "profile", "", "seccomp profile `NAME`")
	f.StringVar((*string)(&ask.ProfileMode), "profile-mode", "", "enforce or log")
	f.BoolVar(&ask.WritableRoot, "writable-root", false, "let programs write to a temporary copy of the image")
	f.BoolVar(&ask.OwnImage, "own-image", false,
		"let programs write to a temporary copy of the image, and see themselves as root, without privilege")
	workdirAliasFlag(f, &ask.WorkdirAlias)
	f.StringArrayVarP(&env, "env", "e", nil, "set a variable for every command: `K=V` (repeatable)")
	cli.LabelFlag(f, &labels)
	for _, name := range []string{"idle", "life", "volume-size"} {
		f.Lookup(name).DefValue = "" // the text says it
	}

	wait := f.Duration("wait", time.Minute, "how long to wait for room: fewer sessions, and memory that others have reserved; 0 does not wait")
	noBuild := new(bool)
	cli.NoBuildFlag(f, noBuild)
	var packages images.PackageFlags
	packages.Register(f)
	asJSON := f.Bool("json", false, "print the session as JSON")
	socket := cli.SocketFlag(f)
	return c.Does(k, func() int {
		o := runOptions{env: env}
		err := o.planSurroundings()
		if err == nil {
			ask.Labels, err = c.Labels(labels)
		}
		if err == nil {
			ask.Requirements, err = packages.Requirements()
		}

		if err == nil {
			ask.Env = o.run.Env
			if volume.Name != "" {
				ask.Volume = &volume
			} else if volume != (api.VolumeRequest{}) {
				err = fmt.Errorf("--volume-size, --volume-read-only, --volume-shared and --volume-temporary apply to " +
					"a volume: add --volume NAME")
			}
		}

		if ask.Language = strings.ToLower(ask.Language); ask.Language == "" && ask.Image == "" && ask.Snapshot == "" {
			ask.Language = "python" // as brig run -c
		}
		if err == nil {
			err = ask.Validate()
		}
		if err == nil && f.NArg() > 0 {
			err = fmt.Errorf("session create takes no argument %q", f.Arg(0))
		}
		if err != nil {
			return c.Hint("session create", err)
		}

		return withRunningAgent(c, *socket, func(ctx context.Context, agent *caller.Agent) error {
			s, err := createSession(ctx, c, agent, ask, packages.Index, *wait, *noBuild)
			switch {
			case err != nil:
				return err
			case *asJSON:
				c.Stdout.Write(cli.Marshal(s))
			default:
				fmt.Fprintln(c.Text(), s.ID)
			}
			return nil
		})
	})
}

// createSession creates a session. It stores the image of its language first if that is missing, and has
// its packages installed if they are not.
func createSession(ctx context.Context, c *cli.CLI, agent *caller.Agent, ask api.SessionRequest, index string,
	wait time.Duration, noBuild bool) (api.Session, error) {
	var l api.Language
	if ask.Language != "" {
		all, err := agent.Languages(ctx)
		if err == nil {
			l, err = cli.LanguageOf(all, ask.Language, cli.Source{})
		}
		if err == nil && ask.Image == "" {
			err = images.EnsureImage(ctx, c, agent, l, noBuild)
		}
		if err != nil {
			return api.Session{}, err
		}
	}

	if len(ask.Requirements) > 0 {
		ask.Index = images.IndexOf(c, l, index)
	}

	r := api.PackageRequest{Language: ask.Language, Requirements: ask.Requirements, Index: ask.Index}
	return images.WithPackages(ctx, c, agent, l, r, noBuild, func() (api.Session, error) {
		return cli.RetryWhileBusy(ctx, c, wait,
			func(ctx context.Context) (api.Session, error) { return agent.CreateSession(ctx, ask) })
	})
}

// withRunningAgent calls do with an agent that outlives this command. A signal cancels the context.
func withRunningAgent(c *cli.CLI, socket string, do func(context.Context, *caller.Agent) error) int {
	agent, err := connectRunning(c, socket)
	return c.CallAgent(agent, err, do)
}

// simple makes a session command that takes from minimum to maximum arguments. more adds its flags.
func simple(c *cli.CLI, name, text string, minimum, maximum int, more func(*pflag.FlagSet),
	run func(words []string, socket string) int) *cobra.Command {
	k, f := cli.NewCommand("session "+name, text)
	socket := cli.SocketFlag(f)
	if more != nil {
		more(f)
	}

	return c.Does(k, func() int {
		if n := f.NArg(); n < minimum || n > maximum {
			_, line, _ := strings.Cut(text, "Usage:\n  ")
			line, _, _ = strings.Cut(line, "\n")
			got := "no argument"
			if n > 0 {
				got = fmt.Sprintf("%d arguments", n)
			}
			return c.Hint("session "+name, fmt.Errorf("session %s got %s: write %s", name, got, line))
		}
		return run(f.Args(), *socket)
	})
}

func sessionList(c *cli.CLI) *cobra.Command {
	var asJSON bool
	return simple(c, "ls", `
List the live sessions: your own, or for root all sessions.

Usage:
  brig session ls [--json]

Examples:
  brig session ls`, 0, 0, func(f *pflag.FlagSet) { f.BoolVar(&asJSON, "json", false, "print JSON") }, func(_ []string, socket string) int {
		return withRunningAgent(c, socket, func(ctx context.Context, agent *caller.Agent) error {
			all, err := agent.Sessions(ctx)
			if err != nil {
				return err
			}
			return cli.PrintList(c, asJSON, all, "SESSION\tSTATE\tIN\tMEMORY\tPROCESSES\tEXECS\tENDS\tLABELS",
				func(s api.Session) string {
					return fmt.Sprintf("%s\t%s\t%s\t%s of %s\t%s of %d\t%d\t%s\t%s", s.ID, s.State,
						cmp.Or(s.Language, shortDigest(s.Image)),
						cli.FormatBytes(s.Usage.Memory), s.Limits.Memory, cli.FormatCount(s.Usage.Processes), s.Limits.Pids, s.Execs,
						timeLeft(cmp.Or(s.IdleEnds, s.Ends)),
						labelsOf(s.Labels))
				})
		})
	})
}

// labelsOf formats labels for a table.
func labelsOf(l api.Labels) string {
	text := terminal.Quote(strings.Trim(l.Project+"/"+l.Task, "/"))
	if l.Run != "" {
		text = strings.TrimSpace(text + " run=" + terminal.Quote(l.Run))
	}
	return cmp.Or(text, "-")
}

// timeLeft formats the time that is left until an instant.
func timeLeft(text string) string {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return text
	}
	return "in " + max(time.Until(at), 0).Round(time.Second).String()
}

func shortDigest(d string) string {
	_, hex, _ := strings.Cut(d, ":")
	return hex[:min(12, len(hex))]
}

func sessionRemove(c *cli.CLI) *cobra.Command {
	return simple(c, "rm", `
End sessions, with all processes in them. When the command returns, nothing of them is left.

Usage:
  brig session rm ID...

Examples:
  brig session rm $id`, 1, 1000, nil, func(ids []string, socket string) int {
		return withRunningAgent(c, socket, func(ctx context.Context, agent *caller.Agent) error {
			var errs []error
			for _, id := range ids {
				errs = append(errs, agent.DeleteSession(ctx, id))
			}
			return errors.Join(errs...)
		})
	})
}
