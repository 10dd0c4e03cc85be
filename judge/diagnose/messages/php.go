package messages

import (
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// php parses "PHP Fatal error:  Uncaught Type: message in FILE:LINE", "PHP Parse error:  ... in
// FILE on line LINE" and similar messages.
func php(t *Text) (api.Diagnosis, bool) {
	for i, line := range t.lines {
		line = strings.TrimPrefix(line, "PHP ")
		head, msg, ok := strings.Cut(line, ": ")
		msg = strings.TrimSpace(msg)
		if !ok || head != "Fatal error" && head != "Parse error" {
			continue
		}

		typ := head
		if rest, uncaught := strings.CutPrefix(msg, "Uncaught "); uncaught {
			typ, msg, _ = strings.Cut(rest, ": ")
		}

		msg, at := phpPlace(msg)
		for j := i + 1; j < len(t.lines) && at.file == ""; j++ { // "  thrown in FILE on line LINE", "#0 FILE(LINE): f()"
			if frame, ok := strings.CutPrefix(t.lines[j], "#"); ok {
				_, frame, _ = strings.Cut(frame, " ")
				at, _, _ = brackets(frame)
				continue
			}
			_, at = phpPlace(t.lines[j])
		}

		k := phpKind(typ, msg)
		return at.in(api.Diagnosis{Category: k.category, Type: typ, Message: msg, Hint: k.hint}), true
	}

	return api.Diagnosis{}, false
}

// phpPlace cuts " in FILE:LINE" or " in FILE on line LINE" off a message. The file of php -l has no
// directory.
func phpPlace(msg string) (string, place) {
	i := max(strings.LastIndex(msg, " in /"), strings.LastIndex(msg, " in ./"))
	if on := strings.LastIndex(msg, " on line "); i < 0 && on >= 0 {
		i = strings.LastIndex(msg[:on], " in ")
	}
	if i < 0 {
		return msg, place{}
	}

	where := msg[i+len(" in "):]
	file, line, ok := strings.Cut(where, " on line ")
	if !ok {
		if j := strings.LastIndexByte(where, ':'); j >= 0 {
			file, line = where[:j], where[j+1:]
		}
	}

	n, _ := number(line)
	return msg[:i], place{OwnFile(file), n, 0}
}

func phpKind(typ, msg string) kind {
	if patterns, ok := phpPatterns[typ]; ok {
		return match(patterns, msg, kindOf(phpTypes, typ))
	}
	k := kindOf(phpTypes, typ)
	return kind{k.category, fill(k.hint, msg)}
}

var phpTypes = map[string]kind{
	"Parse error":        {api.CategorySyntax, hintSyntax},
	"ParseError":         {api.CategorySyntax, hintSyntax},
	"TypeError":          {api.CategoryType, hintType},
	"ArgumentCountError": {api.CategoryType, "the call has the wrong number of arguments for the function"},
	"ValueError": {api.CategoryValue,
		"the value has the right type but is not valid here: print it just before this line"},
	"DivisionByZeroError":      {api.CategoryValue, hintZero},
	"ArithmeticError":          {api.CategoryValue, "a number is outside of what is allowed here"},
	"JsonException":            {api.CategoryValue, "the text is not JSON: print it before decoding it"},
	"UnhandledMatchError":      {api.CategoryValue, "the match has no case for this value: add it, or a default"},
	"OutOfBoundsException":     {api.CategoryValue, hintIndex},
	"InvalidArgumentException": {api.CategoryValue, "a function got a value that it cannot use"},
}

var phpPatterns = map[string][]pattern{
	"Fatal error": {
		{"Allowed memory size", kind{api.CategoryMemory, HintMemory}},
		{"Out of memory", kind{api.CategoryMemory, HintMemory}},
		{"Maximum execution time", kind{api.CategoryTime, "look for a loop that never ends"}},
		{"Failed opening required", kind{api.CategoryImport, "this file is not in the sandbox: " + hintAddFile}},
		{"Cannot redeclare", kind{api.CategoryRuntime, "the name is defined twice"}},
		{"Maximum call stack size", kind{api.CategoryRuntime, hintRecursion}},
	},
	"Error": {
		{"Call to undefined function",
			kind{api.CategoryRuntime, "no function has this name: check the spelling; not every extension is installed"}},
		{"Call to a member function", kind{api.CategoryType, "the value before -> is not an object: look at where it " +
			"should have been set"}},
		{"Call to undefined method", kind{api.CategoryType, "check the spelling after ->, and the class of the object"}},
		{"Undefined constant", kind{api.CategoryRuntime, "text needs quotes, and a variable a $"}},
		{"Failed opening required", kind{api.CategoryImport, "this file is not in the sandbox: " + hintAddFile}},
		{"not found", kind{api.CategoryImport, "there is no such class here: check the spelling and require"}},
		{"Maximum call stack size", kind{api.CategoryRuntime, hintRecursion}},
	},
	"TypeError": {
		{"Unsupported operand types", kind{api.CategoryType, "the operator does not support these two types"}},
	},
	"Parse error": {
		{"Unclosed", kind{api.CategorySyntax, "a %s is opened and never closed"}},
		{"unexpected end of file", kind{api.CategorySyntax, "a bracket or quote is never closed"}},
		{"unexpected variable", kind{api.CategorySyntax, "look at the end of the line before: a semicolon may be missing"}},
		{"unexpected token", kind{api.CategorySyntax, "look at this line and the end of the one before: a semicolon " +
			"or bracket may be missing"}},
	},
}
