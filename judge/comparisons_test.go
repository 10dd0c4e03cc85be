package judge_test

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
)

// The rules of "Default output validator specification" of the Kattis problem package format 2025-09,
// sentence by sentence.
func TestKattis(t *testing.T) {
	const (
		cs  = "case_sensitive"
		sp  = "space_change_sensitive"
		abs = "float_absolute_tolerance"
		rel = "float_relative_tolerance"
		tol = "float_tolerance"
	)

	for _, tt := range []struct {
		name, args, answer, output string
		want                       bool
	}{
		{"tokens", "", "a b c", "a b c", true},
		{"all six kinds of white space separate", "", "a b c d e f g", "a\x20b\x0cc\x0ad\x0de\x09f\x0bg", true},
		{"no other does", "", "a b", "a\u00a0b", false},
		{"nor NUL", "", "a b", "a\x00b", false},
		{"leading and trailing white space", "", "a b", "\n\n a \t b\r\n\n", true},
		{"only white space for nothing", "", "", " \n\n", true},
		{"nothing for only white space", "", "\n", "", true},
		{"output too short", "", "a b", "a", false},
		{"output too long", "", "a", "a b", false},
		{"output empty", "", "a", "", false},
		{"answer empty", "", "", "a", false},
		{"tokens do not run together", "", "a b", "ab", false},
		{"case is ignored", "", "Hello WORLD", "hELLO world", true},
		{"of ASCII letters only", "", "é", "É", false},
		{"and no other byte", "", "@[`{", "`{@[", false},
		{"case counts", cs, "Hello", "hello", false},
		{"same case", cs, "Hello", "Hello", true},
		{"numbers are text without a tolerance", "", "1.0", "1.00", false},
		{"space: the same", sp, " a\tb \n", " a\tb \n", true},
		{"space: another kind", sp, "a b", "a\tb", false},
		{"space: another amount", sp, "a b", "a  b", false},
		{"space: leading", sp, "a", " a", false},
		{"space: trailing", sp, "a\n", "a", false},
		{"space: trailing the other way", sp, "a", "a\n", false},
		{"space: case is still ignored", sp, "A\n", "a\n", true},
		{"space and numbers", sp + " " + tol + " 0.1", "1 2\n", "1.05 2\n", true},
		{"space and too far", sp + " " + tol + " 0.1", "1 2\n", "1.05 3\n", false},
		{"absolute, within", abs + " 0.5", "1", "1.5", true},
		{"absolute, beyond", abs + " 0.5", "1", "1.51", false},
		{"absolute, below", abs + " 0.5", "1", "0.5", true},
		{"absolute only, large numbers", abs + " 0.5", "1e9", "1000000001", false},
		{"relative, within", rel + " 0.1", "100", "110", true},
		{"relative, beyond", rel + " 0.1", "100", "110.1", false},
		{"relative to the answer, not to the output", rel + " 0.1", "90", "99.5", false},
		{"relative to a negative answer", rel + " 0.1", "-100", "-110", true},
		{"relative to zero", rel + " 0.5", "0", "1e-9", false},
		{"zero is zero", rel + " 0.5", "0", "-0.0", true},
		{"either of the two: absolute", tol + " 0.125", "0", "0.125", true},
		{"either of the two: relative", tol + " 0.1", "1000", "1100", true},
		{"neither", tol + " 0.1", "1000", "1101", false},
		{"two different: by the relative", abs + " 0.001 " + rel + " 0.1", "100", "109", true},
		{"two different: by the absolute", abs + " 10 " + rel + " 0.001", "1", "9", true},
		{"integers are numbers, too", tol + " 0.5", "1", "1.4", true},
		{"tolerance zero is equality of numbers", tol + " 0", "1.50", "15e-1", true},
		{"tolerance zero minds a difference", tol + " 0", "1.5", "1.5000001", false},
		{"grammar: sign", tol + " 0", "5", "+5", true},
		{"grammar: no digit before the point", tol + " 0", "0.5", ".5", true},
		{"grammar: no digit after the point", tol + " 0", "5", "5.", true},
		{"grammar: exponent", tol + " 0", "500", "5E+2", true},
		{"grammar: a point alone is text", tol + " 1", ".", ".", true},
		{"and no number", tol + " 1", "1", ".", false},
		{"grammar: no exponent without digits", tol + " 1", "1", "1e", false},
		{"grammar: thirty digits and more", tol + " 1e-9", strings.Repeat("1", 30) + "." + strings.Repeat("1", 30),
			strings.Repeat("1", 30) + "." + strings.Repeat("1", 40), true},
		{"output is no number", tol + " 1e9", "1", "one", false},
		{"text next to numbers", tol + " 0.2", "x 1", "X 1.1", true},
		{"text stays text", cs + " " + tol + " 0.1", "x 1", "X 1", false},
		{"inf in the answer is text", tol + " 0.5", "inf", "INF", true},
		{"and no number of the output is near it", tol + " 1e300", "inf", "1e308", false},
		{"inf in the output is no number", tol + " 1e300", "1e308", "inf", false},
		{"nan in the answer is text", tol + " 0.5", "nan", "NaN", true},
		{"nan in the output is no number", tol + " 1e300", "1", "nan", false},
		{"hexadecimal in the answer is text", tol + " 0.5", "0x10", "16", false},
		{"hexadecimal in the output is no number", tol + " 0.5", "16", "0x10", false},
		{"what no double holds is no number", tol + " 0.5", "1", "1e999", false},
		{"trailing letters", abs + " 0.5", "1", "1.4x", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := api.KattisCompare(strings.Fields(tt.args))
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Validate(); err != nil {
				t.Fatal(err)
			}
			ok, difference, err := judge.Accepts(c, []byte(tt.answer), []byte(tt.output))
			if ok != tt.want || ok != (difference == "") || err != nil {
				t.Errorf("%v, %q, %v; want %v", ok, difference, err, tt.want)
			}
		})
	}

	for _, args := range []string{
		tol, abs, rel, tol + " x", tol + " -1", tol + " nan", tol + " inf", abs + " 1 " + abs + " 1", rel + " 1 " + rel + " 2",
		tol + " 1 " + tol + " 1",
		tol + " 1 " + abs + " 1", rel + " 1 " + tol + " 1", "Case_sensitive", "space_sensitive", "1e-6", abs + " " + rel,
	} {
		if c, err := api.KattisCompare(strings.Fields(args)); err == nil {
			t.Errorf("%q is accepted as %+v", args, c)
		}
	}
}

