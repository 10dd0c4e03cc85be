package plan

import (
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

// templateFor returns the template of a language from which a run may begin, by what its source imports. The
// imports of some could mean a file of the run: then it is the template without imports.
func templateFor(r api.Run, lang languages.Manifest) (languages.Template, bool) {
	from, ok := lang.TemplateFor(importingSource(r, lang.SourceFile))
	if !ok || from.Import == "" || from.Standard || len(ownModules(r, lang.SourceFile)) == 0 {
		return from, ok
	}
	i := slices.IndexFunc(lang.Templates,
		func(t languages.Template) bool { return t.Import == "" && t.WhenImports == nil })
	if i < 0 {
		return languages.Template{}, false
	}
	return lang.Templates[i], true
}

// ownModules are the files of a run in which an import could find a module: its source, unless it has the language's
// own name, and the files next to it that are neither data nor the program that a wrapper executes.
func ownModules(r api.Run, sourceFile string) (all []string) {
	if r.SourceName != "" && r.SourceName != sourceFile {
		all = append(all, r.SourceName)
	}
	for _, f := range placedFiles(r) {
		if !f.data && !isWrapped(r, f.name, sourceFile) {
			all = append(all, f.name)
		}
	}
	return all
}

// standardModule returns the name of a module of Python's standard library that one of the files, or a directory on
// its path, could be taken for; empty: there is none.
func standardModule(files []string) string {
	for _, name := range files {
		for part := range strings.SplitSeq(name, "/") {
			if module, _, _ := strings.Cut(part, "."); languages.IsStandardModule(module) {
				return module
			}
		}
	}
	return ""
}

// isWrapped reports whether a file has the program, and the source of the run is a wrapper that executes it. No
// such name is that of a module which a template imports or looks for.
func isWrapped(r api.Run, name, sourceFile string) bool {
	return name == judge.CalledSource || name == judge.PythonChecker || name == sourceFile && r.SourceName != ""
}

// importingSource is the source of a run, after that which its wrapper executes.
func importingSource(r api.Run, sourceFile string) []byte {
	for _, f := range r.Files {
		if isWrapped(r, f.Name, sourceFile) {
			return slices.Concat(f.Content[:min(len(f.Content), languages.MaxSearched/2)], []byte("\n"), r.Source)
		}
	}
	return r.Source
}
