package main

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// noteStray says which flags of brig's own went to the program, because they stand
// behind the first of args: that is as documented, and hardly ever meant. Who means it
// writes --, before it or among the program's words, and is told nothing.
func (c *console) noteStray(f *pflag.FlagSet, args []string) {
	if f.ArgsLenAtDash() >= 0 || len(args) < 2 {
		return
	}
	var stray []string
	for _, w := range args[1:] {
		if w == "--" {
			break
		}
		name, long := strings.CutPrefix(w, "--")
		name, _, _ = strings.Cut(name, "=")
		if long && f.Lookup(name) != nil && !slices.Contains(stray, "--"+name) {
			stray = append(stray, "--"+name)
		}
	}
	if len(stray) > 0 {
		c.note("note: %s went to the program, like all that follows %s: for brig, put it before %[2]s; to pass it on without this note, write -- before %[2]s", strings.Join(stray, ", "), args[0])
	}
}
