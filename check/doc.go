// Package check looks for what is noteworthy in a program's source: dangerous calls,
// mistakes of syntax, passwords and keys. A check is a run: the language's own parser
// reads the source inside a sandbox, since a parser can be attacked by what it reads.
// So what comes of such a run is not trusted either: only places and the names of
// known rules are taken from it, within bounds.
//
// It is advice. The sandbox is the boundary (docs/check.md).
package check
