// Package diagnose explains failed runs to beginners: pure functions from a result
// to its api.Diagnosis.
//
// The verdict decides first: a program that met a limit, was stopped for a system
// call or died of a signal failed for that, whatever it printed. Then what it
// printed counts, read by a function per language (see tongues). Nothing printed
// can be trusted: the work is linear in at most the first and last 64 KiB, and
// every field that comes of it is bounded, printable and valid UTF-8.
package diagnose
