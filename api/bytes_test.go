package api_test

import (
	"encoding/json"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// Bytes decodes a text with escapes exactly as encoding/json does, and refuses the same invalid
// strings.
func TestBytesAsEncodingJSON(t *testing.T) {
	for _, in := range []string{
		`""`, `"a"`, `"\n\t\r\b\f\/\\\""`, `"é\n\u00e9\ud83d\ude00"`, `"\u0000\n"`, "\"a\\n\xff\"", `"\x"`, `"\"`, `"a"b"`, `"\n"b"`, "\"\\n\n\"",
		`"`, `\n`, `"\ud800\n"`, `"\n`,
	} {
		var want string
		werr := json.Unmarshal([]byte(in), &want)
		var got api.Bytes
		err := got.UnmarshalJSON([]byte(in))
		if (err == nil) != (werr == nil) || string(got) != want {
			t.Errorf("%s: %q, %v; want %q, %v", in, got, err, want, werr)
		}
	}
}
