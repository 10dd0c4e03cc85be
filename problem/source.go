package problem

import "regexp"

var constant = regexp.MustCompile(`\{\{([a-zA-Z_][a-zA-Z0-9_]*(?:\.[a-zA-Z_][a-zA-Z0-9_]*)?)\}\}`)

// Substitute replaces {{name}} and {{name.variant}} by constants. Unknown ones stay.
func Substitute(text string, constants map[string]string) string {
	if len(constants) == 0 {
		return text
	}
	return constant.ReplaceAllStringFunc(text, func(whole string) string {
		if value, ok := constants[whole[2:len(whole)-2]]; ok {
			return value
		}
		return whole
	})
}

var hasMain = regexp.MustCompile(`\bmain\s*\(|__name__|\bobject\s+Main\b`)

// HasMain reports whether a source seems to be the one of several in which a program begins.
func HasMain(text []byte) bool { return hasMain.Match(text) }
