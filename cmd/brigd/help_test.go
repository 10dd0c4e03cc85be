package main

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/internal/docblock"
)

var updateDocs = flag.Bool("update-docs", false, "write the table of flags into docs/operate/agent.md")

// docs/operate/agent.md has the table of the flags.
func TestFlagTable(t *testing.T) {
	const begin, end = "<!-- flags: written by go test ./cmd/brigd -run FlagTable -update-docs -->",
		"<!-- end of flags -->"

	f := defaults()
	table := helpPage(&f).Table()
	if err := docblock.Check("../../docs/operate/agent.md", begin, end, table, *updateDocs); err != nil {
		t.Error(err)
	}
}

// brigd --help goes to stdout, for pagers, and has the flags, but not those that are for brig alone.
func TestHelpHasTheFlags(t *testing.T) {
	out, err := os.Create(filepath.Join(t.TempDir(), "help"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()

	stdout := os.Stdout
	os.Stdout = out
	_, err = parse([]string{"--help"})
	os.Stdout = stdout
	if !errors.Is(err, pflag.ErrHelp) {
		t.Fatalf("--help gives %v", err)
	}

	help, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}

	flags := regexp.MustCompile(`(?m)^ +(?:-\w, )?(--[a-z-]+)`).FindAllString(string(help), -1)
	if len(flags) < 25 || strings.Contains(string(help), "-fd") {
		t.Errorf("--help has %d flags:\n%s", len(flags), help)
	}
	if _, err := parse([]string{"--bogus"}); err == nil || !strings.Contains(err.Error(), "see brigd --help") {
		t.Errorf("an unknown flag gives %v", err)
	}
}

// Errors say what to write, and the log line at start says which users may use the socket.
func TestFlagErrorsSayWhatToWrite(t *testing.T) {
	for _, tt := range []struct{ flag, value, want string }{
		{"--slots", "x", "write a whole number"},
		{"--max-cpus", "many", "write a number, such as 0.5"},
		{"--verbose=maybe", "", "write true or false"},
	} {
		if _, err := parse([]string{tt.flag, tt.value}); err == nil || !strings.Contains(err.Error(), tt.want) ||
			strings.Contains(err.Error(), "strconv") {
			t.Errorf("%s %s: %v; want %q", tt.flag, tt.value, err, tt.want)
		}
	}

	for _, tt := range []struct{ group, want string }{{"", "--group GROUP lets"}, {"judges", "members of judges"}} {
		if got := socketUsers(tt.group); !strings.Contains(got, tt.want) {
			t.Errorf("group %q: for %s; want %q", tt.group, got, tt.want)
		}
	}

	if os.Geteuid() != 0 {
		return // the following is checked for root only
	}

	for _, tt := range []struct{ flag, value, want string }{
		{"--slots", "-1", "--slots is -1: set the maximum"},
		{"--memory", "1K", "--memory is 1K: the least is 4M"},
		{"--mode", "loose", "use strict, fresh or exclusive"},
		{"--mode", "session", "use strict, fresh or exclusive"},
	} {
		if _, err := parse([]string{tt.flag, tt.value}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %s: %v; want %q", tt.flag, tt.value, err, tt.want)
		}
	}
}
