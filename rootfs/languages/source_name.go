package languages

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// plainStem is the form of a source's name, without its extension, under which every compiler takes it for nothing but
// a name: no option, no file of options, no separator, and a word from which a module can have its name.
var plainStem = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`) })

// CompiledName returns the name under which the main source is given to the compiler: its own, or that of SourceFile
// if a compiler could read something into its own. The extension stays if it is the language's.
func (l Manifest) CompiledName(name string) string {
	dir, base := path.Split(name)
	ext := path.Ext(base)
	stem := strings.TrimSuffix(base, ext)
	known := ext == path.Ext(l.SourceFile) || slices.Contains(l.Extensions, strings.TrimPrefix(ext, ".")) ||
		ext == ".C" && l.IsSource(name)
	if known && plainStem().MatchString(stem) && !l.reserves(stem) {
		return name
	}

	if !known {
		return dir + l.SourceFile
	}
	return dir + strings.TrimSuffix(l.SourceFile, path.Ext(l.SourceFile)) + ext
}

// reserves reports whether the compiler reads something into a plain stem.
func (l Manifest) reserves(stem string) bool {
	return l.reserved != nil && l.reserved.MatchString(stem)
}
