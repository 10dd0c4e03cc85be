package dialect

import (
	"bytes"
	"encoding/json"
)

// JSON is a response with v; see Encode.
func JSON(status int, contentType string, v any) Response {
	return Response{Status: status, Header: map[string]string{"Content-Type": contentType}, Body: Encode(v)}
}

// Encode returns v as JSON, without the escapes for HTML that encoding/json makes by default, and without a newline. It
// panics if v cannot be encoded: dialects answer with texts, finite numbers, booleans, and JSON that was read.
func Encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
