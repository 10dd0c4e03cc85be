package decode_test

import (
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api/decode"
)

func TestSyntaxErrorsHaveTheirPositionAndAHint(t *testing.T) {
	for text, want := range map[string]string{
		"{'image': 'tiny'}":                "in line 1, column 2: write names and texts in double quotes",
		"{\n  \"image\": 'tiny'\n}":        "in line 2, column 12: write names and texts in double quotes",
		"{\"source\": \"é = 1\nb\"}":       `in line 1, column 18: write a line break in a text as \n`,
		`{"image": "tiny",}`:               "in line 1, column 18",
		"":                                 "the body is empty",
		" \n":                              "the body is empty",
		`{"image": "tiny"`:                 "ends too early",
		`{"image": "tiny", "argv": [tru]}`: "in line 1, column 31",
	} {
		if _, err := decode.Run([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}
