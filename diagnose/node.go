package diagnose

import (
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// javascript reads an error that Node did not see caught: the file and source that
// come first, the name and message, the stack.
func javascript(t *text) (api.Diagnosis, bool) {
	var first, at place // of the heading, and of the deepest own frame
	var d api.Diagnosis
	found := false
	for i, line := range t.lines {
		switch {
		case strings.HasPrefix(line, "    at "):
			if at.file == "" {
				at = nodeFrame(line)
			}
		case strings.Contains(line, "JavaScript heap out of memory"):
			return api.Diagnosis{Category: api.CategoryMemory, Type: "FATAL ERROR", Message: "JavaScript heap out of memory", Hint: hintMemory}, true
		case !found && (strings.HasPrefix(line, "/box/") || strings.HasPrefix(line, "file:///box/")):
			if p, rest, ok := colons(strings.TrimPrefix(line, "file://")); ok && rest == "" {
				first = p
				if carets := t.line(i + 2); strings.Trim(carets, " \t^") == "" {
					first.column = strings.IndexByte(carets, '^') + 1
				}
			}
		case !found && strings.HasPrefix(line, "(Use `node --trace-uncaught"): // what is thrown is no Error
			d, found = api.Diagnosis{Category: api.CategoryRuntime, Type: "throw", Message: t.line(i - 1), Hint: "a value is thrown that nothing catches: add try and catch, and throw an Error"}, true
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

// nodeHead reads "TypeError: message", "Error [CODE]: message" and "Uncaught ...".
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
	return typ, orWords(msg, typ), true
}

// nodeFrame reads "    at f (/box/main.js:3:9)" and "    at /box/main.js:3:9".
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
	if clues, ok := nodeClues[typ]; ok {
		return match(clues, msg, orKind(nodeTypes, typ))
	}
	return orKind(nodeTypes, typ)
}

// orKind gives what is known of a type, or no more than that the program failed.
func orKind(types map[string]kind, typ string) kind {
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
	"URIError":       {api.CategoryValue, "the text is no URI"},
	"AssertionError": {api.CategoryRuntime, "a condition that this assert takes for granted does not hold: print what it compares"},
}

var nodeClues = map[string][]clue{
	"TypeError": {
		{"of undefined", kind{api.CategoryType, "the value before the dot is undefined: look at where it should have been set"}},
		{"of null", kind{api.CategoryType, "the value before the dot is null: look at where it should have been set"}},
		{"is not a function", kind{api.CategoryType, "what is called is no function: check the spelling and what was imported"}},
		{"Assignment to constant variable", kind{api.CategoryType, "what is const cannot be changed: declare it with let"}},
		{"is not iterable", kind{api.CategoryType, "this value cannot be looped over or spread"}},
		{"BigInt", kind{api.CategoryType, "a BigInt goes with BigInts alone: convert with BigInt() or Number()"}},
		{"circular structure", kind{api.CategoryType, "an object that contains itself has no JSON"}},
	},
	"RangeError": {
		{"Maximum call stack", kind{api.CategoryRuntime, hintRecursion}},
		{"Invalid array length", kind{api.CategoryValue, "an array was asked for with a negative or far too large length"}},
		{"allocation", kind{api.CategoryMemory, hintMemory}},
	},
	"ReferenceError": {
		{"before initialization", kind{api.CategoryRuntime, "%s is used before the line that declares it"}},
		{"require is not defined", kind{api.CategoryImport, "this is an ES module: write import instead, or call the file .cjs"}},
	},
	"SyntaxError": {
		{"in JSON", kind{api.CategoryValue, "the text is no JSON: print it before it is parsed"}},
		{"JSON input", kind{api.CategoryValue, "the text is no JSON, or ends too early: print it before it is parsed"}},
		{"Cannot use import statement", kind{api.CategorySyntax, "import needs an ES module: call the file .mjs, or use require"}},
		{"does not provide an export named", kind{api.CategoryImport, "the module has no such export: check the spelling"}},
		{"has already been declared", kind{api.CategorySyntax, "the name %s is declared twice"}},
		{"await is only valid", kind{api.CategorySyntax, "await belongs into an async function or an .mjs file"}},
		{"Unexpected end of input", kind{api.CategorySyntax, "a bracket is nowhere closed"}},
		{"Invalid or unexpected token", kind{api.CategorySyntax, "a text is not closed, or a character stands here that is none of the language's"}},
	},
	"Error": append([]clue{
		{"Cannot find module", kind{api.CategoryImport, hintModule}},
		{"Cannot find package", kind{api.CategoryImport, hintModule}},
		{"ENOENT", kind{api.CategoryRuntime, hintFile}},
		{"EROFS", kind{api.CategoryRuntime, hintReadOnly}},
		{"EACCES", kind{api.CategoryRuntime, hintReadOnly}},
		{"ENOTFOUND", kind{api.CategoryRuntime, hintNetwork}},
		{"EAI_AGAIN", kind{api.CategoryRuntime, hintNetwork}},
		{"ECONNREFUSED", kind{api.CategoryRuntime, hintNetwork}},
	}, system...),
}

// typescript reads what Node says of the JavaScript that came of a program. Its
// lines are not the program's, so the file alone is told.
func typescript(t *text) (api.Diagnosis, bool) {
	d, ok := javascript(t)
	if name, compiled := strings.CutPrefix(d.File, "out/"); compiled {
		d.File, d.Line, d.Column = strings.TrimSuffix(name, ".js")+".ts", 0, 0
	}
	return d, ok
}

// tsc reads FILE(LINE,COLUMN): error TS2322: MESSAGE.
func tsc(t *text) []api.Diagnosis {
	return marked(t, func(rest string) (api.Diagnosis, bool) {
		code, msg, ok := strings.Cut(strings.TrimPrefix(rest, "error "), ": ")
		if !ok || !strings.HasPrefix(code, "TS") {
			return api.Diagnosis{}, false
		}
		k := match(tscClues, msg, orKind(tscCodes, code))
		if k.category == api.CategoryRuntime {
			k.category = api.CategoryCompile
		}
		if len(code) == len("TS1005") && code[2] == '1' {
			k = kind{api.CategorySyntax, orWords(k.hint, hintSyntax)}
		}
		return api.Diagnosis{Category: k.category, Type: code, Message: msg, Hint: k.hint}, true
	})
}

// marked reads lines of the form FILE(LINE,COLUMN): and what read makes of the rest.
func marked(t *text, read func(rest string) (api.Diagnosis, bool)) []api.Diagnosis {
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
	"TS2339":  {api.CategoryType, "check the spelling after the dot, and what type the value before it has"},
	"TS2551":  {api.CategoryType, "check the spelling after the dot"},
	"TS2304":  {api.CategoryCompile, "nothing is called %s here: check the spelling and imports"},
	"TS2552":  {api.CategoryCompile, "nothing is called %s here: check the spelling"},
	"TS2307":  {api.CategoryImport, hintModule},
	"TS2305":  {api.CategoryImport, "the module has no such member: check the spelling"},
	"TS2554":  {api.CategoryType, "the call gives another number of arguments than the function takes"},
	"TS2365":  {api.CategoryType, "the operator does not go with these two types"},
	"TS2588":  {api.CategoryType, "what is const cannot be changed: declare it with let"},
	"TS2531":  {api.CategoryType, "the value may be null: ask first"},
	"TS2532":  {api.CategoryType, "the value may be undefined: ask first"},
	"TS18047": {api.CategoryType, "the value may be null: ask first"},
	"TS18048": {api.CategoryType, "the value may be undefined: ask first"},
	"TS7006":  {api.CategoryType, "say which type the parameter has"},
	"TS2451":  {api.CategoryCompile, "the name %s is declared twice"},
	"TS2454":  {api.CategoryCompile, "give the variable a value on every way to this line"},
	"TS2355":  {api.CategoryType, "the function says that it returns a value: it needs a return"},
}

var tscClues = []clue{{"possibly 'null'", kind{api.CategoryType, "the value may be null: ask first"}}, {"possibly 'undefined'", kind{api.CategoryType, "the value may be undefined: ask first"}}}
