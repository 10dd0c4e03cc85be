package messages

import (
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// parseSanitizer parses the report of a sanitizer, if the program was built with one.
func parseSanitizer(t *Text) (api.Diagnosis, bool) {
	for i, line := range t.lines {
		if _, after, ok := strings.Cut(line, "Sanitizer: "); ok && strings.Contains(line, "ERROR: ") {
			what := after
			for _, verb := range []string{"attempting ", "detected ", "requested "} {
				what = strings.TrimPrefix(what, verb)
			}
			typ, _, _ := strings.Cut(what, " ")
			d := api.Diagnosis{Category: api.CategoryMemory, Type: strings.TrimSuffix(typ, ":"), Message: after,
				Hint: sanitizerHints[typ]}
			return sanitizerPlace(t, i).in(d), true
		}

		if at, rest, ok := colons(line); ok && at.file != "" {
			if msg, found := strings.CutPrefix(rest, "runtime error: "); found {
				return at.in(api.Diagnosis{Category: api.CategoryValue, Type: "undefined-behavior", Message: msg,
					Hint: "this is undefined behavior in C and C++: the program may do anything from here on"}), true
			}
		}
	}

	return api.Diagnosis{}, false
}

// sanitizerPlace finds the first frame in the program's own files below line i, which is the deepest.
func sanitizerPlace(t *Text, i int) place {
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
	"heap-buffer-overflow":          "an index is outside of the block from malloc or new",
	"stack-buffer-overflow":         "an index is outside of an array on the stack",
	"global-buffer-overflow":        "an index is outside of a global array",
	"heap-use-after-free":           "memory is used after it was freed",
	"stack-use-after-return":        "a pointer to a variable of a function that has returned is used",
	"stack-overflow":                hintRecursion,
	"double-free":                   "the same memory was freed twice",
	"free":                          "memory was freed that did not come from malloc or new",
	"SEGV":                          "a pointer is null or invalid",
	"memory":                        "allocated memory is never freed",
	"allocation":                    "the length of a new array is negative or far too large",
	"alloc-dealloc-mismatch":        "free memory as it was allocated: use delete for new, delete[] for new[], and free for malloc",
	"stack-use-after-scope":         "a pointer to a variable of a block that has ended is used",
	"dynamic-stack-buffer-overflow": "an index is outside of an array on the stack",
}
