package api

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Bytes is binary-safe content. In JSON it is a string when it is valid UTF-8,
// and {"base64": "..."} when it is not, so that no byte is ever lost or replaced.
type Bytes []byte

type encodedBytes struct {
	Base64 *string `json:"base64"`
}

// MarshalJSON writes text as text and anything else as base64.
func (b Bytes) MarshalJSON() ([]byte, error) {
	if utf8.Valid(b) {
		return json.Marshal(string(b))
	}
	s := base64.StdEncoding.EncodeToString(b)
	return json.Marshal(encodedBytes{&s})
}

// UnmarshalJSON reads either form.
func (b *Bytes) UnmarshalJSON(in []byte) error {
	var s string
	if json.Unmarshal(in, &s) == nil {
		*b = Bytes(s)
		return nil
	}
	var e encodedBytes
	if err := json.Unmarshal(in, &e); err != nil || e.Base64 == nil {
		return fmt.Errorf(`content: write a string, or {"base64": "..."} for bytes that are not UTF-8`)
	}
	raw, err := base64.StdEncoding.DecodeString(*e.Base64)
	if err != nil {
		return fmt.Errorf("content: base64: %w", err)
	}
	*b = raw
	return nil
}
