package judge_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
)

// The order in which a program and an interactor decide, see docs/judging.md.
func TestInteraction(t *testing.T) {
	broken := errors.New("exit code 1")
	for _, tt := range []struct {
		name    string
		ended   judge.Ended
		answer  api.Answer
		failed  error
		verdict api.Verdict
		want    api.Answer
		fails   bool
	}{
		{"both well", judge.Ended{Program: api.OK, ProgramAt: 1, InteractorAt: 2}, api.Accepted, nil, api.OK, api.Accepted, false},
		{"wrong, said at the end", judge.Ended{Program: api.OK, ProgramAt: 1, InteractorAt: 2}, api.WrongAnswer, nil, api.OK,
			api.WrongAnswer, false},
		{"wrong, said first, and then a crash", judge.Ended{Program: api.Signaled, ProgramAt: 2, InteractorAt: 1}, api.WrongAnswer, nil, api.OK,
			api.WrongAnswer, false},
		{"wrong, said first, and then a limit", judge.Ended{Program: api.CPULimit, ProgramAt: 2, InteractorAt: 1}, api.WrongAnswer, nil, api.OK,
			api.WrongAnswer, false},
		{"a crash first, then wrong", judge.Ended{Program: api.Signaled, ProgramAt: 1, InteractorAt: 2}, api.WrongAnswer, nil,
			api.Signaled, "", false},
		{"accepted first, then a crash", judge.Ended{Program: api.Nonzero, ProgramAt: 2, InteractorAt: 1}, api.Accepted, nil,
			api.Nonzero, "", false},
		{"accepted first, then a limit", judge.Ended{Program: api.WallLimit, ProgramAt: 2, InteractorAt: 1}, api.Accepted, nil,
			api.WallLimit, "", false},
		{"partial first, then a crash", judge.Ended{Program: api.Nonzero, ProgramAt: 2, InteractorAt: 1}, api.Partial, nil,
			api.Nonzero, "", false},
		{"an interactor that failed", judge.Ended{Program: api.OK, ProgramAt: 1, InteractorAt: 2}, "", broken, api.OK, "", true},
		{"and a program that crashed", judge.Ended{Program: api.Signaled, ProgramAt: 1, InteractorAt: 2}, "", broken, api.Signaled, "", false},
		{"and a program that met a limit", judge.Ended{Program: api.WallLimit, ProgramAt: 1, InteractorAt: 2}, "", broken,
			api.WallLimit, "", false},
		{"a failure, and then a crash of the program", judge.Ended{Program: api.Signaled, ProgramAt: 2, InteractorAt: 1}, "", broken,
			api.Signaled, "", true},
		{"a caller that left", judge.Ended{Program: api.Canceled, ProgramAt: 1, InteractorAt: 2}, "", broken, api.Canceled, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v, w, err := tt.ended.Judge(judge.CheckResult{Answer: tt.answer}, tt.failed)
			if v != tt.verdict || w.Answer != tt.want || (err != nil) != tt.fails {
				t.Errorf("%s, %q, %v; want %s, %q, failed %v", v, w.Answer, err, tt.verdict, tt.want, tt.fails)
			}
		})
	}
}

// Interactors of DMOJ get no file for the program's output, and say on stderr what they found.
func TestInteractorsOfDMOJ(t *testing.T) {
	for _, tt := range []struct {
		protocol api.Protocol
		code     int
		answer   api.Answer // empty: it failed
		goesOn   bool
	}{
		{api.ProtocolDMOJ, 0, api.Accepted, true}, {api.ProtocolDMOJ, 1, api.WrongAnswer, false}, {api.ProtocolDMOJ, 7, "", false},
		{api.ProtocolCOCI, 0, api.Accepted, true}, {api.ProtocolCOCI, 2, api.WrongAnswer, false}, {api.ProtocolCOCI, 7, api.Partial, true},
	} {
		in := judge.InteractionOf(tt.protocol)
		if got := in.Args([]string{"x"}); !slices.Equal(got, []string{judge.InputFile, judge.AnswerFile, "x"}) || in.Output != "" {
			t.Errorf("%s: arguments %q, output %q", tt.protocol, got, in.Output)
		}
		l := judge.CheckerOutput{Verdict: api.Nonzero, ExitCode: tt.code, Stdout: []byte("to the program"), Stderr: []byte("partial 1/4\n")}
		w, err := in.Read(l, "")
		if w.Answer != tt.answer || (err != nil) != (tt.answer == "") || err == nil && w.Message != "partial 1/4" ||
			in.Accepts(tt.code) != tt.goesOn {
			t.Errorf("%s, exit code %d: %+v, %v, goes on %v", tt.protocol, tt.code, w, err, in.Accepts(tt.code))
		}
	}
}

