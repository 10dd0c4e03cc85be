package judge_test

import (
	"bytes"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
)

func TestCompareAccepts(t *testing.T) {
	long := strings.Repeat("x", 500)
	for _, tt := range []struct {
		name          string
		compare       api.Compare
		expected, got string
		difference    string // empty: accepted
	}{
		{"exact takes the same", api.Compare{How: api.CompareExact}, "a\n", "a\n", ""},
		{"exact minds a line's end", api.Compare{How: api.CompareExact}, "a\nb\n", "a\nb", `byte 4, in line 2: expected "a\nb\n", got "a\nb"`},
		{"lines are the default", api.Compare{}, "a b\nc\n", "a b  \r\nc", ""},
		{"empty lines at the end do not count", api.Compare{}, "a", "a\n\n \t\n", ""},
		{"nor do they in what was expected", api.Compare{}, "a\n\n \n", "a", ""},
		{"nothing is like blank lines", api.Compare{}, "", "\n \n", ""},
		{"empty lines inside do", api.Compare{}, "a\n\nb", "a\nb", `line 2: expected "", got "b"`},
		{"white space before and inside does", api.Compare{}, "a b", " a  b", `line 1: expected "a b", got " a  b"`},
		{"a line too few", api.Compare{}, "1\n2\n\n\n3\n", "1\n2\n", `line 5: expected "3", got nothing more`},
		{"a line too many", api.Compare{}, "1\n", "1\n2\n", `line 2: expected nothing more, got "2"`},
		{"nothing at all", api.Compare{}, "1\n", "", `line 1: expected "1", got ""`},
		{"control characters are seen", api.Compare{}, "a", "a\x00\x1b[2J", `line 1: expected "a", got "a\x00\x1b[2J"`},
		{"so are characters that hide or turn text", api.Compare{}, "ab", "a\u202eb", `line 1: expected "ab", got "a\u202eb"`},
		{"text that is no UTF-8", api.Compare{}, "é", "\xe9", `line 1: expected "é", got "\xe9"`},
		{"a long line is cut round the place", api.Compare{}, long + "a" + long, long + "b" + long,
			`line 1: expected …"` + long[:16] + "a" + long[:31] + `"…, got …"` + long[:16] + "b" + long[:31] + `"…`},
		{"and no character in two", api.Compare{}, strings.Repeat("日", 100), strings.Repeat("日", 99) + "月",
			`line 1: expected …"` + strings.Repeat("日", 6) + `", got …"` + strings.Repeat("日", 5) + `月"`},
		{"tokens ignore how they are set apart", api.Compare{How: api.CompareTokens}, "1 2\n3", " 1\t2 3\v\n", ""},
		{"tokens are text", api.Compare{How: api.CompareTokens}, "1 2.0", "1 2", `token 2: expected "2.0", got "2"`},
		{"a token too few", api.Compare{How: api.CompareTokens}, "1 2", "1 ", `token 2: expected "2", got nothing more`},
		{"a token too many", api.Compare{How: api.CompareTokens}, "1", "1 2", `token 2: expected nothing more, got "2"`},
		{"tokens do not run together", api.Compare{How: api.CompareTokens}, "1 2", "12", `token 1: expected "1", got "12"`},
		{"a no-break space is no white space", api.Compare{How: api.CompareTokens}, "1 2", "1\u00a02", `token 1: expected "1", got "1\u00a02"`},
		{"numbers by value", api.Compare{How: api.CompareFloat}, "1.5 2e3 +.5 1.", "1.50 2000 0.5 1", ""},
		{"no underscores", api.Compare{How: api.CompareFloat}, "1000", "1_000", `token 1: expected "1000", got "1_000"`},
		{"no hexadecimal numbers", api.Compare{How: api.CompareFloat}, "16", "0x1p4", `token 1: expected "16", got "0x1p4"`},
		{"within the default tolerance", api.Compare{How: api.CompareFloat}, "1", "1.0000009", ""},
		{"beyond it", api.Compare{How: api.CompareFloat}, "1 1", "1 1.00001", `token 2: expected "1", got "1.00001"`},
		{"relative to the larger", api.Compare{How: api.CompareFloat}, "1e12", "1000000900000", ""},
		{"absolute near zero", api.Compare{How: api.CompareFloat}, "0", "-5e-7", ""},
		{"a tolerance of one's own", api.Compare{How: api.CompareFloat, Tolerance: 0.1}, "1", "1.09", ""},
		{"a tight one", api.Compare{How: api.CompareFloat, Tolerance: 1e-12}, "1", "1.0000001", `token 1: expected "1", got "1.0000001"`},
		{"text next to numbers is text", api.Compare{How: api.CompareFloat}, "x= 1.0", "x= 1", ""},
		{"text is not a number", api.Compare{How: api.CompareFloat}, "1", "one", `token 1: expected "1", got "one"`},
		{"NaN is a word", api.Compare{How: api.CompareFloat}, "nan NaN", "nan nan", `token 2: expected "NaN", got "nan"`},
		{"NaN is no number", api.Compare{How: api.CompareFloat}, "NaN", "0", `token 1: expected "NaN", got "0"`},
		{"nor is a number NaN", api.Compare{How: api.CompareFloat}, "0", "NaN", `token 1: expected "0", got "NaN"`},
		{"infinity is a word", api.Compare{How: api.CompareFloat}, "inf inf", "inf infinity", `token 2: expected "inf", got "infinity"`},
		{"an infinity has a sign", api.Compare{How: api.CompareFloat}, "inf", "-inf", `token 1: expected "inf", got "-inf"`},
		{"nothing finite is near infinity", api.Compare{How: api.CompareFloat}, "inf", "1e308", `token 1: expected "inf", got "1e308"`},
		{"numbers at opposite ends", api.Compare{How: api.CompareFloat}, "1.7e308", "-1.7e308", `token 1: expected "1.7e308", got "-1.7e308"`},
		{"a number of any size", api.Compare{How: api.CompareFloat}, "1e400", "1e401", `token 1: expected "1e400", got "1e401"`},
		{"zeros have no sign", api.Compare{How: api.CompareFloat, Tolerance: 1e-300}, "0", "-0", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ok, difference, _ := judge.Accepts(tt.compare, []byte(tt.expected), []byte(tt.got))
			if ok != (tt.difference == "") || difference != tt.difference {
				t.Errorf("%v, %s\nwant   %s", ok, difference, tt.difference)
			}
		})
	}
}

