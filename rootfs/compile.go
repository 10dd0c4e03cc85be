package rootfs

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// CompileDefaults are the limits of a compile stage whose manifest sets none:
// compilers take more of everything than what they make, but for output.
func CompileDefaults() api.Limits {
	return api.Limits{
		Wall: api.Duration(30 * time.Second), Memory: 1 * api.GiB, CPUs: 1, Weight: 1024, Pids: 256,
		Output: 256 * api.KiB, Scratch: 512 * api.MiB, Inodes: 50_000, OpenFiles: 1024,
	}
}

// The placeholders of commands. The second group stands for any number of words,
// so it must be a word of its own.
var (
	placeholder  = regexp.MustCompile(`\{[a-z_]+\}`)
	inWords      = []string{"{source}", "{stem}", "{memory_mib}", "{heap_mib}", "{stack_kib}"}
	ownWords     = []string{"{sources}", "{flags}"}
	withoutFlags = []string{"{sources}"}
)

func (l Language) checkCompile() error {
	if err := checkPlaceholders("run", l.Run, nil); err != nil {
		return err
	}
	if err := checkPlaceholders("syntax", l.Syntax, nil); err != nil {
		return err
	}
	if len(l.Compile) > 0 && len(l.Syntax) > 0 {
		return wrong("syntax", "syntax is for languages without compile: the compiler says what is wrong")
	}
	if len(l.Compile) == 0 {
		for _, f := range []struct {
			name string
			set  bool
		}{
			{"artifacts", len(l.Artifacts) > 0}, {"flags", len(l.Flags) > 0}, {"flag_patterns", len(l.FlagPatterns) > 0}, {"default_flags", len(l.DefaultFlags) > 0},
			{"compile_env", len(l.CompileEnv) > 0}, {"compile_limits", l.CompileLimits != (api.Limits{})}, {"compile_tier", l.CompileTier != ""},
		} {
			if f.set {
				return wrong(f.name, "%s is about the compile stage, and compile is missing", f.name)
			}
		}
		return nil
	}
	own, offers := ownWords, len(l.Flags)+len(l.FlagPatterns) > 0
	if !offers {
		own = withoutFlags
	}
	if err := checkPlaceholders("compile", l.Compile, own); err != nil {
		return err
	}
	switch {
	case !slices.Contains(l.Compile, "{sources}") && !slices.ContainsFunc(l.Compile, func(w string) bool { return strings.Contains(w, "{source}") }):
		return wrong("compile", "compile mentions neither {sources} nor {source}: write where the names of the sources go")
	case len(l.Artifacts) == 0:
		return wrong("artifacts", "artifacts is missing: name the files that compile makes and run needs, such as [main]")
	case offers && !slices.Contains(l.Compile, "{flags}"):
		return wrong("compile", "flags are offered, and compile does not mention {flags}: write where they go")
	}
	for _, f := range l.DefaultFlags {
		if !l.offers(f) {
			return wrongWord("default_flags", f, "default_flags: %q is not among flags", f)
		}
	}
	for _, a := range l.Artifacts {
		if err := api.FileName(a); err != nil {
			return wrongWord("artifacts", a, "artifacts: %w", err)
		}
	}
	return nil
}

// checkPlaceholders refuses those nobody knows, and those that cannot stand where
// they do.
func checkPlaceholders(field string, words, own []string) error {
	for _, w := range words {
		for _, p := range placeholder.FindAllString(w, -1) {
			switch {
			case slices.Contains(inWords, p):
			case !slices.Contains(own, p):
				return wrongWord(field, w, "%s: %s means nothing here: there are %s", field, p, strings.Join(slices.Concat(inWords, own), " "))
			case w != p:
				return wrongWord(field, w, "%s: %q: %s stands for several words, so it must be a word of its own", field, w, p)
			}
		}
	}
	return nil
}
