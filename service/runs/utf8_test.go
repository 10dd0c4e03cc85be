package runs

import "testing"

// The cases are those of the Unicode standard, tables 3-8 to 3-11, and of TextDecoder.
func TestTextHasOneMarkForEachMaximalSubpart(t *testing.T) {
	const mark = "\uFFFD"
	for _, tt := range []struct{ name, in, want string }{
		{"text is itself", "a ä 😀\x00\n", "a ä 😀\x00\n"},
		{"what was a mark stays one", mark + mark, mark + mark},
		{"bytes that begin nothing", "\xff\xfe\xff", mark + mark + mark},
		{"a lone continuation", "a\x80b", "a" + mark + "b"},
		{"non-shortest forms", "\xc0\xaf\xe0\x80\xbf\xf0\x81\x82A", mark + mark + mark + mark + mark + mark + mark + mark + "A"},
		{"surrogates", "\xed\xa0\x80\xed\xbf\xbf\xed\xafA", mark + mark + mark + mark + mark + mark + mark + mark + "A"},
		{"beyond the last", "\xf4\x91\x92\x93\xffA\x80\xbfB", mark + mark + mark + mark + mark + "A" + mark + mark + "B"},
		{"truncated", "\xe1\x80\xe2\xf0\x91\x92\xf1\xbfA", mark + mark + mark + mark + "A"},
		{"truncated at the end", "a\xf0\x9f\x98", "a" + mark},
	} {
		if got := text([]byte(tt.in)); got != tt.want {
			t.Errorf("%s: %q; want %q", tt.name, got, tt.want)
		}
	}
}
