package judge_test

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
)

// GRD-05. An exit code that two protocols read differently is read by its own protocol.
func TestProtocols(t *testing.T) {
	const ac, wa, part = api.Accepted, api.WrongAnswer, api.Partial
	fb := func(pairs ...string) map[string][]byte {
		files := map[string][]byte{}
		for i := 0; i < len(pairs); i += 2 {
			files["feedback/"+pairs[i]] = []byte(pairs[i+1])
		}
		return files
	}

	for _, tt := range []struct {
		name           string
		protocol       api.Protocol
		as             api.PointsAs
		code           int
		stdout, stderr string
		files          map[string][]byte
		answer         api.Answer // empty: the checker failed
		score, points  float64    // -1: none
		message        string
	}{
		{"accepted", "kattis", "", 42, "", "", nil, ac, -1, -1, ""},
		{"wrong", "kattis", "", 43, "", "", fb("judgemessage.txt", "no\n", "teammessage.txt", "hm"), wa, -1, -1, "no"},
		{"0 is no word of a validator", "kattis", "", 0, "", "", nil, "", -1, -1, ""},
		{"nor is 1", "kattis", "", 1, "", "", nil, "", -1, -1, ""},
		{"score", "kattis", "", 42, "", "", fb("score.txt", "12.5\n"), ac, -1, 12.5, ""},
		{"score below zero", "kattis", "", 42, "", "", fb("score.txt", "-1"), "", -1, -1, ""},
		{"two scores", "kattis", "", 42, "", "", fb("score.txt", "1 2"), "", -1, -1, ""},
		{"no score", "kattis", "", 42, "", "", fb("score.txt", ""), "", -1, -1, ""},
		{"nan", "kattis", "", 42, "", "", fb("score.txt", "nan"), "", -1, -1, ""},
		{"multiplier", "kattis", "", 42, "", "", fb("score_multiplier.txt", "0.25"), part, 0.25, -1, ""},
		{"whole multiplier", "kattis", "", 42, "", "", fb("score_multiplier.txt", "1"), ac, 1, -1, ""},
		{"multiplier above 1", "kattis", "", 42, "", "", fb("score_multiplier.txt", "1.1"), "", -1, -1, ""},
		{"both", "kattis", "", 42, "", "", fb("score_multiplier.txt", "1", "score.txt", "1"), "", -1, -1, ""},
		{"score with 43", "kattis", "", 43, "", "", fb("score.txt", "1"), "", -1, -1, ""},
		{"next pass with 43", "kattis", "", 43, "", "", fb("nextpass.in", ""), "", -1, -1, ""},

		{"ok", "testlib", "", 0, "", "ok 5 tokens", nil, ac, -1, -1, "ok 5 tokens"},
		{"ok without words", "testlib", "", 0, "", "", nil, ac, -1, -1, ""},
		{"wrong answer", "testlib", "", 1, "", "wrong answer 1st differ", nil, wa, -1, -1, "wrong answer 1st differ"},
		{"wrong format", "testlib", "", 2, "", "wrong output format", nil, wa, -1, -1, "wrong output format"},
		{"dirt", "testlib", "", 4, "", "", nil, wa, -1, -1, ""},
		{"unexpected eof", "testlib", "", 8, "", "unexpected eof", nil, wa, -1, -1, "unexpected eof"},
		{"fail", "testlib", "", 3, "", "FAIL answer is bad", nil, "", -1, -1, ""},
		{"5 is of no testlib", "testlib", "", 5, "", "", nil, "", -1, -1, ""},
		{"_pc(0) exits with 0 and is not accepted", "testlib", "", 0, "", "partially correct (0) bad\n", nil, wa, 0, -1, "bad"},
		{"_pc(1)", "testlib", "", 1, "", "partially correct (1) x", nil, part, 0.005, -1, "x"},
		{"_pc(50)", "testlib", "", 50, "", "partially correct (50) x", nil, part, 0.25, -1, "x"},
		{"_pc(50) of TESTSYS", "testlib", "", 100, "", "partially correct (50) x", nil, part, 0.25, -1, "x"},
		{"_pc(200)", "testlib", "", 200, "", "partially correct (200)", nil, ac, 1, -1, ""},
		{"_pc after other words", "testlib", "", 0, "", "debug\npartially correct (0) x", nil, wa, 0, -1, "x"},
		{"_pc above 200", "testlib", "", 201, "", "partially correct (201)", nil, "", -1, -1, ""},
		{"_pc with another exit code", "testlib", "", 0, "", "partially correct (100)", nil, "", -1, -1, ""},
		{"words inside a message are none", "testlib", "", 1, "", "wrong answer found 'partially correct (200)'", nil, wa, -1, -1,
			"wrong answer found 'partially correct (200)'"},
		{"points", "testlib", "", 7, "", "points 0.25 part", nil, part, 0.25, -1, "points 0.25 part"},
		{"all points", "testlib", "fraction", 7, "", "points 1", nil, ac, 1, -1, "points 1"},
		{"too many", "testlib", "fraction", 7, "", "points 25", nil, "", -1, -1, ""},
		{"percent", "testlib", "percent", 7, "", "points 25", nil, part, 0.25, -1, "points 25"},
		{"percent above 100", "testlib", "percent", 7, "", "points 101", nil, "", -1, -1, ""},
		{"absolute", "testlib", "absolute", 7, "", "points 25", nil, part, -1, 25, "points 25"},
		{"absolute none", "testlib", "absolute", 7, "", "points 0", nil, wa, -1, 0, "points 0"},
		{"info", "testlib", "", 7, "", "points points_info=x", nil, wa, 0, -1, "points points_info=x"},
		{"7 without points", "testlib", "", 7, "", "ok", nil, "", -1, -1, ""},
		{"no number", "testlib", "", 7, "", "points many", nil, "", -1, -1, ""},
		{"inf", "testlib", "absolute", 7, "", "points inf", nil, "", -1, -1, ""},

		{"all", "cms", "", 0, "1.0\n", "translate:success\n", nil, ac, 1, -1, "Output is correct"},
		{"part", "cms", "", 0, "0.5", "half\nADMIN_MESSAGE:x", nil, part, 0.5, -1, "half"},
		{"none", "cms", "", 0, "0", "", nil, wa, 0, -1, ""},
		{"above 1", "cms", "", 0, "1.5", "", nil, "", -1, -1, ""},
		{"no outcome", "cms", "", 0, "", "", nil, "", -1, -1, ""},
		{"text", "cms", "", 0, "ok", "", nil, "", -1, -1, ""},
		{"exit code", "cms", "", 1, "1.0", "", nil, "", -1, -1, ""},

		{"0", "exit", "", 0, "fine", "", nil, ac, -1, -1, "fine"},
		{"1", "exit", "", 1, "", "", nil, wa, -1, -1, ""},
		{"2", "exit", "", 2, "", "", nil, "", -1, -1, ""},
		{"0", "dmoj", "", 0, "", "", nil, ac, -1, -1, ""},
		{"3", "dmoj", "", 3, "", "", nil, "", -1, -1, ""},

		{"partial", "coci", "", 7, "", "partial 3/4\n", nil, part, 0.75, -1, "partial 3/4"},
		{"partial of nothing", "coci", "", 7, "", "partial 0/0", nil, "", -1, -1, ""},
		{"more than there is", "coci", "", 7, "", "partial 5/4", nil, "", -1, -1, ""},
		{"7 alone", "coci", "", 7, "", "", nil, "", -1, -1, ""},
		{"3", "coci", "", 3, "", "", nil, "", -1, -1, ""},
		{"2", "coci", "", 2, "", "pe", nil, wa, -1, -1, "pe"},

		{"0", "ejudge", "", 0, "not this", "fine\n", nil, ac, -1, -1, "fine"},
		{"4 is a presentation error", "ejudge", "", 4, "", "no number", nil, wa, -1, -1, "no number"},
		{"5 is a wrong answer", "ejudge", "", 5, "", "differs", nil, wa, -1, -1, "differs"},
		{"1 and 2 are of testlib", "ejudge", "", 2, "", "", nil, wa, -1, -1, ""},
		{"6 is the checker's fault", "ejudge", "", 6, "", "the answer is no number", nil, "", -1, -1, ""},
		{"3", "ejudge", "", 3, "", "", nil, "", -1, -1, ""},

		{"60", "syzoj", "", 0, "60", "m", nil, part, 0.6, -1, "m"},
		{"101", "syzoj", "", 0, "101", "", nil, "", -1, -1, ""},
		{"exit code", "syzoj", "", 1, "100", "", nil, "", -1, -1, ""},

		{"100", "lemon", "", 0, "", "", map[string][]byte{"judge/score": []byte("100"), "judge/message": []byte("m")}, ac, 1, -1, "m"},
		{"no file", "lemon", "", 0, "100", "", nil, "", -1, -1, ""},

		{"0", "peg", "", 0, "fine", "", nil, ac, -1, -1, "fine"},
		{"1", "peg", "", 1, "no", "", nil, wa, -1, -1, "no"},
		{"2", "peg", "", 2, "1\n2", "", nil, "", -1, -1, ""},
		{"part", "peg", "", 0, "text\n 1.5 \r\n3\n", "", nil, part, 0.5, -1, "text\n 1.5 \r\n3"},
		{"part after a wrong answer", "peg", "", 1, "1\n4", "", nil, part, 0.25, -1, "1\n4"},
		{"all", "peg", "", 1, "3\n3", "", nil, ac, 1, -1, "3\n3"},
		{"the first two that are numbers", "peg", "", 0, "a\n1\n2\n4", "", nil, part, 0.5, -1, "a\n1\n2\n4"},
		{"a quotient of zero is none", "peg", "", 1, "0\n5", "", nil, wa, -1, -1, "0\n5"},
		{"nothing to divide by", "peg", "", 1, "5\n0\n", "", nil, wa, -1, -1, "5\n0"},
		{"no numbers", "peg", "", 0, "inf\nnan\n0x1\n2,5", "", nil, ac, -1, -1, "inf\nnan\n0x1\n2,5"},
		{"more than there is", "peg", "", 0, "5\n4", "", nil, "", -1, -1, ""},
		{"cut", "peg", "", 0, strings.Repeat("x", 64<<10), "", nil, "", -1, -1, ""},

		{"0", "scalebox", "", 0, "m", "", nil, ac, -1, -1, "m"},
		{"1", "scalebox", "", 1, "", "Traceback", nil, wa, -1, -1, ""},
		{"77", "scalebox", "", 77, "", "", nil, wa, -1, -1, ""},

		{"true", "python", "", 0, "1.0\nyes\nno", "", nil, ac, 1, -1, "yes\nno"},
		{"half", "python", "", 0, "0.5\n", "", nil, part, 0.5, -1, ""},
		{"raised", "python", "", 1, "", "Traceback", nil, "", -1, -1, ""},
		{"nan", "python", "", 0, "nan\n", "", nil, "", -1, -1, ""},
		{"2", "python", "", 0, "2.0\n", "", nil, "", -1, -1, ""},
	} {
		t.Run(string(tt.protocol)+" "+tt.name, func(t *testing.T) {
			l := judge.CheckerOutput{Verdict: api.OK, ExitCode: tt.code, Stdout: []byte(tt.stdout), Stderr: []byte(tt.stderr), Files: tt.files}
			if tt.code != 0 {
				l.Verdict = api.Nonzero
			}

			w, err := judge.ProtocolOf(tt.protocol).Read(l, tt.as)
			if (err != nil) != (tt.answer == "") {
				t.Fatalf("%+v, %v", w, err)
			}
			if err != nil {
				return
			}
			if w.Answer != tt.answer || orNone(w.Score) != tt.score || orNone(w.Points) != tt.points || w.Message != tt.message {
				t.Errorf("%s, score %v, points %v, message %q", w.Answer, orNone(w.Score), orNone(w.Points), w.Message)
			}
		})
	}
}

