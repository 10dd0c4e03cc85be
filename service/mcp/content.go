package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
)

// A Content is the content of a file in arguments: text, or an object with base64.
type Content []byte

// UnmarshalJSON reads a string, or an object whose only member is base64.
func (c *Content) UnmarshalJSON(text []byte) error {
	var plain *string
	if json.Unmarshal(text, &plain) == nil && plain != nil {
		*c = Content(*plain)
		return nil
	}

	var encoded struct {
		Base64 *string `json:"base64"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&encoded); err != nil || encoded.Base64 == nil {
		return api.Refuse(api.CodeBadRequest, `content: write a string, or an object such as {"base64": "AAEC"}`)
	}

	raw, err := base64.StdEncoding.DecodeString(*encoded.Base64)
	if err != nil {
		return api.Refuse(api.CodeBadRequest, "content: base64: %w", err)
	}
	*c = raw
	return nil
}

// A Command is the command of run_command: words, or a line for sh.
type Command []string

// UnmarshalJSON reads a list of strings, or a string.
func (c *Command) UnmarshalJSON(text []byte) error {
	var line *string
	if json.Unmarshal(text, &line) == nil && line != nil {
		*c = Command{"sh", "-c", *line}
		return nil
	}

	var words []string
	if json.Unmarshal(text, &words) != nil || len(words) == 0 {
		return api.Refuse(api.CodeBadRequest, `command: write a line for sh, or a list of words such as ["ls", "-l"]`)
	}
	*c = words
	return nil
}

// validText returns content as text, with U+FFFD for each run of bytes that are none.
func validText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}
