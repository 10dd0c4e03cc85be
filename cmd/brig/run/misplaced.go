package run

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
)

// noteMisplacedFlags prints a note about flags of brig that went to the program because they follow the
// first of args. That is documented, but hardly ever intended. A user who intends it writes --,
// before that argument or among the program's arguments, and gets no note.
func noteMisplacedFlags(c *cli.CLI, f *pflag.FlagSet, args []string) {
	if f.ArgsLenAtDash() >= 0 || len(args) < 2 {
		return
	}

	var misplaced []string
	for _, w := range args[1:] {
		if w == "--" {
			break
		}
		name, long := strings.CutPrefix(w, "--")
		name, _, _ = strings.Cut(name, "=")
		if g := f.Lookup(name); long && g != nil && !g.Hidden && !slices.Contains(misplaced, "--"+name) {
			misplaced = append(misplaced, "--"+name)
		}
	}

	if len(misplaced) > 0 {
		c.Note("note: %s went to the program, like everything after %s: for brig, put it before %[2]s; to pass it on "+
			"without this note, write -- before %[2]s", strings.Join(misplaced, ", "), args[0])
	}
}

// noteSourceArguments prints a note about source files after FILE, which go to the program as arguments:
// that is hardly ever intended, and the files are not in the sandbox. A user who intends it
// writes --.
func noteSourceArguments(c *cli.CLI, o *runOptions) {
	if o.hasDash || o.hasCode || o.isCommand() || len(o.args) < 2 || slices.Contains(o.args, "--") {
		return
	}

	for _, w := range o.args[1:] {
		ext := filepath.Ext(w)
		info, err := os.Stat(w)
		placed := slices.ContainsFunc(o.run.Files, func(f api.File) bool { return f.Name == filepath.Clean(w) })
		if err != nil || !info.Mode().IsRegular() || placed ||
			ext != filepath.Ext(o.args[0]) && !slices.Contains(sourceExtensions, ext) {
			continue
		}
		c.Note("note: %s goes to the program as an argument; to place it next to the program, put --file %[1]s "+
			"before %s; to pass it on without this note, write -- before %[2]s", w, o.args[0])
	}
}

// sourceExtensions are the extensions of files that are part of a program and hardly ever its data.
var sourceExtensions = strings.Fields(".py .pyw .c .h .cpp .cc .cxx .c++ .C .hpp .hh .hxx .java .js .mjs .cjs " +
	".ts .mts .cts .go .rs .rb .php .sh .pl .pm .lua .pas .pp .hs .cs .kt .scala .swift .ml .mli")