// A manager gets no files of brig's as arguments, and says on stdout what a submission is worth. Only exit code 0 is
// of the protocol.
func TestManagersOfCMS(t *testing.T) {
	in := judge.InteractionOf(api.ProtocolCMS)
	if got := in.Args([]string{"x"}); !slices.Equal(got, []string{"x"}) || !in.Manager || in.Output != "" || len(in.Collect) > 0 {
		t.Errorf("arguments %q, %+v", got, in)
	}

	for _, tt := range []struct {
		code           int
		stdout, stderr string
		answer         api.Answer // empty: it failed
		message        string
	}{
		{0, "1.0\n", "translate:success\n", api.Accepted, "Output is correct"},
		{0, "0.25", "a quarter\nmore", api.Partial, "a quarter"},
		{0, "0\n", "", api.WrongAnswer, ""},
		{0, "", "no score", "", ""}, {0, "-1", "", "", ""}, {0, "1.5", "", "", ""}, {0, "nan", "", "", ""}, {1, "1.0\n", "", "", ""},
	} {
		w, err := in.Read(judge.CheckerOutput{Verdict: api.OK, ExitCode: tt.code, Stdout: []byte(tt.stdout), Stderr: []byte(tt.stderr)}, "")
		if w.Answer != tt.answer || (err != nil) != (tt.answer == "") || err == nil && w.Message != tt.message ||
			in.Accepts(tt.code) != (tt.code == 0) {
			t.Errorf("exit code %d, %q: %+v, %v", tt.code, tt.stdout, w, err)
		}
	}
}

// _pc(50) of an interactor exits with 50: brig ends the program, and the points count all the same. After
// quitp, which exits with 7, the program goes on, and must end well.
func TestPointsOfAnInteractorThatEndsTheProgram(t *testing.T) {
	in := judge.InteractionOf(api.ProtocolTestlib)
	for _, tt := range []struct {
		code    int
		stderr  string
		verdict api.Verdict
		answer  api.Answer
	}{
		{50, "partially correct (50) half", api.OK, api.Partial},
		{200, "partially correct (200) all", api.OK, api.Accepted},
		{7, "points 0.5", api.Signaled, ""},
		{0, "ok", api.Signaled, ""},
	} {
		said, err := in.Read(judge.CheckerOutput{Verdict: api.Nonzero, ExitCode: tt.code, Stderr: []byte(tt.stderr)}, api.PointsFraction)
		if err != nil {
			t.Fatal(err)
		}

		v, w, err := judge.Ended{Program: api.Signaled, ProgramAt: 2, InteractorAt: 1}.Judge(said, nil)
		if v != tt.verdict || w.Answer != tt.answer || err != nil {
			t.Errorf("exit code %d: %s, %q, %v; want %s, %q", tt.code, v, w.Answer, err, tt.verdict, tt.answer)
		}
		if v == api.OK && in.Accepts(tt.code) {
			t.Errorf("exit code %d lets the program go on", tt.code)
		}
		if v, _, _ := (judge.Ended{Program: api.Signaled, ProgramAt: 1, InteractorAt: 2}).Judge(said, nil); v != api.Signaled {
			t.Errorf("exit code %d after a crash: %s", tt.code, v)
		}
	}
}
