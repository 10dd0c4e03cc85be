// Package api is brig's vocabulary: what was asked, what was seen, what it means.
//
// The life of a run, in the words of this package:
//
//	Run      what a caller asks for. Validate checks it; Resolve fills its limits.
//	Evidence what the agent saw: wait status, clocks, counters, which limit fired.
//	Verdict  what that means. Judge is the only place one is made.
//	Result   what the caller gets: the verdict with everything it rests on.
//	Error    brig itself failed, or refused. It says nothing about the program.
//
// A program that crashes, overruns or is killed is a Result; an Error is ours.
// The two never mix: no Result carries our failure and no Error a verdict.
//
// What a field of the public service means stands in its doc tag, from which the service's
// OpenAPI description is made too.
//
// The package imports the standard library alone, opens no file and starts no
// goroutine. In JSON a quantity has its unit in its name (cpu_ns, memory_bytes),
// or is a Size or a Duration, which read and write "512M" and "1.5s".
package api
