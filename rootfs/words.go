package rootfs

import (
	"fmt"
	"path"
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
}

// Expand puts words into a command; args follow at its end.
func (w Words) Expand(command, args []string) []string {
	one := strings.NewReplacer(
		"{source}", operand(w.Source), "{stem}", strings.TrimSuffix(w.Source, path.Ext(w.Source)),
		"{memory_mib}", fmt.Sprint(int64(w.Memory/api.MiB)), "{heap_mib}", fmt.Sprint(int64(heap(w.Memory)/api.MiB)))
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
// word: a compiler's options can name plugins, other programs and any path
// (CMP-11).
func (l Language) ChooseFlags(asked []string) ([]string, error) {
	if len(asked) == 0 {
		return l.DefaultFlags, nil
	}
	for _, f := range asked {
		if !slices.Contains(l.Flags, f) {
			return nil, api.Refuse(api.CodeBadRequest, "flag %q is not offered for %s: choose from %s", f, l.Name, strings.Join(l.Flags, " "))
		}
	}
	return asked, nil
}
