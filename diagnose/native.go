package diagnose

import (
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// native reads what the C and C++ libraries print as a program dies: uncaught
// exceptions, failed assertions, damaged memory, and the sanitizers' reports.
func native(t *text) (api.Diagnosis, bool) {
	if d, ok := sanitized(t); ok {
		return d, true
	}
	for i := len(t.lines) - 1; i >= 0; i-- { // the last words come last
		line := t.lines[i]
		if typ, ok := between(line, "terminate called after throwing an instance of '", "'"); ok {
			msg, _ := strings.CutPrefix(strings.TrimSpace(t.line(i+1)), "what():")
			if !strings.HasPrefix(strings.TrimSpace(t.line(i+1)), "what():") {
				msg = ""
			}
			msg = strings.TrimSpace(msg)
			k, ok := cppTypes[typ]
			if !ok {
				k = kind{api.CategoryRuntime, "an exception is thrown that nothing catches: add try and catch where it can be dealt with"}
			}
			return api.Diagnosis{Category: k.category, Type: typ, Message: orWords(msg, "thrown and not caught"), Hint: k.hint}, true
		}
		if strings.HasPrefix(line, "terminate called") {
			return api.Diagnosis{Category: api.CategoryRuntime, Type: "std::terminate", Message: line,
				Hint: "a thread that was never joined, or an exception thrown while another was on its way, ends the program"}, true
		}
		if before, after, ok := strings.Cut(line, ": Assertion `"); ok { // PROGRAM: FILE:LINE: FUNCTION: Assertion `...' failed.
			_, where, _ := strings.Cut(before, ": ")
			at, _, _ := colons(where)
			return at.in(api.Diagnosis{Category: api.CategoryRuntime, Type: "assert", Message: "Assertion `" + after,
				Hint: "a condition that the program takes for granted does not hold: print what it compares"}), true
		}
		for _, m := range damaged {
			if strings.Contains(line, m.contains) {
				return api.Diagnosis{Category: m.category, Type: m.contains, Message: line, Hint: m.hint}, true
			}
		}
	}
	return api.Diagnosis{}, false
}

var cppTypes = map[string]kind{
	"std::out_of_range":                          {api.CategoryValue, hintIndex},
	"std::invalid_argument":                      {api.CategoryValue, "a function was given a value it cannot use, such as text that is no number"},
	"std::bad_alloc":                             {api.CategoryMemory, hintMemory},
	"std::bad_array_new_length":                  {api.CategoryMemory, "an array was asked for with a negative or far too large length"},
	"std::length_error":                          {api.CategoryValue, "a string or vector was asked to become far too large: look for a negative length"},
	"std::bad_optional_access":                   {api.CategoryValue, "the optional is empty: ask has_value() first"},
	"std::bad_variant_access":                    {api.CategoryType, "the variant holds another type than the one taken from it"},
	"std::bad_any_cast":                          {api.CategoryType, "the any holds another type than the one taken from it"},
	"std::bad_cast":                              {api.CategoryType, "the object is not of the class it is cast to"},
	"std::bad_function_call":                     {api.CategoryRuntime, "the std::function is empty"},
	"std::system_error":                          {api.CategoryRuntime, "the system refused something: the message says what"},
	"std::regex_error":                           {api.CategoryValue, "the regular expression is not one"},
	"std::overflow_error":                        {api.CategoryValue, "a number became too large"},
	"std::filesystem::__cxx11::filesystem_error": {api.CategoryRuntime, hintFile},
}

// damaged are the words of a C library that finds memory in disorder.
var damaged = []clue{
	{"stack smashing detected", kind{api.CategoryMemory, "an array on the stack was written beyond its end"}},
	{"buffer overflow detected", kind{api.CategoryMemory, "more was copied than the destination holds"}},
	{"double free", kind{api.CategoryMemory, "the same memory was freed twice"}},
	{"free(): invalid pointer", kind{api.CategoryMemory, "something was freed that malloc or new did not give"}},
	{"munmap_chunk(): invalid pointer", kind{api.CategoryMemory, "something was freed that malloc or new did not give"}},
	{"corrupted size", kind{api.CategoryMemory, "memory was written beyond the end of what malloc or new gave"}},
	{"malloc(): corrupted", kind{api.CategoryMemory, "memory was written beyond the end of what malloc or new gave"}},
	{"malloc(): invalid", kind{api.CategoryMemory, "memory was written beyond the end of what malloc or new gave"}},
	{"free(): invalid", kind{api.CategoryMemory, "memory was written beyond the end of what malloc or new gave"}},
	{"malloc_consolidate(): ", kind{api.CategoryMemory, "memory was used after it was freed, or written beyond its end"}},
	{"pure virtual method called", kind{api.CategoryRuntime, "a virtual function without a body was called: look for calls in constructors and destructors"}},
}

// gcc reads FILE:LINE:COLUMN: error: MESSAGE, and what the linker says.
func gcc(t *text) []api.Diagnosis {
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
			k := match(gccClues, msg, kind{api.CategoryCompile, ""})
			all = append(all, at.in(api.Diagnosis{Category: k.category, Type: "error", Message: msg, Hint: k.hint}))
			continue
		}
		if _, symbol, found := strings.Cut(line, "undefined reference to `"); found {
			symbol = strings.TrimSuffix(symbol, "'")
			d := api.Diagnosis{Category: api.CategoryCompile, Type: "undefined reference", Message: "undefined reference to " + symbol,
				Hint: "it is declared and used but nowhere written: check its spelling, or place the file that has it beside the program by --file (files in a request)"}
			if symbol == "main" {
				d.Hint = "a program begins in main: there is none"
			}
			if before, _, _ := strings.Cut(line, ":(."); before != line {
				d.File = ownFile(before[strings.LastIndexByte(before, ' ')+1:])
			}
			all = append(all, d)
		} else if strings.Contains(line, "multiple definition of `") {
			all = append(all, api.Diagnosis{Category: api.CategoryCompile, Type: "multiple definition", Message: line,
				Hint: "the same name is written in two files: keep it in one, and declare it in a header"})
		}
	}
	return all
}

