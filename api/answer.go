package api

// An Answer says whether what a program printed is what a test expects. It stands
// beside the verdict, which knows nothing of answers.
type Answer string

// The answers.
const (
	Accepted    Answer = "accepted"
	WrongAnswer Answer = "wrong-answer"
)
