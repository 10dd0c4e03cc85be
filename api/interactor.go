package api

// An Interactor talks with the program under test while both run, each in a sandbox of its own: what
// one writes to stdout the other reads on stdin. The interactor alone sees the input and the expected
// output of the test.
type Interactor struct {
	Program
	Protocol Protocol `json:"protocol" doc:"how the interactor is called and says what it found: kattis, testlib, dmoj or coci"`
	Args     []string `json:"args,omitempty" doc:"arguments for each test, before its check_args"`
	Points   PointsAs `json:"points,omitempty" doc:"what the points of a testlib interactor mean; empty: fraction"`
}

// A First says which of two programs that talked with each other ended first.
type First string

// The values of First.
const (
	FirstProgram    First = "program"    // the program under test
	FirstInteractor First = "interactor" // the interactor
)
