package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
)

func languagesCommand(c *console, args []string) int {
	f := c.flags("languages", `
List the languages the agent can run.

Usage:
  brig languages [--json]

Example:
  brig languages`)
	socket := socketFlag(f)
	asJSON := f.Bool("json", false, "print JSON")
	if code, done := c.parse(f, args); done {
		return code
	}
	agent, err := c.connect(*socket)
	if err != nil {
		return c.fail(err)
	}
	defer agent.Close()
	all, err := agent.Languages(context.Background())
	if err != nil {
		return c.fail(agent.explain(err))
	}
	if *asJSON {
		c.stdout.Write(marshal(all))
		return 0
	}
	t := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "LANGUAGE\tFILES\tIMAGE\tSTORED\tTIER")
	for _, l := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\t%v\t%s\n", l.Name, strings.Join(l.Extensions, " "), l.Image, l.Stored, l.Tier)
	}
	t.Flush()
	return 0
}
