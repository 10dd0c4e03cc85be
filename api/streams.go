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
	// Attach, when set, is called once, before the program starts, with the write end of its stdin.
	// Attach then owns that file and must close it. Run.Stdin is not used. Of a run with StdinBlob it
	// is not called.
	Attach func(stdin *os.File)

	// Stdout and Stderr, when set, get the program's output while it is written, and the Result
	// carries none. A Write that blocks makes the program wait; after an error the caller is gone.
	// A compile stage and tests keep their output in the Result.
	Stdout, Stderr io.Writer

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

	// Reserve, when set, is called before the run takes memory that it retains until it is answered:
	// so many bytes more, or fewer if negative. An error refuses the run.
	Reserve func(bytes int64) error

	// RetryDelay is the longest time until the caller sends a refused request again; zero: at once.
	RetryDelay time.Duration
}

// SlotWait is how long a new request waits for a slot of the agent before it is refused as busy. As many
// requests wait as the agent has slots.
const SlotWait = 100 * time.Millisecond
