package messages

import (
	"cmp"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// javascript parses an uncaught error as Node prints it: the file and source line first, then the
// name and message, and the stack.
func javascript(t *Text) (api.Diagnosis, bool) {
	var first, at place // of the heading, and of the deepest frame in the program's own files
	var d api.Diagnosis
	found := false
	for i, line := range t.lines {
		switch {
		case strings.HasPrefix(line, "    at "):
			if at.file == "" {
				at = nodeFrame(line)
			}
		case strings.Contains(line, "JavaScript heap out of memory"):
			return api.Diagnosis{Category: api.CategoryMemory, Type: "FATAL ERROR", Message: "JavaScript heap out of memory",
				Hint: HintMemory}, true
		case !found && (strings.HasPrefix(line, "/box/") || strings.HasPrefix(line, "file:///box/")):
			if p, rest, ok := colons(strings.TrimPrefix(line, "file://")); ok && rest == "" {
				first = p
				if carets := t.line(i + 2); strings.Trim(carets, " \t^") == "" {
					first.column = strings.IndexByte(carets, '^') + 1
				}
			}

		case !found && strings.HasPrefix(line, "(Use `node --trace-uncaught"): // the thrown value is no Error
			d, found = api.Diagnosis{Category: api.CategoryRuntime, Type: "throw", Message: t.line(i - 1),
				Hint: "a thrown value is not caught: add try and catch, and throw an Error"}, true
		case !found || at.file == "":
			typ, msg, ok := nodeHead(line)
			if !ok {
				continue
			}
			k := nodeKind(typ, msg)
			d, found, at = api.Diagnosis{Category: k.category, Type: typ, Message: msg, Hint: k.hint}, true, place{}
		}
	}

	if at.file == "" || d.Category == api.CategorySyntax && first.file != "" {
		at = first
	}
	return at.in(d), found
}

// nodeHead parses "TypeError: message", "Error [CODE]: message" and "Uncaught ...".
func nodeHead(line string) (typ, msg string, ok bool) {
	line = strings.TrimPrefix(strings.TrimPrefix(line, "Uncaught "), "[")
	typ, msg, ok = strings.Cut(line, ": ")
	if !ok {
		typ, msg = strings.TrimSuffix(line, ":"), ""
	}
	typ, _, _ = strings.Cut(typ, " [")
	if !isName(typ) || !strings.HasSuffix(typ, "Error") && !strings.HasSuffix(typ, "Exception") {
		return "", "", false
	}
	return typ, cmp.Or(msg, typ), true
}

// nodeFrame parses "    at f (/box/main.js:3:9)" and "    at /box/main.js:3:9".
func nodeFrame(line string) place {
	where := strings.TrimPrefix(line, "    at ")
	if i := strings.LastIndexByte(where, '('); i >= 0 {
		where = strings.TrimSuffix(where[i+1:], ")")
	}
	where = strings.TrimPrefix(strings.TrimPrefix(where, "async "), "file://")
	if !strings.HasPrefix(where, "/box/") {
		return place{}
	}
	at, _, _ := colons(where)
	return at
}

func nodeKind(typ, msg string) kind {
	if patterns, ok := nodePatterns[typ]; ok {
		return match(patterns, msg, kindOf(nodeTypes, typ))
	}
	return kindOf(nodeTypes, typ)
}

// kindOf returns the kind of an error type, or a plain runtime error for an unknown type.
func kindOf(types map[string]kind, typ string) kind {
	if k, ok := types[typ]; ok {
		return k
	}
	return kind{api.CategoryRuntime, ""}
}

var nodeTypes = map[string]kind{
	"SyntaxError":    {api.CategorySyntax, hintSyntax},
	"ReferenceError": {api.CategoryRuntime, "check the spelling, and that the name is declared before this line"},
	"TypeError":      {api.CategoryType, hintType},
	"RangeError":     {api.CategoryValue, "a number is outside of what is allowed here"},
	"URIError":       {api.CategoryValue, "the text is not a URI"},
	"AssertionError": {api.CategoryRuntime, "the condition of this assert is false: print the values that it compares"},
}

var nodePatterns = map[string][]pattern{
	"TypeError": {
		{"of undefined", kind{api.CategoryType, "the value before the dot is undefined: look at where it should have been set"}},
		{"of null", kind{api.CategoryType, "the value before the dot is null: look at where it should have been set"}},
		{"is not a function", kind{api.CategoryType, "the called value is not a function: check the spelling and the imports"}},
		{"Assignment to constant variable", kind{api.CategoryType, "a const cannot be changed: declare it with let"}},
		{"is not iterable", kind{api.CategoryType, "this value cannot be looped over or spread"}},
		{"BigInt", kind{api.CategoryType, "a BigInt can only be combined with BigInts: convert with BigInt() or Number()"}},
		{"circular structure", kind{api.CategoryType, "an object that contains itself has no JSON"}},
	},
	"RangeError": {
		{"Maximum call stack", kind{api.CategoryRuntime, hintRecursion}},
		{"Invalid array length", kind{api.CategoryValue, "the length of a new array is negative or far too large"}},
		{"allocation", kind{api.CategoryMemory, HintMemory}},
	},
	"ReferenceError": {
		{"before initialization", kind{api.CategoryRuntime, "%s is used before the line that declares it"}},
		{"require is not defined", kind{api.CategoryImport, "this is an ES module: write import instead, or call the file .cjs"}},
	},
	"SyntaxError": {
		{"in JSON", kind{api.CategoryValue, "the text is not JSON: print it before parsing it"}},
		{"JSON input", kind{api.CategoryValue, "the text is not JSON, or ends too early: print it before parsing it"}},
		{"Cannot use import statement", kind{api.CategorySyntax, "import needs an ES module: call the file .mjs, or use require"}},
		{"does not provide an export named", kind{api.CategoryImport, "the module has no such export: check the spelling"}},
		{"has already been declared", kind{api.CategorySyntax, "the name %s is declared twice"}},
		{"await is only valid", kind{api.CategorySyntax, "await must be in an async function or an .mjs file"}},
		{"Unexpected end of input", kind{api.CategorySyntax, "a bracket is never closed"}},
		{"Invalid or unexpected token", kind{api.CategorySyntax, "a string is not closed, or this character is not part of the language"}},
	},
	"Error": append([]pattern{
		{"Cannot find module", kind{api.CategoryImport, hintModule}},
		{"Cannot find package", kind{api.CategoryImport, hintModule}},
		{"ENOENT", kind{api.CategoryRuntime, hintFile}},
		{"EROFS", kind{api.CategoryRuntime, hintReadOnly}},
		{"EACCES", kind{api.CategoryRuntime, hintReadOnly}},
		{"ENOTFOUND", kind{api.CategoryRuntime, HintNetwork}},
		{"EAI_AGAIN", kind{api.CategoryRuntime, HintNetwork}},
		{"ECONNREFUSED", kind{api.CategoryRuntime, HintNetwork}},
	}, syscallPatterns...),
}

// typescript parses Node's errors for the JavaScript compiled from a program. Its lines differ from
// those of the program, so the diagnosis names only the file.
func typescript(t *Text) (api.Diagnosis, bool) {
	d, ok := javascript(t)
	if name, compiled := strings.CutPrefix(d.File, "out/"); compiled {
		d.File, d.Line, d.Column = strings.TrimSuffix(name, ".js")+".ts", 0, 0
	}
	return d, ok
}

// tsc parses FILE(LINE,COLUMN): error TS2322: MESSAGE.
func tsc(t *Text) []api.Diagnosis {
	return parseBracketed(t, func(rest string) (api.Diagnosis, bool) {
		code, msg, ok := strings.Cut(strings.TrimPrefix(rest, "error "), ": ")
		if !ok || !strings.HasPrefix(code, "TS") {
			return api.Diagnosis{}, false
		}
		k := match(tscPatterns, msg, kindOf(tscCodes, code))
		if k.category == api.CategoryRuntime {
			k.category = api.CategoryCompile
		}
		if len(code) == len("TS1005") && code[2] == '1' {
			k = kind{api.CategorySyntax, cmp.Or(k.hint, hintSyntax)}
		}
		return api.Diagnosis{Category: k.category, Type: code, Message: msg, Hint: k.hint}, true
	})
}

// parseBracketed parses lines of the form FILE(LINE,COLUMN): and calls read for the rest of each.
func parseBracketed(t *Text, read func(rest string) (api.Diagnosis, bool)) []api.Diagnosis {
	var all []api.Diagnosis
	for _, line := range t.lines {
		if len(all) == maxErrors {
			break
		}
		at, rest, ok := brackets(line)
		if !ok {
			continue
		}
		if d, ok := read(rest); ok {
			all = append(all, at.in(d))
		}
	}

	return all
}

var tscCodes = map[string]kind{
	"TS2322":  {api.CategoryType, hintType},
	"TS2345":  {api.CategoryType, hintType},
	"TS2339":  {api.CategoryType, "check the spelling after the dot, and the type of the value before it"},
	"TS2551":  {api.CategoryType, "check the spelling after the dot"},
	"TS2304":  {api.CategoryCompile, "%s is not defined here: check the spelling and imports"},
	"TS2552":  {api.CategoryCompile, "%s is not defined here: check the spelling"},
	"TS2307":  {api.CategoryImport, hintModule},
	"TS2305":  {api.CategoryImport, "the module has no such member: check the spelling"},
	"TS2554":  {api.CategoryType, "the call has the wrong number of arguments for the function"},
	"TS2365":  {api.CategoryType, "the operator does not support these two types"},
	"TS2588":  {api.CategoryType, "a const cannot be changed: declare it with let"},
	"TS2531":  {api.CategoryType, "the value may be null: check first"},
	"TS2532":  {api.CategoryType, "the value may be undefined: check first"},
	"TS18047": {api.CategoryType, "the value may be null: check first"},
	"TS18048": {api.CategoryType, "the value may be undefined: check first"},
	"TS7006":  {api.CategoryType, "declare the type of the parameter"},
	"TS2451":  {api.CategoryCompile, "the name %s is declared twice"},
	"TS2454":  {api.CategoryCompile, "give the variable a value on every path to this line"},
	"TS2355":  {api.CategoryType, "the function declares a return value but has no return"},
}

var tscPatterns = []pattern{{"possibly 'null'", kind{api.CategoryType, "the value may be null: check first"}},
	{"possibly 'undefined'", kind{api.CategoryType, "the value may be undefined: check first"}}}
