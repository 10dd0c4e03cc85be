package plan

import (
	"slices"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/judge"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

// templateFor returns the template of a language from which a run may begin, by what its source imports.
// If one of its files could be meant by an import, that is the template without imports.
func templateFor(r api.Run, lang languages.Manifest) (languages.Template, bool) {
	from, ok := lang.TemplateFor(importingSource(r))
	if !ok || from.Import == "" || !slices.ContainsFunc(placedFiles(r), func(f placedFile) bool { return !f.data && !isSourceOfWrapper(f.name) }) {
		return from, ok
	}
	i := slices.IndexFunc(lang.Templates, func(t languages.Template) bool { return t.Import == "" && t.WhenImports == nil })
	if i < 0 {
		return languages.Template{}, false
	}
	return lang.Templates[i], true
}

// isSourceOfWrapper reports whether a file has the source that a wrapper of brig executes. Neither name is that of
// a module which a template imports.
func isSourceOfWrapper(name string) bool {
	return name == judge.CalledSource || name == judge.PythonChecker
}

// importingSource is the source of a run, after that which its wrapper executes.
func importingSource(r api.Run) []byte {
	for _, f := range r.Files {
		if isSourceOfWrapper(f.Name) {
			return slices.Concat(f.Content[:min(len(f.Content), languages.MaxSearched/2)], []byte("\n"), r.Source)
		}
	}
	return r.Source
}
