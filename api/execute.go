package api

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// An Execute is a run as simple clients ask for one.
type Execute struct {
	Code           string               `json:"code"`
	Language       string               `json:"language,omitempty"`        // empty: python
	TimeoutSeconds float64              `json:"timeout_seconds,omitempty"` // zero: the language's own limit
	Stdin          Bytes                `json:"stdin,omitempty"`
	Requirements   []string             `json:"requirements,omitempty"` // packages to install: refused, until that exists
	Files          map[string]FileValue `json:"files,omitempty"`        // by name, below the working directory
	Env            map[string]string    `json:"env,omitempty"`
	Project        string               `json:"project,omitempty"`
	Task           string               `json:"task,omitempty"`
}

// Executed is what became of it.
type Executed struct {
	Status        string               `json:"status"`             // success, or error
	Result        *string              `json:"result"`             // stdout without its final newline; null on error
	Value         *string              `json:"value"`              // the repr of a last bare Python expression, unless that is None
	Error         *string              `json:"error"`              // one line; null on success
	Stdout        string               `json:"stdout"`             // what is no UTF-8 is replaced: ask /v1/runs for bytes
	Stderr        string               `json:"stderr"`             //
	ExitCode      int                  `json:"exit_code"`          // as Result.Exit has it: 124 after a timeout
	Timeout       bool                 `json:"timeout"`            //
	ExecutionTime float64              `json:"execution_time"`     // seconds, from start to exit
	Files         map[string]FileValue `json:"files"`              // written or changed by the program
	Findings      []Finding            `json:"findings,omitempty"` // with check=warn
	Run           string               `json:"run_id"`             //
	Language      string               `json:"language"`           //
	Timestamp     string               `json:"timestamp"`          // RFC 3339, UTC, of the request
	Verdict       Verdict              `json:"verdict"`            //
}

// A FileValue is a file's content: in JSON a string where it is text, else an
// object of content and encoding, which is base64.
type FileValue []byte

// MarshalJSON writes text as a string.
func (f FileValue) MarshalJSON() ([]byte, error) {
	if utf8.Valid(f) {
		return json.Marshal(string(f))
	}
	return json.Marshal(encodedFile{base64.StdEncoding.EncodeToString(f), "base64"})
}

type encodedFile struct {
	Content  string `json:"content"`
	Encoding string `json:"encoding,omitempty"`
}

// UnmarshalJSON reads either form; without an encoding, or with utf-8, content is
// text.
func (f *FileValue) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*f = FileValue(text)
		return nil
	}
	var e encodedFile
	if err := json.Unmarshal(raw, &e); err != nil {
		return errors.New(`write text as a string, or {"content": "...", "encoding": "base64"}`)
	}
	switch strings.ToLower(e.Encoding) {
	case "", "utf-8", "utf8", "text":
		*f = FileValue(e.Content)
	case "base64":
		b, err := base64.StdEncoding.DecodeString(e.Content)
		if err != nil {
			return fmt.Errorf("base64: %w", err)
		}
		*f = b
	default:
		return fmt.Errorf("encoding %q: use base64, or none for text", e.Encoding)
	}
	return nil
}
