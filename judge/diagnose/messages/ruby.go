package messages

import (
	"cmp"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// ruby parses "main.rb:3:in `f': message (Type)" and the lines that follow. The place of an error
// in a library is the first line "from" the program's own files.
func ruby(t *Text) (api.Diagnosis, bool) {
	for i, line := range t.lines {
		typ, ok := rubyType(line)
		if !ok || strings.HasPrefix(line, "\tfrom ") {
			continue
		}

		line = strings.TrimPrefix(line, "ruby: ") // of ruby -c
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
		return at.in(api.Diagnosis{Category: k.category, Type: typ, Message: cmp.Or(msg, typ), Hint: k.hint}), true
	}

	return api.Diagnosis{}, false
}

// rubyType returns the type in brackets at the end of a line.
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

// rubySyntax finds the line that has the place of a syntax error. It is not always the line that
// has the type.
func rubySyntax(t *Text, at place, msg string) (place, string) {
	for _, line := range t.lines {
		if p, rest, ok := colons(strings.TrimPrefix(line, "ruby: ")); ok && p.file != "" &&
			strings.Contains(rest, "syntax error") {
			found := strings.TrimSpace(strings.TrimSuffix(rest, "(SyntaxError)"))
			return p, cmp.Or(strings.TrimPrefix(found, "syntax error, "), msg)
		}
	}
	return at, msg
}

func rubyKind(typ, msg string) kind {
	if patterns, ok := rubyPatterns[typ]; ok {
		return match(patterns, msg, kindOf(rubyTypes, typ))
	}
	k := kindOf(rubyTypes, typ)
	return kind{k.category, fill(k.hint, msg)}
}

var rubyTypes = map[string]kind{
	"SyntaxError": {api.CategorySyntax, hintSyntax},
	"LoadError": {api.CategoryImport,
		"this library does not exist here, or its name is misspelt; if it is yours, " + hintAddFile},
	"NameError": {api.CategoryRuntime,
		"%s is not defined here: check the spelling, and that it gets a value before this line"},
	"NoMethodError": {api.CategoryType,
		"this value has no method %s: check the spelling and the type of the value"},
	"TypeError": {api.CategoryType,
		"a value has the wrong type here: convert it, for example with to_s or to_i"},
	"ArgumentError":     {api.CategoryValue, "the method does not take these arguments"},
	"ZeroDivisionError": {api.CategoryValue, hintZero},
	"IndexError":        {api.CategoryValue, hintIndex},
	"KeyError": {api.CategoryValue,
		"the hash has no such key: check with key? first, or give fetch a default"},
	"RangeError":              {api.CategoryValue, "a number is outside of what is allowed here"},
	"FloatDomainError":        {api.CategoryValue, "the number is infinite or not a number"},
	"FrozenError":             {api.CategoryType, "a frozen object cannot be changed: dup it first"},
	"SystemStackError":        {api.CategoryRuntime, hintRecursion},
	"NoMemoryError":           {api.CategoryMemory, HintMemory},
	"EOFError":                {api.CategoryValue, hintInput},
	"StopIteration":           {api.CategoryRuntime, "there is nothing left to iterate over"},
	"Errno::ENOENT":           {api.CategoryRuntime, hintFile},
	"Errno::EROFS":            {api.CategoryRuntime, hintReadOnly},
	"Errno::EACCES":           {api.CategoryRuntime, hintReadOnly},
	"SocketError":             {api.CategoryRuntime, HintNetwork},
	"Errno::ECONNREFUSED":     {api.CategoryRuntime, HintNetwork},
	"Socket::ResolutionError": {api.CategoryRuntime, HintNetwork},
	"JSON::ParserError":       {api.CategoryValue, "the text is not JSON: print it before parsing it"},
	"ThreadError":             {api.CategoryRuntime, "a thread waits for itself, or there are too many"},
}

var rubyPatterns = map[string][]pattern{
	"NoMethodError": {
		{"for nil", kind{api.CategoryType, "the value is nil: look at where it should have been set"}},
	},
	"ArgumentError": {
		{"wrong number of arguments", kind{api.CategoryType, "the call has the wrong number of arguments for the method"}},
		{"invalid value for Integer", kind{api.CategoryValue, "the text is not a whole number: print it before converting it"}},
		{"invalid value for Float", kind{api.CategoryValue, "the text is not a number: print it before converting it"}},
		{"comparison of", kind{api.CategoryType, "these two values cannot be compared: look for nil, or for text mixed with numbers"}},
	},
	"SyntaxError": {
		{"end-of-input", kind{api.CategorySyntax, "an `end` or a closing bracket is missing"}},
		{"unterminated string", kind{api.CategorySyntax, "a string is opened and never closed: add the quote at its end"}},
	},
}
