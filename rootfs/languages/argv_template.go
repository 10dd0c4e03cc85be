package languages

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// Placeholders are the values for the placeholders of a language's command.
type Placeholders struct {
	Source  string   // the main source file's name
	Sources []string // all of them, the main one first
	Flags   []string // of the compiler, before the sources
	Link    []string // of the compiler, at the end
	Run     []string // of the interpreter
	Dir     string   // of the artifacts, with a slash at its end; empty: the one in which the command is executed
	Memory  api.Size // the stage's memory limit
	Stack   api.Size // the stage's stack limit
}

// inline replaces the placeholders that may be a part of a word.
func (w Placeholders) inline() *strings.Replacer {
	return strings.NewReplacer(
		"{dir}", w.Dir,
		"{source}", escapeOperand(w.Source), "{stem}", strings.TrimSuffix(w.Source, path.Ext(w.Source)),
		"{js}", emitted(w.Source),
		"{memory_mib}", fmt.Sprint(int64(w.Memory/api.MiB)), "{heap_mib}", fmt.Sprint(int64(heapSize(w.Memory)/api.MiB)),
		"{memory_hex}", fmt.Sprintf("%x", int64(w.Memory)),
		"{stack_kib}", fmt.Sprint(int64(stackSize(w.Stack, w.Memory)/api.KiB)))
}

// emitted is the extension of what a compiler to JavaScript makes of a source: mjs of .mts, and cjs of .cts.
func emitted(source string) string {
	switch kind := api.Extension(source); kind {
	case "mts", "cts":
		return kind[:1] + "js"
	}
	return "js"
}

// HasPlaceholders reports whether a variable of a manifest has one.
func HasPlaceholders(env map[string]string) bool {
	for _, value := range env {
		if placeholder().MatchString(value) {
			return true
		}
	}
	return false
}

// ExpandEnv returns the variables of a manifest with the values of their placeholders.
func (w Placeholders) ExpandEnv(env map[string]string) map[string]string {
	replacer, out := w.inline(), make(map[string]string, len(env))
	for name, value := range env {
		out[name] = replacer.Replace(value)
	}
	return out
}

// Expand replaces the placeholders of a command and appends args.
func (w Placeholders) Expand(command, args []string) []string {
	replacer := w.inline()
	out := make([]string, 0, len(command)+len(args)+len(w.Sources))
	for _, arg := range command {
		switch arg {
		case "{sources}", "{sources_beside}":
			for _, s := range w.Sources {
				if arg == "{sources}" || path.Dir(s) == path.Dir(w.Source) {
					out = append(out, escapeOperand(s))
				}
			}
		case "{flags}":
			out = append(out, w.Flags...)
		case "{link_flags}":
			out = append(out, w.Link...)
		case "{run_flags}":
			out = append(out, w.Run...)
		default:
			out = append(out, replacer.Replace(arg))
		}
	}

	return append(out, args...)
}

// escapeOperand prefixes a file name that a tool would read as an option or as a file of options
// (CMP-11, CMP-14).
func escapeOperand(name string) string {
	if strings.HasPrefix(name, "-") || strings.HasPrefix(name, "@") {
		return "./" + name
	}
	return name
}

// heapSize returns the heap size of a managed runtime under a memory limit: nearly the whole limit, so
// that a program that uses too much memory reaches the limit, and not a much lower limit of its
// runtime.
func heapSize(limit api.Size) api.Size {
	return limit - min(max(24*api.MiB, limit/16), limit/2)
}

// stackSize returns the stack size for a runtime that checks its own stack: the stack limit, which the
// kernel enforces, less what the runtime needs below the program's frames. It is at most half of
// the memory limit, so that endless recursion causes an error of the runtime, which names the line,
// before the kernel's limit is reached, and at most 1 GiB: V8 takes 2 GiB for a negative number, and no program runs.
func stackSize(limit, memory api.Size) api.Size {
	return min(limit-min(limit/8, 4*api.MiB), memory/2, api.GiB)
}

// Sources returns the names of the source files among files, main first, which the compiler gets.
func (l Manifest) Sources(files []api.File, main string) []string {
	all := []string{main}
	for _, f := range files {
		if f.Name != main && l.IsSource(f.Name) {
			all = append(all, f.Name)
		}
	}
	return all
}

// IsSource reports whether a file has one of the language's extensions, or the extension of its
// SourceFile. The latter is needed because of two languages with the same extension only one lists
// it in Extensions.
func (l Manifest) IsSource(name string) bool {
	ext := api.Extension(name)
	return ext != "" && (slices.Contains(l.Extensions, ext) || ext == api.Extension(l.SourceFile))
}

// IsArtifact reports whether name is an artifact of the compiler, or is below one.
func (l Manifest) IsArtifact(name string) bool {
	return slices.ContainsFunc(l.Artifacts, func(a string) bool { return name == a || strings.HasPrefix(name, a+"/") })
}

// ChooseFlags returns the flags of a run. The manifest must allow each requested flag literally or
// by a pattern: a compiler's options can name plugins, other programs and any path (CMP-11).
func (l Manifest) ChooseFlags(requested []string) ([]string, error) {
	if len(requested) == 0 {
		return l.DefaultFlags, nil
	}

	for _, f := range requested {
		if l.allowsFlag(f) {
			continue
		}
		name, _, _ := strings.Cut(f, "=")
		if reason, known := l.RefusedFlags[name]; known {
			return nil, api.Refuse(api.CodeBadRequest, "flag %q is not allowed for %s: %s", f, l.Name, reason)
		}

		return nil, api.Refuse(api.CodeBadRequest, "flag %q is not allowed for %s: %s", f, l.Name, l.flagsInstead())
	}

	return requested, nil
}

// flagsInstead says which flags a run may request.
func (l Manifest) flagsInstead() string {
	const of, further = "brig languages ", " shows the forms of "
	switch {
	case len(l.Flags) == 0 && len(l.FlagPatterns) == 0:
		return "it has no flags"
	case len(l.Flags) == 0:
		return of + l.Name + further + "its flags"
	case len(l.FlagPatterns) == 0:
		return "choose from " + strings.Join(l.Flags, " ")
	}

	return "choose from " + strings.Join(l.Flags, " ") + "; " + of + l.Name + " also" + further + "further flags"
}

// CheckFreeFlags refuses free flags for which a command of the language has no place.
func (l Manifest) CheckFreeFlags(f api.FreeFlags) error {
	for _, list := range []struct {
		name        string
		flags       []string
		command     []string
		placeholder string
	}{
		{"compile", f.Compile, l.Compile, "{flags}"}, {"link", f.Link, l.Compile, "{link_flags}"}, {"run", f.Run, l.Run, "{run_flags}"},
	} {
		if len(list.flags) > 0 && !slices.Contains(list.command, list.placeholder) {
			return api.Refuse(api.CodeBadRequest, "language %s has no place for free_flags.%s: leave them out", l.Name, list.name)
		}
	}
	return nil
}

// maxFlag limits the length of a flag that a pattern allows, in bytes.
const maxFlag = 256

// allowsFlag reports whether a run may request a flag.
func (l Manifest) allowsFlag(flag string) bool {
	if slices.Contains(l.Flags, flag) {
		return true
	}
	return len(flag) <= maxFlag &&
		slices.ContainsFunc(l.patterns, func(p *regexp.Regexp) bool { return p.MatchString(flag) })
}
