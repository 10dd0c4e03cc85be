// Package diagnose explains failed runs to beginners: pure functions from a result
// to its api.Diagnosis.
//
// The verdict has precedence: if a program reached a limit, was stopped for a system call or died
// from a signal, that is the reason of its failure, whatever it printed. Otherwise a parser per
// language reads the output. The output is untrusted: the work is linear in at most the first and
// last 64 KiB, and every resulting field is bounded, printable and valid UTF-8.
package diagnose
