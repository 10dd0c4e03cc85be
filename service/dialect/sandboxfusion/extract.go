package sandboxfusion

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// blockNames are the words after the marks of a block of code by which a language is known.
var blockNames = map[string][]string{
	"python": {"python", "Python", "py", "Python3", "python3", "PY"}, "cpp": {"cpp", "c++", "C++", "Cpp", "CPP"},
	"nodejs": {"javascript", "Javascript", "JavaScript", "JS", "js"}, "go": {"go", "Go"}, "java": {"java", "Java"},
	"php": {"php", "PHP"}, "csharp": {"csharp", "c#", "C#"}, "bash": {"bash", "Bash", "BASH", "sh", "shell"},
	"typescript": {"typescript"}, "rust": {"rust", "Rust", "rs"}, "lua": {"lua", "Lua"}, "perl": {"perl", "Perl", "PERL"},
	"R": {"R", "r"}, "ruby": {"ruby", "Ruby"}, "scala": {"scala", "Scala"}, "swift": {"swift"},
}

// patterns find code in the text of a model.
var patterns = sync.OnceValue(func() (p struct{ block, open, python *regexp.Regexp }) {
	p.block = regexp.MustCompile("(?s)```([^\\n]*)\\n(.*?)\\n\\s*```")
	p.open = regexp.MustCompile("(?s)```([^\\n]*)\\n(.*)")
	p.python = regexp.MustCompile(`(?m)(?:^(?:import|from|#)[^\n]+\n)*^(?:def|class) [^\n]+\n(?:\s+[^\n]+\n)+`)
	return p
})

// extract finds the program in the text of a model: the first block of code in the language, or else the first one; or
// a block that does not end; or what looks like a program. Empty: there is none.
func extract(text, language string) string {
	p := patterns()
	for _, pattern := range []*regexp.Regexp{p.block, p.open} {
		found := pattern.FindAllStringSubmatch(text, -1)
		if len(found) == 0 {
			continue
		}
		named := slices.IndexFunc(found, func(m []string) bool {
			return slices.Contains(blockNames[language], strings.TrimSpace(m[1]))
		})
		return found[max(named, 0)][2]
	}

	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(l string) bool { return strings.TrimSpace(l) == "" })
	code := strings.Join(lines, "\n") + "\n"
	switch language {
	case "python":
		return p.python.FindString(code)
	case "bash":
		return code
	}
	return ""
}
