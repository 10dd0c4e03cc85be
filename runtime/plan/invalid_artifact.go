package plan

import "fmt"

// An InvalidArtifact is the error of a run whose compiler succeeded with a program that cannot be
// started: it is a library, names an interpreter that does not exist, or is larger than the
// scratch. The program's author must fix that, so it becomes the verdict compile-error and never an
// api.Error: a submission must not be able to avoid a verdict (CMP-20,
// TestHostileProgramsGetAVerdict).
type InvalidArtifact struct{ Reason string }

func (e *InvalidArtifact) Error() string { return e.Reason }

// ArtifactTooLarge is the error for an artifact that does not fit in the run's limits.
func ArtifactTooLarge(name, why string) error {
	return &InvalidArtifact{fmt.Sprintf("brig: %s was compiled, but %s\n", name, why)}
}
