package cli

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/pflag"
)

// AlignedTable aligns lines whose cells end with tabs. It prints them at its Flush.
func AlignedTable(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

// PrintList prints a list as JSON, or as a table: the names of its columns, and a row for each element.
func PrintList[T any](c *CLI, asJSON bool, all []T, header string, row func(T) string) error {
	if asJSON {
		c.Stdout.Write(Marshal(all))
		return nil
	}
	t := AlignedTable(c.Text())
	fmt.Fprintln(t, header)
	for _, one := range all {
		fmt.Fprintln(t, row(one))
	}
	return t.Flush()
}

// JSONFlag is the flag of commands that print a table, or JSON.
func JSONFlag(f *pflag.FlagSet) *bool { return f.Bool("json", false, "print JSON") }
