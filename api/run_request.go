package api

import (
	"encoding/json"
	"strings"
)

// A RunRequest is a Run as the public service takes it: it may name a stored problem instead of tests.
type RunRequest struct {
	Problem string `json:"problem,omitempty" doc:"name or digest (sha256:...) of a stored problem that has the tests, limits, checker and groups, instead of those fields; limits that are set take precedence over the problem's"`
	Run
}

// ValidateProblem refuses fields that the problem decides, if the request names one. It does not
// Validate the Run.
func (r RunRequest) ValidateProblem() error {
	if r.Problem == "" {
		return nil
	}

	for _, f := range []struct {
		name string
		set  bool
	}{
		{"tests", len(r.Tests) > 0}, {"compare", r.Compare != (Compare{})}, {"check", r.Check != nil}, {"interactor", r.Interactor != nil},
		{"call", r.Call != nil}, {"passes", r.Passes != 0}, {"groups", len(r.Groups) > 0}, {"stdin", len(r.Stdin) > 0},
		{"stdin_blob", r.StdinBlob != ""}, {"timeline", r.Timeline != nil}, {"suite", r.Suite != nil},
		{"input_file", r.InputFile != ""}, {"output_file", r.OutputFile != ""},
	} {
		if f.set {
			return Refuse(CodeBadRequest, "problem and %s are both set: the problem decides that; leave one of them out", f.name)
		}
	}

	if r.Language == "" || r.Source == nil {
		return Refuse(CodeBadRequest, "a problem judges a source: set language and source")
	}
	if ProblemDigest(r.Problem) {
		return nil
	}
	return ProblemName(r.Problem)
}

// A StoredProblem is a package of a problem that the service keeps for a key.
type StoredProblem struct {
	Name        string          `json:"name" doc:"its name in requests"`
	Digest      string          `json:"digest" doc:"sha256:... of its files, which is the same for every archive of them"`
	Format      string          `json:"format" doc:"format of the package, such as kattis 2025-09"`
	Title       string          `json:"title,omitempty" doc:"title of the problem"`
	Scoring     bool            `json:"scoring,omitempty" doc:"submissions get points"`
	Interactive bool            `json:"interactive,omitempty" doc:"a program of the package talks with submissions"`
	Tests       int             `json:"tests" doc:"number of tests"`
	Time        Duration        `json:"time,omitempty" doc:"limit of processor time of each test; absent: the package sets none"`
	Bytes       int64           `json:"bytes" doc:"what it takes of the space for problems of its key"`
	Stored      string          `json:"stored" doc:"when it was stored, RFC 3339"`
	Manifest    json.RawMessage `json:"manifest,omitempty" doc:"what brig problem show --json prints; absent in lists"`
}

// maxProblemName bounds the name of a stored problem, in bytes.
const maxProblemName = 100

// ProblemName refuses a text that cannot be the name of a stored problem.
func ProblemName(name string) error {
	letter := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' }
	other := func(r rune) bool { return !letter(r) && !strings.ContainsRune("._-", r) }
	if name == "" || len(name) > maxProblemName || !letter(rune(name[0])) || strings.ContainsFunc(name, other) {
		return Refuse(CodeBadRequest,
			"problem %.80q: write a name of at most %d letters, digits, dots, dashes and underscores that begins "+
				"with a letter or digit, or a digest as sha256:...", name, maxProblemName)
	}
	return nil
}

// ProblemDigest reports whether a text is the digest of a problem, and not a name.
func ProblemDigest(text string) bool {
	hex, is := strings.CutPrefix(text, "sha256:")
	return is && BlobDigest(hex) == nil
}
