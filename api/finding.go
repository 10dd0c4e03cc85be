package api

// A Finding is something noteworthy in a program's source. It is advice: a program
// can do what no reader of its source sees, and the sandbox alone is the boundary.
type Finding struct {
	Severity Severity `json:"severity" doc:"how much it weighs"`
	Rule     string   `json:"rule" doc:"such as python-eval; docs/check.md has all"`
	Message  string   `json:"message" doc:"what it is about, in a sentence"`
	File     string   `json:"file" doc:"in which it stands"`
	Line     int      `json:"line,omitempty" doc:"from 1; absent: of the whole file"`
	Column   int      `json:"column,omitempty" doc:"in the line, from 1"`
	Snippet  string   `json:"snippet,omitempty" doc:"the line, cut where it is long; what is secret in it is not shown"`
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

// AtLeast reports whether s weighs as much as least, or more.
func (s Severity) AtLeast(least Severity) bool { return weights[s] >= weights[least] }
