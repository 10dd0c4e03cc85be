package problem

import (
	"bytes"
	"path"
	"regexp"
	"slices"
	"sync"
)

var constant = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{\{([a-zA-Z_][a-zA-Z0-9_]*(?:\.[a-zA-Z_][a-zA-Z0-9_]*)?)\}\}`)
})

// Substitute replaces {{name}} and {{name.variant}} by constants. Unknown ones stay.
func Substitute(text string, constants map[string]string) string {
	if len(constants) == 0 {
		return text
	}
	return constant().ReplaceAllStringFunc(text, func(whole string) string {
		if value, ok := constants[whole[2:len(whole)-2]]; ok {
			return value
		}
		return whole
	})
}

// UnixLines is a text with \n at the end of each line, in place of \r\n or \r, and also of the last one. An
// empty text has no line.
func UnixLines(text []byte) []byte {
	if len(text) == 0 {
		return text
	}
	if bytes.IndexByte(text, '\r') >= 0 {
		text = bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
	}
	if text[len(text)-1] != '\n' {
		text = append(slices.Clip(text), '\n')
	}
	return text
}

var hasMain = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\bmain\s*\(|__name__|\bobject\s+Main\b`)
})

// HasMain reports whether a source seems to be the one of several in which a program begins.
func HasMain(text []byte) bool { return hasMain().Match(text) }

// IsHeader reports whether a file is a header of C or C++, which no compiler gets by its name.
func IsHeader(name string) bool {
	return slices.Contains([]string{".h", ".hh", ".hpp", ".hxx", ".h++", ".H", ".inc", ".ipp", ".tpp", ".tcc"}, path.Ext(name))
}
