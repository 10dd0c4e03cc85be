// Package history keeps what became of every run, for the public gateway: who asked,
// what it came to, what it printed, and the alerts it gave rise to.
//
// It is one SQLite file with a write-ahead log. One goroutine writes: it takes every
// record that waits into one transaction, so that a hundred callers share a commit. What a
// caller waits for is a row of arrivals; its way into the tables with the indexes is made
// with many others, before the next reader looks, or within a second.
// Readers have connections of their own and wait for nobody.
//
// A record is safe from the death of this process as soon as Add has returned: the
// kernel has it. The log is not flushed to the device at every commit (synchronous =
// NORMAL): a power cut may take the last moments with it, never the file's integrity.
//
// The errors of a Store's methods are *api.Error, but for those of the caller's own
// context: bad-request for a filter or a record that makes no sense, not-found,
// host-exhausted when the file has no room to grow, stopping after Close, and
// internal for the rest.
package history
