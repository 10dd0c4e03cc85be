package messages

import (
	"cmp"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// fortran parses "Fortran runtime error: MESSAGE", after a line "At line 3 of file main.f90" if the place is known,
// and "ERROR STOP MESSAGE".
func fortran(t *Text) (api.Diagnosis, bool) {
	var at place
	for _, line := range t.lines {
		if where, ok := strings.CutPrefix(line, "At line "); ok {
			n, rest := number(where)
			name, _, _ := strings.Cut(strings.TrimPrefix(rest, " of file "), " (unit")
			if file := OwnFile(name); n > 0 && file != "" {
				at = place{file, n, 0}
			}
			continue
		}

		if msg, ok := strings.CutPrefix(line, "Fortran runtime error: "); ok {
			k := match(fortranRunPatterns, msg, kind{api.CategoryRuntime, ""})
			return at.in(api.Diagnosis{Category: k.category, Type: "Fortran runtime error",
				Message: cmp.Or(msg, line), Hint: k.hint}), true
		}

		if msg, ok := strings.CutPrefix(line, "ERROR STOP"); ok {
			return api.Diagnosis{Category: api.CategoryRuntime, Type: "ERROR STOP",
				Message: cmp.Or(strings.TrimSpace(msg), line), Hint: "the program ended itself here with error stop"}, true
		}
	}

	return api.Diagnosis{}, false
}

var fortranRunPatterns = append([]pattern{
	{"End of file", kind{api.CategoryValue, hintInput}},
	{"Bad integer", kind{api.CategoryValue, hintFortranInput}},
	{"Bad real", kind{api.CategoryValue, hintFortranInput}},
	{"Bad logical", kind{api.CategoryValue, hintFortranInput}},
	{"Integer overflow while reading", kind{api.CategoryValue, "the number read is too large for the variable's kind"}},
	{"outside of expected range", kind{api.CategoryValue, "an index is outside of the bounds with which the array is declared"}},
	{"Index '", kind{api.CategoryValue, "an index is outside of the bounds with which the array is declared"}},
	{"already allocated", kind{api.CategoryMemory, "deallocate it before, or allocate it only once"}},
	{"unallocated", kind{api.CategoryMemory, "allocate it before"}},
	{"Error allocating", kind{api.CategoryMemory, HintMemory}},
}, syscallPatterns...)

const hintFortranInput = "the text read is not a value of the variable's type: look at the input and the format"

// gfortran parses the errors of the compiler: FILE:LINE:COLUMN:, lines of the source, and "Error: MESSAGE".
func gfortran(t *Text) []api.Diagnosis {
	var all []api.Diagnosis
	var at place
	for _, line := range t.lines {
		if len(all) == maxErrors {
			break
		}
		if p, rest, ok := colons(line); ok && rest == "" {
			at = p
			continue
		}

		msg, fatal := strings.CutPrefix(line, "Fatal Error: ")
		if !fatal {
			var isError bool
			if msg, isError = strings.CutPrefix(line, "Error: "); !isError {
				continue
			}
		}

		msg = strings.TrimSuffix(msg, " at (1)") // the mark below the line of the source, which is the place
		k := match(gfortranPatterns, msg, kind{api.CategoryCompile, ""})
		all = append(all, at.in(api.Diagnosis{Category: k.category, Type: "error", Message: msg, Hint: k.hint}))
		at = place{}
	}

	if len(all) == 0 {
		return gcc(t) // the linker's, such as an undefined reference
	}
	return all
}

var gfortranPatterns = []pattern{
	{"Unclassifiable statement", kind{api.CategorySyntax, hintSyntax}},
	{"Invalid character in name", kind{api.CategorySyntax, hintSyntax}},
	{"Syntax error", kind{api.CategorySyntax, hintSyntax}},
	{"Unexpected end of file", kind{api.CategorySyntax, "an end is missing: of a program, a procedure, a loop or an if"}},
	{"Expecting END", kind{api.CategorySyntax, "an end is missing, or is that of something else"}},
	{"Unterminated character constant", kind{api.CategorySyntax, "a string is opened here and never closed: add the quote at its end"}},
	{"Cannot open module file", kind{api.CategoryImport, hintModule}},
	{"has no IMPLICIT type", kind{api.CategoryCompile, "%s is not declared here: check the spelling, or declare it"}},
	{"Cannot convert", kind{api.CategoryType, hintType}},
	{"Type mismatch", kind{api.CategoryType, hintType}},
	{"Operands of", kind{api.CategoryType, hintType}},
	{"Missing actual argument", kind{api.CategoryType, hintArguments}},
	{"More actual than formal arguments", kind{api.CategoryType, hintArguments}},
	{"already has basic type", kind{api.CategoryCompile, hintDefined}},
}
