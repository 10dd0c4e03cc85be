// Command brig runs untrusted programs, each in its own sandbox, and has the commands around that.
// It holds no privilege: brigd makes the sandboxes.
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/agent/relay"
	"github.com/brig-sandbox/brig/cmd/brig/batch"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/cmd/brig/images"
	"github.com/brig-sandbox/brig/cmd/brig/judging"
	"github.com/brig-sandbox/brig/cmd/brig/run"
	"github.com/brig-sandbox/brig/cmd/brig/serve"
	"github.com/brig-sandbox/brig/internal/remedies"
	"github.com/brig-sandbox/brig/rootfs/reader"
	"github.com/brig-sandbox/brig/service/problems"
)

// version is set by the linker.
var version = "devel"

func commands() []cli.Command {
	return []cli.Command{
		{Name: "run", Short: "run a program in a sandbox", Make: run.Command},
		{Name: "grade", Short: "judge what a class handed in, and print a table", Make: judging.GradeCommand},
		{Name: "batch", Short: "judge many jobs, from JSON lines to JSON lines", Make: batch.Command},
		{Name: "worker", Short: "execute jobs of batches on other machines", Make: batch.WorkerCommand},
		{Name: "worker-key", Short: "make the key of a worker", Make: batch.WorkerKeyCommand},
		{Name: "pool", Short: "look at the workers of an engine, drain one", Make: batch.PoolCommand},
		{Name: "problem", Short: "read and verify packages of problems", Make: judging.ProblemCommand},
		{Name: "convert", Short: "make jobs of data sets such as HumanEval", Make: batch.ConvertCommand},
		{Name: "serve", Short: "serve runs over HTTP, with history and statistics", Make: serve.Command},
		{Name: "key", Short: "create keys for brig serve", Make: serve.KeyCommand},
		{Name: "mcp", Short: "offer tools to language models and editors", Make: serve.MCPCommand},
		{Name: "history", Short: "list the runs of brig serve", Make: serve.HistoryCommand},
		{Name: "end", Short: "end all that has a label: runs, sessions, batches", Make: serve.EndCommand},
		{Name: "explain", Short: "explain why a run of brig serve failed", Make: serve.ExplainCommand},
		{Name: "check", Short: "check a program's source for problems", Make: run.CheckCommand},
		{Name: "rootfs", Short: "build, pull, import, list and remove images", Make: images.RootfsCommand},
		{Name: "packages", Short: "list, remove and prepare sets of packages", Make: images.PackagesCommand},
		{Name: "profile", Short: "show, explain, compare and export seccomp profiles", Make: run.ProfileCommand},
		{Name: "session", Short: "create long-lived sandboxes and work in them", Make: sessionCommand},
		{Name: "volume", Short: "list and remove the volumes of sessions", Make: run.VolumeCommand},
		{Name: "snapshot", Short: "list and remove the snapshots of sessions", Make: run.SnapshotCommand},
		{Name: "languages", Short: "list the languages the agent can run", Make: images.LanguagesCommand},
		{Name: "bundle", Short: "write a run as an OCI bundle for runc", Make: run.BundleCommand},
		{Name: "cleanup", Short: "clean up after killed agents", Make: cleanupCommand},
		{Name: "calibrate", Short: "measure how fast this machine is", Make: judging.CalibrateCommand},
		{Name: "doctor", Short: "check this host: what works, what is refused, how to fix it", Make: doctorCommand},
		{Name: "selftest", Short: "test the sandbox with real runs", Make: selftestCommand},
		{Name: "version", Short: "print the version", Make: versionCommand},
		{Name: "completion", Short: "print a shell's completion of brig", Make: completionCommand},
		{Name: "docs", Make: docsCommand, Hidden: true},
		{Name: reader.Command, Make: images.ReaderCommand, Hidden: true},
		{Name: problems.Command, Make: judging.ProblemReaderCommand, Hidden: true},
		{Name: relay.Command, Make: images.RelayCommand, Hidden: true},
	}
}

func main() {
	out := &cli.StdoutWriter{To: os.Stdout}
	c := &cli.CLI{Stdin: os.Stdin, Stdout: out, Stderr: os.Stderr, Env: os.Getenv, Version: version}
	os.Exit(c.ExitCode(brig(c, os.Args[1:]), out.Err))
}

// brig finds the command and runs it.
func brig(c *cli.CLI, args []string) int {
	if len(args) == 0 {
		fmt.Fprint(c.Stderr, overview())
		return cli.ExitBrig
	}

	switch name := args[0]; name {
	case "help", "-h", "--help":
		if len(args) > 1 && name == "help" {
			return brig(c, append(slices.Clone(args[1:]), "--help"))
		}
		fmt.Fprint(c.Text(), overview())
		return 0

	case "--version":
		return brig(c, []string{"version"})
	case cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd: // the shell asks what may follow
	default:
		if all := commands(); !slices.ContainsFunc(all, func(k cli.Command) bool { return k.Name == name }) {
			return c.Hint("", fmt.Errorf("command %q does not exist%s", name, remedies.Command(name, cli.IsSource(name), cli.Names(all))))
		}
	}

	c.Words = args
	root := c.Root(commands())
	root.SetArgs(args)
	if err := root.Execute(); err != nil {
		return cli.ExitBrig // the command has printed it
	}
	return c.Code
}

// overview is the text of brig --help.
func overview() string {
	var b strings.Builder
	b.WriteString("brig runs untrusted programs.\n\nUsage:\n  brig COMMAND [flags]\n\nCommands:\n")
	for _, k := range commands() {
		if !k.Hidden {
			fmt.Fprintf(&b, "  %-11s %s\n", k.Name, k.Short)
		}
	}
	b.WriteString("\nTry:\n  brig run hello.py\n  brig run -c 'print(2+2)'\n  brig COMMAND --help\n")
	return b.String()
}

// sessionCommand is brig session, with what needs a service.
func sessionCommand(c *cli.CLI) *cobra.Command {
	return run.SessionCommand(c, serve.StartProcess, serve.ProcessCommands())
}
