package judge

import (
	"bytes"
	"fmt"
	"math"
	"strconv"

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

// readTestlib reads the words on stderr before the exit code: _pc(0) exits with 0, as _ok does, and only
// the words "partially correct (0)" say that nothing was right.
func readTestlib(l Left, as api.PointsAs) (Word, error) {
	if rest, ok := sayingLine(l.Stderr, "partially correct ("); ok {
		return testlibPartial(l, rest)
	}
	said := string(l.Stderr)
	switch l.ExitCode {
	case testlibOK:
		return Word{Answer: api.Accepted, Message: said}, nil
	case testlibWrong, testlibFormat, testlibDirt, testlibUnexpectedEOF:
		return Word{Answer: api.WrongAnswer, Message: said}, nil
	case testlibFail:
		return Word{}, fmt.Errorf("it exited with 3, which means that the checker or the answer is at fault")
	case testlibPoints:
		rest, ok := sayingLine(l.Stderr, "points ")
		if !ok {
			return Word{}, fmt.Errorf("it exited with 7, and stderr does not say \"points\"")
		}
		return testlibScore(rest, said, as)
	}
	return Word{}, l.exited("those of testlib.h")
}

// sayingLine finds the line of stderr that begins with words, and returns the rest of it. testlib writes
// its own line first, or last if the checker wrote others before.
func sayingLine(stderr []byte, words string) (rest []byte, ok bool) {
	for first, more := line(stderr); len(first)+len(more) > 0; first, more = line(more) {
		if after, has := bytes.CutPrefix(first, []byte(words)); has {
			rest, ok = after, true
		}
	}
	return rest, ok
}

// testlibPartial reads "N) message".
func testlibPartial(l Left, rest []byte) (Word, error) {
	number, text, ok := bytes.Cut(rest, []byte(")"))
	n, err := strconv.Atoi(string(number))
	if !ok || err != nil || n < 0 || n > testlibPartialMost {
		return Word{}, fmt.Errorf("it said \"partially correct (%.20s\": the number must be between 0 and %d", rest, testlibPartialMost)
	}
	if l.ExitCode != n && l.ExitCode != n+testlibPartialBase {
		return Word{}, fmt.Errorf("it said \"partially correct (%d)\" and exited with %d", n, l.ExitCode)
	}
	w := scored(float64(n)/testlibPartialMost, string(text))
	return w, nil
}

// testlibScore reads the number after "points ", or no number after quitpi.
func testlibScore(rest []byte, said string, as api.PointsAs) (Word, error) {
	if bytes.HasPrefix(rest, []byte("points_info=")) {
		return scored(0, said), nil
	}
	text, _ := cutToken(rest)
	switch as {
	case api.PointsAbsolute:
		points, err := number(text, 0, math.MaxFloat64)
		if err != nil {
			return Word{}, fmt.Errorf("points on stderr: %w", err)
		}
		w := Word{Answer: api.Partial, Points: &points, Message: said}
		if points == 0 {
			w.Answer = api.WrongAnswer
		}
		return w, nil
	case api.PointsPercent:
		points, err := number(text, 0, 100)
		if err != nil {
			return Word{}, fmt.Errorf("points on stderr, in percent: %w", err)
		}
		return scored(points/100, said), nil
	}
	share, err := number(text, 0, 1)
	if err != nil {
		return Word{}, fmt.Errorf("points on stderr, as a share: %w; if the checker gives points or percent, set points of check to absolute or percent", err)
	}
	return scored(share, said), nil
}
