package messages

import (
	"cmp"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// mono parses Mono's "Unhandled Exception:", the type and message on the next line, and the
// frames, which have places only if the program was built with -debug. It reports an inner
// exception, because that is the cause.
func mono(t *Text) (api.Diagnosis, bool) {
	var d api.Diagnosis
	found, placed := false, false
	for i, line := range t.lines {
		switch {
		case strings.HasPrefix(line, "[ERROR] FATAL UNHANDLED EXCEPTION: ") && found: // repeats the message
			return d, true
		case strings.HasPrefix(line, "Unhandled Exception:") ||
			strings.HasPrefix(line, "[ERROR] FATAL UNHANDLED EXCEPTION: "):
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

			k := kindOf(csharpTypes, typ[strings.LastIndexByte(typ, '.')+1:])
			d, found = api.Diagnosis{Category: k.category, Type: typ, Message: cmp.Or(msg, typ), Hint: k.hint}, true

		case found && !placed && strings.HasPrefix(line, "  at "):
			if j := strings.LastIndex(line, " in "); j >= 0 {
				if at, _, ok := colons(line[j+len(" in "):]); ok && at.file != "" {
					d, placed = at.in(d), true
				}
			}

		case strings.HasPrefix(line, "Stack overflow"), strings.Contains(line, "StackOverflowException"):
			return api.Diagnosis{Category: api.CategoryRuntime, Type: "System.StackOverflowException", Message: line,
				Hint: hintRecursion}, true
		}
	}

	return d, found
}

var csharpTypes = map[string]kind{
	"NullReferenceException": {api.CategoryValue, "something is null here: look at what was never given a value"},
	"ArgumentNullException": {api.CategoryValue,
		"something is null here: look at what was never given a value, or at input that has ended"},
	"IndexOutOfRangeException":    {api.CategoryValue, hintIndex},
	"ArgumentOutOfRangeException": {api.CategoryValue, hintIndex},
	"ArgumentException":           {api.CategoryValue, "a method got a value that it cannot use"},
	"DivideByZeroException":       {api.CategoryValue, hintZero},
	"OverflowException":           {api.CategoryValue, "a number became too large for its type"},
	"FormatException": {api.CategoryValue,
		"the text is not a number: print it before converting it, or use TryParse"},
	"KeyNotFoundException": {api.CategoryValue, "the dictionary has no such key: use TryGetValue"},
	"InvalidCastException": {api.CategoryType, "the object is not of the class it is cast to"},
	"InvalidOperationException": {api.CategoryRuntime,
		"the object cannot do this now: it may be empty, or changed during a loop over it"},
	"OutOfMemoryException":        {api.CategoryMemory, HintMemory},
	"StackOverflowException":      {api.CategoryRuntime, hintRecursion},
	"FileNotFoundException":       {api.CategoryRuntime, hintFile},
	"DirectoryNotFoundException":  {api.CategoryRuntime, hintFile},
	"UnauthorizedAccessException": {api.CategoryRuntime, hintReadOnly},
	"Win32Exception":              {api.CategoryRuntime, "the system refused this: see the message"},
	"SocketException":             {api.CategoryRuntime, HintNetwork},
	"NotImplementedException":     {api.CategoryRuntime, "this part of the program is not written yet"},
}

// dotnetErrors parses what the compilers of Mono and .NET print: FILE(LINE,COLUMN): error CS0029: MESSAGE,
// FILE(LINE) : error BC30512: MESSAGE of Visual Basic, and FS codes of F#.
func dotnetErrors(t *Text) []api.Diagnosis {
	t = &Text{lines: joinFSharp(t.lines)}
	all := parseBracketed(t, func(rest string) (api.Diagnosis, bool) {
		rest, isError := strings.CutPrefix(strings.TrimLeft(rest, " :"), "error ")
		code, msg, ok := strings.Cut(rest, ": ")
		if !ok || !isError || !isDotnetCode(code) {
			return api.Diagnosis{}, false
		}
		k := kindOf(dotnetCodes, code)
		if k.category == api.CategoryRuntime {
			k.category = api.CategoryCompile
		}
		return api.Diagnosis{Category: k.category, Type: code, Message: msg, Hint: fill(k.hint, msg)}, true
	})

	for i := 0; i < len(t.lines) && len(all) == 0; i++ { // "error CS5001: ..." has no place
		rest, isError := strings.CutPrefix(strings.TrimPrefix(t.lines[i], "vbc : "), "error ")
		if code, msg, ok := strings.Cut(rest, ": "); ok && isError && isDotnetCode(code) {
			all = append(all, api.Diagnosis{Category: api.CategoryCompile, Type: code, Message: msg,
				Hint: dotnetCodes[code].hint})
		}
	}

	return all
}

// joinFSharp joins the lines of each error of F#, which puts types on lines of their own and ends with an empty line.
func joinFSharp(lines []string) []string {
	var joined []string
	inError := false
	for _, line := range lines {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.Contains(line, ": error FS"):
			inError = true
			joined = append(joined, strings.TrimRight(line, " "))
		case inError && trimmed != "":
			if last := len(joined) - 1; len(joined[last]) < maxMessage {
				joined[last] += " " + trimmed
			}
		default:
			inError = false
			joined = append(joined, line)
		}
	}

	return joined
}

