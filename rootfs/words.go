package rootfs

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// Words are what the placeholders of a language's command stand for.
type Words struct {
	Source  string   // the main source file's name
	Sources []string // all of them, the main one first
	Flags   []string
	Memory  api.Size // the stage's limit
	Stack   api.Size // likewise
}

// Expand puts words into a command; args follow at its end.
func (w Words) Expand(command, args []string) []string {
	one := strings.NewReplacer(
		"{source}", operand(w.Source), "{stem}", strings.TrimSuffix(w.Source, path.Ext(w.Source)),
		"{memory_mib}", fmt.Sprint(int64(w.Memory/api.MiB)), "{heap_mib}", fmt.Sprint(int64(heap(w.Memory)/api.MiB)),
		"{stack_kib}", fmt.Sprint(int64(stack(w.Stack, w.Memory)/api.KiB)))
	out := make([]string, 0, len(command)+len(args)+len(w.Sources))
	for _, word := range command {
		switch word {
		case "{sources}":
			for _, s := range w.Sources {
				out = append(out, operand(s))
			}
		case "{flags}":
			out = append(out, w.Flags...)
		default:
			out = append(out, one.Replace(word))
		}
	}
	return append(out, args...)
}

// operand keeps a file's name from being read as an option or as a file of options
// (CMP-11, CMP-14).
func operand(name string) string {
	if strings.HasPrefix(name, "-") || strings.HasPrefix(name, "@") {
		return "./" + name
	}
	return name
}

// heap is what a managed runtime may take for its heap under a memory limit: nearly
// all, so that a program that takes too much meets the limit, and not a wall of its
// runtime's long before.
func heap(limit api.Size) api.Size {
	return limit - min(max(24*api.MiB, limit/16), limit/2)
}

// stack is what a runtime that counts its own stack may take of the limit on it, which the
// kernel enforces: all but what the runtime needs below the program's frames. Half of the
// memory limit at most, so that recursion without end is the runtime's error, with its
// line, before it is the kernel's.
func stack(limit, memory api.Size) api.Size {
	return min(limit-min(limit/8, 4*api.MiB), memory/2)
}

// Sources are the names of the source files among files, main first: what the
// compiler is told to compile.
func (l Language) Sources(files []api.File, main string) []string {
	all := []string{main}
	for _, f := range files {
		if f.Name != main && l.IsSource(f.Name) {
			all = append(all, f.Name)
		}
	}
	return all
}

// IsSource reports whether a file has one of the language's extensions, or that of its
// SourceFile: of two languages with the same sources one alone has the extension.
func (l Language) IsSource(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return slices.Contains(l.Extensions, strings.TrimPrefix(ext, ".")) || ext != "" && ext == path.Ext(l.SourceFile)
}

// IsArtifact reports whether a name is that of what the compiler makes, or below it.
func (l Language) IsArtifact(name string) bool {
	return slices.ContainsFunc(l.Artifacts, func(a string) bool { return name == a || strings.HasPrefix(name, a+"/") })
}

// ChooseFlags gives the flags of a run, each of which the manifest must offer word by
// word or by a pattern: a compiler's options can name plugins, other programs and any path
// (CMP-11).
func (l Language) ChooseFlags(asked []string) ([]string, error) {
	if len(asked) == 0 {
		return l.DefaultFlags, nil
	}
	for _, f := range asked {
		if !l.offers(f) {
			return nil, api.Refuse(api.CodeBadRequest, "flag %q is not offered for %s: choose from %s", f, l.Name,
				strings.Join(slices.Concat(l.Flags, l.FlagPatterns), " "))
		}
	}
	return asked, nil
}

// maxFlag bounds a flag that a pattern allows, in bytes.
const maxFlag = 256

// offers reports whether a run may ask for a flag.
func (l Language) offers(flag string) bool {
	if slices.Contains(l.Flags, flag) {
		return true
	}
	return len(flag) <= maxFlag && slices.ContainsFunc(l.patterns, func(p *regexp.Regexp) bool { return p.MatchString(flag) })
}
