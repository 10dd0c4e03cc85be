// Package outputs takes what a program writes and leaves: its stdout and stderr on their way to the
// caller, the files that are collected of /box, and the file that is judged instead of stdout.
package outputs
