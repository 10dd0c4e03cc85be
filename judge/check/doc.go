// Package check looks for noteworthy things in a program's source: dangerous calls, syntax
// errors, passwords and keys. A check is a run: the language's own parser reads the source inside
// a sandbox, because a parser can be attacked by its input. So the output of that run is not
// trusted either: only positions, known rules and printable names and messages are taken from it,
// within limits.
//
// Findings are advice. The sandbox is the boundary (docs/check.md).
package check
