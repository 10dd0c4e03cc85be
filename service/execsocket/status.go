package execsocket

import (
	"encoding/json"
	"strconv"

	"github.com/brig-sandbox/brig/api"
)

// status is a metav1.Status of Kubernetes, as far as the clients of an exec read it.
type status struct {
	Metadata struct{} `json:"metadata"`
	Status   string   `json:"status"`
	Message  string   `json:"message,omitempty"`
	Reason   string   `json:"reason,omitempty"`
	Details  *details `json:"details,omitempty"`
	Code     int      `json:"code,omitempty"`
}

type details struct {
	Causes []cause `json:"causes"`
}

type cause struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// StatusOf is the last message of the channels of Kubernetes: how a program ended, or why there is no result. Its exit
// code is that of brig run.
func StatusOf(res api.Result, err *api.Problem) []byte {
	s := status{Status: "Failure"}
	switch code := res.Exit(); {
	case err != nil:
		s.Reason, s.Message, s.Code = "InternalError", string(err.Code)+": "+err.Detail, err.Status
	case code == 0:
		s.Status = "Success"
	default:
		s.Reason = "NonZeroExitCode"
		s.Message = Words(res, nil)
		s.Details = &details{[]cause{{"ExitCode", strconv.Itoa(code)}}}
	}

	text, jerr := json.Marshal(s)
	if jerr != nil {
		panic(jerr) // it has strings and numbers alone
	}
	return text
}

// maxReason is the length of the longest reason in a close frame (RFC 6455, 5.5).
const maxReason = 123

// Words says how a program ended in a few words, for the close frame.
func Words(res api.Result, err *api.Problem) string {
	text := "exit code " + strconv.Itoa(res.Exit())
	switch {
	case err != nil:
		text = string(err.Code) + ": " + err.Detail
	case res.SessionEnded != "":
		text = "the session has ended: " + res.SessionEnded
	case res.Verdict != api.OK && res.Verdict != api.Nonzero:
		text = string(res.Verdict) + ", " + text
	}

	if len(text) > maxReason {
		text = text[:maxReason]
		text = text[:maxReason-api.Bytes(text).IncompleteTail()]
	}
	return text
}
