package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/pflag"
)

// alignedTable aligns lines whose cells end with tabs. It prints them at its Flush.
func alignedTable(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 0, 0, 2, ' ', 0) }

// printList prints a list as JSON, or as a table: the names of its columns, and a row for each element.
func printList[T any](c *cli, asJSON bool, all []T, header string, row func(T) string) error {
	if asJSON {
		c.stdout.Write(marshal(all))
		return nil
	}
	t := alignedTable(c.text())
	fmt.Fprintln(t, header)
	for _, one := range all {
		fmt.Fprintln(t, row(one))
	}
	return t.Flush()
}

// jsonFlag is the flag of commands that print a table, or JSON.
func jsonFlag(f *pflag.FlagSet) *bool { return f.Bool("json", false, "print JSON") }