// isDotnetCode reports whether a word is the number of an error of C#, Visual Basic or F#.
func isDotnetCode(word string) bool {
	return len(word) > 2 &&
		(strings.HasPrefix(word, "CS") || strings.HasPrefix(word, "BC") || strings.HasPrefix(word, "FS"))
}

var dotnetCodes = map[string]kind{
	"CS1002": {api.CategorySyntax, "a semicolon is missing here"},
	"CS1513": {api.CategorySyntax, "a { is never closed"},
	"CS1525": {api.CategorySyntax, hintSyntax},
	"CS1026": {api.CategorySyntax, "a closing bracket is missing"},
	"CS1003": {api.CategorySyntax, hintSyntax},
	"CS1010": {api.CategorySyntax, "a string is opened here and never closed: add the quote at its end"},
	"CS8025": {api.CategorySyntax, hintSyntax},
	"CS0029": {api.CategoryType, hintType},
	"CS0266": {api.CategoryType, "write the conversion out, such as (int)x"},
	"CS1503": {api.CategoryType, hintType},
	"CS0019": {api.CategoryType, "the operator does not support these two types"},
	"CS1061": {api.CategoryType, "check the spelling after the dot, and the type of the value before it"},
	"CS0117": {api.CategoryType, "check the spelling after the dot"},
	"CS1501": {api.CategoryType, "the call has the wrong number of arguments for the method"},
	"CS7036": {api.CategoryType, "the call has too few arguments"},
	"CS0103": {api.CategoryCompile,
		"%s is not defined here: check the spelling, and that it is declared before this line"},
	"CS0246": {api.CategoryImport, "there is no type %s here: check the spelling, or add a using"},
	"CS0234": {api.CategoryImport, "there is no such namespace here: check the using"},
	"CS0165": {api.CategoryCompile, "give the variable a value on every path to this line"},
	"CS0161": {api.CategoryCompile, "the method ends without a return on some path"},
	"CS0128": {api.CategoryCompile, "the name %s is defined twice"},
	"CS5001": {api.CategoryCompile, "the program needs a static void Main"},

	"BC30198": {api.CategorySyntax, "a closing bracket is missing"},
	"BC30201": {api.CategorySyntax, hintSyntax},
	"BC30035": {api.CategorySyntax, hintSyntax},
	"BC30026": {api.CategorySyntax, "a Sub is never closed: add End Sub"},
	"BC30081": {api.CategorySyntax, "an If is never closed: add End If"},
	"BC30451": {api.CategoryCompile,
		"%s is not defined here: check the spelling, and that it is declared before this line"},
	"BC30002": {api.CategoryImport, "there is no type %s here: check the spelling, or add Imports"},
	"BC30456": {api.CategoryType, "check the spelling after the dot, and the type of the value before it"},
	"BC30311": {api.CategoryType, hintType},
	"BC30455": {api.CategoryType, "the call has too few arguments"},
	"BC30057": {api.CategoryType, "the call has too many arguments"},
	"BC30420": {api.CategoryCompile, "the program needs a Sub Main"},

	"FS0001": {api.CategoryType, hintType},
	"FS0010": {api.CategorySyntax, hintSyntax},
	"FS0058": {api.CategorySyntax, "this line is indented less than the block that it belongs to"},
	"FS0583": {api.CategorySyntax, "a bracket is never closed"},
	"FS0039": {api.CategoryCompile,
		"%s is not defined here: check the spelling, and that it is declared before this line"},
	"FS0003": {api.CategoryType, "this value is no function: a separator may be missing between two arguments"},
	"FS0020": {api.CategoryType, "the value of this expression is lost: bind it with let, or pass it to ignore"},
}
