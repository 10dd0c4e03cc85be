package diagnose

import (
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// pascal reads "Runtime error 200 at $...", and what SysUtils says of an exception:
// "An unhandled exception occurred at $...:" and "EDivByZero: message".
func pascal(t *text) (api.Diagnosis, bool) {
	for i, line := range t.lines {
		if code, ok := between(line+" ", "Runtime error ", " "); ok {
			k := orKind(pascalCodes, code)
			return pascalFrame(t, i).in(api.Diagnosis{Category: k.category, Type: "Runtime error " + code,
				Message: orWords(pascalNames[code], line), Hint: k.hint}), true
		}
		if strings.HasPrefix(line, "An unhandled exception occurred at ") {
			typ, msg, _ := strings.Cut(t.line(i+1), ": ")
			if !isName(typ) {
				typ = "exception"
			}
			k := orKind(pascalTypes, typ)
			return pascalFrame(t, i).in(api.Diagnosis{Category: k.category, Type: typ, Message: orWords(msg, typ), Hint: k.hint}), true
		}
	}
	return api.Diagnosis{}, false
}

// pascalFrame reads "  $0000000000401234  MAIN,  line 3 of main.pas", which a
// program built with -gl prints.
func pascalFrame(t *text, i int) place {
	for ; i < len(t.lines); i++ {
		if _, where, ok := strings.Cut(t.lines[i], " line "); ok {
			n, rest := number(where)
			if file := ownFile(strings.TrimPrefix(rest, " of ")); n > 0 && file != "" {
				return place{file, n, 0}
			}
		}
	}
	return place{}
}

var pascalNames = map[string]string{
	"2": "file not found", "5": "access denied", "100": "read past the end", "101": "the disk is full", "103": "the file is not open",
	"106": "not a number", "200": "division by zero", "201": "range check error", "202": "stack overflow", "203": "out of memory",
	"204": "invalid pointer", "205": "floating point overflow", "207": "invalid floating point operation", "215": "arithmetic overflow",
	"216": "invalid memory access", "217": "unhandled exception", "227": "assertion failed",
}

var pascalCodes = map[string]kind{
	"2":   {api.CategoryRuntime, hintFile},
	"5":   {api.CategoryRuntime, hintReadOnly},
	"100": {api.CategoryValue, hintInput},
	"106": {api.CategoryValue, "what was read is no number: look at the input"},
	"200": {api.CategoryValue, hintZero},
	"201": {api.CategoryValue, "an index or a value is outside of its range"},
	"202": {api.CategoryRuntime, hintRecursion},
	"203": {api.CategoryMemory, hintMemory},
	"204": {api.CategoryMemory, "memory is freed that was freed before, or never given"},
	"205": {api.CategoryValue, "a number became too large"},
	"207": {api.CategoryValue, "the operation has no result for this number"},
	"215": {api.CategoryValue, "a number became too large for its type"},
	"216": {api.CategoryMemory, "a pointer is nil or leads nowhere, or an array is used outside of its bounds"},
	"227": {api.CategoryRuntime, "a condition that this assert takes for granted does not hold"},
}

var pascalTypes = map[string]kind{
	"EDivByZero":       {api.CategoryValue, hintZero},
	"ERangeError":      {api.CategoryValue, "an index or a value is outside of its range"},
	"EConvertError":    {api.CategoryValue, "the text is no number: print it before it is converted"},
	"EInOutError":      {api.CategoryRuntime, hintFile},
	"EFOpenError":      {api.CategoryRuntime, hintFile},
	"EAccessViolation": {api.CategoryMemory, "a pointer is nil or leads nowhere, or an array is used outside of its bounds"},
	"EStackOverflow":   {api.CategoryRuntime, hintRecursion},
	"EOutOfMemory":     {api.CategoryMemory, hintMemory},
	"EInvalidCast":     {api.CategoryType, "the object is not of the class it is cast to"},
	"EIntOverflow":     {api.CategoryValue, "a number became too large for its type"},
	"EInvalidPointer":  {api.CategoryMemory, "memory is freed that was freed before, or never given"},
}

// fpc reads FILE(LINE,COLUMN) Error: MESSAGE, and Fatal:.
func fpc(t *text) []api.Diagnosis {
	return marked(t, func(rest string) (api.Diagnosis, bool) {
		head, msg, ok := strings.Cut(rest, ": ")
		if !ok || head != "Error" && head != "Fatal" || strings.HasPrefix(msg, "There were ") {
			return api.Diagnosis{}, false
		}
		k := match(fpcClues, msg, kind{api.CategoryCompile, ""})
		return api.Diagnosis{Category: k.category, Type: head, Message: msg, Hint: k.hint}, true
	})
}

var fpcClues = []clue{
	{"Syntax error", kind{api.CategorySyntax, hintSyntax}},
	{"String exceeds line", kind{api.CategorySyntax, "a text is opened here and not closed: add the quote at its end"}},
	{"Illegal expression", kind{api.CategorySyntax, hintSyntax}},
	{"Illegal character", kind{api.CategorySyntax, "a character stands here that is none of the language's"}},
	{"Unexpected end of file", kind{api.CategorySyntax, "an end is missing, or the dot after the last one"}},
	{"Can't find unit", kind{api.CategoryImport, "there is no such unit here, or its name is misspelt; if it is yours, " + hintBeside}},
	{"Identifier not found", kind{api.CategoryCompile, "nothing has this name here: check the spelling, var and uses"}},
	{"Incompatible type", kind{api.CategoryType, hintType}},
	{"Wrong number of parameters", kind{api.CategoryType, "the call gives another number of arguments than the routine takes"}},
	{"Operator is not overloaded", kind{api.CategoryType, "the operator does not go with these two types"}},
	{"Duplicate identifier", kind{api.CategoryCompile, "the name is given twice"}},
}
