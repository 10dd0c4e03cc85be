package api

// An Answer says whether a program printed what a test expects. It is separate from the verdict,
// which does not depend on answers.
type Answer string

// The answers.
const (
	Accepted    Answer = "accepted"
	Partial     Answer = "partial" // a checker gave it a part of the points
	WrongAnswer Answer = "wrong-answer"
)
