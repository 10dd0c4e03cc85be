package languages

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// CompileDefaults returns the limits of a compile stage for a manifest that sets none. Except for
// output, compilers need more of every resource than the programs they compile. Processor time decides whether
// a source is too much for its compiler; the wall time is a multiple, because it depends on what else the host
// does.
func CompileDefaults() api.Limits {
	const cpu = 30 * time.Second
	return api.Limits{
		CPU: api.Duration(cpu), Wall: api.BusyWall(api.Duration(cpu)), Memory: 1 * api.GiB, CPUs: 1, Weight: 1024, Pids: 256,
		Output: 256 * api.KiB, Scratch: 512 * api.MiB, Inodes: 50_000, OpenFiles: 1024,
	}
}

// The placeholders of commands. Those in argPlaceholders stand for any number of arguments, so each must
// be a whole argument of the command.
var (
	placeholder            = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{[a-z_]+\}`) })
	sizePlaceholders       = []string{"{memory_mib}", "{heap_mib}", "{memory_hex}", "{stack_kib}"}
	inlinePlaceholders     = append([]string{"{source}", "{stem}", "{js}"}, sizePlaceholders...)
	argPlaceholders        = []string{"{sources}", "{sources_beside}", "{flags}", "{link_flags}"}
	argPlaceholdersNoFlags = []string{"{sources}", "{sources_beside}", "{link_flags}"}
	runPlaceholders        = append(slices.Clone(inlinePlaceholders), "{dir}")
)

func (l Manifest) checkCompile() error {
	if err := checkPlaceholders("run", l.Run, runPlaceholders, []string{"{run_flags}"}); err != nil {
		return err
	}
	if err := checkPlaceholders("syntax", l.Syntax, inlinePlaceholders, nil); err != nil {
		return err
	}
	if len(l.Compile) > 0 && len(l.Syntax) > 0 {
		return fieldErrorf("syntax", "syntax is only for languages without compile: the compiler reports syntax errors")
	}

	// A field without an effect is refused: its author expects one.
	if len(l.Compile) == 0 {
		for _, f := range []struct {
			name string
			set  bool
		}{
			{"artifacts", len(l.Artifacts) > 0}, {"flags", len(l.Flags) > 0}, {"flag_patterns", len(l.FlagPatterns) > 0},
			{"refused_flags", len(l.RefusedFlags) > 0}, {"default_flags", len(l.DefaultFlags) > 0},
			{"reserved_stems", l.ReservedStems != ""},
			{"compile_env", len(l.CompileEnv) > 0}, {"compile_limits", l.CompileLimits != (api.Limits{})}, {"compile_tier", l.CompileTier != ""},
		} {
			if f.set {
				return fieldErrorf(f.name, "%s configures the compile stage, but compile is missing", f.name)
			}
		}

		return nil
	}

	placeholders, hasFlags := argPlaceholders, len(l.Flags)+len(l.FlagPatterns) > 0
	if !hasFlags {
		placeholders = argPlaceholdersNoFlags
	}
	if err := checkPlaceholders("compile", l.Compile, inlinePlaceholders, placeholders); err != nil {
		return err
	}

	switch {
	case !slices.ContainsFunc(l.Compile, func(w string) bool {
		return w == "{sources}" || w == "{sources_beside}" || strings.Contains(w, "{source}")
	}):
		return fieldErrorf("compile",
			"compile mentions neither {sources} nor {source}: add one where the names of the sources belong")
	case len(l.Artifacts) == 0:
		return fieldErrorf("artifacts",
			"artifacts is missing: name the files that compile makes and run needs, such as [main]")
	case hasFlags && !slices.Contains(l.Compile, "{flags}"):
		return fieldErrorf("compile",
			"flags are allowed, but compile does not mention {flags}: add it where the flags belong")
	}

	for _, f := range l.DefaultFlags {
		if !l.allowsFlag(f) {
			return valueErrorf("default_flags", f, "default_flags: %q is not among flags", f)
		}
	}

	// The agent takes these files out of /box and places them into that of other runs (ADR 7). A plain
	// name cannot lead out of either.
	for _, a := range l.Artifacts {
		if err := api.FileName(a); err != nil {
			return valueErrorf("artifacts", a, "artifacts: %w", err)
		}
	}

	return nil
}

// checkPlaceholders refuses placeholders that are neither in inline nor in own, and those in own that are
// only a part of an argument.
func checkPlaceholders(field string, command, inline, own []string) error {
	for _, arg := range command {
		for _, p := range placeholder().FindAllString(arg, -1) {
			switch {
			case slices.Contains(inline, p):
			case !slices.Contains(own, p):
				return valueErrorf(field, arg, "%s: placeholder %s is not allowed here: use one of %s", field, p,
					strings.Join(slices.Concat(inline, own), " "))
			case arg != p:
				return valueErrorf(field, arg,
					"%s: %q: %s stands for several arguments, so it must be a separate argument", field, arg, p)
			}
		}
	}

	return nil
}
