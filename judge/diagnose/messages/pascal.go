package messages

import (
	"cmp"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// pascal parses "Runtime error 200 at $...", and SysUtils' text for an exception: "An unhandled
// exception occurred at $...:" and "EDivByZero: message".
func pascal(t *Text) (api.Diagnosis, bool) {
	for i, line := range t.lines {
		if code, ok := between(line+" ", "Runtime error ", " "); ok {
			k := kindOf(pascalCodes, code)
			return pascalFrame(t, i).in(api.Diagnosis{Category: k.category, Type: "Runtime error " + code,
				Message: cmp.Or(pascalNames[code], line), Hint: k.hint}), true
		}

		if strings.HasPrefix(line, "An unhandled exception occurred at ") {
			typ, msg, _ := strings.Cut(t.line(i+1), ": ")
			if !isName(typ) {
				typ = "exception"
			}
			k := kindOf(pascalTypes, typ)
			return pascalFrame(t,
				i).in(api.Diagnosis{Category: k.category, Type: typ, Message: cmp.Or(msg, typ), Hint: k.hint}), true
		}
	}

	return api.Diagnosis{}, false
}

// pascalFrame parses "  $0000000000401234  MAIN,  line 3 of main.pas", which a program built with
// -gl prints.
func pascalFrame(t *Text, i int) place {
	for ; i < len(t.lines); i++ {
		if _, where, ok := strings.Cut(t.lines[i], " line "); ok {
			n, rest := number(where)
			if file := OwnFile(strings.TrimPrefix(rest, " of ")); n > 0 && file != "" {
				return place{file, n, 0}
			}
		}
	}
	return place{}
}

var pascalNames = map[string]string{
	"2": "file not found", "5": "access denied", "100": "read past the end", "101": "the disk is full",
	"103": "the file is not open",
	"106": "not a number", "200": "division by zero", "201": "range check error", "202": "stack overflow",
	"203": "out of memory",
	"204": "invalid pointer", "205": "floating point overflow", "207": "invalid floating point operation",
	"215": "arithmetic overflow",
	"216": "invalid memory access", "217": "unhandled exception", "227": "assertion failed",
}

var pascalCodes = map[string]kind{
	"2":   {api.CategoryRuntime, hintFile},
	"5":   {api.CategoryRuntime, hintReadOnly},
	"100": {api.CategoryValue, hintInput},
	"106": {api.CategoryValue, "the text read is not a number: look at the input"},
	"200": {api.CategoryValue, hintZero},
	"201": {api.CategoryValue, "an index or a value is outside of its range"},
	"202": {api.CategoryRuntime, hintRecursion},
	"203": {api.CategoryMemory, HintMemory},
	"204": {api.CategoryMemory, "memory is freed that was freed before, or never allocated"},
	"205": {api.CategoryValue, "a number became too large"},
	"207": {api.CategoryValue, "the operation has no result for this number"},
	"215": {api.CategoryValue, "a number became too large for its type"},
	"216": {api.CategoryMemory, "a pointer is nil or invalid, or an array index is out of bounds"},
	"227": {api.CategoryRuntime, "the condition of this assert is false"},
}

var pascalTypes = map[string]kind{
	"EDivByZero":       {api.CategoryValue, hintZero},
	"ERangeError":      {api.CategoryValue, "an index or a value is outside of its range"},
	"EConvertError":    {api.CategoryValue, "the text is not a number: print it before converting it"},
	"EInOutError":      {api.CategoryRuntime, hintFile},
	"EFOpenError":      {api.CategoryRuntime, hintFile},
	"EAccessViolation": {api.CategoryMemory, "a pointer is nil or invalid, or an array index is out of bounds"},
	"EStackOverflow":   {api.CategoryRuntime, hintRecursion},
	"EOutOfMemory":     {api.CategoryMemory, HintMemory},
	"EInvalidCast":     {api.CategoryType, "the object is not of the class it is cast to"},
	"EIntOverflow":     {api.CategoryValue, "a number became too large for its type"},
	"EInvalidPointer":  {api.CategoryMemory, "memory is freed that was freed before, or never allocated"},
}

// fpc parses FILE(LINE,COLUMN) Error: MESSAGE, and Fatal:.
func fpc(t *Text) []api.Diagnosis {
	return parseBracketed(t, func(rest string) (api.Diagnosis, bool) {
		head, msg, ok := strings.Cut(rest, ": ")
		if !ok || head != "Error" && head != "Fatal" || strings.HasPrefix(msg, "There were ") {
			return api.Diagnosis{}, false
		}
		k := match(fpcPatterns, msg, kind{api.CategoryCompile, ""})
		return api.Diagnosis{Category: k.category, Type: head, Message: msg, Hint: k.hint}, true
	})
}

var fpcPatterns = []pattern{
	{"Syntax error", kind{api.CategorySyntax, hintSyntax}},
	{"String exceeds line", kind{api.CategorySyntax, "a string is opened here and never closed: add the quote at its end"}},
	{"Illegal expression", kind{api.CategorySyntax, hintSyntax}},
	{"Illegal character", kind{api.CategorySyntax, "this character is not part of the language"}},
	{"Unexpected end of file", kind{api.CategorySyntax, "an end is missing, or the dot after the last end"}},
	{"Can't find unit", kind{api.CategoryImport, "this unit does not exist here, or its name is misspelt; if it is yours, " + hintAddFile}},
	{"Identifier not found", kind{api.CategoryCompile, "this name is not defined here: check the spelling, var and uses"}},
	{"Incompatible type", kind{api.CategoryType, hintType}},
	{"Wrong number of parameters", kind{api.CategoryType, "the call has the wrong number of arguments for the routine"}},
	{"Operator is not overloaded", kind{api.CategoryType, "the operator does not support these two types"}},
	{"Duplicate identifier", kind{api.CategoryCompile, "the name is defined twice"}},
}
