package api

import (
	"time"
	"unicode/utf8"
)

// The bounds of a session's metadata: names, and bytes of names and texts together.
const (
	MetadataMax   = 64
	MetadataBytes = 8 << 10
)

// validateMetadata refuses metadata that is too large, or no text.
func validateMetadata(m map[string]string) func() error {
	return func() error {
		if len(m) > MetadataMax {
			return Refuse(CodeBadRequest, "metadata has %d names, and the maximum is %d: put less there", len(m), MetadataMax)
		}
		total := 0
		for name, text := range m {
			if !utf8.ValidString(name) || !utf8.ValidString(text) {
				return Refuse(CodeBadRequest, "metadata has bytes that are not UTF-8: write it as text")
			}
			total += len(name) + len(text)
		}
		if total > MetadataBytes {
			return Refuse(CodeBadRequest, "metadata has %d bytes, and the maximum is %d: put less there", total, MetadataBytes)
		}
		return nil
	}
}

// A LifeRequest asks for another end of a session: sooner or later than before, at most so long after its creation as
// the operator lets a session live (brigd --max-session-life).
type LifeRequest struct {
	EndsIn Duration `json:"ends_in" doc:"the session ends this long after now, even if it is in use; at least 1s"`
	Longer bool     `json:"longer,omitempty" doc:"true: a session that would end later still does"`
}

// Validate refuses an end that no session can have.
func (l LifeRequest) Validate() error {
	if l.EndsIn < Duration(time.Second) {
		return Refuse(CodeBadLimits, "ends_in is %s: the least is 1s; to end the session now, delete it", l.EndsIn)
	}
	return nil
}
