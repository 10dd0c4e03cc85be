package messages

import (
	"cmp"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// rust parses the panic that ended the program: the last one printed.
func rust(t *Text) (api.Diagnosis, bool) {
	for i := len(t.lines) - 1; i >= 0; i-- {
		line := t.lines[i]
		if _, where, ok := strings.Cut(line, "' panicked at "); ok && strings.HasPrefix(line, "thread '") {
			at, _, _ := colons(where)
			msg := strings.TrimSpace(t.line(i + 1))
			k := match(rustPatterns, msg, kind{api.CategoryRuntime, ""})
			return at.in(api.Diagnosis{Category: k.category, Type: "panic",
				Message: cmp.Or(msg, "panic"), Hint: k.hint}), true
		}
		if strings.HasPrefix(line, "thread '") && strings.HasSuffix(line, "has overflowed its stack") {
			return api.Diagnosis{Category: api.CategoryRuntime, Type: "stack overflow", Message: line, Hint: hintRecursion}, true
		}
		if strings.HasPrefix(line, "memory allocation of ") {
			return api.Diagnosis{Category: api.CategoryMemory, Type: "memory allocation", Message: line, Hint: HintMemory}, true
		}
		if msg, ok := strings.CutPrefix(line, "Error: "); ok { // main returned an Err
			k := match(rustPatterns, msg, kind{api.CategoryRuntime, "main returned this error: look at where ? passed it on"})
			return api.Diagnosis{Category: k.category, Type: "Error", Message: msg, Hint: k.hint}, true
		}
	}

	return api.Diagnosis{}, false
}

var rustPatterns = append([]pattern{
	{"index out of bounds", kind{api.CategoryValue, hintIndex}},
	{"out of range for", kind{api.CategoryValue, hintIndex}},
	{"divide by zero", kind{api.CategoryValue, hintZero}},
	{"with a divisor of zero", kind{api.CategoryValue, hintZero}},
	{"with overflow", kind{api.CategoryValue,
		"a number became too large for its type: use a larger one, or checked_ and wrapping_ operations"}},
	{"on a `None` value", kind{api.CategoryValue, "the Option is None: use match or if let instead of unwrap"}},
	{"InvalidDigit", kind{api.CategoryValue, "the text is not a number: print it, and trim() it, before parse()"}},
	{"kind: Empty", kind{api.CategoryValue, "the text is empty: print it before parse()"}},
	{"ParseIntError", kind{api.CategoryValue, "the text is not a number in the range of its type: print it before parse()"}},
	{"ParseFloatError", kind{api.CategoryValue, "the text is not a number: print it before parse()"}},
	{"NotFound", kind{api.CategoryRuntime, hintFile}},
	{"already borrowed", kind{api.CategoryRuntime, "a RefCell is borrowed twice at once, at least once mutably"}},
	{"already mutably borrowed", kind{api.CategoryRuntime, "a RefCell is borrowed twice at once, at least once mutably"}},
	{"not yet implemented", kind{api.CategoryRuntime, "this part of the program is not written yet"}},
	{"on an `Err` value", kind{api.CategoryRuntime, "the Result is an Err: use match or ? instead of unwrap"}},
	{"assertion ", kind{api.CategoryRuntime, "the condition of this assert is false: print the values that it compares"}},
	{"capacity overflow", kind{api.CategoryMemory, "the capacity of a new collection is far too large"}},
}, syscallPatterns...)

// rustc parses error[E0308]: MESSAGE and the "  --> FILE:LINE:COLUMN" that follows.
func rustc(t *Text) []api.Diagnosis {
	var all []api.Diagnosis
	waiting := false // for the place of the last one
	for _, line := range t.lines {
		if where, ok := strings.CutPrefix(strings.TrimLeft(line, " "), "--> "); ok && waiting {
			at, _, _ := colons(where)
			all[len(all)-1] = at.in(all[len(all)-1])
			waiting = false
			continue
		}

		head, msg, ok := strings.Cut(line, ": ")
		if !ok || !strings.HasPrefix(head, "error") {
			continue
		}

		code, coded := between(head, "error[", "]")
		if !coded && head != "error" || strings.HasPrefix(msg, "aborting due to") || len(all) == maxErrors {
			waiting = false
			continue
		}

		k := kind{api.CategorySyntax, hintSyntax}
		if coded {
			k = kindOf(rustCodes, code)
			if k.category == api.CategoryRuntime {
				k.category = api.CategoryCompile
			}
		} else {
			k = match(rustcPatterns, msg, k)
		}

		all = append(all, api.Diagnosis{Category: k.category, Type: cmp.Or(code, "error"), Message: msg,
			Hint: fill(k.hint, msg)})
		waiting = true
	}

	return all
}

// rustcPatterns are for errors without a code, most of which are about syntax.
var rustcPatterns = []pattern{
	{"cannot find macro", kind{api.CategoryCompile, "there is no macro %s here: check the spelling"}},
	{"linking with", kind{api.CategoryCompile, ""}},
	{"unclosed delimiter", kind{api.CategorySyntax, "a bracket is opened and never closed"}},
	{"this operation will panic", kind{api.CategoryValue, "the compiler can tell that this fails"}},
	{"this arithmetic operation will overflow", kind{api.CategoryValue, "the compiler can tell that this overflows"}},
	{"cannot be used", kind{api.CategoryCompile, ""}},
}

var rustCodes = map[string]kind{
	"E0308": {api.CategoryType, hintType},
	"E0277": {api.CategoryType, "the type lacks a trait that is needed here: see which one the compiler names"},
	"E0369": {api.CategoryType, "the operator does not support these two types"},
	"E0599": {api.CategoryType, "check the spelling after the dot, and the type of the value before it"},
	"E0609": {api.CategoryType, "check the spelling after the dot, and the type of the value before it"},
	"E0061": {api.CategoryType, "the call has the wrong number of arguments for the function"},
	"E0282": {api.CategoryType, "declare its type, such as let x: i32 = ..."},
	"E0425": {api.CategoryCompile, "%s is not defined here: check the spelling, and that it is declared before this line"},
	"E0412": {api.CategoryCompile, "there is no type %s here: check the spelling, or add a use"},
	"E0432": {api.CategoryImport, "this crate or module is not available: only the standard library is"},
	"E0433": {api.CategoryImport, "there is no such crate, module or type here: add a use, or check the spelling"},
	"E0583": {api.CategoryImport, "the file of this module is missing: " + hintAddFile},
	"E0382": {api.CategoryCompile, "the value was moved before: borrow it with &, or clone() it"},
	"E0499": {api.CategoryCompile, "it is borrowed mutably twice at once: end the first borrow before the second"},
	"E0502": {api.CategoryCompile, "it is borrowed both immutably and mutably: end the first borrow before the second"},
	"E0505": {api.CategoryCompile, "the value is moved while something still borrows it"},
	"E0506": {api.CategoryCompile, "the value is changed while something still borrows it"},
	"E0597": {api.CategoryCompile, "the value is dropped while it is still borrowed: keep it for longer"},
	"E0106": {api.CategoryCompile, "say how long the reference is valid, such as &'a str"},
	"E0384": {api.CategoryCompile, "a variable changes only when it is declared with let mut"},
	"E0596": {api.CategoryCompile, "a variable changes only when it is declared with let mut"},
	"E0004": {api.CategoryCompile, "the match lacks a case: add it, or _ for all others"},
	"E0381": {api.CategoryCompile, "give the variable a value on every path to this line"},
	"E0601": {api.CategoryCompile, "the program needs an fn main"},
}
