package api

// A Finding is something noteworthy in a program's source. It is advice: a program can do things
// that its source does not show, and the sandbox alone is the boundary.
type Finding struct {
	Severity Severity `json:"severity" doc:"the severity"`
	Rule     string   `json:"rule" doc:"name of the rule, such as python-eval; docs/check.md lists all"`
	Message  string   `json:"message" doc:"the message, in one sentence"`
	File     string   `json:"file" doc:"name of the file"`
	Line     int      `json:"line,omitempty" doc:"line, from 1; absent: the finding is about the whole file"`
	Column   int      `json:"column,omitempty" doc:"column in the line, from 1"`
	Snippet  string   `json:"snippet,omitempty" doc:"the line, cut if it is long; secrets in it are hidden"`
}

// A Severity says how much a finding weighs.
type Severity string

// The severities, from the least.
const (
	SeverityInfo     Severity = "info"
	SeverityWarning  Severity = "warning"
	SeverityError    Severity = "error"
	SeverityCritical Severity = "critical"
)

var weights = map[Severity]int{SeverityInfo: 1, SeverityWarning: 2, SeverityError: 3, SeverityCritical: 4}

// AtLeast reports whether s is as severe as minimum, or more severe.
func (s Severity) AtLeast(minimum Severity) bool { return weights[s] >= weights[minimum] }
