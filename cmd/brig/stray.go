package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/api"
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

// noteFiles says which source files behind FILE went to the program as arguments: they are
// hardly ever meant as such, and the sandbox has none of them. Who means it writes --.
func (c *console) noteFiles(o *runOptions) {
	if o.dashed || o.hasCode || o.run.Image != "" || len(o.args) < 2 || slices.Contains(o.args, "--") {
		return
	}
	for _, w := range o.args[1:] {
		ext := filepath.Ext(w)
		info, err := os.Stat(w)
		placed := slices.ContainsFunc(o.run.Files, func(f api.File) bool { return f.Name == filepath.Clean(w) })
		if err != nil || !info.Mode().IsRegular() || placed || ext != filepath.Ext(o.args[0]) && !slices.Contains(sourceExtensions, ext) {
			continue
		}
		c.note("note: %s goes to the program as an argument; --file %[1]s before %s places it beside it; to pass it on without this note, write -- before %[2]s", w, o.args[0])
	}
}

// sourceExtensions are of files that are a part of a program, and hardly ever its data.
var sourceExtensions = strings.Fields(".py .c .h .cpp .cc .cxx .hpp .hh .java .js .mjs .cjs .ts .go .rs .rb .php .sh .pl .pm .lua .pas .pp .hs .cs")
