package kernels

import (
	"bytes"
	"encoding/json"

	"github.com/brig-sandbox/brig/api"
)

// Execute is the request to execute a cell. The driver of bash reads no JSON but in this form: the names in this order,
// and code last.
type Execute struct {
	Cell   int64 // its number in this kernel, which no other cell has
	Count  int   // its number for people
	Silent bool
	Env    map[string]string
	Code   string
}

type execute struct {
	Type   string            `json:"type"`
	Cell   int64             `json:"cell"`
	Count  int               `json:"count"`
	Silent bool              `json:"silent"`
	Env    map[string]string `json:"env"`
	Code   string            `json:"code"`
}

// Append appends the frame of the request to b.
func (e Execute) Append(b []byte) ([]byte, error) {
	if e.Env == nil {
		e.Env = map[string]string{}
	}
	return appendJSON(b, execute{"execute", e.Cell, e.Count, e.Silent, e.Env, e.Code})
}

type answer struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Error string          `json:"error,omitempty"`
	Value json.RawMessage `json:"value"`
}

// AppendAnswer appends the frame of the answer to a call.
func AppendAnswer(b []byte, a api.KernelAnswer) ([]byte, error) {
	if len(a.Value) == 0 {
		a.Value = json.RawMessage("null")
	}
	return appendJSON(b, answer{"answer", a.ID, a.Error, a.Value})
}

func appendJSON(b []byte, v any) ([]byte, error) {
	var body bytes.Buffer
	out := json.NewEncoder(&body)
	out.SetEscapeHTML(false)
	if err := out.Encode(v); err != nil {
		return b, err
	}
	return AppendFrame(b, bytes.TrimSuffix(body.Bytes(), []byte("\n"))), nil
}
