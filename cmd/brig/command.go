package main

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

// root makes the tree of commands.
func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:               "brig",
		SilenceErrors:     true, // brig prints errors itself, once
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}

	root.SetIn(c.stdin)
	root.SetOut(c.stdout)
	root.SetErr(c.stderr)
	root.SetHelpCommand(&cobra.Command{Use: "no-help", Hidden: true}) // brig handles help itself
	root.SetHelpFunc(func(k *cobra.Command, _ []string) { c.printHelp(k) })
	root.SetFlagErrorFunc(func(k *cobra.Command, err error) error {
		var unknown *pflag.NotExistError
		if errors.As(err, &unknown) {
			err = fmt.Errorf("%w%s", err, remedies.Flag(k.Flags(), unknown.GetSpecifiedName(), unknown.GetSpecifiedShortnames()))
		}
		c.hint(k.Flags().Name(), usage.FlagError(err))
		return err
	})

	c.add(root, commands())
	return root
}

// add adds commands to their parent. To make one takes time, so those that the command line does not
// name are only named.
func (c *cli) add(parent *cobra.Command, all []command) {
	for _, one := range all {
		k := &cobra.Command{Use: one.name, Run: func(*cobra.Command, []string) {}}
		if c.words == nil || slices.Contains(c.words, one.name) {
			k = one.make(c)
		}
		k.Short, k.Hidden = usage.Page{Short: one.short, Text: k.Long}.Summary(), one.hidden
		parent.AddCommand(k)
	}
}

// group makes a command that only has subcommands.
func (c *cli) group(name, text string, all []command) *cobra.Command {
	k, f := newCommand(name, text)
	f.SetInterspersed(false)
	c.add(k, all)
	return c.does(k, func() int {
		if f.NArg() == 0 {
			return c.hint(name, fmt.Errorf("%s needs a subcommand", name))
		}
		return c.hint(name, fmt.Errorf("%s has no subcommand %q%s", name, f.Arg(0),
			cmp.Or(remedies.Subcommand(name, f.Arg(0)), suggest.Text(f.Arg(0), names(all)))))
	})
}

// newCommand makes a command; text is its whole --help except the flags. The flag set has the
// command's whole name, such as rootfs build.
func newCommand(name, text string) (*cobra.Command, *pflag.FlagSet) {
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

// does sets what a command does. run returns the exit code.
func (c *cli) does(k *cobra.Command, run func() int) *cobra.Command {
	k.Run = func(*cobra.Command, []string) { c.code = run() }
	c.completeFlags(k)
	return k
}

// printHelp prints a command's --help.
func (c *cli) printHelp(k *cobra.Command) { fmt.Fprint(c.text(), pageOf(k).Help()) }

// pageOf is the help of a command.
func pageOf(k *cobra.Command) usage.Page {
	return usage.Page{Name: k.CommandPath(), Short: k.Short, Text: k.Long, Flags: k.Flags(),
		Sections: sections[k.Flags().Name()]}
}
