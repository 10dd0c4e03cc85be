package judge_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge"
)

// BenchmarkComparisons measures the comparisons on outputs of 16 MB, which differ at their end.
func BenchmarkComparisons(b *testing.B) {
	text, longer, _ := largeOutputs(16 << 20)
	for _, how := range api.CompareExact.Values() {
		expected, got := text, longer
		c := api.Compare{How: how}
		switch how {
		case api.CompareJSON:
			expected = []byte("[" + strings.ReplaceAll(strings.TrimSpace(strings.ReplaceAll(string(text), " ", ",")), "\n", ",") + "]")
			got = append(expected[:len(expected)-1:len(expected)-1], ",1]"...)
		case api.CompareKattis:
			e := 1e-6
			c.Absolute = &e
		}

		b.Run(string(how), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if ok, _, _ := judge.Accepts(c, expected, got); ok {
					b.Fatal("accepted")
				}
			}
		})
	}
}

// turn finds the first member of an object.
var turn = regexp.MustCompile(`^{([^,]*),(.*)}$`)

// BenchmarkInAnotherForm measures those for which equal outputs can be written in many ways, on 16 MB of
// which no line is where it is expected.
func BenchmarkInAnotherForm(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var lines, values, spaced, turned []string
	for size := 0; size < 16<<20; size += len(lines[len(lines)-1]) {
		lines = append(lines, fmt.Sprintf("%d %d word%d\n", r.IntN(1e6), r.IntN(1e9), r.IntN(100)))
		values = append(values, fmt.Sprintf(`{"id":%d,"x":%.6f,"name":"word%d"}`, r.IntN(1e6), r.Float64()*1000, r.IntN(100)))
		turned = append(turned, turn.ReplaceAllString(values[len(values)-1], `{$2,$1}`))
		spaced = append(spaced, strings.NewReplacer(":", ": ", ",", ", ").Replace(values[len(values)-1]))
	}

	text, array := strings.Join(lines, ""), "["+strings.Join(values, ",")+"]"
	r.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
	r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })

	for _, one := range []struct {
		name          string
		c             api.Compare
		expected, got string
	}{
		{"unordered-lines", api.Compare{How: api.CompareUnorderedLines}, text, strings.Join(lines, "")},
		{"unordered-tokens", api.Compare{How: api.CompareUnorderedTokens}, text, strings.Join(lines, "")},
		{"json, the same", api.Compare{How: api.CompareJSON}, array, array},
		{"json, with other spaces", api.Compare{How: api.CompareJSON}, array, "[" + strings.Join(spaced, ",\n") + "]"},
		{"json, names in another order", api.Compare{How: api.CompareJSON}, array, "[" + strings.Join(turned, ",") + "]"},
		{"json, in any order", api.Compare{How: api.CompareJSON, Unordered: true}, array, "[" + strings.Join(values, ",") + "]"},
	} {
		b.Run(one.name, func(b *testing.B) {
			b.SetBytes(int64(len(one.expected)))
			expected, got := []byte(one.expected), []byte(one.got)
			for b.Loop() {
				if ok, difference, err := judge.Accepts(one.c, expected, got); !ok {
					b.Fatal(difference, err)
				}
			}
		})
	}
}
