// Package suite makes runs of suites of unit tests and reads their reports. The reports come out of a
// sandbox, where the program could write them, too: they are bounded, nothing in them is executed, and
// what is wrong with one is a wrong answer of the program, never an error of brig. The agent does not
// link this package.
package suite
