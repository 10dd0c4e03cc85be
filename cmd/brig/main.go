// Command brig runs programs nobody trusts, each in a cage of its own, and does
// what goes around that. It holds no privilege: brigd does the caging.
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
)

// version is set by the linker.
var version = "devel"

// A command is one subcommand. Its run gets the words after its name and gives
// the exit code. A new one is a file with a function, and a line in commands.
type command struct {
	name  string
	short string // one line for brig --help
	run   func(c *console, args []string) int
}

func commands() []command {
	return []command{
		{"run", "run a program in a sandbox", runCommand},
		{"serve", "serve runs over HTTP, with history and statistics", serveCommand},
		{"key", "make keys for brig serve", keyCommand},
		{"rootfs", "build, import, list and remove images", rootfsCommand},
		{"profile", "show, explain, compare and export seccomp profiles", profileCommand},
		{"session", "make sandboxes that last, and work in them", sessionCommand},
		{"languages", "list the languages the agent can run", languagesCommand},
		{"bundle", "write a run as an OCI bundle for runc", bundleCommand},
		{"cleanup", "remove what killed agents left", cleanupCommand},
		{"doctor", "check this host: what works, what is refused, how to cure it", doctorCommand},
		{"selftest", "show that the cage holds, by real runs", selftestCommand},
		{"version", "print the version", versionCommand},
	}
}

// subcommands runs the one of several commands that args name: brig rootfs ls.
func (c *console) subcommands(name, usage string, all []command, args []string) int {
	f := c.flags(name, usage)
	f.SetInterspersed(false)
	if c.asked != nil {
		for _, k := range all {
			k.run(c, nil)
		}
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
	return c.hint(name, fmt.Errorf("%s has no subcommand %q%s", name, f.Arg(0), nearest(f.Arg(0), names(all))))
}

func names(all []command) []string {
	var out []string
	for _, k := range all {
		out = append(out, k.name)
	}
	return out
}

// A console is the outside world of a command.
type console struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            func(string) string
	asked          *[]page // not nil: commands say what they are, and do nothing
}

func main() {
	os.Exit(brig(&console{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, env: os.Getenv}, os.Args[1:]))
}

// brig finds the subcommand and runs it.
func brig(c *console, args []string) int {
	if len(args) == 0 {
		c.usage(c.stderr)
		return exitBrig
	}
	switch name := args[0]; name {
	case "help", "-h", "--help":
		c.usage(c.stdout)
		return 0
	case "--version":
		return versionCommand(c, nil)
	default:
		all := commands()
		if i := slices.IndexFunc(all, func(k command) bool { return k.name == name }); i >= 0 {
			return all[i].run(c, args[1:])
		}
		return c.hint("", fmt.Errorf("command %q does not exist%s", name, nearest(name, names(all))))
	}
}

func (c *console) usage(w io.Writer) {
	fmt.Fprint(w, "brig runs programs nobody trusts.\n\nUsage:\n  brig COMMAND [flags]\n\nCommands:\n")
	for _, k := range commands() {
		fmt.Fprintf(w, "  %-10s %s\n", k.name, k.short)
	}
	fmt.Fprint(w, "\nTry:\n  brig run hello.py\n  brig run -c 'print(2+2)'\n  brig COMMAND --help\n")
}

// flags makes a command's flag set; usage is its whole --help but the flags.
func (c *console) flags(name, usage string) *pflag.FlagSet {
	f := pflag.NewFlagSet(name, pflag.ContinueOnError)
	f.SetOutput(io.Discard) // errors are ours to print, once
	f.SortFlags = false
	if c.asked != nil {
		*c.asked = append(*c.asked, page{name, strings.Trim(usage, "\n"), f})
	}
	f.Usage = func() {
		fmt.Fprintf(c.stdout, "%s\n", strings.Trim(usage, "\n"))
		if text := f.FlagUsages(); text != "" {
			fmt.Fprintf(c.stdout, "\nFlags:\n%s", text)
		}
	}
	return f
}

// parse reads the flags. done is true when the command has nothing left to do.
func (c *console) parse(f *pflag.FlagSet, args []string) (code int, done bool) {
	if c.asked != nil {
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
			var all []string
			f.VisitAll(func(g *pflag.Flag) { all = append(all, g.Name) })
			err = fmt.Errorf("%w%s", err, nearest(unknown.GetSpecifiedName(), all))
		}
		return c.hint(f.Name(), err), true
	}
}

// hint reports a mistake on the command line.
func (c *console) hint(command string, err error) int {
	fmt.Fprintf(c.stderr, "brig: %v\nTry: brig %s\n", err, strings.TrimSpace(command+" --help"))
	return exitBrig
}

// fail reports that brig could not do what was asked, and gives the exit code.
func (c *console) fail(err error) int {
	fmt.Fprintf(c.stderr, "brig: %v\n", err)
	var e *api.Error
	if errors.As(err, &e) {
		return errorExit(e.Code)
	}
	return exitBrig
}
