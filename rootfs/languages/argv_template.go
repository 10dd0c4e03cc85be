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
	Flags   []string
	Dir     string   // of the artifacts, with a slash at its end; empty: the one in which the command is executed
	Memory  api.Size // the stage's memory limit
	Stack   api.Size // the stage's stack limit
}

// inline replaces the placeholders that may be a part of a word.
func (w Placeholders) inline() *strings.Replacer {
	return strings.NewReplacer(
		"{dir}", w.Dir,
		"{source}", escapeOperand(w.Source), "{stem}", strings.TrimSuffix(w.Source, path.Ext(w.Source)),
		"{memory_mib}", fmt.Sprint(int64(w.Memory/api.MiB)), "{heap_mib}", fmt.Sprint(int64(heapSize(w.Memory)/api.MiB)),
		"{memory_hex}", fmt.Sprintf("%x", int64(w.Memory)),
		"{stack_kib}", fmt.Sprint(int64(stackSize(w.Stack, w.Memory)/api.KiB)))
}

// HasPlaceholders reports whether a variable of a manifest has one.
func HasPlaceholders(env map[string]string) bool {
	for _, value := range env {
		if placeholder.MatchString(value) {
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
		case "{sources}":
			for _, s := range w.Sources {
				out = append(out, escapeOperand(s))
			}
		case "{flags}":
			out = append(out, w.Flags...)
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
// before the kernel's limit is reached.
func stackSize(limit, memory api.Size) api.Size {
	return min(limit-min(limit/8, 4*api.MiB), memory/2)
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
	ext := strings.ToLower(path.Ext(name))
	return slices.Contains(l.Extensions, strings.TrimPrefix(ext, ".")) || ext != "" && ext == path.Ext(l.SourceFile)
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

		forms := ""
		if len(l.FlagPatterns) > 0 {
			forms = "; brig languages " + l.Name + " also shows the forms of further flags"
		}
		return nil, api.Refuse(api.CodeBadRequest, "flag %q is not allowed for %s: choose from %s%s", f, l.Name,
			strings.Join(l.Flags, " "), forms)
	}

	return requested, nil
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
