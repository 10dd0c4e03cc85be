package api

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// An Execute is the request of a run in the form for simple clients.
type Execute struct {
	Code           *string              `json:"code" nullable:"false" doc:"the program's text; it may be empty"`
	Language       string               `json:"language,omitempty" doc:"name of the language, or an alias; empty: python"`
	TimeoutSeconds float64              `json:"timeout_seconds,omitempty" doc:"maximum time from start to exit, in seconds; zero: the language's default limit"`
	Stdin          Bytes                `json:"stdin,omitempty" doc:"what the program reads; empty: end of file at once"`
	NetworkEnabled bool                 `json:"network_enabled,omitempty" doc:"asks for network public, or, if allow lists hosts, for network allow; refused where the operator does not offer it, or not to the key"`
	Allow          []string             `json:"allow,omitempty" doc:"with network_enabled: the hosts that the program may reach, each HOST, *.DOMAIN, ADDRESS or ADDRESS/BITS, with :PORT or without (80 and 443)"`
	Requirements   []string             `json:"requirements,omitempty" doc:"packages that the program finds, each a name with bounds of its version such as numpy==2.*; refused where the operator does not offer them, or not to the key"`
	Files          map[string]FileValue `json:"files,omitempty" doc:"files placed in the working directory before the program starts, by name"`
	Env            map[string]string    `json:"env,omitempty" doc:"environment variables; they override the language's"`
	Project        string               `json:"project,omitempty" doc:"the project that the run belongs to; stored in the history"`
	Task           string               `json:"task,omitempty" doc:"the task within the project; stored in the history"`
	Run            string               `json:"run,omitempty" doc:"the label by which POST /v1/end ends it together with all else that has it; stored in the history"`
}

// Executed is the result of an Execute.
type Executed struct {
	Status        string               `json:"status" doc:"success, or error" enum:"success,error"`
	Result        *string              `json:"result" doc:"stdout without its final newline; null on error"`
	Value         *string              `json:"value" doc:"the repr of the last statement if it is a bare Python expression, unless that is None"`
	Error         *string              `json:"error" doc:"what went wrong, in one line; null on success"`
	Stdout        string               `json:"stdout" doc:"what the program wrote; bytes that are not UTF-8 are replaced: use /v1/runs to get all bytes"`
	Stderr        string               `json:"stderr" doc:"what the program wrote; bytes that are not UTF-8 are replaced: use /v1/runs to get all bytes"`
	ExitCode      int                  `json:"exit_code" doc:"the program's exit code, or one that stands for the verdict: 124 after a timeout, 137 after exceeding the memory limit, 128 plus the number of a signal"`
	Timeout       bool                 `json:"timeout" doc:"whether a time limit ended the program"`
	ExecutionTime float64              `json:"execution_time" doc:"seconds, from start to exit"`
	Files         map[string]FileValue `json:"files" doc:"files that the program wrote or changed, by name"`
	Findings      []Finding            `json:"findings,omitempty" doc:"findings in the code, with check=warn"`
	Run           string               `json:"run_id" doc:"id of the run"`
	Language      string               `json:"language" doc:"the language in which it was run"`
	Timestamp     string               `json:"timestamp" doc:"time of the request, RFC 3339, UTC"`
	Network       *NetworkUsage        `json:"network,omitempty" doc:"what a program with network reached and was refused"`
	Verdict       Verdict              `json:"verdict" doc:"how the program ended"`
}

// A FileValue is a file's content: in JSON a string if it is text, else an object with content and
// encoding, which is base64.
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

// UnmarshalJSON reads either form; without an encoding, or with utf-8, the content is text.
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
