package judge

import (
	"time"

	"github.com/brig-sandbox/brig/api"
)

// An Interaction says how the interactors of a protocol are called.
type Interaction struct {
	Protocol
	// Accepts reports whether an exit code lets the program go on: after any other one, whatever the
	// program does changes nothing.
	Accepts func(exitCode int) bool
	// Output is the file that the interactor writes for the checker; empty: none.
	Output string
	// Manager says that it is a manager of the Contest Management System: it has the input on stdin and in
	// ManagerInput, opens the pipes to the program by name, and gets no expected output.
	Manager bool
	// Unjudged says that it judges nothing: it gets no files, and however it ends, the program's own end decides.
	Unjudged bool
}

// ManagerInput is the file in which a manager may read the input, instead of on stdin.
const ManagerInput = "input.txt"

// InteractionOf returns how interactors of that protocol are called.
func InteractionOf(name api.Protocol) Interaction {
	p := ProtocolOf(name)
	switch name {
	case api.ProtocolTestlib:
		p.Args, p.Collect = before(InputFile, tout, AnswerFile), []string{tout}
		return Interaction{Protocol: p, Accepts: testlibAccepts, Output: tout}
	case api.ProtocolDMOJ:
		p.Args, p.read = after(InputFile, AnswerFile), readDMOJInteractor
		return Interaction{Protocol: p, Accepts: exitedWithZero}
	case api.ProtocolCOCI:
		p.Args = after(InputFile, AnswerFile)
		return Interaction{Protocol: p, Accepts: testlibAccepts}
	case api.ProtocolNone:
		return Interaction{Protocol: p, Accepts: func(int) bool { return true }, Unjudged: true}
	case api.ProtocolCMS:
		p.Args = func(args []string) []string { return args }
		return Interaction{Protocol: p, Accepts: exitedWithZero, Manager: true}
	}

	return Interaction{Protocol: p, Accepts: func(code int) bool { return code == kattisAccepted }}
}

func exitedWithZero(code int) bool { return code == 0 }

// readDMOJInteractor reads what a checker of the protocol says, with the message on stderr: stdout is the
// program's stdin.
func readDMOJInteractor(l CheckerOutput, as api.PointsAs) (CheckResult, error) {
	l.Stdout = l.Stderr
	return readExit(l, as)
}

// An Ended says how a program and an interactor ended that talked with each other.
type Ended struct {
	Program      api.Verdict
	ProgramAt    time.Duration // on one clock
	InteractorAt time.Duration
}

// First is which of the two ended first.
func (e Ended) First() api.First {
	if e.InteractorAt < e.ProgramAt {
		return api.FirstInteractor
	}
	return api.FirstProgram
}

// Judge returns the verdict and, if that is ok, what the interactor says. said and failed are what reading
// the interactor gave; failed is returned if it decides.
//
// A program that failed before its interactor ended has its own verdict, also if the interactor then fails: many
// do at end of file, and nobody may turn a crash into an error. Otherwise an interactor that failed decides,
// because without it nothing is known. Then an interactor that ended first and found the program wrong, or
// gave it a part of the points with an exit code after which brig ends the program: what the program did
// afterwards, without anybody to talk to, does not count. Then the program's own verdict, and last the word of
// the interactor.
func (e Ended) Judge(said CheckResult, failed error) (api.Verdict, CheckResult, error) {
	switch {
	case e.Program == api.Canceled:
		return api.Canceled, CheckResult{}, nil
	case e.Program != api.OK && e.First() == api.FirstProgram:
		return e.Program, CheckResult{}, nil
	case failed != nil:
		return e.Program, CheckResult{}, failed
	case e.First() == api.FirstInteractor && (said.Answer == api.WrongAnswer || said.Final):
		return api.OK, said, nil
	case e.Program != api.OK:
		return e.Program, CheckResult{}, nil
	}

	return api.OK, said, nil
}
