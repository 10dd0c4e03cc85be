package api

import (
	"path"
	"strings"
)

// Extension returns the extension by which a source's language is known: in lower case, without the dot, and empty if
// the name has none. Compilers take .C for C++, as .cc.
func Extension(name string) string {
	ext := strings.TrimPrefix(path.Ext(name), ".")
	if ext == "C" {
		return "cc"
	}
	return strings.ToLower(ext)
}
