package main

import (
	"flag"
	"testing"

	"github.com/spf13/cobra"

	"github.com/brig-sandbox/brig/internal/docblock"
)

var updateDocs = flag.Bool("update-docs", false, "write the tables of flags into the documents")

// The documents have the tables of flags: all those of brig serve, and those of brig grade that name a report.
func TestFlagTables(t *testing.T) {
	const begin, end = "<!-- flags: written by go test ./cmd/brig -run FlagTables -update-docs -->",
		"<!-- end of flags -->"

	c := &cli{env: func(string) string { return "" }}
	for _, tt := range []struct {
		page    string
		command *cobra.Command
		flags   []string
	}{
		{"operate/serve.md", serveCommand(c), nil},
		{"grading.md", gradeCommand(c), gradeFormats},
	} {
		table := pageOf(tt.command).Table(tt.flags...)
		if err := docblock.Check("../../docs/"+tt.page, begin, end, table, *updateDocs); err != nil {
			t.Error(err)
		}
	}
}
