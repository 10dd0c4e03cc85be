package diagnose

import (
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// ruby reads "main.rb:3:in `f': message (Type)" and the lines that follow; an error
// of a library is placed at the first line "from" the program's own files.
func ruby(t *text) (api.Diagnosis, bool) {
	for i, line := range t.lines {
		typ, ok := rubyType(line)
		if !ok || strings.HasPrefix(line, "\tfrom ") {
			continue
		}
		at, msg, placed := colons(line)
		if !placed {
			msg = line
		}
		if _, after, ok := strings.Cut(line, ":in "); ok { // "in `f': message", or 'f' since Ruby 3.4
			if _, after, ok = strings.Cut(after, "': "); ok {
				msg = after
			}
		}
		msg = strings.TrimSuffix(strings.TrimSuffix(msg, "("+typ+")"), " ")
		for j := i + 1; at.file == "" && strings.HasPrefix(t.line(j), "\tfrom "); j++ {
			at, _, _ = colons(t.line(j)[len("\tfrom "):])
		}
		k := rubyKind(typ, msg)
		if k.category == api.CategorySyntax {
			at, msg = rubySyntax(t, at, msg)
		}
		return at.in(api.Diagnosis{Category: k.category, Type: typ, Message: orWords(msg, typ), Hint: k.hint}), true
	}
	return api.Diagnosis{}, false
}

// rubyType gives the type in brackets at the end of a line.
func rubyType(line string) (string, bool) {
	i := strings.LastIndexByte(line, '(')
	if i < 0 || !strings.HasSuffix(line, ")") {
		return "", false
	}
	typ := line[i+1 : len(line)-1]
	if !isName(typ) || typ[0] < 'A' || typ[0] > 'Z' {
		return "", false
	}
	return typ, true
}

// rubySyntax finds the line with a place among those of a syntax error, of which
// the one with the type is not always it.
func rubySyntax(t *text, at place, msg string) (place, string) {
	for _, line := range t.lines {
		if p, rest, ok := colons(strings.TrimPrefix(line, "ruby: ")); ok && p.file != "" && strings.Contains(rest, "syntax error") {
			found := strings.TrimSpace(strings.TrimSuffix(rest, "(SyntaxError)"))
			return p, orWords(strings.TrimPrefix(found, "syntax error, "), msg)
		}
	}
	return at, msg
}

func rubyKind(typ, msg string) kind {
	if clues, ok := rubyClues[typ]; ok {
		return match(clues, msg, orKind(rubyTypes, typ))
	}
	k := orKind(rubyTypes, typ)
	return kind{k.category, fill(k.hint, msg)}
}

var rubyTypes = map[string]kind{
	"SyntaxError":             {api.CategorySyntax, hintSyntax},
	"LoadError":               {api.CategoryImport, "there is no such library here, or its name is misspelt; if it is yours, " + hintBeside},
	"NameError":               {api.CategoryRuntime, "nothing is called %s here: check the spelling, and that it is given a value before this line"},
	"NoMethodError":           {api.CategoryType, "this kind of value has no method %s: check the spelling and what the value is"},
	"TypeError":               {api.CategoryType, "a value has another type than is needed here: convert it, such as by to_s or to_i"},
	"ArgumentError":           {api.CategoryValue, "the method does not take these arguments"},
	"ZeroDivisionError":       {api.CategoryValue, hintZero},
	"IndexError":              {api.CategoryValue, hintIndex},
	"KeyError":                {api.CategoryValue, "the hash has no such key: ask with key? first, or give fetch a default"},
	"RangeError":              {api.CategoryValue, "a number is outside of what is allowed here"},
	"FloatDomainError":        {api.CategoryValue, "the number is infinite or none"},
	"FrozenError":             {api.CategoryType, "what is frozen cannot be changed: dup it first"},
	"SystemStackError":        {api.CategoryRuntime, hintRecursion},
	"NoMemoryError":           {api.CategoryMemory, hintMemory},
	"EOFError":                {api.CategoryValue, hintInput},
	"StopIteration":           {api.CategoryRuntime, "there is nothing left to iterate over"},
	"Errno::ENOENT":           {api.CategoryRuntime, hintFile},
	"Errno::EROFS":            {api.CategoryRuntime, hintReadOnly},
	"Errno::EACCES":           {api.CategoryRuntime, hintReadOnly},
	"SocketError":             {api.CategoryRuntime, hintNetwork},
	"Errno::ECONNREFUSED":     {api.CategoryRuntime, hintNetwork},
	"Socket::ResolutionError": {api.CategoryRuntime, hintNetwork},
	"JSON::ParserError":       {api.CategoryValue, "the text is no JSON: print it before it is parsed"},
	"ThreadError":             {api.CategoryRuntime, "a thread waits for itself, or there are too many"},
}

var rubyClues = map[string][]clue{
	"NoMethodError": {
		{"for nil", kind{api.CategoryType, "the value is nil: look at where it should have been set"}},
	},
	"ArgumentError": {
		{"wrong number of arguments", kind{api.CategoryType, "the call gives another number of arguments than the method takes"}},
		{"invalid value for Integer", kind{api.CategoryValue, "the text is no whole number: print it before it is converted"}},
		{"invalid value for Float", kind{api.CategoryValue, "the text is no number: print it before it is converted"}},
		{"comparison of", kind{api.CategoryType, "these two values have no order: look for nil, or for text beside numbers"}},
	},
	"SyntaxError": {
		{"end-of-input", kind{api.CategorySyntax, "an `end` or a closing bracket is missing"}},
		{"unterminated string", kind{api.CategorySyntax, "a text is opened and not closed: add the quote at its end"}},
	},
}
