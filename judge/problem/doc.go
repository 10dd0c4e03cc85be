// Package problem reads the files of programming problems: tests with their answers, and packages of
// judges. It runs nothing, needs no privilege, and bounds what it reads: packages and archives come
// from strangers.
package problem
