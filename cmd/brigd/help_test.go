package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// brigd --help goes to stdout, for pagers, and docs/operating.md has every flag of it.
func TestHelpAndDocsHaveEveryFlag(t *testing.T) {
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
	docs, err := os.ReadFile("../../docs/operating.md")
	if err != nil {
		t.Fatal(err)
	}
	flags := regexp.MustCompile(`(?m)^ +(?:-\w, )?(--[a-z-]+)`).FindAllStringSubmatch(string(help), -1)
	for _, f := range flags {
		if !regexp.MustCompile("`" + f[1] + "[` ]").Match(docs) {
			t.Errorf("docs/operating.md does not have %s", f[1])
		}
	}
	if len(flags) < 25 {
		t.Errorf("%d flags were looked at: where are the others?", len(flags))
	}
	if _, err := parse([]string{"--bogus"}); err == nil || !strings.Contains(err.Error(), "see brigd --help") {
		t.Errorf("an unknown flag gives %v", err)
	}
}
