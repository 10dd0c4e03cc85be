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
	Code           *string              `json:"code" nullable:"false" doc:"the program's text, perhaps empty"`
	Language       string               `json:"language,omitempty" doc:"name of the language, or an alias; empty: python"`
	TimeoutSeconds float64              `json:"timeout_seconds,omitempty" doc:"most time from start to exit, in seconds; zero: the language's own limit"`
	Stdin          Bytes                `json:"stdin,omitempty" doc:"what the program reads; empty: end of file at once"`
	Requirements   []string             `json:"requirements,omitempty" doc:"packages to install: refused, until that exists"`
	Files          map[string]FileValue `json:"files,omitempty" doc:"files placed in the working directory before the program starts, by name"`
	Env            map[string]string    `json:"env,omitempty" doc:"environment variables, over the language's"`
	Project        string               `json:"project,omitempty" doc:"whose run it is: carried, and kept in the history"`
	Task           string               `json:"task,omitempty" doc:"what in the project it is for: carried, and kept in the history"`
}

// Executed is what became of it.
type Executed struct {
	Status        string               `json:"status" doc:"success, or error" enum:"success,error"`
	Result        *string              `json:"result" doc:"stdout without its final newline; null on error"`
	Value         *string              `json:"value" doc:"the repr of a last bare Python expression, unless that is None"`
	Error         *string              `json:"error" doc:"what went wrong, in one line; null on success"`
	Stdout        string               `json:"stdout" doc:"what the program wrote; what is no UTF-8 is replaced: ask /v1/runs for bytes"`
	Stderr        string               `json:"stderr" doc:"what the program wrote; what is no UTF-8 is replaced: ask /v1/runs for bytes"`
	ExitCode      int                  `json:"exit_code" doc:"the program's own, or one that tells the verdict: 124 after a timeout, 137 over memory, 128 plus a signal"`
	Timeout       bool                 `json:"timeout" doc:"whether a time limit ended the program"`
	ExecutionTime float64              `json:"execution_time" doc:"seconds, from start to exit"`
	Files         map[string]FileValue `json:"files" doc:"written or changed by the program, by name"`
	Findings      []Finding            `json:"findings,omitempty" doc:"of the code, with check=warn"`
	Run           string               `json:"run_id" doc:"id of the run"`
	Language      string               `json:"language" doc:"in which it was run"`
	Timestamp     string               `json:"timestamp" doc:"of the request, RFC 3339, UTC"`
	Verdict       Verdict              `json:"verdict" doc:"how the program ended"`
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
