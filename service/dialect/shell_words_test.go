package dialect

import (
	"slices"
	"testing"
)

// Arguments are split as a POSIX shell splits them (compared with dash), or refused.
func TestWords(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, " ": nil, "a": {"a"}, "a  b": {"a", "b"}, "-x c": {"-x", "c"}, "''": {""}, `"" a`: {"", "a"}, "a'b c'd": {"ab cd"},
		`-c "print(\"Blah\")"`: {"-c", `print("Blah")`}, `'$x'`: {"$x"}, `"\$x\a"`: {`$x\a`}, `\$x\ y`: {"$x y"}, `'a\b'`: {`a\b`},
		"a#b": {"a#b"}, "a~": {"a~"}, "'a\nb'": {"a\nb"}, "a\\\nb": {"ab"}, "{a,b}": {"{a,b}"}, "-DX='a\"b'": {`-DX=a"b`}, "é": {"é"},
	} {
		if got, err := ShellWords([]string{text}); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
	}

	for _, text := range []string{"'a", `"a`, `a\`, "$x", `"$x"`, "`id`", "\"`id`\"", "a;b", "a|b", "a&", "<a", ">a", "(a)", "*.c", "a?",
		"[a]", "~", "a #b", "a\nb", "a\x00", "'\x00'"} {
		if got, err := ShellWords([]string{text}); err == nil {
			t.Errorf("%q is %q", text, got)
		}
	}
	if got, _ := ShellWords([]string{"a", "b c"}); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("%q", got)
	}
}
