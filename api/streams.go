package api

import (
	"io"
	"os"
	"time"
)

// A Caller is the process that sent a request, as the kernel reports it (SO_PEERCRED, read when the
// connection was made).
type Caller struct {
	UID, GID uint32
	PID      int32
}

// Streams connect a run to a caller that stays connected while it runs. The zero value is for a
// caller that waits for the result: stdin is Run.Stdin, and the output is in the Result.
type Streams struct {
	// Attach, when set, is called once, before the program starts, with what reaches it. Run.Stdin is
	// not used. Of a run with StdinBlob it is not called.
	Attach func(Attached)

	// Stdout and Stderr, when set, get the program's output while it is written, and the Result
	// carries none. A Write that blocks makes the program wait; after an error the caller is gone.
	// A compile stage and tests keep their output in the Result.
	Stdout, Stderr io.Writer

	// Control, when set, gets what a program with control writes to its descriptor 4, as Stdout does.
	// What the program wrote to stdout and stderr before is written to those before that.
	Control io.Writer

	// Compiled, when set, is called when the artifacts are ready, Test with each test's result as
	// soon as it is known. There are no concurrent calls.
	Compiled func(Compilation)
	Test     func(TestResult)

	// Usage, when set, is called twice a second with what a run uses; for tests with what all of
	// them have used. There are no concurrent calls.
	Usage func(LiveUsage)

	// Network, when set, is called once before the program starts, if the run has a network with
	// hosts: with the sockets on which the program asks for names (UDP and TCP), then with one
	// listening socket for each port. The program's connections to any host arrive there. Network
	// does not own the files. Without Network such a run is refused.
	Network func(sockets []*os.File) error

	// Memory, when set, counts what the agent holds in memory of the run until it is answered.
	Memory Memory

	// Wait is the longest time that a new request waits for a slot and memory; zero: SlotWait.
	Wait time.Duration
}

// Attached is what reaches a program while it runs. Whoever gets it owns the files and closes them.
type Attached struct {
	Stdin   *os.File // the write end of its stdin, or the master of its terminal
	Control *os.File // the write end of its descriptor 3; nil: it has none

	// Signal sends a signal to the process group of the program, or, at a terminal, to the group in its
	// foreground; it reports an error only for what is no signal, and does nothing when the program has
	// ended. It is nil for a program of a run.
	Signal func(Signal) error

	Resident bool // what is sent has a Window
}

// Memory counts what the agent holds in memory of one request until it is answered. A failure with
// CodeBusy may pass; with CodeTooLarge the request can never have as much.
type Memory interface {
	// Keep counts n more bytes that are held from now on, or fewer if n is negative, which never fails.
	Keep(n int64) error
	// Begin reserves the most that a stage may hold while it has its slot. Each stage has a guaranteed
	// share; if common is false, Begin fails where more would be needed.
	Begin(maximum int64, common bool) error
	// Cancel undoes Begin for a stage that got no slot. It wakes nobody that waits for memory: who waits for
	// a slot is asked under the same lock.
	Cancel(maximum int64)
	// End ends a stage for which maximum bytes were reserved; of these, kept are held from now on.
	End(maximum, kept int64)
}

// SlotWait is how long a new request that does not say how long it waits does so for a slot and memory of
// the agent before it is refused as busy.
const SlotWait = 100 * time.Millisecond

// TemplateWait is the longest time that a run waits for its template.
const TemplateWait = 30 * time.Second

// MaxSlotWait is the longest wait for a slot that a request can ask the agent for, with the header Prefer:
// wait=SECONDS (RFC 7240).
const MaxSlotWait = time.Minute
