package api

// A VerifyRequest says how the service verifies a stored problem.
type VerifyRequest struct {
	Longest Duration `json:"longest,omitempty" doc:"processor time of a test while the time limit is not known; default 14s, or less if the agent allows less"`
	Repeat  int      `json:"repeat,omitempty" doc:"how often each submission of the jury is run, and compared; default 1"`
}

// A Verification is what came of verifying the package of a problem.
type Verification struct {
	Problem     string               `json:"problem" doc:"its name"`
	Format      string               `json:"format" doc:"the format of the package"`
	OK          bool                 `json:"ok" doc:"the package is right, as far as it was run"`
	TimeLimit   *TimeLimit           `json:"time_limit,omitempty" doc:"the time limit, with what it follows from"`
	ScaleCPU    float64              `json:"scale_cpu,omitempty" doc:"the package's time limit was multiplied by it"`
	Mistakes    []string             `json:"mistakes" doc:"what is wrong with the package"`
	Warnings    []string             `json:"warnings" doc:"what may be a mistake"`
	NotRun      []string             `json:"not_run" doc:"what was not verified, and why"`
	Submissions []VerifiedSubmission `json:"submissions" doc:"of the jury"`
}

// A VerifiedSubmission is what came of one submission of the jury.
type VerifiedSubmission struct {
	Path       string            `json:"path" doc:"its path below submissions, such as accepted/a.py"`
	Language   string            `json:"language" doc:"the language"`
	Expected   string            `json:"expected" doc:"what must come of it"`
	Got        string            `json:"got" doc:"outcomes of its tests, each with how many"`
	Slowest    Duration          `json:"slowest,omitempty" doc:"processor time of its slowest test"`
	Points     *float64          `json:"points,omitempty" doc:"of a problem with points"`
	Unexpected []string          `json:"unexpected,omitempty" doc:"what should not have come of it"`
	Tests      map[string]string `json:"tests,omitempty" doc:"outcome of each test: AC, WA, TLE or RTE"`
}

// A VerifyLine is a line of a verification as it goes on: how many runs have ended, and at the end the
// verification or an error.
type VerifyLine struct {
	Ended        int           `json:"ended,omitempty" doc:"runs of jury submissions that have ended"`
	Runs         int           `json:"runs,omitempty" doc:"how many there are, as far as is known"`
	End          bool          `json:"end,omitempty" doc:"it is the last line"`
	Verification *Verification `json:"verification,omitempty" doc:"what came of it"`
	Error        *Error        `json:"error,omitempty" doc:"why there is no verification"`
}

// A TimeLimit is the time limit of a problem, with what it follows from.
type TimeLimit struct {
	Limit     Duration `json:"limit" doc:"processor time of a test"`
	Slowest   Duration `json:"slowest_accepted" doc:"of the submissions that must not be too slow"`
	By        string   `json:"slowest_accepted_by" doc:"its path"`
	Fastest   Duration `json:"fastest_too_slow,omitempty" doc:"of those that must be; zero: there is none"`
	FastestBy string   `json:"fastest_too_slow_by,omitempty" doc:"its path"`
}

// Margins are how many times the limit is above the slowest submission that must not be too slow, and how
// many times the fastest that must be is above the limit; zero: there is none.
func (t TimeLimit) Margins() (accepted, tooSlow float64) {
	if t.Slowest > 0 && t.By != "" {
		accepted = float64(t.Limit) / float64(t.Slowest)
	}
	if t.Fastest > 0 && t.Limit > 0 {
		tooSlow = float64(t.Fastest) / float64(t.Limit)
	}
	return accepted, tooSlow
}
