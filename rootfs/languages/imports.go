package languages

import (
	"bytes"
	_ "embed"
	"regexp"
	"strings"
	"sync"
)

var moduleName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\w+$`) })

// standardModuleNames are sys.stdlib_module_names of Python 3.13.
//
//go:embed python_modules.txt
var standardModuleNames string

var standardModules = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for _, name := range strings.Fields(standardModuleNames) {
		all[name] = true
	}
	return all
})

// IsStandardModule reports whether Python's standard library has a module of this name, without a dot.
func IsStandardModule(name string) bool { return standardModules()[name] }

// importsAny reports whether a statement at the beginning of a line of a Python source, or after a
// semicolon, imports one of the modules, or a part of one. It is a search and no parser: a line of a string
// may look like such a statement, and what follows from it is a template that has imported more than the
// program does. It looks for the words, because the agent does this for each run: line by line took
// twenty times as long.
func importsAny(source []byte, modules map[string]bool) bool {
	for _, word := range []string{"import", "from"} {
		for rest := source; ; {
			at := bytes.Index(rest, []byte(word))
			if at < 0 {
				break
			}
			before, after := rest[:at], rest[at+len(word):]
			if beginsStatement(before, len(rest) == len(source)) && namesAny(after, modules, word == "import") {
				return true
			}
			rest = after
		}
	}

	return false
}

// beginsStatement reports whether a statement can begin after a text. first: the text begins where the
// source does.
func beginsStatement(before []byte, first bool) bool {
	for i := len(before) - 1; i >= 0; i-- {
		switch before[i] {
		case ' ', '\t':
		case '\n', '\r', ';':
			return true
		default:
			return false
		}
	}
	return first
}

// namesAny reports whether one of the names at the beginning of a text, which commas separate, is that of a
// module; without several only the first name is one.
func namesAny(text []byte, modules map[string]bool, several bool) bool {
	if len(text) == 0 || text[0] != ' ' && text[0] != '\t' {
		return false
	}

	for {
		text = bytes.TrimLeft(text, " \t")
		n := 0
		for n < len(text) && (text[n] == '_' || text[n] >= '0' && text[n] <= '9' ||
			text[n]|0x20 >= 'a' && text[n]|0x20 <= 'z') {
			n++
		}

		if modules[string(text[:n])] {
			return true
		}

		end := bytes.IndexAny(text, ",;#\r\n")
		if !several || end < 0 || text[end] != ',' {
			return false
		}

		text = text[end+1:]
	}
}