func orNone(f *float64) float64 {
	if f == nil {
		return -1
	}
	return *f
}

// A checker that did not end by itself has said nothing, whatever it wrote.
func TestACheckerThatWasStoppedFailed(t *testing.T) {
	for _, protocol := range api.ProtocolExit.Values() {
		for _, v := range api.Verdicts() {
			l := judge.CheckerOutput{Verdict: v, Signal: "SIGSEGV", Stdout: []byte("1"), Stderr: []byte("ok")}
			w, err := judge.ProtocolOf(protocol).Read(l, "")
			if ended := v == api.OK || v == api.Nonzero; err == nil && (!ended || w.Answer == "") {
				t.Errorf("%s with verdict %s: %+v", protocol, v, w)
			}
		}
	}
}

// FuzzProtocols: whatever a checker leaves, reading it ends in an answer or an error, with scores and
// messages within their bounds.
func FuzzProtocols(f *testing.F) {
	f.Add(0, "0.5\n", "partially correct (5) x", "1")
	f.Add(7, "", "points 1e999", "0.5")
	f.Add(42, "", "partial 1/3", "\xff")
	f.Fuzz(func(t *testing.T, code int, stdout, stderr, file string) {
		for _, protocol := range api.ProtocolExit.Values() {
			p := judge.ProtocolOf(protocol)
			files := map[string][]byte{"feedback/score.txt": []byte(file), "judge/score": []byte(file), "feedback/judgemessage.txt": []byte(stderr)}
			for _, as := range append(api.PointsFraction.Values(), "") {
				said := judge.CheckerOutput{Verdict: api.Nonzero, ExitCode: code, Stdout: []byte(stdout), Stderr: []byte(stderr), Files: files}
				w, err := p.Read(said, as)
				switch {
				case err != nil:
				case w.Answer != api.Accepted && w.Answer != api.WrongAnswer && w.Answer != api.Partial:
					t.Errorf("%s: answer %q", protocol, w.Answer)
				case w.Score != nil && !(*w.Score >= 0 && *w.Score <= 1), w.Points != nil && !(*w.Points >= 0 && !math.IsInf(*w.Points, 0)):
					t.Errorf("%s: score %v, points %v", protocol, orNone(w.Score), orNone(w.Points))
				case len(w.Message) > int(judge.MaxMessage) || !utf8.ValidString(w.Message) || strings.TrimSpace(w.Message) != w.Message:
					t.Errorf("%s: message %.100q", protocol, w.Message)
				}
			}
		}
	})
}

// Only an accepted first run has a second one.
func TestTwice(t *testing.T) {
	next := []byte("second")
	for answer, more := range map[api.Answer]bool{api.Accepted: true, api.Partial: false, api.WrongAnswer: false} {
		if w := (judge.CheckResult{Answer: answer}).Twice(next); w.More != more || (w.Next != nil) != more || w.Answer != answer {
			t.Errorf("%s: %+v", answer, w)
		}
	}
}
