package main

import (
	"flag"
	"testing"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/cmd/brig/judging"
	"github.com/brig-sandbox/brig/cmd/brig/serve"
	"github.com/brig-sandbox/brig/internal/docblock"
)

var updateDocs = flag.Bool("update-docs", false, "write the tables of flags into the documents")

// The documents have the tables of flags: all those of brig serve, and those of brig grade that name a report.
func TestFlagTables(t *testing.T) {
	const begin, end = "<!-- flags: written by go test ./cmd/brig -run FlagTables -update-docs -->",
		"<!-- end of flags -->"

	c := &cli.CLI{Env: func(string) string { return "" }}
	for _, tt := range []struct {
		page    string
		command *cobra.Command
		flags   []string
	}{
		{"operate/serve.md", serve.Command(c), nil},
		{"grading.md", judging.GradeCommand(c), judging.GradeFormats},
	} {
		table := cli.PageOf(tt.command).Table(tt.flags...)
		if err := docblock.Check("../../docs/"+tt.page, begin, end, table, *updateDocs); err != nil {
			t.Error(err)
		}
	}
}
