package diagnose

import (
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// sanitized reads the report of a sanitizer, where the program was built with one.
func sanitized(t *text) (api.Diagnosis, bool) {
	for i, line := range t.lines {
		if _, after, ok := strings.Cut(line, "Sanitizer: "); ok && strings.Contains(line, "ERROR: ") {
			what := after
			for _, verb := range []string{"attempting ", "detected ", "requested "} {
				what = strings.TrimPrefix(what, verb)
			}
			typ, _, _ := strings.Cut(what, " ")
			d := api.Diagnosis{Category: api.CategoryMemory, Type: strings.TrimSuffix(typ, ":"), Message: after, Hint: sanitizerHints[typ]}
			return sanitizedAt(t, i).in(d), true
		}
		if at, rest, ok := colons(line); ok && at.file != "" {
			if msg, found := strings.CutPrefix(rest, "runtime error: "); found {
				return at.in(api.Diagnosis{Category: api.CategoryValue, Type: "undefined-behavior", Message: msg,
					Hint: "C and C++ do not say what becomes of this: the program may do anything from here on"}), true
			}
		}
	}
	return api.Diagnosis{}, false
}

// sanitizedAt finds the first frame of the program's own below line i: the deepest.
func sanitizedAt(t *text, i int) place {
	for ; i < len(t.lines); i++ { // "    #1 0x55 in main /box/main.c:5:3"
		frame := strings.TrimSpace(t.lines[i])
		if !strings.HasPrefix(frame, "#") {
			continue
		}
		if at, _, ok := colons(frame[strings.LastIndexByte(frame, ' ')+1:]); ok && at.file != "" {
			return at
		}
	}
	return place{}
}

var sanitizerHints = map[string]string{
	"heap-buffer-overflow":          "an index is outside of what malloc or new gave",
	"stack-buffer-overflow":         "an index is outside of an array on the stack",
	"global-buffer-overflow":        "an index is outside of a global array",
	"heap-use-after-free":           "memory is used after it was freed",
	"stack-use-after-return":        "a pointer to a variable of a function that has returned is used",
	"stack-overflow":                hintRecursion,
	"double-free":                   "the same memory was freed twice",
	"free":                          "something was freed that malloc or new did not give",
	"SEGV":                          "a pointer is null or leads nowhere",
	"memory":                        "memory that was asked for is never freed",
	"allocation":                    "an array was asked for with a negative or far too large length",
	"alloc-dealloc-mismatch":        "what new gave is for delete, what new[] gave for delete[], what malloc gave for free",
	"stack-use-after-scope":         "a pointer to a variable of a block that has ended is used",
	"dynamic-stack-buffer-overflow": "an index is outside of an array on the stack",
}