func TestComparisons(t *testing.T) {
	const (
		white, dmoj, lcb = api.CompareWhiteDiff, api.CompareDMOJ, api.CompareLCB
		ul, ut           = api.CompareUnorderedLines, api.CompareUnorderedTokens
	)

	for _, tt := range []struct {
		how           api.Comparison
		expected, got string
		difference    string // empty: accepted
	}{
		{white, "1\n\r\r \n  \n\n", "1   \n\r  ", ""},
		{white, "1 asd", "   1\tasd  \n\n\n", ""},
		{white, "1\t\r2", "1 2", ""},
		{white, "1", "\v\f1", ""},
		{white, "1 2", "12", `line 1, token 1: expected "1", got "12"`},
		{white, "1", "\n1", `line 1, token 1: expected "1", got nothing more`},
		{white, "1\n\n2", "1\n2", `line 2, token 1: expected nothing more, got "2"`},
		{white, "1\n2", "1", `line 2, token 1: expected "2", got nothing more`},
		{white, "1", "1\n\n3", `line 3, token 1: expected nothing more, got "3"`},
		{white, "", "\n \n", ""},

		{dmoj, "1 2\n3", " \n1  2\r\n\n3\n\n", ""},
		{dmoj, "1 2\n3", "1 2 3", `line 1: expected a line's end after "2", got a space`},
		{dmoj, "1 2", "1\n2", `line 1: expected a space after "1", got a line's end`},
		{dmoj, "1 2", "1\v2", ""},
		{dmoj, "1\n2", "1\r2", ""},
		{dmoj, "1\n2", "1\n3", `line 2: expected "2", got "3"`},
		{dmoj, "1\n2", "1\n", `line 2: expected "2", got nothing more`},
		{dmoj, "1", "1 2", `line 1: expected nothing more, got "2"`},
		{dmoj, "1", "12", `line 1: expected "1", got "12"`},
		{dmoj, "", "\n", ""},
		{dmoj, "1\n", "1", ""},

		{lcb, "1\n2\n", "\n 1 \n2", ""},
		{lcb, "1\n\n2", "1\n2", `line 2: expected "", got "2"`},
		{lcb, "1\n2", "1", `line 2: expected "2", got nothing more`},
		{lcb, "1", "1\n2", `line 2: expected nothing more, got "2"`},
		{lcb, "1 2.50", "1.0  25e-1", ""},
		{lcb, "1 2", "1 2 3", `line 1: expected "1 2", got "1 2 3"`},
		{lcb, "a 1", "a 1.0", `line 1: expected "a 1", got "a 1.0"`},
		{lcb, "a  1", "a 1", `line 1: expected "a  1", got "a 1"`},
		{lcb, "50000000000000000", "50000000000000001", `line 1: expected "50000000000000000", got "50000000000000001"`},
		{lcb, "1e400", "10e399", ""},
		{lcb, "-0", "0", ""},
		{lcb, "NaN", "nan", `line 1: expected "NaN", got "nan"`},
		{lcb, "Infinity", "inf", ""},
		{lcb, "0x10", "16", `line 1: expected "0x10", got "16"`},
		{lcb, "1", "1e99999999999999999999", `line 1: expected "1", got "1e99999999999999999999"`},
		{lcb, "", " \n ", ""},

		{ul, "1 2\n3\n", "3\r\n1   2", ""},
		{ul, "1 2\n3", "2 1\n3", `in any order: expected 2 lines, got 2; line "2 1" is one too many`},
		{ul, "1\n1\n2", "1\n2\n2", `in any order: expected 3 lines, got 3; line "2" is one too many`},
		{ul, "1\n2", "2", `in any order: expected 2 lines, got 1; line "1" is missing`},
		{ul, "1\n\n\n2", "2\n1", ""},
		{ul, "1\n2", "2\n \n1", `in any order: expected 2 lines, got 3; line " " is one too many`},
		{ul, "1 23", "12 3", `in any order: expected 1 lines, got 1; line "12 3" is one too many`},
		{ut, "1 2\n3", "3 2 1", ""},
		{ut, "1 1 2", "1 2 2", `in any order: expected 3 tokens, got 3; token "2" is one too many`},
		{ut, "a b", "ab", `in any order: expected 2 tokens, got 1; token "ab" is one too many`},
		{ut, "", "", ""},
	} {
		t.Run(string(tt.how)+" "+tt.got, func(t *testing.T) {
			ok, difference, err := judge.Accepts(api.Compare{How: tt.how}, []byte(tt.expected), []byte(tt.got))
			if err != nil || ok != (tt.difference == "") || difference != tt.difference {
				t.Errorf("%v, %s, %v\nwant   %s", ok, difference, err, tt.difference)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	plain := api.Compare{How: api.CompareJSON}
	near, any, nan := plain, plain, plain
	near.Tolerance, any.Unordered, nan.NaNEqual = 1e-6, true, true
	nanUnordered := nan
	nanUnordered.Unordered = true
	deep := strings.Repeat("[", 1001) + strings.Repeat("]", 1001)
	for _, tt := range []struct {
		name          string
		c             api.Compare
		expected, got string
		want          bool
	}{
		{"white space", plain, `[1, {"a": null}]`, " [ 1 ,{ \"a\"\n:null } ]\n", true},
		{"numbers by value", plain, `[1, 1e2, 0.5]`, `[1.0, 100, 5e-1]`, true},
		{"large integers are exact", plain, `50000000000000000`, `50000000000000001`, false},
		{"true is not 1", plain, `1`, `true`, false},
		{"nor is 1 true", plain, `true`, `1`, false},
		{"null is not 0", plain, `null`, `0`, false},
		{"a number is no string", plain, `1`, `"1"`, false},
		{"an array is no object", plain, `[]`, `{}`, false},
		{"strings", plain, `"a\u00e9\n/"`, "\"\\u0061é\\n\\/\"", true},
		{"a pair of surrogates", plain, `"😀"`, `"\ud83d\ude00"`, true},
		{"half a pair", plain, `"\ud83d"`, `"\ud83e"`, false},
		{"order of members", plain, `{"a":1,"b":[2],"c":3}`, `{"c":3,"a":1,"b":[2]}`, true},
		{"names with escapes", plain, `{"a":1,"b":2}`, `{"\u0062":2,"\u0061":1}`, true},
		{"a member too many", plain, `{"a":1}`, `{"a":1,"b":2}`, false},
		{"a member too few", plain, `{"a":1,"b":2}`, `{"a":1}`, false},
		{"a member too few, in another order", plain, `{"a":1,"b":2,"c":3}`, `{"b":2,"a":1}`, false},
		{"another name", plain, `{"a":1}`, `{"b":1}`, false},
		{"another value, in another order", plain, `{"a":1,"b":2}`, `{"b":1,"a":2}`, false},
		{"of two with one name the last counts", plain, `{"a":1,"b":2}`, `{"b":1,"a":1,"b":2}`, true},
		{"order of elements", plain, `[1,2]`, `[2,1]`, false},
		{"an element too many", plain, `[1]`, `[1,2]`, false},
		{"an element too few", plain, `[1,2]`, `[1]`, false},
		{"empty", plain, `[[],{},""]`, `[[ ],{ },""]`, true},
		{"empty is not one", plain, `[]`, `[0]`, false},
		{"NaN", plain, `NaN`, `NaN`, false},
		{"NaN equal", nan, `[NaN]`, `[NaN]`, true},
		{"NaN is no number", nan, `NaN`, `0`, false},
		{"NaN in any order", nanUnordered, `[NaN, 1]`, `[1, -NaN]`, true},
		{"NaN in any order is no infinity", nanUnordered, `[NaN]`, `[Infinity]`, false},
		{"infinities", plain, `[Infinity, -Infinity]`, `[Infinity, -Infinity]`, true},
		{"with a sign", plain, `Infinity`, `-Infinity`, false},
		{"tolerance", near, `[1, 1000000]`, `[1.0000009, 1000000.9]`, true},
		{"beyond it", near, `1`, `1.00001`, false},
		{"tolerance in another order", near, `{"a":1,"b":2}`, `{"b":2.0000001,"a":1}`, true},
		{"any order", any, `[1,2,[3,4],{"a":[5,6]}]`, `[{"a":[6,5]},[4,3],2,1.0]`, true},
		{"any order, another number of each", any, `[1,1,2]`, `[1,2,2]`, false},
		{"any order, nested apart", any, `[[1,2],[3]]`, `[[1],[2,3]]`, false},
		{"any order, text is not a number", any, `["1"]`, `[1]`, false},
		{"any order, NaN", any, `[NaN]`, `[NaN]`, false},
		{"any order, escapes", any, `["a","b"]`, `["\u0062","\u0061"]`, true},
		{"any order inside an object", any, `{"x":[1,2]}`, `{"x":[2,1]}`, true},
		{"several values", plain, "1\n[2]", "1 [2]", true},
		{"a value too few", plain, "1 2", "1", false},
		{"a value too many", plain, "1", "1 2", false},
		{"NUL does not end the output", plain, "1", "1\x002", false},
		{"nothing", plain, "1", "", false},
		{"text", plain, "1", "one", false},
		{"a comma at the end", plain, "[1]", "[1,]", false},
		{"no end", plain, "[1]", "[1", false},
		{"no end of a string", plain, `"a"`, `"a`, false},
		{"a line's end in a string", plain, `"a\nb"`, "\"a\nb\"", false},
		{"too deep", plain, "[1]", deep, false},
		{"as deep as may be", plain, deep[1 : len(deep)-1], deep[1 : len(deep)-1], true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.c.Validate(); err != nil {
				t.Fatal(err)
			}
			ok, difference, err := judge.Accepts(tt.c, []byte(tt.expected), []byte(tt.got))
			if err != nil || ok != tt.want || ok != (difference == "") {
				t.Errorf("%v, %q, %v; want %v", ok, difference, err, tt.want)
			}
		})
	}

	for _, expected := range []string{"", " \n", "[1", "[1,]", "x", "{1:2}", `{"a" 1}`, deep, `{"a":1,"b":x}`} {
		for _, c := range []api.Compare{plain, any} {
			if ok, difference, err := judge.Accepts(c, []byte(expected), []byte(`{"b":2,"a":1}`)); ok || err == nil && difference == "" {
				t.Errorf("the expected output %.20q is taken: %v, %s", expected, ok, difference)
			}
		}
	}

	if _, _, err := judge.Accepts(plain, []byte("[1,,]"), []byte("[1,2]")); err == nil {
		t.Error("an expected output that is not JSON is no error")
	}
}

// FuzzJSON compares with the values that encoding/json makes.
func FuzzJSON(f *testing.F) {
	for _, pair := range [][2]string{{`[1,{"a":"b"}]`, `[1.0,{"a":"\u0062"}]`}, {`{"a":1,"b":2}`, `{"b":2,"a":1}`}, {"[", "]"},
		{"1e2", "100"}, {`"\ud800"`, `"x"`}} {
		f.Add(pair[0], pair[1])
	}

	f.Fuzz(func(t *testing.T, a, b string) {
		for _, c := range []api.Compare{{How: api.CompareJSON}, {How: api.CompareJSON, Unordered: true},
			{How: api.CompareJSON, Tolerance: 1e-9}} {
			ok, difference, err := judge.Accepts(c, []byte(a), []byte(b))
			if ok && difference != "" || !ok && difference == "" && err == nil || strings.ContainsAny(difference, "\n\x00\x1b") ||
				len(difference) > 1000 {
				t.Errorf("%v, %q, %v", ok, difference, err)
			}
			if c.Unordered || c.Tolerance != 0 {
				continue
			}

			var x, y any
			if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil || strings.ContainsAny(a+b, "eE\\\ufffd") ||
				!utf8.ValidString(a+b) || len(a)+len(b) > 300 || lossy(x) || lossy(y) {
				continue // numbers that float64 does not hold exactly, and bytes that encoding/json replaces
			}
			if same := reflect.DeepEqual(x, y); same != ok {
				t.Errorf("%q and %q: %v, %s; want %v", a, b, ok, difference, same)
			}
		}
	})
}

// lossy reports whether a value has a number that is not an integer which float64 holds exactly.
func lossy(v any) bool {
	switch v := v.(type) {
	case float64:
		return v != math.Trunc(v) || math.Abs(v) > 1<<53 || v == 0 // -0 is 0 here
	case []any:
		for _, e := range v {
			if lossy(e) {
				return true
			}
		}

	case map[string]any:
		for _, e := range v {
			if lossy(e) {
				return true
			}
		}
	}

	return false
}

// GRD-10: an output that changes the order of the members at each level, and is large at the lowest, is not read a
// thousand times. The control is half as deep, and short.
func TestNestedObjectsInAnotherOrder(t *testing.T) {
	nested := func(depth int, first, last string) []byte {
		return []byte(strings.Repeat(first, depth) + `"end"` + strings.Repeat(last, depth))
	}
	c := api.Compare{How: api.CompareJSON}
	expected := nested(900, `{"a":1,"b":`, "}")
	if ok, difference, err := judge.Accepts(c, expected, nested(900, `{"b":`, `,"a":1}`)); !ok {
		t.Error(difference, err)
	}

	large := bytes.Replace(nested(900, `{"b":`, `,"a":1}`), []byte(`"end"`), append(bytes.Repeat([]byte(" "), 4<<20), `"end"`...), 1)
	began := time.Now()
	ok, difference, err := judge.Accepts(c, expected, large)
	if ok || err != nil || !strings.Contains(difference, "nested so deep") {
		t.Errorf("%v, %q, %v", ok, difference, err)
	}
	t.Logf("%d bytes take %v", len(large), time.Since(began))
}

// GRD-10: comparing JSON makes no values: its memory does not grow with the text. Objects whose names are in another
// order get an index of their names.
func TestJSONMakesNoValues(t *testing.T) {
	text := "[" + strings.Repeat(`{"a":[1,2.5,"x"],"b":null},`, 20000) + "0]"
	swapped := "[" + strings.Repeat(`{"b":null,"a":[1.0,25e-1,"\u0078"]},`, 20000) + "0]"
	for _, c := range []api.Compare{{How: api.CompareJSON}, {How: api.CompareJSON, Unordered: true}} {
		if n := testing.AllocsPerRun(1, func() {
			if ok, difference, err := judge.Accepts(c, []byte(text), []byte(text)); !ok {
				t.Error(difference, err)
			}
		}); n > 20 {
			t.Errorf("%+v: %v allocations", c, n)
		}
		if ok, difference, err := judge.Accepts(c, []byte(text), []byte(swapped)); !ok {
			t.Error(difference, err)
		}
	}
}
