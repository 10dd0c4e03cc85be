package dataset

import "strings"

// Extract finds the program in an answer in Markdown: what the model thought, between <think> and
// </think>, is removed; of the fenced code blocks the last one in the wanted language counts, or else the
// last one. Without a wanted language it is the last one whose tag is that of a programming language, or
// else the last one. A block without an end goes to the end of the answer, as in Markdown. An answer without
// a block is the program itself. language is brig's name for the block's tag; empty if there is none.
func Extract(answer, want string) (code, language string) {
	answer = withoutThoughts(answer)
	code = answer
	found := false
	for _, b := range blocks(answer) {
		name, known := languageOfTag(b.tag)
		if good := known && (want == "" || name == want); good || !found {
			code, language, found = b.code, name, good
		}
	}
	return code, language
}

// withoutThoughts removes what is between <think> and </think>. Templates of chats often begin the thoughts
// themselves, so that the answer has the end alone; thoughts that were cut off have no end.
func withoutThoughts(s string) string {
	const begin, end = "<think>", "</think>"
	if _, after, ok := cutLast(s, end); ok {
		s = after
	}
	s, _, _ = strings.Cut(s, begin)
	return s
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// A block is a fenced code block.
type block struct{ tag, code string }

// blocks returns the fenced code blocks. The fences are those of CommonMark, at any indentation: in lists
// they are indented.
func blocks(text string) []block {
	var all []block
	var code strings.Builder
	var open string // the fence of the block; empty: outside of one
	var indent int
	var tag string
	for l := range strings.Lines(text) {
		content := strings.TrimLeft(l, " \t")
		depth := len(l) - len(content)
		fence, rest := cutFence(content)
		switch {
		case open == "":
			if len(fence) >= 3 && (fence[0] == '~' || !strings.Contains(rest, "`")) {
				open, indent, tag = fence, depth, rest
				code.Reset()
			}
		case len(fence) >= len(open) && fence[0] == open[0] && rest == "" && depth <= indent+3:
			all, open = append(all, block{tag, code.String()}), ""
		default:
			code.WriteString(l[min(depth, indent):])
		}
	}

	if open != "" {
		all = append(all, block{tag, code.String()})
	}
	return all
}

// cutFence splits a line into the fence with which it begins and the rest.
func cutFence(l string) (fence, rest string) {
	if l == "" || l[0] != '`' && l[0] != '~' {
		return "", ""
	}
	rest = strings.TrimLeft(l, l[:1])
	return l[:len(l)-len(rest)], strings.TrimSpace(rest)
}

// tags are words after a fence that are not brig's name of the language.
var tags = map[string]string{
	"py": "python", "python3": "python", "py3": "python",
	"c++": "cpp", "cc": "cpp", "cxx": "cpp", "cpp17": "cpp", "cpp20": "cpp",
	"js": "javascript", "node": "javascript", "nodejs": "javascript", "ts": "typescript", "golang": "go", "rs": "rust",
	"rb": "ruby", "cs": "csharp", "c#": "csharp", "fs": "fsharp", "f#": "fsharp", "vbnet": "vb", "pwsh": "powershell",
	"ps1": "powershell", "kt": "kotlin", "sh": "bash", "shell": "bash", "pl": "perl",
	"f90": "fortran", "f95": "fortran", "hs": "haskell", "ml": "ocaml", "pas": "pascal",
}

// named are the tags that are brig's names.
var named = map[string]bool{
	"python": true, "cpp": true, "c": true, "javascript": true, "typescript": true, "go": true, "rust": true, "ruby": true,
	"java": true, "csharp": true, "fsharp": true, "vb": true, "powershell": true, "kotlin": true, "bash": true,
	"perl": true, "php": true, "haskell": true, "ocaml": true,
	"pascal": true, "lua": true, "r": true, "scala": true, "swift": true, "d": true, "sql": true,
	"fortran": true,
}

// languageOfTag returns brig's name for the tag of a block, and whether it is that of a programming language.
func languageOfTag(tag string) (string, bool) {
	word, _, _ := strings.Cut(strings.TrimSpace(tag), " ")
	word = strings.ToLower(strings.Trim(word, "{}."))
	word, _, _ = strings.Cut(word, ":") // python:solution.py
	if name, ok := tags[word]; ok {
		return name, true
	}
	if named[word] {
		return word, true
	}
	return "", false
}

// tagOf returns the tag of blocks in a language: python for python-full.
func tagOf(language string) string {
	language = strings.TrimSuffix(strings.ToLower(language), "-full")
	if name, ok := languageOfTag(language); ok {
		return name
	}
	return language
}
