package docblock

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReplaceKeepsWhatIsAround(t *testing.T) {
	name := filepath.Join(t.TempDir(), "doc.md")
	for _, tt := range []struct {
		old, want string
		ok        bool
	}{
		{"a\n<begin>\n<end>\nz\n", "a\n<begin>\nnew\n<end>\nz\n", true},
		{"a\n<begin>\nold\nold\n<end>z", "a\n<begin>\nnew\n<end>z", true},
		{"no block", "no block", false},
		{"<begin>\nno end", "<begin>\nno end", false},
	} {
		if err := os.WriteFile(name, []byte(tt.old), 0o644); err != nil {
			t.Fatal(err)
		}
		err := Replace(name, "<begin>", "<end>", "new")
		got, rerr := os.ReadFile(name)
		if rerr != nil || (err == nil) != tt.ok || string(got) != tt.want {
			t.Errorf("%q becomes %q, %v; want %q", tt.old, got, err, tt.want)
		}
	}
}

func TestCheckFindsAnOldText(t *testing.T) {
	name := filepath.Join(t.TempDir(), "doc.md")
	if err := os.WriteFile(name, []byte("a\n<begin>\nold\n<end>\n"), 0o644); err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		begin, text string
		write, ok   bool
	}{
		{"<begin>", "new", false, false},
		{"<begin>", "old", false, true},
		{"<begin>", "new", true, true},
		{"<begin>", "new", false, true},
		{"<begin>", "old", false, false},
		{"<none>", "new", true, false},
		{"<none>", "new", false, false},
	} {
		if err := Check(name, tt.begin, "<end>", tt.text, tt.write); (err == nil) != tt.ok {
			t.Errorf("%+v: %v", tt, err)
		}
	}
}

func TestWrap(t *testing.T) {
	word := strings.Repeat("é", 49) // two words and a space have 99 characters, and more bytes
	for text, want := range map[string]string{
		"short\n\ntext":                       "short\n\ntext",
		word + " " + word + "\nend":           word + " " + word + "\nend",
		word + " " + word + " é":              word + " " + word + "\né",
		"| " + word + " | " + word + " | a |": "| " + word + " | " + word + " | a |",
		strings.Repeat("x", 120) + " y":       strings.Repeat("x", 120) + "\ny",
	} {
		if got := Wrap(text); got != want {
			t.Errorf("%q becomes %q; want %q", text, got, want)
		}
	}
}
