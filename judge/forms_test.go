package judge_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
)

// FuzzUnordered compares with sorted lists of lines and of tokens.
func FuzzUnordered(f *testing.F) {
	for _, pair := range [][2]string{{"1 2\n3\n", "3\r\n1   2"}, {"a\x01b c", "c a\x01b"}, {"12345678 9\n\n", "9 12345678"},
		{"\x00\x1f\v\f", " "}, {"123456789012345678 x", "x 123456789012345678"}} {
		f.Add([]byte(pair[0]), []byte(pair[1]))
	}

	words := func(text []byte) []string {
		return strings.FieldsFunc(string(text), func(r rune) bool { return strings.ContainsRune(asciiSpace, r) })
	}
	lines := func(text []byte) (all []string) {
		for _, l := range strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' || r == '\r' }) {
			all = append(all, strings.Join(words([]byte(l)), " "))
		}
		return all
	}

	f.Fuzz(func(t *testing.T, a, b []byte) {
		for how, parts := range map[api.Comparison]func([]byte) []string{api.CompareUnorderedLines: lines, api.CompareUnorderedTokens: words} {
			x, y := parts(a), parts(b)
			slices.Sort(x)
			slices.Sort(y)
			ok, difference, err := judge.Accepts(api.Compare{How: how}, a, b)
			if want := slices.Equal(x, y); ok != want || err != nil || ok != (difference == "") {
				t.Errorf("%s: %q for %q: %v, %s, %v; want %v", how, b, a, ok, difference, err, want)
			}
		}
	})
}

// A value is JSON in no form yet.
type value struct {
	kind     byte     // '[', '{', '"' or 'w'
	forms    []string // how a string or a word may be written; the first is its identity
	names    []string
	elements []value
}

var (
	someNames = []string{"a", "b", "name", "identifier", "a longer name than eight"}
	// Each list has texts that mean the same.
	someWords = [][]string{
		{"1", "1.0", "10e-1", "0.1E1"}, {"12345678", "1.2345678e7"}, {"-7.25", "-725e-2"}, {"0", "-0", "0.0"},
		{"123456789012345678901", "123456789012345678901.0"},
		{"1000", "1e3"}, {"1.0000000000000000000000001", "10000000000000000000000001e-25"}, {"10.5", "1.05e1"}, {"true"}, {"false"}, {"null"},
		{"-Infinity"}, {"12345679"},
	}
	someStrings = [][]string{
		{`"x"`, `"\u0078"`}, {`"é"`, `"\u00e9"`}, {`"a\nb"`, `"\u0061\u000ab"`}, {`"😀"`, `"\ud83d\ude00"`}, {`"\ud83d"`},
		{`"longer than eight"`, `"longer\u0020than eight"`},
		{`""`}, {`"true"`}, {`"\\"`, `"\u005c"`}, {`"1"`},
	}
)

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func randomValue(r *rand.Rand, depth int) value {
	switch n := r.IntN(10); {
	case depth > 0 && n < 3:
		v := value{kind: '['}
		for range r.IntN(5) {
			v.elements = append(v.elements, randomValue(r, depth-1))
		}
		return v

	case depth > 0 && n < 6:
		v := value{kind: '{'}
		for _, name := range someNames[:r.IntN(len(someNames)+1)] {
			v.names, v.elements = append(v.names, name), append(v.elements, randomValue(r, depth-1))
		}
		return v

	case n < 8:
		return value{kind: 'w', forms: pick(r, someWords)}
	}

	return value{kind: '"', forms: pick(r, someStrings)}
}

// identity is the same for equal values, by the plainest means.
func (v value) identity(unordered bool) string {
	if v.forms != nil {
		return v.forms[0]
	}

	var parts []string
	for i, e := range v.elements {
		part := e.identity(unordered)
		if v.kind == '{' {
			part = v.names[i] + ":" + part
		}
		parts = append(parts, part)
	}

	if unordered && v.kind == '[' {
		slices.Sort(parts)
	}
	return fmt.Sprintf("%c%d %q", v.kind, len(parts), parts)
}

// text writes the value in one of its forms; plain: the first one.
func (v value) text(r *rand.Rand, plain, shuffle bool) string {
	space := func() string {
		if plain {
			return ""
		}
		return pick(r, []string{"", "", "", " ", "\n", "\t "})
	}

	if v.forms != nil {
		if plain || r.IntN(3) > 0 {
			return v.forms[0]
		}
		return pick(r, v.forms)
	}

	order := make([]int, len(v.elements))
	for i := range order {
		order[i] = i
	}

	if shuffle && v.kind == '[' || !plain && v.kind == '{' && r.IntN(2) == 0 {
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}

	var parts []string
	for _, i := range order {
		part := v.elements[i].text(r, plain, shuffle)
		if v.kind == '{' {
			part = `"` + v.names[i] + `"` + space() + ":" + space() + part
		}
		parts = append(parts, space()+part+space())
	}

	return string(v.kind) + strings.Join(parts, ",") + string(v.kind+2)
}

// changed is the value with one of its parts replaced.
func (v value) changed(r *rand.Rand) value {
	if len(v.elements) == 0 || r.IntN(4) == 0 {
		return randomValue(r, 1)
	}
	v.elements = slices.Clone(v.elements)
	i := r.IntN(len(v.elements))
	v.elements[i] = v.elements[i].changed(r)
	return v
}

// Random values in random forms are equal exactly if they are the same values.
func TestJSONForms(t *testing.T) {
	equal := 0
	for n := range 30000 {
		r := rand.New(rand.NewPCG(1, uint64(n)))
		a := randomValue(r, 4)
		b := a
		if n%2 == 1 {
			b = a.changed(r)
		}

		for _, unordered := range []bool{false, true} {
			c := api.Compare{How: api.CompareJSON, Unordered: unordered}
			expected, got := a.text(r, r.IntN(2) == 0, false), b.text(r, r.IntN(2) == 0, unordered)
			want := a.identity(unordered) == b.identity(unordered)
			ok, difference, err := judge.Accepts(c, []byte(expected), []byte(got))
			if ok != want || err != nil || ok != (difference == "") {
				t.Fatalf("%d, unordered %v: %s and %s: %v, %s, %v; want %v", n, unordered, expected, got, ok, difference, err, want)
			}
			if want {
				equal++
			}
		}
	}

	t.Logf("%d pairs are equal", equal)
}

// A text that was cut or has a byte changed is accepted only if it is JSON and means the same: what is read
// quickly makes nothing of it that a closer look would not.
func TestBrokenJSONIsNoJSON(t *testing.T) {
	text := `[1,2,3,{"name":"longer than eight","b":-1.5,"c":[true,false,null,12345678]},"",0]`
	for at := range len(text) {
		if ok, _, err := judge.Accepts(api.Compare{How: api.CompareJSON}, []byte(text), []byte(text[:at])); ok || err != nil {
			t.Errorf("%s is accepted: %v", text[:at], err)
		}

		for _, c := range []byte(`0"\,]}[{:- n.`) {
			got := text[:at] + string(c) + text[at+1:]
			if ok, _, err := judge.Accepts(api.Compare{How: api.CompareJSON}, []byte(text), []byte(got)); ok && got != text || err != nil {
				t.Errorf("%s is accepted: %v", got, err)
			}
			ok, _, err := judge.Accepts(api.Compare{How: api.CompareJSON}, []byte(got), []byte(text))
			if ok && got != text {
				t.Errorf("%s is accepted for %s: %v", text, got, err)
			}
		}
	}
}
