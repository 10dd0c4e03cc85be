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

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/usage"
)

// version is set by the linker.
var version = "devel"

// A command is one subcommand. run gets the arguments after the name and returns the exit code.
// To add one, write a file with a function and add a line to commands.
type command struct {
	name   string
	short  string // one line for brig --help
	run    func(c *cli, args []string) int
	hidden bool // not in brig --help: only packagers need it
}

func commands() []command {
	return []command{
		{name: "run", short: "run a program in a sandbox", run: runCommand},
		{name: "serve", short: "serve runs over HTTP, with history and statistics", run: serveCommand},
		{name: "key", short: "create keys for brig serve", run: keyCommand},
		{name: "history", short: "list the runs of brig serve", run: historyCommand},
		{name: "explain", short: "explain why a run of brig serve failed", run: explainCommand},
		{name: "check", short: "check a program's source for problems", run: checkCommand},
		{name: "rootfs", short: "build, import, list and remove images", run: rootfsCommand},
		{name: "profile", short: "show, explain, compare and export seccomp profiles", run: profileCommand},
		{name: "session", short: "create long-lived sandboxes and work in them", run: sessionCommand},
		{name: "volume", short: "list and remove the volumes of sessions", run: volumeCommand},
		{name: "languages", short: "list the languages the agent can run", run: languagesCommand},
		{name: "bundle", short: "write a run as an OCI bundle for runc", run: bundleCommand},
		{name: "cleanup", short: "clean up after killed agents", run: cleanupCommand},
		{name: "doctor", short: "check this host: what works, what is refused, how to fix it", run: doctorCommand},
		{name: "selftest", short: "test the sandbox with real runs", run: selftestCommand},
		{name: "version", short: "print the version", run: versionCommand},
		{name: "completion", short: "print a shell's completion of brig", run: completionCommand},
		{name: "docs", run: docsCommand, hidden: true},
	}
}

// subcommands runs the subcommand that args name, such as ls in brig rootfs ls.
func (c *cli) subcommands(name, usage string, all []command, args []string) int {
	f := c.flags(name, usage)
	f.SetInterspersed(false)
	if c.helpPages != nil {
		c.addPages(all)
	}
	if code, done := c.parse(f, args); done {
		return code
	}
	if f.NArg() == 0 {
		return c.hint(name, fmt.Errorf("%s needs a subcommand", name))
	}
	if i := slices.IndexFunc(all, func(k command) bool { return k.name == f.Arg(0) }); i >= 0 {
		return all[i].run(c, f.Args()[1:])
	}
	return c.hint(name, fmt.Errorf("%s has no subcommand %q%s", name, f.Arg(0), orDefault(subcommandRemedy(name, f.Arg(0)), suggestion(f.Arg(0), names(all)))))
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
	helpPages      *[]usage.Page // not nil: commands add their help to it, and do nothing
	compilerOutput []byte        // output of a compiler that was printed already
}

func main() {
	out := &stdoutWriter{to: os.Stdout}
	c := &cli{stdin: os.Stdin, stdout: out, stderr: os.Stderr, env: os.Getenv}
	os.Exit(c.exitCode(brig(c, os.Args[1:]), out.err))
}

// brig finds the subcommand and runs it.
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
		return versionCommand(c, nil)
	default:
		all := commands()
		if i := slices.IndexFunc(all, func(k command) bool { return k.name == name }); i >= 0 {
			return all[i].run(c, args[1:])
		}
		return c.hint("", fmt.Errorf("command %q does not exist%s", name, commandRemedy(name, names(all))))
	}
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

// flags makes a command's flag set; text is its whole --help except the flags.
func (c *cli) flags(name, text string) *pflag.FlagSet {
	text = strings.Trim(text, "\n")
	f := pflag.NewFlagSet(name, pflag.ContinueOnError)
	f.SetOutput(io.Discard) // brig prints errors itself, once
	f.SortFlags = false
	if c.helpPages != nil {
		*c.helpPages = append(*c.helpPages, usage.Page{Name: "brig " + name, Text: text, Flags: f})
	}
	f.Usage = func() {
		fmt.Fprintf(c.text(), "%s\n", text)
		if flags := f.FlagUsages(); flags != "" {
			fmt.Fprintf(c.text(), "\nFlags:\n%s", flags)
		}
	}
	return f
}

// parse reads the flags. done is true when the command has nothing left to do.
func (c *cli) parse(f *pflag.FlagSet, args []string) (code int, done bool) {
	if c.helpPages != nil {
		return 0, true
	}
	switch err := f.Parse(args); {
	case err == nil:
		return 0, false
	case errors.Is(err, pflag.ErrHelp):
		return 0, true
	default:
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) {
			err = fmt.Errorf("%w%s", err, flagRemedy(f, unknown.GetSpecifiedName(), unknown.GetSpecifiedShortnames()))
		}
		return c.hint(f.Name(), usage.FlagError(err)), true
	}
}

// hint reports a mistake on the command line.
func (c *cli) hint(command string, err error) int {
	c.note("%v\nTry: brig %s", err, strings.TrimSpace(command+" --help"))
	return exitBrig
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