var gccClues = []clue{
	{"No such file or directory", kind{api.CategoryImport, "there is no such header here: check its name; if it is yours, " + hintBeside}},
	{"expected ‘;’", kind{api.CategorySyntax, "a semicolon is missing at the end of the statement before"}},
	{"or ‘;’", kind{api.CategorySyntax, "a semicolon is missing at the end of the statement before"}},
	{"expected ‘}’ at end of input", kind{api.CategorySyntax, "a { is nowhere closed"}},
	{"missing terminating", kind{api.CategorySyntax, "a text is opened here and not closed: add the quote at its end"}},
	{"expected ", kind{api.CategorySyntax, hintSyntax}},
	{"stray ", kind{api.CategorySyntax, "a character stands here that is none of the language's: look for typographic quotes or spaces"}},
	{"‘gets’", kind{api.CategoryCompile, "gets is no part of C and C++ any more, for it writes beyond any array: use fgets, or std::getline"}},
	{"was not declared in this scope", kind{api.CategoryCompile, "nothing is called %s here: check the spelling, includes and std::"}},
	{"is not a member of", kind{api.CategoryCompile, "there is no %s there: check the spelling, and include the header that has it"}},
	{"undeclared", kind{api.CategoryCompile, "nothing is called %s here: check the spelling, and that it is declared before this line"}},
	{"implicit declaration of function", kind{api.CategoryCompile, "%s is not declared: include its header"}},
	{"does not name a type", kind{api.CategoryCompile, "there is no type %s here: check the spelling, includes and std::"}},
	{"unknown type name", kind{api.CategoryCompile, "there is no type %s here: check the spelling and includes"}},
	{"no matching function", kind{api.CategoryType, "no function of this name takes these arguments: look at their number and types"}},
	{"too few arguments", kind{api.CategoryType, "the call gives too few arguments"}},
	{"too many arguments", kind{api.CategoryType, "the call gives too many arguments"}},
	{"no match for ‘operator", kind{api.CategoryType, "the operator does not go with these two types"}},
	{"invalid operands", kind{api.CategoryType, "the operator does not go with these two types"}},
	{"invalid conversion", kind{api.CategoryType, hintType}},
	{"cannot convert", kind{api.CategoryType, hintType}},
	{"conversion from", kind{api.CategoryType, hintType}},
	{"incompatible", kind{api.CategoryType, hintType}},
	{"makes integer from pointer", kind{api.CategoryType, hintType}},
	{"makes pointer from integer", kind{api.CategoryType, hintType}},
	{"has no member named", kind{api.CategoryType, "check the spelling after the dot, and what type the value before it has"}},
	{"redefinition", kind{api.CategoryCompile, "the name %s is given twice"}},
	{"redeclar", kind{api.CategoryCompile, "the name %s is given twice"}},
	{"read-only", kind{api.CategoryType, "what is const cannot be changed"}},
	{"discards qualifiers", kind{api.CategoryType, "what is const cannot be changed"}},
	{"is private", kind{api.CategoryCompile, "%s is private: only its own class may use it"}},
	{"return-statement", kind{api.CategoryType, "what is returned does not go with the function's type"}},
}
