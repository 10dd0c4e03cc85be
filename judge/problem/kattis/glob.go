package kattis

import (
	"errors"
	"path"
	"strings"
)

const maxAlternatives = 1000 // of the braces of one pattern

// braces expands {a,b} in a pattern. The format has * within a name, and braces, but no ** and no [ ].
func braces(pattern string) ([]string, error) {
	if strings.ContainsAny(pattern, "[]\\?") || strings.Contains(pattern, "**") {
		return nil, errors.New("the format has * and {a,b}, but neither **, ? nor [ ]")
	}

	all := []string{""}
	for pattern != "" {
		before, rest, found := strings.Cut(pattern, "{")
		choices := []string{before}
		if found {
			inside, after, closed := strings.Cut(rest, "}")
			if !closed || strings.Contains(inside, "{") {
				return nil, errors.New("a { has no }, or is within another")
			}
			choices = nil
			for choice := range strings.SplitSeq(inside, ",") {
				choices = append(choices, before+choice)
			}
			pattern = after
		} else {
			if strings.Contains(before, "}") {
				return nil, errors.New("a } has no {")
			}
			pattern = ""
		}

		if len(all)*len(choices) > maxAlternatives {
			return nil, errors.New("its braces have too many alternatives")
		}

		var next []string
		for _, a := range all {
			for _, c := range choices {
				next = append(next, a+c)
			}
		}

		all = next
	}

	return all, nil
}

// Match reports whether a pattern of the format matches a name, or a directory that the name is in.
func Match(pattern, name string) bool {
	all, err := braces(pattern)
	if err != nil {
		return false
	}

	for _, one := range all {
		one = strings.TrimSuffix(one, "/")
		for n := name; n != "." && n != "/"; n = path.Dir(n) {
			if ok, err := path.Match(one, n); ok && err == nil {
				return true
			}
		}
	}

	return false
}
