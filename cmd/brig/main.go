// Command brig runs untrusted programs, each in its own sandbox, and has the commands around that.
// It holds no privilege: brigd makes the sandboxes.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/agent/relay"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/remedies"
	"github.com/brig-sandbox/brig/internal/terminal"
	"github.com/brig-sandbox/brig/rootfs/reader"
	"github.com/brig-sandbox/brig/service/problems"
)

// version is set by the linker.
var version = "devel"

// A command is one subcommand. To add one, write a file with a function that makes it and add a line
// to commands.
type command struct {
	name   string
	short  string // one line for brig --help
	make   func(c *cli) *cobra.Command
	hidden bool // not in brig --help: only packagers need it
}

func commands() []command {
	return []command{
		{name: "run", short: "run a program in a sandbox", make: runCommand},
		{name: "grade", short: "judge what a class handed in, and print a table", make: gradeCommand},
		{name: "batch", short: "judge many jobs, from JSON lines to JSON lines", make: batchCommand},
		{name: "worker", short: "execute jobs of batches on other machines", make: workerCommand},
		{name: "worker-key", short: "make the key of a worker", make: workerKeyCommand},
		{name: "pool", short: "look at the workers of an engine, drain one", make: poolCommand},
		{name: "problem", short: "read and verify packages of problems", make: problemCommand},
		{name: "convert", short: "make jobs of data sets such as HumanEval", make: convertCommand},
		{name: "serve", short: "serve runs over HTTP, with history and statistics", make: serveCommand},
		{name: "key", short: "create keys for brig serve", make: keyCommand},
		{name: "history", short: "list the runs of brig serve", make: historyCommand},
		{name: "explain", short: "explain why a run of brig serve failed", make: explainCommand},
		{name: "check", short: "check a program's source for problems", make: checkCommand},
		{name: "rootfs", short: "build, pull, import, list and remove images", make: rootfsCommand},
		{name: "packages", short: "list, remove and prepare sets of packages", make: packagesCommand},
		{name: "profile", short: "show, explain, compare and export seccomp profiles", make: profileCommand},
		{name: "session", short: "create long-lived sandboxes and work in them", make: sessionCommand},
		{name: "volume", short: "list and remove the volumes of sessions", make: volumeCommand},
		{name: "languages", short: "list the languages the agent can run", make: languagesCommand},
		{name: "bundle", short: "write a run as an OCI bundle for runc", make: bundleCommand},
		{name: "cleanup", short: "clean up after killed agents", make: cleanupCommand},
		{name: "calibrate", short: "measure how fast this machine is", make: calibrateCommand},
		{name: "doctor", short: "check this host: what works, what is refused, how to fix it", make: doctorCommand},
		{name: "selftest", short: "test the sandbox with real runs", make: selftestCommand},
		{name: "version", short: "print the version", make: versionCommand},
		{name: "completion", short: "print a shell's completion of brig", make: completionCommand},
		{name: "docs", make: docsCommand, hidden: true},
		{name: reader.Command, make: imageReaderCommand, hidden: true},
		{name: problems.Command, make: problemReaderCommand, hidden: true},
		{name: relay.Command, make: relayCommand, hidden: true},
	}
}

func names(all []command) []string {
	var out []string
	for _, k := range all {
		if !k.hidden {
			out = append(out, k.name)
		}
	}
	return out
}

// A cli has the streams and the environment of a command.
type cli struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            func(string) string
	words          []string // the command line: commands whose names are not in it are not made; nil: all are made
	code           int      // exit code of the command that was run
	compilerOutput []byte   // output of a compiler that was printed already
}

func main() {
	out := &stdoutWriter{to: os.Stdout}
	c := &cli{stdin: os.Stdin, stdout: out, stderr: os.Stderr, env: os.Getenv}
	os.Exit(c.exitCode(brig(c, os.Args[1:]), out.err))
}

// brig finds the command and runs it.
func brig(c *cli, args []string) int {
	if len(args) == 0 {
		fmt.Fprint(c.stderr, overview())
		return exitBrig
	}

	switch name := args[0]; name {
	case "help", "-h", "--help":
		if len(args) > 1 && name == "help" {
			return brig(c, append(slices.Clone(args[1:]), "--help"))
		}
		fmt.Fprint(c.text(), overview())
		return 0

	case "--version":
		return brig(c, []string{"version"})
	case cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd: // the shell asks what may follow
	default:
		if all := commands(); !slices.ContainsFunc(all, func(k command) bool { return k.name == name }) {
			return c.hint("", fmt.Errorf("command %q does not exist%s", name, remedies.Command(name, isSource(name), names(all))))
		}
	}

	c.words = args
	root := c.root()
	root.SetArgs(args)
	if err := root.Execute(); err != nil {
		return exitBrig // the command has printed it
	}
	return c.code
}

// overview is the text of brig --help.
func overview() string {
	var b strings.Builder
	b.WriteString("brig runs untrusted programs.\n\nUsage:\n  brig COMMAND [flags]\n\nCommands:\n")
	for _, k := range commands() {
		if !k.hidden {
			fmt.Fprintf(&b, "  %-11s %s\n", k.name, k.short)
		}
	}
	b.WriteString("\nTry:\n  brig run hello.py\n  brig run -c 'print(2+2)'\n  brig COMMAND --help\n")
	return b.String()
}

// hint reports a mistake on the command line.
func (c *cli) hint(command string, err error) int {
	c.note("%v\nTry: brig %s", err, strings.TrimSpace(command+" --help"))
	return exitBrig
}

// end is fail for what a signal may have ended, which the exit code says alone.
func (c *cli) end(err error) int {
	if s := (interrupted{}); errors.As(err, &s) {
		return s.exit()
	}
	return c.fail(err)
}

// fail reports an error of brig, and returns the exit code.
func (c *cli) fail(err error) int {
	c.note("%v", err)
	var e *api.Error
	if errors.As(err, &e) {
		return errorExit(e.Code)
	}
	return exitBrig
}

// text is stdout for brig's own messages. A program's output and JSON go to stdout unchanged.
func (c *cli) text() io.Writer { return terminal.Writer{To: c.stdout} }

// note prints a message of brig on stderr.
func (c *cli) note(format string, args ...any) {
	fmt.Fprintf(terminal.Writer{To: c.stderr}, "brig: "+format+"\n", args...)
}
