package messages

import (
	"cmp"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// native parses what the C and C++ libraries print when a program dies: uncaught exceptions, failed
// assertions, memory corruption, and the reports of sanitizers.
func native(t *Text) (api.Diagnosis, bool) {
	if d, ok := parseSanitizer(t); ok {
		return d, true
	}

	for i := len(t.lines) - 1; i >= 0; i-- { // the final message is at the end
		line := t.lines[i]
		if typ, ok := between(line, "terminate called after throwing an instance of '", "'"); ok {
			msg, _ := strings.CutPrefix(strings.TrimSpace(t.line(i+1)), "what():")
			if !strings.HasPrefix(strings.TrimSpace(t.line(i+1)), "what():") {
				msg = ""
			}
			msg = strings.TrimSpace(msg)
			k, ok := cppTypes[typ]
			if !ok {
				k = kind{api.CategoryRuntime, "an exception is not caught: add try and catch where it can be handled"}
			}
			return api.Diagnosis{Category: k.category, Type: typ,
				Message: cmp.Or(msg, "uncaught exception"), Hint: k.hint}, true
		}

		if strings.HasPrefix(line, "terminate called") {
			return api.Diagnosis{Category: api.CategoryRuntime, Type: "std::terminate", Message: line,
				Hint: "a thread was never joined, or an exception was thrown while another was active"}, true
		}
		if before, after, ok := strings.Cut(line, ": Assertion `"); ok { // PROGRAM: FILE:LINE: FUNCTION: Assertion `...' failed.
			_, where, _ := strings.Cut(before, ": ")
			at, _, _ := colons(where)
			return at.in(api.Diagnosis{Category: api.CategoryRuntime, Type: "assert", Message: "Assertion `" + after,
				Hint: "the condition of an assert is false: print the values that it compares"}), true
		}

		for _, m := range libcPatterns {
			if strings.Contains(line, m.contains) {
				return api.Diagnosis{Category: m.category, Type: m.contains, Message: line, Hint: m.hint}, true
			}
		}
	}

	return api.Diagnosis{}, false
}

var cppTypes = map[string]kind{
	"std::out_of_range": {api.CategoryValue, hintIndex},
	"std::invalid_argument": {api.CategoryValue,
		"a function got a value that it cannot use, such as text that is not a number"},
	"std::bad_alloc": {api.CategoryMemory, HintMemory},
	"std::bad_array_new_length": {api.CategoryMemory,
		"the length of a new array is negative or far too large"},
	"std::length_error": {api.CategoryValue,
		"a string or vector would become far too large: look for a negative length"},
	"std::bad_optional_access": {api.CategoryValue, "the optional is empty: check has_value() first"},
	"std::bad_variant_access": {api.CategoryType,
		"the variant contains another type than the requested one"},
	"std::bad_any_cast": {api.CategoryType,
		"the any contains another type than the requested one"},
	"std::bad_cast":                              {api.CategoryType, "the object is not of the class it is cast to"},
	"std::bad_function_call":                     {api.CategoryRuntime, "the std::function is empty"},
	"std::system_error":                          {api.CategoryRuntime, "the system refused a request: see the message"},
	"std::regex_error":                           {api.CategoryValue, "the regular expression is invalid"},
	"std::overflow_error":                        {api.CategoryValue, "a number became too large"},
	"std::filesystem::__cxx11::filesystem_error": {api.CategoryRuntime, hintFile},
}

// libcPatterns are the messages of the C and C++ libraries when they detect corrupted memory or objects.
var libcPatterns = []pattern{
	{"stack smashing detected", kind{api.CategoryMemory, "an array on the stack was written beyond its end"}},
	{"buffer overflow detected", kind{api.CategoryMemory, "more was copied than the destination holds"}},
	{"double free", kind{api.CategoryMemory, "the same memory was freed twice"}},
	{"free(): invalid pointer", kind{api.CategoryMemory, "memory was freed that did not come from malloc or new"}},
	{"munmap_chunk(): invalid pointer", kind{api.CategoryMemory, "memory was freed that did not come from malloc or new"}},
	{"corrupted size", kind{api.CategoryMemory, "memory was written beyond the end of a block from malloc or new"}},
	{"malloc(): corrupted", kind{api.CategoryMemory, "memory was written beyond the end of a block from malloc or new"}},
	{"malloc(): invalid", kind{api.CategoryMemory, "memory was written beyond the end of a block from malloc or new"}},
	{"free(): invalid", kind{api.CategoryMemory, "memory was written beyond the end of a block from malloc or new"}},
	{"malloc_consolidate(): ", kind{api.CategoryMemory, "memory was used after it was freed, or written beyond its end"}},
	{"pure virtual method called",
		kind{api.CategoryRuntime,
			"a virtual function without a body was called: look for calls in constructors and destructors"}},
}

// gcc parses FILE:LINE:COLUMN: error: MESSAGE, and the errors of the linker.
func gcc(t *Text) []api.Diagnosis {
	var all []api.Diagnosis
	for _, line := range t.lines {
		if len(all) == maxErrors {
			break
		}

		at, rest, ok := colons(line)
		msg, fatal := strings.CutPrefix(rest, "fatal error: ")
		if !fatal {
			var isError bool
			if msg, isError = strings.CutPrefix(rest, "error: "); !isError {
				ok = false
			}
		}
		if ok {
			k := match(gccPatterns, msg, kind{api.CategoryCompile, ""})
			all = append(all, at.in(api.Diagnosis{Category: k.category, Type: "error", Message: msg, Hint: k.hint}))
			continue
		}

		if _, symbol, found := strings.Cut(line, "undefined reference to `"); found {
			symbol = strings.TrimSuffix(symbol, "'")
			d := api.Diagnosis{Category: api.CategoryCompile, Type: "undefined reference",
				Message: "undefined reference to " + symbol,
				Hint: "it is declared and used but never defined: check its spelling, or add the file that " +
					"defines it with --file (files in a request)"}
			if symbol == "main" {
				d.Hint = "the program needs a function main"
			}
			if before, _, _ := strings.Cut(line, ":(."); before != line {
				file := before[strings.LastIndexByte(before, ' ')+1:]
				if where, _, ok := colons(file); ok { // with -g the linker knows the line
					d = where.in(d)
				} else {
					d.File = OwnFile(file)
				}
			}
			all = append(all, d)
		} else if strings.Contains(line, "multiple definition of `") {
			all = append(all, api.Diagnosis{Category: api.CategoryCompile, Type: "multiple definition", Message: line,
				Hint: "two files define the same name: keep one definition, and declare the name in a header"})
		}
	}

	return all
}

var gccPatterns = []pattern{
	{"No such file or directory", kind{api.CategoryImport, "this header does not exist here: check its name; if it " +
		"is yours, " + hintAddFile}},
	{"expected ‘;’", kind{api.CategorySyntax, "a semicolon is missing at the end of the statement before"}},
	{"or ‘;’", kind{api.CategorySyntax, "a semicolon is missing at the end of the statement before"}},
	{"expected ‘}’ at end of input", kind{api.CategorySyntax, "a { is never closed"}},
	{"missing terminating", kind{api.CategorySyntax, "a string is opened here and never closed: add the quote at its end"}},
	{"expected ", kind{api.CategorySyntax, hintSyntax}},
	{"stray ", kind{api.CategorySyntax, "this character is not part of the language: look for typographic quotes or spaces"}},
	{"‘gets’", kind{api.CategoryCompile,
		"gets was removed from C and C++, because it writes beyond the end of the array: use fgets, or std::getline"}},
	{"was not declared in this scope", kind{api.CategoryCompile, "%s is not defined here: check the spelling, includes and std::"}},
	{"is not a member of", kind{api.CategoryCompile, "there is no %s there: check the spelling, and include the header that has it"}},
	{"undeclared", kind{api.CategoryCompile, "%s is not defined here: check the spelling, and that it is declared before this line"}},
	{"implicit declaration of function", kind{api.CategoryCompile, "%s is not declared: include its header"}},
	{"does not name a type", kind{api.CategoryCompile, "there is no type %s here: check the spelling, includes and std::"}},
	{"unknown type name", kind{api.CategoryCompile, "there is no type %s here: check the spelling and includes"}},
	{"no matching function", kind{api.CategoryType, "no function of this name takes these arguments: look at their number and types"}},
	{"too few arguments", kind{api.CategoryType, "the call has too few arguments"}},
	{"too many arguments", kind{api.CategoryType, "the call has too many arguments"}},
	{"no match for ‘operator", kind{api.CategoryType, "the operator does not support these two types"}},
	{"invalid operands", kind{api.CategoryType, "the operator does not support these two types"}},
	{"invalid conversion", kind{api.CategoryType, hintType}},
	{"cannot convert", kind{api.CategoryType, hintType}},
	{"conversion from", kind{api.CategoryType, hintType}},
	{"incompatible", kind{api.CategoryType, hintType}},
	{"makes integer from pointer", kind{api.CategoryType, hintType}},
	{"makes pointer from integer", kind{api.CategoryType, hintType}},
	{"has no member named", kind{api.CategoryType, "check the spelling after the dot, and the type of the value before it"}},
	{"redefinition", kind{api.CategoryCompile, "the name %s is defined twice"}},
	{"redeclar", kind{api.CategoryCompile, "the name %s is defined twice"}},
	{"read-only", kind{api.CategoryType, "a const object cannot be changed"}},
	{"discards qualifiers", kind{api.CategoryType, "a const object cannot be changed"}},
	{"is private", kind{api.CategoryCompile, "%s is private: only its own class may use it"}},
	{"return-statement", kind{api.CategoryType, "the returned value does not match the function's type"}},
}
