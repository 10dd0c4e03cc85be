package suggest

import "testing"

func TestSuggestion(t *testing.T) {
	words := []string{"run", "rootfs", "profile", "doctor", "language", "ls", "get", "probe", "file", "cpu", "json", "env"}
	for _, tt := range []struct{ claim, name, want string }{
		{"a swap is one slip", "docotr", ": did you mean doctor?"},
		{"a letter too few", "profle", ": did you mean profile?"},
		{"a beginning is completed", "lang", ": did you mean language?"},
		{"of two with one beginning none is guessed", "pro", ""},
		{"other programs call it so", "list", ": did you mean ls?"},
		{"two slips of three letters are another word", "new", ""},
		{"one slip of three letters is another word", "csv", ""},
		{"nor is net env", "net", ""},
		{"two slips of four letters are another word", "time", ""},
		{"one slip of four letters is near", "jsno", ": did you mean json?"},
		{"what is far is not guessed", "teleport", ""},
		{"every letter wrong is not near", "ab", ""},
		{"nothing is near nothing", "", ""},
	} {
		if got := Text(tt.name, words); got != tt.want {
			t.Errorf("%s: Text(%q) = %q; want %q", tt.claim, tt.name, got, tt.want)
		}
	}
}
