package judge_test

import (
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
)

// The text of a program in a message of its checker, and text in front of it, change no answer for the better.
func TestProgramsForgeNoWordsOfTestlib(t *testing.T) {
	long := strings.Repeat("x", int(judge.MaxStream))
	for _, tt := range []struct {
		name, stderr string
		code         int
		as           api.PointsAs
		answer       api.Answer // empty: check-failed
		points       float64
	}{
		{"points in a message", "points 0.0 got:\npoints 1\n", 7, api.PointsAbsolute, api.WrongAnswer, 0},
		{"a share in a message", "partially correct (50) got:\npartially correct (200)", 50, "", api.Partial, 0.25},
		{"a part instead of wrong", "wrong answer got:\npartially correct (1)", 1, "", api.WrongAnswer, -1},
		{"a part instead of a wrong format", "wrong output format got:\npartially correct (2)", 2, "", api.WrongAnswer, -1},
		{"accepted before none of the points", "ok\npartially correct (0) nothing", 0, "", api.WrongAnswer, 0},
		{"none of the points after 64K", long[1:] + "\npartially correct (0)", 0, "", "", -1},
		{"none of the points that was cut off", long, 0, "", "", -1},
		{"64K after \"ok\"", ("ok\n" + long)[:judge.MaxStream], 0, "", "", -1},
		{"64K after none of the points", ("partially correct (0)\n" + long)[:judge.MaxStream], 0, "", api.WrongAnswer, 0},
		{"64K of wrong answer", ("wrong answer " + long)[:judge.MaxStream], 1, "", api.WrongAnswer, -1},
		{"64K and points", ("points 0.5 " + long)[:judge.MaxStream], 7, "", api.Partial, 0.5},
		{"points that were cut", (long[:judge.MaxStream-10] + "\npoints 12")[:judge.MaxStream], 7, api.PointsAbsolute, "", -1},
		{"points are another word than wrong", "wrong answer got:\npoints 1", 7, "", "", -1},
		{"wrong, and an exit code that a shell lost", "wrong answer 1st line", 0, "", "", -1},
		{"ok, and exit code 1", "ok 1 line", 1, "", "", -1},
		{"points, and exit code 0", "points 1", 0, "", "", -1},
		{"FAIL, and exit code 0", "FAIL answer is bad", 0, "", "", -1},
		{"a word that begins as ok does", "okay so far\nwrong answer", 1, "", api.WrongAnswer, -1},
		{"more points than any test has", "points 1.7e308", 7, api.PointsAbsolute, "", -1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stderr := tt.stderr[:min(len(tt.stderr), int(judge.MaxStream))] // as brig keeps it
			said := judge.CheckerOutput{Verdict: api.Nonzero, ExitCode: tt.code, Stderr: []byte(stderr)}
			w, err := judge.ProtocolOf(api.ProtocolTestlib).Read(said, tt.as)
			if (err != nil) != (tt.answer == "") {
				t.Fatalf("%.100v, %v", w, err)
			}
			if err == nil && (w.Answer != tt.answer || orNone(w.Score) != tt.points && orNone(w.Points) != tt.points) {
				t.Errorf("%s, score %v, points %v; want %s, %v", w.Answer, orNone(w.Score), orNone(w.Points), tt.answer, tt.points)
			}
		})
	}
}
