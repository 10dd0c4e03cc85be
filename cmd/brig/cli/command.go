package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/internal/remedies"
	"github.com/brig-sandbox/brig/internal/suggest"
	"github.com/brig-sandbox/brig/internal/usage"
)

// Root makes the tree of all commands.
func (c *CLI) Root(all []Command) *cobra.Command {
	root := &cobra.Command{
		Use:               "brig",
		SilenceErrors:     true, // brig prints errors itself, once
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}

	root.SetIn(c.Stdin)
	root.SetOut(c.Stdout)
	root.SetErr(c.Stderr)
	root.SetHelpCommand(&cobra.Command{Use: "no-help", Hidden: true}) // brig handles help itself
	root.SetHelpFunc(func(k *cobra.Command, _ []string) { c.printHelp(k) })
	root.SetFlagErrorFunc(func(k *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) {
			err = fmt.Errorf("%w%s", err, remedies.Flag(k.Flags(), unknown.GetSpecifiedName(), unknown.GetSpecifiedShortnames()))
		}
		c.Hint(k.Flags().Name(), usage.FlagError(err))
		return err
	})

	c.add(root, all)
	return root
}

// add adds commands to their parent. To make one takes time, so those that the command line does not
// name are only named.
func (c *CLI) add(parent *cobra.Command, all []Command) {
	for _, one := range all {
		k := &cobra.Command{Use: one.Name, Run: func(*cobra.Command, []string) {}}
		if c.Words == nil || slices.Contains(c.Words, one.Name) {
			k = one.Make(c)
		}
		k.Short, k.Hidden = usage.Page{Short: one.Short, Text: k.Long}.Summary(), one.Hidden
		parent.AddCommand(k)
	}
}

// Group makes a command that only has subcommands.
func (c *CLI) Group(name, text string, all []Command) *cobra.Command {
	k, f := NewCommand(name, text)
	f.SetInterspersed(false)
	c.add(k, all)
	return c.Does(k, func() int {
		if f.NArg() == 0 {
			return c.Hint(name, fmt.Errorf("%s needs a subcommand", name))
		}
		return c.Hint(name, fmt.Errorf("%s has no subcommand %q%s", name, f.Arg(0),
			cmp.Or(remedies.Subcommand(name, f.Arg(0)), suggest.Text(f.Arg(0), Names(all)))))
	})
}

// NewCommand makes a command; text is its whole --help except the flags. The flag set has the
// command's whole name, such as rootfs build.
func NewCommand(name, text string) (*cobra.Command, *pflag.FlagSet) {
	k := &cobra.Command{
		Use:                   name[strings.LastIndexByte(name, ' ')+1:],
		Long:                  strings.Trim(text, "\n"),
		Args:                  cobra.ArbitraryArgs, // each command checks its own
		DisableFlagsInUseLine: true,
	}

	f := k.Flags()
	f.Init(name, pflag.ContinueOnError)
	f.SortFlags = false
	f.SetOutput(io.Discard)
	f.BoolP("help", "h", false, "print this text")
	f.Lookup("help").Hidden = true
	return k, f
}

// Does sets what a command does. run returns the exit code.
func (c *CLI) Does(k *cobra.Command, run func() int) *cobra.Command {
	k.Run = func(*cobra.Command, []string) { c.Code = run() }
	c.completeFlags(k)
	return k
}

// printHelp prints a command's --help.
func (c *CLI) printHelp(k *cobra.Command) { fmt.Fprint(c.Text(), PageOf(k).Help()) }

// PageOf is the help of a command.
func PageOf(k *cobra.Command) usage.Page {
	return usage.Page{Name: k.CommandPath(), Short: k.Short, Text: k.Long, Flags: k.Flags(),
		Sections: Sections[k.Flags().Name()]}
}

// A Command is one subcommand. To add one, write a file with a function that makes it and add a line
// to commands in main.go.
type Command struct {
	Name   string
	Short  string // one line for brig --help
	Make   func(c *CLI) *cobra.Command
	Hidden bool // not in brig --help: only packagers need it
}

// Names are those of the commands that are not hidden.
func Names(all []Command) []string {
	var out []string
	for _, k := range all {
		if !k.Hidden {
			out = append(out, k.Name)
		}
	}
	return out
}
