package messages

import (
	"cmp"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// dotnet parses an unhandled exception of .NET, in programs of C#, F# and Visual Basic: its type and message,
// those of the exception that caused it where there is one, and the first frame with a place,
// "   at P.Main() in /box/main.cs:line 3".
func dotnet(t *Text) (api.Diagnosis, bool) {
	var d api.Diagnosis
	found, placed := false, false
	for i, line := range t.lines {
		head, isHead := strings.CutPrefix(line, "Unhandled exception. ")
		cause, isCause := strings.CutPrefix(strings.TrimLeft(line, " "), "---> ")
		if isCause && found {
			head, isHead = cause, true
		}

		switch {
		case isHead:
			typ, message, _ := strings.Cut(head, ": ")
			typ, _, _ = strings.Cut(typ, " (") // System.Net.Sockets.SocketException (111)
			if !isName(typ) {
				continue
			}

			placed = false
			k := match(syscallPatterns, message, kindOf(csharpTypes, typ[strings.LastIndexByte(typ, '.')+1:]))
			d, found = api.Diagnosis{Category: k.category, Type: typ, Message: cmp.Or(message, typ), Hint: k.hint}, true

		case found && !placed && strings.HasPrefix(line, "   at "):
			if i := strings.LastIndex(line, " in "); i >= 0 {
				file, number, _ := strings.Cut(line[i+len(" in "):], ":line ")
				if at, _, ok := colons(file + ":" + number); ok && at.file != "" {
					d, placed = at.in(d), true
				}
			}

		case !found && line == "Stack overflow.":
			return api.Diagnosis{Category: api.CategoryRuntime, Type: "System.StackOverflowException", Message: line,
				Hint: hintRecursion}, true
		case !found && line == "Assertion failed.": // of Debug.Assert; its message and frames follow
			d = api.Diagnosis{Category: api.CategoryRuntime, Type: "Debug.Assert", Message: line,
				Hint: "a condition of Debug.Assert is false"}
			found = true
		case !found && line == "Process terminated." && t.line(i+1) != "Assertion failed.": // by Environment.FailFast; its message follows
			d = api.Diagnosis{Category: api.CategoryRuntime, Type: "Environment.FailFast", Message: cmp.Or(t.line(i+1), line),
				Hint: "the program ended itself with Environment.FailFast: see its message"}
			found = true
		case !found && strings.HasPrefix(line, "System.AccessViolationException: "):
			typ, message, _ := strings.Cut(line, ": ")
			d, found = api.Diagnosis{Category: api.CategoryRuntime, Type: typ, Message: message,
				Hint: "the program used a pointer to memory that does not belong to it"}, true
		case !found && line == "Out of memory.":
			return api.Diagnosis{Category: api.CategoryMemory, Type: "System.OutOfMemoryException", Message: line,
				Hint: HintMemory}, true
		}
	}

	if found && d.Hint == "" {
		d.Hint = "the program threw this exception, and nothing caught it: see its message"
	}
	if placed { // the code is optimized unless --flag asks for another
		d.Hint += "; in optimized code the line may be one of the next few"
	}
	return d, found
}

// powershell parses what PowerShell prints of the error that ended a script:
//
//	Exception: /box/main.ps1:2
//	Line |
//	   2 |  throw "boom"
//	     |  ~~~~~~~~~~~~
//	     | boom
//
// The last one is reported: those before it did not end the script.
func powershell(t *Text) (api.Diagnosis, bool) {
	for i := len(t.lines) - 1; i >= 0; i-- {
		typ, rest, ok := strings.Cut(t.lines[i], ": ")
		at, after, placed := colons(rest)
		if !ok || !placed || after != "" || !isName(strings.ReplaceAll(typ, "-", "_")) || t.line(i+1) != "Line |" {
			continue
		}

		var message []string
		for j := i + 4; j < len(t.lines) && j < i+4+maxMessageLines; j++ {
			part, ok := strings.CutPrefix(strings.TrimLeft(t.lines[j], " "), "| ")
			if !ok {
				break
			}
			message = append(message, strings.TrimSpace(part))
		}

		said := strings.Join(message, " ")
		k := match(powershellPatterns, said, kindOf(powershellTypes, typ))
		return at.in(api.Diagnosis{Category: k.category, Type: typ, Message: cmp.Or(said, typ), Hint: k.hint}), true
	}

	return api.Diagnosis{}, false
}

// maxMessageLines limits the lines of a message of PowerShell, which it wraps.
const maxMessageLines = 8

// powershellTypes are the classes of errors that PowerShell prints. Where a command fails, it prints the
// name of the command instead.
var powershellTypes = map[string]kind{
	"ParserError":     {api.CategorySyntax, hintSyntax},
	"MethodException": {api.CategoryType, "the method does not take these arguments"},
	"PropertyNotFoundException": {api.CategoryType,
		"check the spelling after the dot, and the type of the value before it"},
	"InvalidArgument": {api.CategoryValue, "a value has the wrong type: print it before converting it"},
	"Exception":       {api.CategoryRuntime, "the script ended with throw: see the message"},
}

var powershellPatterns = []pattern{
	{"is not recognized as a name of a cmdlet",
		kind{api.CategoryImport,
			"there is no command %s: check the spelling, and that its function stands before this line"}},
	{"Attempted to divide by zero", kind{api.CategoryValue, hintZero}},
	{"Cannot find path", kind{api.CategoryRuntime, hintFile}},
	{"Cannot convert value", kind{api.CategoryValue, "a value has the wrong type: print it before converting it"}},
	{"You cannot call a method on a null-valued expression",
		kind{api.CategoryValue, "something is null here: look at what was never given a value"}},
}
