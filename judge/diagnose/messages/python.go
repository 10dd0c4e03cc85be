package messages

import (
	"cmp"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// python parses the last traceback: of several, Python prints last the one that ended the program.
func python(t *Text) (api.Diagnosis, bool) {
	var d api.Diagnosis
	var at place
	found, inTrace, ignored := false, false, false
	for _, line := range t.lines {
		line = strings.TrimPrefix(strings.TrimPrefix(line, "  | "), "  + ") // of an exception group
		switch {
		case strings.HasPrefix(line, "Exception ignored "): // this exception did not end the program
			ignored = true
		case strings.HasSuffix(line, "Traceback (most recent call last):"):
			at, inTrace = place{}, true
		case strings.HasPrefix(line, `  File "`):
			if name, rest, ok := strings.Cut(line[len(`  File "`):], `", line `); ok {
				inTrace = true
				if file := OwnFile(name); file != "" {
					n, _ := number(rest)
					at = place{file, n, 0}
				}
			}

		case inTrace && !strings.HasPrefix(line, " "):
			typ, msg, _ := strings.Cut(line, ": ")
			if !isName(strings.TrimSuffix(typ, ":")) {
				continue
			}
			inTrace = false
			if ignored {
				ignored = false
				continue
			}
			found = true
			typ = strings.TrimPrefix(strings.TrimSuffix(typ, ":"), "__main__.")
			k := pythonKind(typ, msg)
			d = at.in(api.Diagnosis{Category: k.category, Type: typ, Message: cmp.Or(msg, typ), Hint: k.hint})
		}
	}

	return d, found
}

func pythonKind(typ, msg string) kind {
	if _, known := pythonTypes[typ]; !known { // json.decoder.JSONDecodeError
		typ = typ[strings.LastIndexByte(typ, '.')+1:]
	}
	if typ == "NameError" && pythonModules[quoted(msg)] {
		return kind{api.CategoryRuntime, fill("add the line `import %s` at the top", msg)}
	}
	if module := quoted(msg); typ == "ModuleNotFoundError" && pythonFull[module] {
		return kind{api.CategoryImport,
			"the language python-full includes " + module +
				", this one does not: use that language (--language python-full), or have the package installed (--requirement " +
				module + ")"}
	}
	if patterns, ok := pythonPatterns[typ]; ok {
		return match(patterns, msg, pythonTypes[typ])
	}
	if k, ok := pythonTypes[typ]; ok {
		return kind{k.category, fill(k.hint, msg)}
	}
	return match(syscallPatterns, msg, kind{api.CategoryRuntime, ""})
}

// pythonFull are the packages of the language python-full.
var pythonFull = map[string]bool{"numpy": true, "scipy": true, "pandas": true, "pytest": true, "black": true,
	"flake8": true, "mypy": true}

// pythonModules are the modules whose import beginners forget most often.
var pythonModules = map[string]bool{
	"math": true, "random": true, "sys": true, "os": true, "re": true, "json": true, "time": true, "datetime": true,
	"itertools": true, "collections": true, "functools": true, "heapq": true, "bisect": true, "string": true,
}

var pythonTypes = map[string]kind{
	"SyntaxError": {api.CategorySyntax, hintSyntax},
	"IndentationError": {api.CategorySyntax,
		"lines that belong together begin with the same number of spaces, and lines after a colon with more"},
	"TabError":            {api.CategorySyntax, "the indentation mixes tabs and spaces: use only spaces"},
	"ModuleNotFoundError": {api.CategoryImport, hintModule},
	"ImportError":         {api.CategoryImport, "the module has no %s: check the spelling"},
	"NameError": {api.CategoryRuntime,
		"%s is not defined here: check the spelling, and that it gets a value before this line"},
	"UnboundLocalError": {api.CategoryRuntime,
		"the function assigns a value to %s somewhere, so it is a local variable: set it before it is used"},
	"TypeError":      {api.CategoryType, hintType},
	"AttributeError": {api.CategoryType, "check the spelling after the dot, and the type of the value before it"},
	"ValueError": {api.CategoryValue,
		"the value has the right type but is not valid here: print it just before this line"},
	"IndexError":        {api.CategoryValue, hintIndex},
	"KeyError":          {api.CategoryValue, "the dictionary has no such key: check first with `in`, or use .get()"},
	"ZeroDivisionError": {api.CategoryValue, hintZero},
	"OverflowError":     {api.CategoryValue, "a number became too large for this operation"},
	"UnicodeDecodeError": {api.CategoryValue,
		"the bytes are not text in this encoding: open the file in binary mode, or name its encoding"},
	"UnicodeEncodeError": {api.CategoryValue, "the text has characters that this encoding lacks: use UTF-8"},
	"AssertionError": {api.CategoryRuntime,
		"the condition of this assert is false: print the values that it compares"},
	"RecursionError":    {api.CategoryRuntime, hintRecursion},
	"MemoryError":       {api.CategoryMemory, HintMemory},
	"EOFError":          {api.CategoryValue, hintInput},
	"FileNotFoundError": {api.CategoryRuntime, hintFile},
	"PermissionError":   {api.CategoryRuntime, hintReadOnly},
	"StopIteration": {api.CategoryRuntime,
		"there is nothing left to iterate over: give next() a default as its second argument"},
	"TimeoutError":        {api.CategoryTime, "something took longer than the program itself allows"},
	"KeyboardInterrupt":   {api.CategorySignal, "something sent the program SIGINT"},
	"NotImplementedError": {api.CategoryRuntime, "this part of the program is not written yet"},
	"JSONDecodeError":     {api.CategoryValue, "the text is not JSON: print it before decoding it"},
	"InvalidOperation":    {api.CategoryValue, "the text is not a number: print it before converting it"},
	"gaierror":            {api.CategoryRuntime, HintNetwork},
	"URLError":            {api.CategoryRuntime, HintNetwork},
}

// pythonPatterns distinguish the kinds of errors that have the same type.
var pythonPatterns = map[string][]pattern{
	"SyntaxError": {
		{"was never closed", kind{api.CategorySyntax, "the bracket %s is opened here and never closed"}},
		{"unterminated", kind{api.CategorySyntax, "a string is opened here and never closed: add the quote at its end"}},
		{"Non-UTF-8 code", kind{api.CategorySyntax,
			"the file is not saved as UTF-8, for example with umlauts of Windows: save it as UTF-8 in the editor"}},
		{"expected ':'", kind{api.CategorySyntax, "add a colon at the end of the line"}},
		{"Maybe you meant '=='", kind{api.CategorySyntax, "== compares two values; a single = assigns a value"}},
		{"Missing parentheses in call to 'print'", kind{api.CategorySyntax, "this is Python 3: write print(...) with brackets"}},
		{"outside function", kind{api.CategorySyntax, "%s must be in a function: check the indentation"}},
	},
	"TypeError": {
		{"NoneType", kind{api.CategoryType, "the value is None: a function without a return statement returns None"}},
		{"missing", kind{api.CategoryType, "the call has too few arguments"}},
		{"positional argument", kind{api.CategoryType, "the call has the wrong number of arguments for the function"}},
		{"not callable", kind{api.CategoryType,
			"this is not a function: look for a missing operator, or a variable with the name of a function"}},
		{"can only concatenate", kind{api.CategoryType, "text and numbers cannot be joined by +: convert with str() or int()"}},
		{"unsupported operand",
			kind{api.CategoryType,
				"the operator does not support these two types: convert one, for example with int() or str()"}},
		{"not supported between", kind{api.CategoryType, "these two types have no order: convert one, for example with int()"}},
		{"not subscriptable", kind{api.CategoryType, "a value of type %s does not support []"}},
		{"not iterable", kind{api.CategoryType, "a value of type %s cannot be looped over: a number needs range()"}},
		{"unhashable", kind{api.CategoryType, "a %s cannot be a key: use a tuple"}},
		{"does not support item assignment", kind{api.CategoryType, "a %s cannot be changed: make a new one, or use a list"}},
		{"indices must be integers", kind{api.CategoryType, "an index is a whole number here: / gives a fraction, // does not"}},
	},
	"AttributeError": {
		{"NoneType", kind{api.CategoryType, "the value is None: a function without a return statement returns None"}},
	},
	"ValueError": {
		{"invalid literal for int", kind{api.CategoryValue, "the text given to int() is not a whole number: print it " +
			"before converting it"}},
		{"could not convert string to float",
			kind{api.CategoryValue, "the text given to float() is not a number: print it before converting it"}},
		{"not enough values to unpack",
			kind{api.CategoryValue, "there are fewer values than names for them: a line of input may be shorter than expected"}},
		{"too many values to unpack",
			kind{api.CategoryValue, "there are more values than names for them: a line of input may be longer than expected"}},
		{"math domain error", kind{api.CategoryValue, "the function has no result for this number, such as the root of a negative one"}},
	},
	"OSError":      syscallPatterns,
	"RuntimeError": {{"can't start new thread", kind{api.CategoryRuntime, hintThreads}}},
}
