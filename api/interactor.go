package api

// An Interactor talks with the program under test while both run, each in a sandbox of its own: what
// one writes to stdout the other reads on stdin. The interactor alone sees the input and the expected
// output of the test. One of the protocol cms, a manager, opens pipes by name instead, has the input on
// stdin, and may talk with several processes of the program.
type Interactor struct {
	Program
	Protocol Protocol `json:"protocol" doc:"how the interactor is called and says what it found: kattis, testlib, dmoj, coci, cms or none"`
	Args     []string `json:"args,omitempty" doc:"arguments for each test, before its check_args"`
	Points   PointsAs `json:"points,omitempty" doc:"what the points of a testlib interactor mean; empty: fraction"`
	Passes   int      `json:"passes,omitempty" doc:"1: with passes 2 it talks with the program in the first pass only, and the checker judges what the program prints in the second one; zero: it talks in all"`

	Env     map[string]string `json:"env,omitempty" doc:"its environment variables, in addition to those of the image"`
	Collect *Collect          `json:"collect,omitempty" doc:"with none: which of its files are in the result"`

	Processes int       `json:"processes,omitempty" doc:"with cms: how many processes of the program it talks with, each in a sandbox of its own, whose processor times together count for the limit; zero means 1, and 7 is the most"`
	ProgramIO ProgramIO `json:"program_io,omitempty" doc:"with cms: what each process talks over; empty: std_io"`
}

// MaxProcesses is how many processes of a program one interactor talks with at most: a slot keeps eight cells,
// and one is the interactor's.
const MaxProcesses = 7

// ProgramIO says what a program talks over with an interactor of the protocol cms.
type ProgramIO string

// The values of ProgramIO, with the names of the Contest Management System.
const (
	StdIO  ProgramIO = "std_io"  // its stdin and stdout
	FIFOIO ProgramIO = "fifo_io" // two pipes, whose names are its first arguments: the one that it reads, and the one that it writes to
)

// Run returns the Run that executes the interactor.
func (i Interactor) Run() Run {
	r := i.Program.Run()
	r.Env = i.Env
	if i.Collect != nil {
		r.Collect = *i.Collect
	}
	return r
}

// ProcessCount is how many processes of the program the interactor talks with.
func (i Interactor) ProcessCount() int { return max(i.Processes, 1) }

// A First says which of two programs that talked with each other ended first.
type First string

// The values of First.
const (
	FirstProgram    First = "program"    // the program under test
	FirstInteractor First = "interactor" // the interactor
)
