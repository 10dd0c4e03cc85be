// Package history stores the record of every run for the public gateway: its owner, its result, its
// output, and the alerts that it caused.
//
// The history is one SQLite file with a write-ahead log. One goroutine writes: it puts all waiting
// records into one transaction, so that a hundred callers share a commit. A caller waits only for a
// row in the table arrivals; rows move to the tables with indexes many at a time, before the next
// read or within a second. Readers have their own connections and never wait for the writer.
//
// As soon as Add has returned, a record survives the death of this process: the kernel has it. The
// log is not flushed to the device at every commit (synchronous = NORMAL): a power cut may lose the
// last moments, but never the file's integrity.
//
// The errors of a Store's methods are *api.Error, except those of the caller's own context:
// bad-request for a filter or a record that makes no sense, not-found, host-exhausted if the file
// has no space to grow, stopping after Close, and internal for all others.
package history
