package judge

import (
	"fmt"

	"github.com/brig-sandbox/brig/api"
)

// The exit codes of an output validator. They are unusual so that a validator that crashes has another.
const (
	kattisAccepted = 42
	kattisWrong    = 43
)

// readKattis reads the exit code of an output validator and the files in its feedback directory
// ("Reporting a judgement" and the following sections of the package format 2025-09).
func readKattis(l CheckerOutput, _ api.PointsAs) (w CheckResult, err error) {
	file := func(name string) ([]byte, bool) {
		text, ok := l.Files[FeedbackDir+"/"+name]
		return text, ok
	}
	judge, _ := file("judgemessage.txt")
	team, _ := file("teammessage.txt")
	w = CheckResult{Message: string(judge), TeamMessage: string(team)}
	score, scores := file("score.txt")
	multiplier, multiplies := file("score_multiplier.txt")
	w.Next, w.More = file(NextPass)

	// The exit code decides first: a validator that crashed may have written files before.
	switch {
	case l.ExitCode == kattisAccepted:
		w.Answer = api.Accepted
	case l.ExitCode != kattisWrong:
		return w, l.exited("42 (accepted) and 43 (wrong)")
	case w.More:
		return w, fmt.Errorf("it exited with 43 and asked for another pass: %s is only for 42", NextPass)
	case scores || multiplies:
		return w, fmt.Errorf("it exited with 43 and wrote a score")
	default:
		w.Answer = api.WrongAnswer
		return w, nil
	}

	switch {
	case scores && multiplies:
		return w, fmt.Errorf("it wrote both score.txt and score_multiplier.txt")
	case scores:
		points, err := number(score, 0, maxPoints)
		if err != nil {
			return w, fmt.Errorf("score.txt: %w", err)
		}
		w.Points = &points

	case multiplies:
		share, err := number(multiplier, 0, 1)
		if err != nil {
			return w, fmt.Errorf("score_multiplier.txt: %w", err)
		}
		w.Score = &share
		if share < 1 {
			w.Answer = api.Partial
		}
	}

	return w, nil
}
