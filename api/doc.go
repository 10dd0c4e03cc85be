// Package api defines brig's vocabulary: requests, verdicts and results.
//
// The life of a run, in the words of this package:
//
//	Run      the request of a caller. Validate checks it; Resolve fills its limits.
//	Evidence what the agent saw: wait status, clocks, counters, which limit fired.
//	Verdict  what the evidence means. Only package judge makes one.
//	Result   the answer to the caller: the verdict with everything it rests on.
//	Error    brig itself failed, or refused. It says nothing about the program.
//
// A program that crashes, exceeds a limit or is killed yields a Result; an Error is brig's own.
// The two never mix: no Result carries a failure of brig and no Error a verdict.
//
// The doc tag of a field says what the field means in the public service. The service's OpenAPI
// description is made from these tags too.
//
// The package imports the standard library alone, opens no file and starts no
// goroutine. In JSON a quantity has its unit in its name (cpu_ns, memory_bytes),
// or is a Size or a Duration, which read and write "512M" and "1.5s".
package api
