package jobe

import (
	"slices"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// noOptimization keeps a language's own flags away from a compiler that would have none in the original. Without any
// flag, brig's language optimises, and a recursion that never ends is made a loop.
const noOptimization = "-O0"

// setFlags sets the arguments of the compiler, of the interpreter and of the program.
func (p parameters) setFlags(run *api.Run, of language, l api.Language) {
	run.Flags = of.flags
	if p.compileArgs != nil && l.CompileTier != "" { // the original has no use for them elsewhere
		run.Flags = nil
		if len(of.flags) > 0 {
			run.Flags = []string{noOptimization}
		}

		// Flags out of brig's own list need no permission, and what is compiled with them is kept.
		if words := *p.compileArgs; dialect.AllowsFlags(l, words) {
			run.Flags = append(run.Flags, words...)
		} else {
			run.FreeFlags.Compile = words
		}
	}

	switch {
	case p.linkArgs == nil || !of.linked:
	case dialect.AllowsFlags(l, *p.linkArgs): // libraries such as -lm, whose order makes no difference
		run.Flags = slices.Concat(run.Flags, *p.linkArgs)
	default:
		run.FreeFlags.Link = *p.linkArgs
	}

	run.Argv = p.runArgs
	switch {
	case p.interpreterArgs == nil:
	case of.interpreted:
		run.FreeFlags.Run = *p.interpreterArgs
	default: // the original starts the program with them
		run.Argv = slices.Concat(*p.interpreterArgs, p.runArgs)
	}
}
