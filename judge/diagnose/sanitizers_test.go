package diagnose_test

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/diagnose"
)

// TestSanitizersReports uses reports of GCC 12 for programs in /box. brig's own images have no
// sanitizers, but other images may.
func TestSanitizersReports(t *testing.T) {
	for _, tt := range []struct {
		name, printed string
		verdict       api.Verdict
		want          api.Diagnosis
	}{
		{"an index outside", `=================================================================
==6284==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000024 at pc 0x55bcb263c1c4 bp 0x7ffc368863d0 sp 0x7ffc368863c8
READ of size 4 at 0x602000000024 thread T0
    #0 0x55bcb263c1c3 in pick /box/main.c:3
    #1 0x55bcb263c1f3 in main /box/main.c:7
    #2 0x7f12d6e45249 in __libc_start_call_main ../sysdeps/nptl/libc_start_call_main.h:58

0x602000000024 is located 8 bytes to the right of 12-byte region [0x602000000010,0x60200000001c)
`, api.Nonzero, api.Diagnosis{
			Category: api.CategoryMemory, Type: "heap-buffer-overflow", File: "main.c", Line: 3,
			Message: "heap-buffer-overflow on address 0x602000000024 at pc 0x55bcb263c1c4 bp 0x7ffc368863d0 sp 0x7ffc368863c8",
			Hint:    "an index is outside of the block from malloc or new",
		}},
		{"a leak, found in a library", `
=================================================================
==1==ERROR: LeakSanitizer: detected memory leaks

Direct leak of 12 byte(s) in 1 object(s) allocated from:
    #0 0x7f12d70b83b7 in __interceptor_calloc ../../../../src/libsanitizer/asan/asan_malloc_linux.cpp:77
    #1 0x55bcb263c1de in main /box/main.c:6
`, api.Nonzero, api.Diagnosis{
			Category: api.CategoryMemory, Type: "memory", File: "main.c", Line: 6,
			Message: "detected memory leaks", Hint: "allocated memory is never freed",
		}},
		{"undefined behaviour, then a signal",
			"main.c:4:8: runtime error: signed integer overflow: 2147483647 + 1 cannot be represented in type " +
				"'int'\n", api.Signaled, api.Diagnosis{
				Category: api.CategoryValue, Type: "undefined-behavior", File: "main.c", Line: 4, Column: 8,
				Message: "signed integer overflow: 2147483647 + 1 cannot be represented in type 'int'",
				Hint:    "this is undefined behavior in C and C++: the program may do anything from here on",
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, language := range []string{"c", "cpp"} {
				got := diagnose.Explain(language, "main.c", nil, api.Result{Verdict: tt.verdict, ExitCode: 1, Stderr: api.Bytes(tt.printed)})
				if got == nil || *got != tt.want {
					t.Errorf("%s: got  %+v\nwant %+v", language, got, tt.want)
				}
			}
		})
	}
}
