package judge

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// The exit codes of testlib.h. Versions differ: 4 (extra information in the output) and 8 (unexpected
// end) are 2 in today's.
const (
	testlibOK            = 0
	testlibWrong         = 1
	testlibFormat        = 2
	testlibFail          = 3
	testlibDirt          = 4
	testlibPoints        = 7
	testlibUnexpectedEOF = 8
	testlibPartialBase   = 50 // of older versions; 0 in today's
)

// testlibPartialMost is the most that _pc(N) may say, for a whole share: as in CMS.
const testlibPartialMost = 200

// The words with which testlib begins its line on stderr, and the exit codes that they go with. _pc(N) and
// _points have numbers of their own after theirs.
const (
	partialWords = "partially correct ("
	pointsWords  = "points "
)

var testlibWords = []struct {
	words string
	codes []int
}{
	{"ok", []int{testlibOK}},
	{"wrong answer", []int{testlibWrong, testlibFormat, testlibDirt, testlibUnexpectedEOF}},
	{"wrong output format", []int{testlibWrong, testlibFormat, testlibDirt, testlibUnexpectedEOF}},
	{"unexpected eof", []int{testlibWrong, testlibFormat, testlibDirt, testlibUnexpectedEOF}},
	{"FAIL", []int{testlibFail}},
}

// testlibAccepts reports whether an interactor with that exit code lets the program go on.
func testlibAccepts(code int) bool { return code == testlibOK || code == testlibPoints }

// readTestlib reads the words on stderr before the exit code: _pc(0) exits with 0, as _ok does, and only
// the words "partially correct (0)" say that nothing was right.
//
// A message may have text of the program under test in it, with line ends and with such words. So the first
// line with words alone counts, and what it says must go with the exit code, which the program cannot
// choose. Exit code 0 is accepted only if nothing on a whole stderr says otherwise
// (TestProgramsForgeNoWordsOfTestlib).
func readTestlib(l CheckerOutput, as api.PointsAs) (w CheckResult, err error) {
	words, rest := sayingLine(l.Stderr)
	if none := words == "" || words == "ok"; none && l.ExitCode == testlibOK {
		zero, says := lineWith(l.Stderr, partialWords+"0)")
		switch {
		case says:
			words, rest = partialWords, append([]byte("0)"), zero...)
		case len(l.Stderr) >= int(MaxStream):
			return w, fmt.Errorf("it exited with 0 and wrote %s or more to stderr: brig does not see whether it says "+
				"\"partially correct (0)\" after that; let it write less", MaxStream)
		}
	}

	switch words {
	case partialWords:
		w, err = testlibPartial(l, rest)
	case pointsWords:
		if l.ExitCode != testlibPoints {
			return w, fmt.Errorf("it said \"points\" and exited with %d, not 7", l.ExitCode)
		}
		w, err = testlibScore(rest, string(l.Stderr), as)
	default:
		w, err = testlibExit(l, words)
	}

	w.Final = !testlibAccepts(l.ExitCode)
	return w, err
}

// testlibExit reads an exit code that says everything. words are those on stderr, or empty.
func testlibExit(l CheckerOutput, words string) (CheckResult, error) {
	for _, t := range testlibWords {
		if t.words == words && !slices.Contains(t.codes, l.ExitCode) {
			return CheckResult{}, fmt.Errorf("it said %q and exited with %d", words, l.ExitCode)
		}
	}

	said := string(l.Stderr)
	switch l.ExitCode {
	case testlibOK:
		return CheckResult{Answer: api.Accepted, Message: said}, nil
	case testlibWrong, testlibFormat, testlibDirt, testlibUnexpectedEOF:
		return CheckResult{Answer: api.WrongAnswer, Message: said}, nil
	case testlibFail:
		return CheckResult{}, &PackageFault{"it exited with 3, which means that the checker or the answer is at fault"}
	case testlibPoints:
		return CheckResult{}, fmt.Errorf("it exited with 7, and stderr does not say \"points\"")
	}

	return CheckResult{}, l.exited("those of testlib.h")
}

// sayingLine finds the first line of stderr that begins with words of testlib, and returns them and the rest
// of the line. testlib writes its line first, or after what the checker wrote before.
func sayingLine(stderr []byte) (words string, rest []byte) {
	for first, more := line(stderr); len(first)+len(more) > 0; first, more = line(more) {
		for _, words := range []string{partialWords, pointsWords} {
			if rest, has := bytes.CutPrefix(first, []byte(words)); has {
				return words, rest
			}
		}
		for _, t := range testlibWords {
			rest, has := bytes.CutPrefix(first, []byte(t.words))
			if has && (len(rest) == 0 || rest[0] == ' ' || rest[0] == '\r') {
				return t.words, rest
			}
		}
	}

	return "", nil
}

// lineWith returns what follows words on the first line that begins with them.
func lineWith(stderr []byte, words string) (rest []byte, ok bool) {
	for first, more := line(stderr); len(first)+len(more) > 0; first, more = line(more) {
		if rest, ok := bytes.CutPrefix(first, []byte(words)); ok {
			return rest, true
		}
	}
	return nil, false
}

// testlibPartial reads "N) message".
func testlibPartial(l CheckerOutput, rest []byte) (CheckResult, error) {
	number, text, ok := bytes.Cut(rest, []byte(")"))
	n, err := strconv.Atoi(string(number))
	if !ok || err != nil || n < 0 || n > testlibPartialMost {
		return CheckResult{}, fmt.Errorf("it said \"partially correct (%.20s\": the number must be between 0 and %d",
			rest, testlibPartialMost)
	}
	if l.ExitCode != n && l.ExitCode != n+testlibPartialBase {
		return CheckResult{}, fmt.Errorf("it said \"partially correct (%d)\" and exited with %d", n, l.ExitCode)
	}
	w := scored(float64(n)/testlibPartialMost, string(text))
	return w, nil
}

// testlibScore reads the number after "points ", or no number after quitpi.
func testlibScore(rest []byte, said string, as api.PointsAs) (CheckResult, error) {
	if bytes.HasPrefix(rest, []byte("points_info=")) {
		return scored(0, said), nil
	}

	text, more := cutToken(rest)
	if len(more) == 0 && len(said) >= int(MaxStream) && strings.HasSuffix(said, string(text)) {
		return CheckResult{}, fmt.Errorf("it wrote %s or more to stderr, and the points are cut: let it write less", MaxStream)
	}

	switch as {
	case api.PointsAbsolute:
		points, err := number(text, 0, maxPoints)
		if err != nil {
			return CheckResult{}, fmt.Errorf("points on stderr: %w", err)
		}
		w := CheckResult{Answer: api.Partial, Points: &points, Message: said}
		if points == 0 {
			w.Answer = api.WrongAnswer
		}
		return w, nil

	case api.PointsPercent:
		points, err := number(text, 0, 100)
		if err != nil {
			return CheckResult{}, fmt.Errorf("points on stderr, in percent: %w", err)
		}
		return scored(points/100, said), nil
	}

	share, err := number(text, 0, 1)
	if err != nil {
		return CheckResult{}, fmt.Errorf("points on stderr, as a share: %w; if the checker gives points or percent, "+
			"set points of check to absolute or percent", err)
	}
	return scored(share, said), nil
}
