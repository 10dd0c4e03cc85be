package plan

import (
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/judge"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

// templateFor returns the template of a language from which a run may begin, by what its source imports.
// If an import of its modules could mean a file of the run, that is the template without imports.
func templateFor(r api.Run, lang languages.Manifest) (languages.Template, bool) {
	from, ok := lang.TemplateFor(importingSource(r, lang.SourceFile))
	if !ok || from.Import == "" || !slices.ContainsFunc(ownModules(r, lang.SourceFile), from.CouldImport) {
		return from, ok
	}
	i := slices.IndexFunc(lang.Templates, func(t languages.Template) bool { return t.Import == "" && t.WhenImports == nil })
	if i < 0 {
		return languages.Template{}, false
	}
	return lang.Templates[i], true
}

// ownModules are the names of modules that an import could find among the files of a run: its source, and the files
// next to it that are neither data nor the program that a wrapper executes.
func ownModules(r api.Run, sourceFile string) (all []string) {
	add := func(name string) {
		first, _, _ := strings.Cut(name, "/")
		if module, _, _ := strings.Cut(first, "."); module != "" {
			all = append(all, module)
		}
	}
	if r.SourceName != sourceFile {
		add(r.SourceName)
	}
	for _, f := range placedFiles(r) {
		if !f.data && !isWrapped(r, f.name, sourceFile) {
			add(f.name)
		}
	}
	return all
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
