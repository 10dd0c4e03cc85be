package outputs

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/brig-sandbox/brig/api"
)

// A globSet decides which globs of a request match a name, by the rules of path.Match.
//
// The names come from a hostile program, and the globs may come from its accomplice: path.Match for
// each pair takes time in proportion to the product of their lengths (FIO-21). So all globs form
// one automaton that reads a name once. A state is a position in a glob; the set of current states
// is a bit string. With globs bounded by api.MaxGlobBytes a character takes 65 words of it at most.
// A glob without *, ?, [ and \ is looked up in a map.
type globSet struct {
	plain map[string][]int // indexes of the globs that are names

	tokens []globToken // by state; that of an end state matches nothing
	start  globStates
	stars  globStates // states before a *, which persist for each character except /
	ends   []globEnd

	bounds []rune     // the first of each range of characters that all tokens treat alike, from 0
	ascii  [128]int   // range of a character below 128
	masks  [][]uint64 // by range: the tokens that match it; nil: no name had one
}

type globStates []uint64

// A globEnd is the state in which a glob has matched.
type globEnd struct{ state, glob int }

// A globToken matches one character.
type globToken struct {
	in      [][2]rune // from, to
	not     bool      // what is not in them
	literal bool
}

// noRune stands for a byte that is not UTF-8. It matches like U+FFFD, except for literals.
const noRune = utf8.MaxRune + 1

func (t globToken) matches(r rune) bool {
	if r == noRune {
		if t.literal {
			return false
		}
		r = utf8.RuneError
	}
	return slices.ContainsFunc(t.in, func(in [2]rune) bool { return in[0] <= r && r <= in[1] }) != t.not
}

// newGlobSet compiles globs. Its errors are those of path.Match.
func newGlobSet(globs []string) (*globSet, error) {
	s := &globSet{plain: map[string][]int{}}
	var start, stars []int
	for i, g := range globs {
		if _, err := path.Match(g, ""); err != nil {
			return nil, fmt.Errorf("glob %q: %w", g, err)
		}
		if !api.IsPattern(g) {
			s.plain[g] = append(s.plain[g], i)
			continue
		}

		start = append(start, len(s.tokens))
		for g != "" {
			if g[0] == '*' {
				g, stars = g[1:], append(stars, len(s.tokens))
				continue
			}
			var t globToken
			t, g = nextToken(g)
			s.tokens = append(s.tokens, t)
		}

		s.ends = append(s.ends, globEnd{state: len(s.tokens), glob: i})
		s.tokens = append(s.tokens, globToken{})
	}

	if len(s.tokens) == 0 {
		return s, nil // most runs request none
	}

	s.start, s.stars = s.states(start), s.states(stars)
	s.bounds = []rune{0, noRune}
	for _, t := range s.tokens {
		for _, in := range t.in {
			s.bounds = append(s.bounds, in[0], in[1]+1)
		}
	}

	slices.Sort(s.bounds)
	s.bounds = slices.Compact(s.bounds)
	s.masks = make([][]uint64, len(s.bounds))
	for r := range s.ascii {
		s.ascii[r] = s.rangeOf(rune(r))
	}
	return s, nil
}

// nextToken takes the first token off a well-formed glob.
func nextToken(g string) (t globToken, rest string) {
	switch g[0] {
	case '?':
		return globToken{in: [][2]rune{{'/', '/'}}, not: true}, g[1:]
	case '[':
		t.not = g[1] == '^'
		g = strings.TrimPrefix(g[1:], "^")
		for len(t.in) == 0 || g[0] != ']' {
			var in [2]rune
			in[0], g = nextLiteral(g)
			in[1] = in[0]
			if g[0] == '-' {
				in[1], g = nextLiteral(g[1:])
			}
			t.in = append(t.in, in)
		}
		return t, g[1:]
	}

	r, rest := nextLiteral(g)
	return globToken{in: [][2]rune{{r, r}}, literal: true}, rest
}

func nextLiteral(g string) (r rune, rest string) {
	g = strings.TrimPrefix(g, `\`)
	r, n := utf8.DecodeRuneInString(g)
	return r, g[n:]
}

func (s *globSet) states(in []int) globStates {
	all := make(globStates, (len(s.tokens)+63)/64)
	for _, state := range in {
		all[state/64] |= 1 << (state % 64)
	}
	return all
}

func (s *globSet) rangeOf(r rune) int {
	i, found := slices.BinarySearch(s.bounds, r)
	if !found {
		i--
	}
	return i
}

// mask returns the states whose tokens match a character.
func (s *globSet) mask(r rune) []uint64 {
	var i int
	if r < utf8.RuneSelf {
		i = s.ascii[r]
	} else {
		i = s.rangeOf(r)
	}

	if s.masks[i] == nil {
		var in []int
		for state, t := range s.tokens {
			if t.matches(r) {
				in = append(in, state)
			}
		}
		s.masks[i] = s.states(in)
	}

	return s.masks[i]
}

// after returns the states after reading a further part of a name.
func (s *globSet) after(at globStates, part string) globStates {
	if len(at) == 0 {
		return at
	}

	at = slices.Clone(at)
	stars := s.stars[:len(at)]
	for part != "" {
		r, n := utf8.DecodeRuneInString(part)
		if r == utf8.RuneError && n == 1 {
			r = noRune
		}

		part = part[n:]
		mask, stay := s.mask(r)[:len(at)], ^uint64(0)
		if r == '/' {
			stay = 0
		}

		var carry, any uint64
		for i, was := range at {
			if was|carry == 0 {
				continue
			}
			on := was & mask[i]
			now := on<<1 | carry | was&stars[i]&stay
			at[i], carry = now, on>>63
			any |= now
		}

		if any == 0 {
			break
		}
	}

	return at
}

// matched calls found for each glob that matches a whole name, which led to the states at.
func (s *globSet) matched(name string, at globStates, found func(glob int)) {
	for _, i := range s.plain[name] {
		found(i)
	}
	for _, e := range s.ends {
		if at[e.state/64]>>(e.state%64)&1 != 0 {
			found(e.glob)
		}
	}
}
