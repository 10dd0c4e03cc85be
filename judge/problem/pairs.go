package problem

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A Pair has the names of the files of one test.
type Pair struct {
	ID     string // what the two names have in common
	Input  string
	Answer string
	Others []string // files that have the name of an answer, too, and are not used
}

// Endings of the two files of a test that have one name otherwise; of several answers the first
// counts.
var (
	inputEndings  = []string{".in", ".inp", ".input"}
	answerEndings = []string{".ans", ".out", ".a", ".output", ".answer", ".expected", ".ok", ".sol"}
)

// Pairs finds the tests among names of files, in the order in which people count: 2 before 10. The
// two files of a test are
//
//   - NAME.in and NAME.ans or NAME.out, or with another usual ending;
//   - NAME and NAME.a;
//   - two names that differ in the words input and output (or in and out, or answer) alone, in the
//     name or in a directory: input1.txt and output1.txt, input/1.txt and output/1.txt, 1/in and 1/out.
//
// unpaired has files that may be the answer of a test that is missing, or something else, such as
// a.out. An input without an answer is an error.
func Pairs(names []string) (pairs []Pair, unpaired []string, err error) {
	left := map[string]bool{}
	for _, name := range names {
		left[name] = true
	}

	pair := func(id, input, answer string) {
		pairs = append(pairs, Pair{ID: id, Input: input, Answer: answer})
		delete(left, input)
		delete(left, answer)
	}

	for _, name := range names {
		ext := path.Ext(name)
		stem := strings.TrimSuffix(name, ext)
		switch {
		case path.Base(name) == ext: // no name, only an ending
		case slices.Contains(inputEndings, ext):
			if i := slices.IndexFunc(answerEndings, func(e string) bool { return left[stem+e] }); i >= 0 && left[name] {
				pair(stem, name, stem+answerEndings[i])
			}
		case ext == ".a" && left[stem] && left[name]:
			pair(stem, stem, name)
		}
	}

	for i, p := range pairs { // a second answer of a test is no other test's
		for _, e := range answerEndings {
			if other := strings.TrimSuffix(p.Input, path.Ext(p.Input)) + e; left[other] {
				pairs[i].Others = append(pairs[i].Others, other)
				delete(left, other)
			}
		}
	}

	more, err := pairsByWords(left)
	if err != nil {
		return nil, nil, err
	}

	for _, p := range more {
		pair(p.ID, p.Input, p.Answer)
	}

	for name := range left {
		ext := path.Ext(name)
		stem := strings.TrimSuffix(name, ext)
		switch role, _, _ := wordKey(name); {
		case slices.Contains(inputEndings, ext):
			return nil, nil, fmt.Errorf("%s has no answer: there is neither %s.ans nor %s.out", name, stem, stem)
		case ext == ".ans":
			return nil, nil, fmt.Errorf("%s has no input: there is no %s.in", name, stem)
		case role == isInput && len(more) > 0:
			return nil, nil, fmt.Errorf("%s has no answer: there is no such file with output in place of input", name)
		case role == isAnswer, ext == ".out":
			unpaired = append(unpaired, name)
		}
	}

	seen := map[string]bool{}
	for i, p := range pairs {
		if seen[p.ID] { // such as 1.in and input1.txt
			pairs[i].ID = p.Input
		}
		seen[pairs[i].ID] = true
	}

	slices.SortFunc(pairs, func(a, b Pair) int { return CompareNumerically(a.ID, b.ID) })
	slices.SortFunc(unpaired, CompareNumerically)
	return pairs, unpaired, nil
}

// NoTests is the error of a place without tests.
func NoTests(where string) error {
	return fmt.Errorf("%s: there are no tests: a test is a NAME.in with a NAME.ans or NAME.out, or inputN.txt with "+
		"outputN.txt, or input/N with output/N", where)
}

// MissingInput says which input is missing next to a file that may be an answer.
func MissingInput(answer string) string {
	if stem, ok := strings.CutSuffix(answer, ".out"); ok {
		return "there is no " + stem + ".in"
	}
	return "it has no input"
}

// What a file is to a test, from its name.
type role int

const (
	isNeither role = iota
	isInput
	isAnswer
)

var (
	word      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z]+`) })
	separator = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[-_. ]*\x00[-_. \x00]*`) })
	roles     = map[string]role{
		"in": isInput, "inp": isInput, "input": isInput, "inputs": isInput, "stdin": isInput,
		"out": isAnswer, "output": isAnswer, "outputs": isAnswer, "ans": isAnswer, "answer": isAnswer, "answers": isAnswer,
		"expected": isAnswer, "stdout": isAnswer,
	}
	dataEndings = []string{"", ".txt", ".dat", ".in", ".inp", ".input", ".out", ".output", ".ans",
		".answer", ".a", ".expected"}
)

// wordKey returns the role of a file by the last word of its name that says one, and a key that is the
// same for the two files of a test: the name with a NUL in place of each such word. id is the key for
// people.
func wordKey(name string) (is role, key, id string) {
	ext := path.Ext(name)
	if !slices.Contains(dataEndings, ext) && strings.Trim(ext, ".0123456789") != "" {
		return isNeither, "", ""
	}
	if ext != ".txt" && ext != ".dat" {
		ext = "" // it says the role, or numbers the test
	}

	key = word().ReplaceAllStringFunc(strings.TrimSuffix(name, ext), func(w string) string {
		r := roles[strings.ToLower(w)]
		if r == isNeither {
			return w
		}
		is = r
		return "\x00"
	})

	key = separator().ReplaceAllString(key, "\x00")
	id = strings.Trim(path.Clean("/"+strings.ReplaceAll(key, "\x00", "")), "/._- ")
	return is, key + ext, id
}

// pairsByWords pairs the files whose names differ in such words alone.
func pairsByWords(left map[string]bool) ([]Pair, error) {
	found := map[string]*Pair{}
	for name := range left {
		is, key, id := wordKey(name)
		if is == isNeither {
			continue
		}
		if found[key] == nil {
			found[key] = &Pair{ID: id}
		}

		place := &found[key].Input
		if is == isAnswer {
			place = &found[key].Answer
		}
		if *place != "" {
			return nil, fmt.Errorf("%s and %s could both belong to one test: rename one of them",
				min(*place, name), max(*place, name))
		}

		*place = name
	}

	var pairs []Pair
	for _, p := range found {
		if p.Input != "" && p.Answer != "" {
			p.ID = cmp.Or(p.ID, strings.TrimSuffix(p.Input, path.Ext(p.Input)), p.Input) // such as .in
			pairs = append(pairs, *p)
		}
	}

	slices.SortFunc(pairs, func(a, b Pair) int { return cmp.Compare(a.Input, b.Input) })
	return pairs, nil
}

// CompareNumerically orders names as people count: 2 before 10.
func CompareNumerically(a, b string) int {
	for a != "" && b != "" {
		n, m := digits(a), digits(b)
		if n == 0 || m == 0 {
			if a[0] != b[0] {
				return cmp.Compare(a[0], b[0])
			}
			a, b = a[1:], b[1:]
			continue
		}

		x, y := strings.TrimLeft(a[:n], "0"), strings.TrimLeft(b[:m], "0")
		if c := cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y)); c != 0 {
			return c
		}

		a, b = a[n:], b[m:]
	}

	return cmp.Compare(len(a), len(b))
}

// digits is the number of digits that a begins with.
func digits(a string) int { return len(a) - len(strings.TrimLeft(a, "0123456789")) }
