package batch

import (
	"strings"
	"testing"
)

// A file that is no JSON lines is refused; one with lines that are no jobs is not.
func TestWrongForm(t *testing.T) {
	for _, tt := range []struct{ begin, want string }{
		{"", ""},
		{"\n \n", ""},
		{`{"id": "a"}` + "\n", ""},
		{"\xef\xbb\xbf\n{}\n", ""},
		{`{"id": "a` + "\n", ""}, // this job is refused, and the others are not
		{`{`, ""},
		{"[{}]\n", "JSON array"},
		{"[\n{}]\n", "JSON array"},
		{"{\r\n \"id\": 1\n}\n", "several lines"},
		{"# Jobs\n", "no JSON object in its first line"},
		{"\x7fELF", "no JSON object in its first line"},
		{"\x1f\x8b\x08\x00", "gzip -dc jobs"},
	} {
		err := wrongForm("jobs", []byte(tt.begin))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%q: %v; want %q", tt.begin, err, tt.want)
		}
	}
}
