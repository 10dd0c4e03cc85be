package runtime

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
)

// words are what the placeholders of a language's command stand for.
type words struct {
	source  string   // the main source file's name
	sources []string // all of them, the main one first
	flags   []string
	memory  api.Size // the stage's limit
}

// expand puts words into a command; args follow at its end.
func (w words) expand(command, args []string) []string {
	one := strings.NewReplacer(
		"{source}", operand(w.source), "{stem}", strings.TrimSuffix(w.source, path.Ext(w.source)),
		"{memory_mib}", fmt.Sprint(int64(w.memory/api.MiB)), "{heap_mib}", fmt.Sprint(int64(heap(w.memory)/api.MiB)))
	out := make([]string, 0, len(command)+len(args)+len(w.sources))
	for _, word := range command {
		switch word {
		case "{sources}":
			for _, s := range w.sources {
				out = append(out, operand(s))
			}
		case "{flags}":
			out = append(out, w.flags...)
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
	return limit - min(max(48*api.MiB, limit/16), limit/2)
}

// sources are the names of the source files among files, main first: what the
// compiler is told to compile.
func sources(l rootfs.Language, files []api.File, main string) []string {
	all := []string{main}
	for _, f := range files {
		if f.Name != main && isSource(l, f.Name) {
			all = append(all, f.Name)
		}
	}
	return all
}

func isSource(l rootfs.Language, name string) bool {
	return slices.Contains(l.Extensions, strings.ToLower(strings.TrimPrefix(path.Ext(name), ".")))
}

// chosenFlags are those of a run, each of which the manifest must offer word by
// word: a compiler's options can name plugins, other programs and any path
// (CMP-11).
func chosenFlags(l rootfs.Language, asked []string) ([]string, error) {
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
