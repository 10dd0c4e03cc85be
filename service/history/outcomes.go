package history

import "github.com/brig-sandbox/brig/api"

// maxOutcomes is of how many tests a listing has the outcome.
const maxOutcomes = 1024

// letters are the outcomes of tests whose program did not end well.
var letters = map[api.Verdict]byte{
	api.Nonzero: 'R', api.Signaled: 'R', api.OutputLimit: 'O', api.WallLimit: 'T', api.CPULimit: 'T',
	api.MemoryLimit: 'M', api.Denied: 'D', api.CompileError: 'C', api.Canceled: '?',
}

// withOutcomes returns the summary of a result with a letter for each test: lists of submissions show them without
// reading each run.
func withOutcomes(r api.Result) *api.Summary {
	if r.Summary == nil {
		return nil
	}

	s := *r.Summary
	n := max(0, min(s.Tests, maxOutcomes))
	text := make([]byte, n)
	for i := range text {
		switch {
		case i < len(r.Tests):
			text[i] = letterOf(r.Tests[i])
		case r.Stage == api.StageCompile:
			text[i] = 'C'
		default:
			text[i] = '-'
		}
	}
	s.Outcomes = string(text)
	return &s
}

func letterOf(t api.TestResult) byte {
	if t.Result.Verdict != api.OK {
		return letters[t.Result.Verdict]
	}
	switch t.Answer {
	case api.WrongAnswer:
		return 'W'
	case api.Partial:
		return 'P'
	}
	return 'A'
}
