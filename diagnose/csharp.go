package diagnose

import (
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// csharp reads Mono's "Unhandled Exception:", the type and message on the next
// line, and the frames, which have places only where the program was built with
// -debug. An inner exception is the cause and counts.
func csharp(t *text) (api.Diagnosis, bool) {
	var d api.Diagnosis
	found, placed := false, false
	for i, line := range t.lines {
		switch {
		case strings.HasPrefix(line, "[ERROR] FATAL UNHANDLED EXCEPTION: ") && found: // says all of it once more
			return d, true
		case strings.HasPrefix(line, "Unhandled Exception:") || strings.HasPrefix(line, "[ERROR] FATAL UNHANDLED EXCEPTION: "):
			head := strings.TrimSpace(line[strings.Index(line, ":")+1:])
			if head == "" {
				head = t.line(i + 1)
			}
			if j := strings.LastIndex(head, " ---> "); j >= 0 {
				head = head[j+len(" ---> "):]
			}
			typ, msg, _ := strings.Cut(head, ": ")
			if !isName(typ) {
				continue
			}
			k := orKind(csharpTypes, typ[strings.LastIndexByte(typ, '.')+1:])
			d, found = api.Diagnosis{Category: k.category, Type: typ, Message: orWords(msg, typ), Hint: k.hint}, true
		case found && !placed && strings.HasPrefix(line, "  at "):
			if j := strings.LastIndex(line, " in "); j >= 0 {
				if at, _, ok := colons(line[j+len(" in "):]); ok && at.file != "" {
					d, placed = at.in(d), true
				}
			}
		case strings.HasPrefix(line, "Stack overflow"), strings.Contains(line, "StackOverflowException"):
			return api.Diagnosis{Category: api.CategoryRuntime, Type: "System.StackOverflowException", Message: line, Hint: hintRecursion}, true
		}
	}
	return d, found
}

var csharpTypes = map[string]kind{
	"NullReferenceException":      {api.CategoryValue, "something is null here: look at what was never given a value"},
	"ArgumentNullException":       {api.CategoryValue, "something is null here: look at what was never given a value, or at input that has ended"},
	"IndexOutOfRangeException":    {api.CategoryValue, hintIndex},
	"ArgumentOutOfRangeException": {api.CategoryValue, hintIndex},
	"ArgumentException":           {api.CategoryValue, "a method was given a value it cannot use"},
	"DivideByZeroException":       {api.CategoryValue, hintZero},
	"OverflowException":           {api.CategoryValue, "a number became too large for its type"},
	"FormatException":             {api.CategoryValue, "the text is no number: print it before it is converted, or use TryParse"},
	"KeyNotFoundException":        {api.CategoryValue, "the dictionary has no such key: use TryGetValue"},
	"InvalidCastException":        {api.CategoryType, "the object is not of the class it is cast to"},
	"InvalidOperationException":   {api.CategoryRuntime, "the object cannot do this now: it may be empty, or changed while a loop goes over it"},
	"OutOfMemoryException":        {api.CategoryMemory, hintMemory},
	"StackOverflowException":      {api.CategoryRuntime, hintRecursion},
	"FileNotFoundException":       {api.CategoryRuntime, hintFile},
	"DirectoryNotFoundException":  {api.CategoryRuntime, hintFile},
	"UnauthorizedAccessException": {api.CategoryRuntime, hintReadOnly},
	"SocketException":             {api.CategoryRuntime, hintNetwork},
	"NotImplementedException":     {api.CategoryRuntime, "this part of the program is not written yet"},
}

// mcs reads FILE(LINE,COLUMN): error CS0029: MESSAGE.
func mcs(t *text) []api.Diagnosis {
	all := marked(t, func(rest string) (api.Diagnosis, bool) {
		code, msg, ok := strings.Cut(strings.TrimPrefix(rest, "error "), ": ")
		if !ok || !strings.HasPrefix(code, "CS") || !strings.HasPrefix(rest, "error ") {
			return api.Diagnosis{}, false
		}
		k := orKind(csharpCodes, code)
		if k.category == api.CategoryRuntime {
			k.category = api.CategoryCompile
		}
		return api.Diagnosis{Category: k.category, Type: code, Message: msg, Hint: fill(k.hint, msg)}, true
	})
	for i := 0; i < len(t.lines) && len(all) == 0; i++ { // "error CS5001: ..." has no place
		if code, msg, ok := strings.Cut(strings.TrimPrefix(t.lines[i], "error "), ": "); ok && strings.HasPrefix(t.lines[i], "error CS") {
			all = append(all, api.Diagnosis{Category: api.CategoryCompile, Type: code, Message: msg, Hint: csharpCodes[code].hint})
		}
	}
	return all
}

var csharpCodes = map[string]kind{
	"CS1002": {api.CategorySyntax, "a semicolon is missing here"},
	"CS1513": {api.CategorySyntax, "a { is nowhere closed"},
	"CS1525": {api.CategorySyntax, hintSyntax},
	"CS1026": {api.CategorySyntax, "a closing bracket is missing"},
	"CS1003": {api.CategorySyntax, hintSyntax},
	"CS1010": {api.CategorySyntax, "a text is opened here and not closed: add the quote at its end"},
	"CS8025": {api.CategorySyntax, hintSyntax},
	"CS0029": {api.CategoryType, hintType},
	"CS0266": {api.CategoryType, "write the conversion out, such as (int)x"},
	"CS1503": {api.CategoryType, hintType},
	"CS0019": {api.CategoryType, "the operator does not go with these two types"},
	"CS1061": {api.CategoryType, "check the spelling after the dot, and what type the value before it has"},
	"CS0117": {api.CategoryType, "check the spelling after the dot"},
	"CS1501": {api.CategoryType, "the call gives another number of arguments than the method takes"},
	"CS7036": {api.CategoryType, "the call gives too few arguments"},
	"CS0103": {api.CategoryCompile, "nothing is called %s here: check the spelling, and that it is declared before this line"},
	"CS0246": {api.CategoryImport, "there is no type %s here: check the spelling, or add a using"},
	"CS0234": {api.CategoryImport, "there is no such namespace here: check the using"},
	"CS0165": {api.CategoryCompile, "give the variable a value on every way to this line"},
	"CS0161": {api.CategoryCompile, "the method ends without a return on some way through it"},
	"CS0128": {api.CategoryCompile, "the name %s is given twice"},
	"CS5001": {api.CategoryCompile, "a program begins in static void Main: there is none"},
}
