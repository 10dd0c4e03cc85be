// Package messages reads what the compilers, interpreters and programs of languages print when they
// fail, with a parser for each language. What it reads is untrusted: see package diagnose.
package messages
