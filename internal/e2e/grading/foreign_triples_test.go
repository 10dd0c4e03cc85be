//go:build foreign

package grading

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// A triple is what a checker reads.
type triple struct{ in, out, ans string }

// triples makes the triples of a checker: answers in the form that it expects, and outputs that differ from
// them in one way. They are the same in each run.
func triples(checker string) []triple {
	seed := uint64(0)
	for _, c := range checker {
		seed = seed*31 + uint64(c)
	}

	g := tripleMaker{rand.New(rand.NewPCG(seed, 17))} // the same in each run
	all := make([]triple, triplesOfChecker)
	for i := range all {
		ans := g.answer(checker)
		all[i] = triple{in: fmt.Sprintf("%d\n", i), out: g.changed(ans, i), ans: ans}
		if i%25 == 24 { // an answer that is wrong itself
			all[i].ans = g.changed(ans, 4+g.IntN(9))
		}
	}

	return all
}

type tripleMaker struct{ *rand.Rand }

func (g tripleMaker) answer(checker string) string {
	switch checker {
	case "acmp", "dcmp", "rcmp", "pointscmp", "pointsinfo":
		return g.double() + "\n"
	case "rcmp4", "rcmp6", "rcmp9", "rncmp":
		return g.many(g.double, " ")
	case "icmp":
		return strconv.Itoa(int(g.Int32())-1<<30) + "\n"
	case "hcmp":
		return strings.TrimLeft(g.digits(1+g.IntN(60)), "0") + "1\n"
	case "ncmp", "uncmp":
		return g.many(g.long, " ")
	case "caseicmp":
		return g.cases(func() string { return g.long() })
	case "casencmp":
		return g.cases(func() string { return strings.TrimSpace(g.many(g.long, " ")) })
	case "casewcmp":
		return g.cases(func() string { return strings.TrimSpace(g.many(g.word, " ")) })
	case "yesno":
		return g.yes() + "\n"
	case "nyesno":
		return g.many(g.yes, "\n")
	case "fcmp", "lcmp":
		return g.many(func() string { return strings.TrimSpace(g.many(g.word, " ")) }, "\n")
	}

	return g.many(g.word, " ")
}

func (g tripleMaker) many(one func() string, between string) string {
	var all []string
	for range 1 + g.IntN(8) {
		all = append(all, one())
	}
	return strings.Join(all, between) + "\n"
}

func (g tripleMaker) cases(one func() string) string {
	var b strings.Builder
	for i := range 1 + g.IntN(7) {
		fmt.Fprintf(&b, "Case %d: %s\n", i+1, one())
	}
	return b.String()
}

func (g tripleMaker) yes() string {
	return []string{"YES", "NO", "yes", "No"}[g.IntN(4)]
}

func (g tripleMaker) long() string {
	return strconv.FormatInt(g.Int64()>>g.IntN(63)-g.Int64N(1000), 10)
}

func (g tripleMaker) double() string {
	return strconv.FormatFloat((g.Float64()-0.5)*[]float64{1, 10, 1e6, 1e-3}[g.IntN(4)], 'f', 1+g.IntN(12), 64)
}

func (g tripleMaker) word() string {
	b := make([]byte, 1+g.IntN(8))
	for i := range b {
		b[i] = "abcXYZ0129_-"[g.IntN(12)]
	}
	return string(b)
}

func (g tripleMaker) digits(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('0' + g.IntN(10))
	}
	return string(b)
}

// changed is an output for an answer: the same, or with one change.
func (g tripleMaker) changed(ans string, how int) string {
	words := strings.Fields(ans)
	at := 0
	if len(words) > 0 {
		at = g.IntN(len(words))
	}

	with := func(change func(w string) string) string {
		if len(words) == 0 {
			return ans
		}
		i := strings.Index(ans, words[at])
		return ans[:i] + change(words[at]) + ans[i+len(words[at]):]
	}

	number := func(w string) (float64, bool) {
		f, err := strconv.ParseFloat(w, 64)
		return f, err == nil
	}
	switch how % 17 {
	case 3:
		return strings.ReplaceAll(ans, " ", "  ") + "\n\n"
	case 4:
		return strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(ans), words[len(words)-1])) + "\n"
	case 5:
		return strings.TrimSpace(ans) + " " + words[at] + "\n"
	case 6:
		return with(func(string) string { return "x#1" })
	case 7:
		return ""
	case 8:
		g.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		return strings.Join(words, " ") + "\n"
	case 9:
		return with(func(w string) string {
			if n, err := strconv.ParseInt(w, 10, 64); err == nil {
				return strconv.FormatInt(n+1, 10)
			}
			return w + "1"
		})

	case 10, 11:
		return with(func(w string) string {
			f, ok := number(w)
			if !ok {
				return strings.ToUpper(w)
			}
			e := []float64{1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-9, 1e-10, 1e-12}[g.IntN(8)]
			return strconv.FormatFloat(f*(1+e*(g.Float64()-0.5)*3), 'f', 15, 64)
		})

	case 12:
		return strings.TrimSpace(ans)
	case 13:
		return with(func(string) string {
			return []string{"nan", "inf", "1e999", "0x10", "-0", "1.", ".5", "+1", "00"}[g.IntN(9)]
		})
	case 14:
		return with(func(w string) string { return w + "\x00\xff" })
	case 15:
		return with(func(string) string { return strings.Repeat("9", 100_000) })
	case 16:
		return strings.ReplaceAll(ans, "\n", "\r\n")
	}

	return ans
}
