package api

// A Check has a program judge the output of each test, after the program under test has ended with
// the verdict ok. A checker that does not keep to its protocol on an output, and accepts the expected one, makes
// the output wrong (checker_failed); otherwise it is the error check-failed.
type Check struct {
	Program
	Protocol Protocol `json:"protocol" doc:"how the checker is called and says what it found"`
	Args     []string `json:"args,omitempty" doc:"arguments for each test, before its check_args; for exit: {input}, {output} and {answer} stand for the files"`
	Points   PointsAs `json:"points,omitempty" doc:"what the points of a testlib checker mean; empty: fraction"`
}

// A Protocol says how a checker or an interactor is called and how it says what it found: see
// docs/judging.md.
type Protocol string

// The protocols.
const (
	// output validators of Kattis and ICPC problem packages: exit code 42 or 43, and files in a feedback directory
	ProtocolKattis  Protocol = "kattis"
	ProtocolTestlib Protocol = "testlib" // checkers with testlib.h, as of Codeforces and Polygon
	ProtocolCMS     Protocol = "cms"     // of the Contest Management System: a number between 0 and 1 on stdout, a message on stderr
	ProtocolCOCI    Protocol = "coci"    // exit code 0, 1 or 2, or 7 with "partial X/Y" on stderr
	// of ejudge: exit code 0 accepted, 4 or 5 wrong, 6 the checker's own fault; a message on stderr
	ProtocolEjudge Protocol = "ejudge"
	// of SYZOJ and Hydro: no arguments, files input, user_out and answer; a number from 0 to 100 on stdout
	ProtocolSYZOJ Protocol = "syzoj"
	ProtocolLemon Protocol = "lemon" // of Lemon: the last two arguments are files for the score and the message
	ProtocolDMOJ  Protocol = "dmoj"  // the default of DMOJ's bridged checkers: exit code 0 or 1, feedback on stdout
	// of the WCIPEG judge: the answer comes first; exit code 0 or 1, and two lines on stdout whose quotient is a part of
	// the points
	ProtocolPEG Protocol = "peg"
	// of ScaleBox's data: no arguments; files stdin.txt, stdout.txt (the expected output) and answer.txt (the program's)
	ProtocolScaleBox Protocol = "scalebox"
	// of an interactor alone: any program, which judges nothing. It gets no files and no arguments but its own, and how it
	// ends changes nothing: the result says how both ended
	ProtocolNone   Protocol = "none"
	ProtocolExit   Protocol = "exit"   // any program: exit code 0 accepted, 1 wrong
	ProtocolPython Protocol = "python" // a Python source with a function check(input, output, answer)
)

// PythonCheckers is the language of a checker of the protocol python that names none.
const PythonCheckers = "python"

// PointsAs says what the number means that a testlib checker gives with quitp.
type PointsAs string

// The meanings.
const (
	PointsFraction PointsAs = "fraction" // a share between 0 and 1; the default
	PointsPercent  PointsAs = "percent"  // between 0 and 100
	PointsAbsolute PointsAs = "absolute" // points of the test
)
