package messages

import (
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// perl parses the last "message at FILE line N.". If Perl finds syntax errors, it lists all of
// them, so perl reports the first one.
func perl(t *Text) (api.Diagnosis, bool) {
	var d api.Diagnosis
	found := false
	for _, line := range t.lines {
		i := strings.LastIndex(line, " line ")
		if i < 0 {
			continue
		}

		j := strings.LastIndex(line[:i], " at ")
		n, rest := number(line[i+len(" line "):])
		if j < 0 || n == 0 || !strings.HasPrefix(rest, ".") && !strings.HasPrefix(rest, ",") {
			continue
		}

		file := OwnFile(line[j+len(" at ") : i])
		msg := line[:j]
		if msg == "BEGIN failed--compilation aborted" || d.Category == api.CategorySyntax ||
			d.Category == api.CategoryImport {
			continue
		}

		msg, _, _ = strings.Cut(msg, " (@INC ")
		if near := strings.TrimPrefix(rest, ", "); near != rest && strings.HasPrefix(near, "near ") {
			msg += " " + near
		}

		k := match(perlPatterns, msg, kind{api.CategoryRuntime, ""})
		d, found = place{file, n, 0}.in(api.Diagnosis{Category: k.category, Type: "die", Message: msg, Hint: k.hint}), true
		if k.category == api.CategorySyntax {
			d.Type = "syntax error"
		}
	}

	return d, found
}

var perlPatterns = append([]pattern{
	{"syntax error", kind{api.CategorySyntax, hintSyntax}},
	{"Can't find string terminator", kind{api.CategorySyntax, "a string is opened here and never closed: add the quote at its end"}},
	{"Missing right curly", kind{api.CategorySyntax, "a { is never closed"}},
	{"requires explicit package name", kind{api.CategorySyntax, "declare the variable with my, or check its spelling"}},
	{"Can't locate object method", kind{api.CategoryType, "check the spelling after ->, and the type of the object"}},
	{"Can't locate", kind{api.CategoryImport,
		"this module does not exist here, or its name is misspelt: only Perl's own modules are available; if it is yours, " +
			hintAddFile}},
	{"Undefined subroutine", kind{api.CategoryRuntime, "no function has this name: check the spelling"}},
	{"division by zero", kind{api.CategoryValue, hintZero}},
	{"modulus zero", kind{api.CategoryValue, hintZero}},
	{"on an undefined value", kind{api.CategoryType, "the value is undef: look at where it should have been set"}},
	{"on unblessed reference", kind{api.CategoryType, "this reference is not an object: it was never blessed"}},
	{"as an ARRAY ref", kind{api.CategoryType, "the value is not a reference to an array"}},
	{"as a HASH ref", kind{api.CategoryType, "the value is not a reference to a hash"}},
	{"Not a", kind{api.CategoryType, "the reference refers to another type"}},
	{"Not an", kind{api.CategoryType, "the reference refers to another type"}},
	{"Out of memory", kind{api.CategoryMemory, HintMemory}},
	{"Deep recursion", kind{api.CategoryRuntime, hintRecursion}},
}, syscallPatterns...)

// lua parses "lua: main.lua:3: message" and, for an error without a place, the first line in the
// traceback that is in the program's own files.
func lua(t *Text) (api.Diagnosis, bool) {
	for i, line := range t.lines {
		head, ok := strings.CutPrefix(strings.TrimPrefix(line, "luac: "), "lua: ")
		if !ok && !strings.HasPrefix(line, "luac: ") {
			continue
		}

		at, msg, placed := colons(head)
		if !placed || at.file == "" {
			at, msg = place{}, head
		}

		for j := i + 1; j < len(t.lines) && at.file == ""; j++ {
			if p, _, ok := colons(strings.TrimSpace(t.lines[j])); ok && p.file != "" {
				at = p
			}
		}

		k := match(luaPatterns, msg, kind{api.CategoryRuntime, ""})
		typ := "error"
		if k.category == api.CategorySyntax {
			typ = "syntax error"
		}
		return at.in(api.Diagnosis{Category: k.category, Type: typ, Message: msg, Hint: k.hint}), true
	}

	return api.Diagnosis{}, false
}

var luaPatterns = append([]pattern{
	{"' near ", kind{api.CategorySyntax, hintSyntax}},
	{" near '", kind{api.CategorySyntax, hintSyntax}},
	{" near <eof>", kind{api.CategorySyntax, "an end is missing, or a bracket is never closed"}},
	{" near ", kind{api.CategorySyntax, hintSyntax}},
	{"module '", kind{api.CategoryImport, hintModule}},
	{"attempt to call a nil value", kind{api.CategoryType, "no function has this name: check the spelling"}},
	{"attempt to index a nil value",
		kind{api.CategoryType, "the value before the dot or bracket is nil: look at where it should have been set"}},
	{"attempt to perform arithmetic on a nil", kind{api.CategoryType, "a value is nil: look at where it should have been set"}},
	{"attempt to perform arithmetic", kind{api.CategoryType, "a value is not a number: convert it with tonumber()"}},
	{"attempt to compare", kind{api.CategoryType, "these two values have no order: convert one, such as with tonumber()"}},
	{"attempt to concatenate", kind{api.CategoryType, "a value is not text: convert it with tostring()"}},
	{"attempt to perform 'n//0'", kind{api.CategoryValue, hintZero}},
	{"attempt to divide by zero", kind{api.CategoryValue, hintZero}},
	{"attempt to perform 'n%%0'", kind{api.CategoryValue, hintZero}},
	{"attempt to ", kind{api.CategoryType, "the operation does not support a value of this type"}},
	{"bad argument", kind{api.CategoryType, "the function got an argument that it cannot use"}},
	{"stack overflow", kind{api.CategoryRuntime, hintRecursion}},
	{"not enough memory", kind{api.CategoryMemory, HintMemory}},
}, syscallPatterns...)
