// Package batch judges many jobs: it reads them from JSON lines, releases a bounded number of them to a
// queue that workers take them from, and appends each result to a file exactly once.
//
// The input and the file of results are the truth. A queue moves work and may lose it: what it loses is
// released again, and what it repeats is dropped. Jobs are executed at least once, and recorded once.
package batch