// largeOutputs returns an output, the same with one more token, and the same with different line
// ends.
func largeOutputs(size int) (text, longer, crlf []byte) {
	text = bytes.Repeat([]byte("1234567 89012\n"), size/14)
	return text, slices.Concat(text, []byte("1\n")), bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n"))
}

// Outputs that differ only at their end are compared without making lists of their lines.
func TestCompareMakesNoLists(t *testing.T) {
	text, longer, crlf := largeOutputs(4 << 20)
	for _, how := range []api.Comparison{api.CompareExact, api.CompareLines, api.CompareTokens, api.CompareFloat} {
		c := api.Compare{How: how}
		if ok, difference, _ := judge.Accepts(c, text, crlf); ok != (how != api.CompareExact) {
			t.Errorf("%s: %v %s", how, ok, difference)
		}
		if n := testing.AllocsPerRun(1, func() {
			if ok, _, _ := judge.Accepts(c, text, longer); ok {
				t.Errorf("%s: accepted a token too many", how)
			}
		}); n > 20 {
			t.Errorf("%s: %v allocations", how, n)
		}
	}
}

func BenchmarkCompare100MB(b *testing.B) {
	text, longer, _ := largeOutputs(100 << 20)
	for _, how := range []api.Comparison{api.CompareExact, api.CompareLines, api.CompareTokens, api.CompareFloat} {
		b.Run(string(how), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				judge.Accepts(api.Compare{How: how}, text, longer)
			}
		})
	}
}

// FuzzCompare compares Accepts with the simplest implementation of the same rules.
func FuzzCompare(f *testing.F) {
	for _, pair := range [][2]string{{"a b\n", "a  b \r\n\n"}, {"1.0 nan", "1 NaN"}, {"\n\nx", "x"}, {"1e400", "Inf"},
		{"a\u00a0b\x85", "a b"}} {
		f.Add([]byte(pair[0]), []byte(pair[1]), 1e-6)
	}

	f.Fuzz(func(t *testing.T, a, b []byte, tolerance float64) {
		for _, how := range []api.Comparison{"", api.CompareExact, api.CompareLines, api.CompareTokens, api.CompareFloat} {
			c := api.Compare{How: how}
			if how == api.CompareFloat {
				c.Tolerance = tolerance
			}
			if c.Validate() != nil {
				continue
			}

			ok, difference, _ := judge.Accepts(c, a, b)
			if want := plainly(c, a, b); ok != want {
				t.Errorf("%+v accepts %q for %q: %v; want %v", c, b, a, ok, want)
			}
			if back, _, _ := judge.Accepts(c, b, a); back != ok {
				t.Errorf("%+v accepts %q for %q: %v, and the other way round %v", c, b, a, ok, back)
			}
			if same, _, _ := judge.Accepts(c, a, slices.Clone(a)); !same {
				t.Errorf("%+v does not accept %q for itself", c, a)
			}
			if ok != (difference == "") || strings.ContainsAny(difference, "\n\r\x00\x1b") || len(difference) > 1000 {
				t.Errorf("%+v: %v with difference %q", c, ok, difference)
			}
		}
	})
}

var decimalNumber = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

func plainNumber(word string) (float64, bool) {
	n, err := strconv.ParseFloat(word, 64)
	return n, err == nil && decimalNumber.MatchString(word)
}

const asciiSpace = " \t\n\v\f\r"

func plainly(c api.Compare, a, b []byte) bool {
	words := func(text []byte) []string {
		return strings.FieldsFunc(string(text), func(r rune) bool { return strings.ContainsRune(asciiSpace, r) })
	}
	switch c.How {
	case api.CompareExact:
		return string(a) == string(b)
	case api.CompareTokens:
		return slices.Equal(words(a), words(b))
	case api.CompareFloat:
		return slices.EqualFunc(words(a), words(b), func(x, y string) bool {
			p, isNumber := plainNumber(x)
			q, isToo := plainNumber(y)
			tolerance := c.Tolerance
			if tolerance == 0 {
				tolerance = 1e-6
			}
			near := math.Abs(p-q) <= tolerance || math.Abs(p-q) <= tolerance*max(math.Abs(p), math.Abs(q))
			return x == y || isNumber && isToo && near
		})
	}

	lines := func(text []byte) []string {
		all := strings.Split(strings.TrimRight(string(text), asciiSpace), "\n")
		for i := range all {
			all[i] = strings.TrimRight(all[i], asciiSpace)
		}
		return all
	}

	return slices.Equal(lines(a), lines(b))
}
