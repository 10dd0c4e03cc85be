// Package suggest finds the word that a user probably means.
package suggest

import "strings"

// Text returns the word of all that name probably means, as text to append to a message: a
// synonym, or else the closest word. It is empty if no word is close.
func Text(name string, all []string) string {
	for _, w := range all {
		if w == synonyms[name] {
			return ": did you mean " + w + "?"
		}
	}
	if best := Closest(name, all); best != "" {
		return ": did you mean " + best + "?"
	}
	return ""
}

// synonyms maps names that other programs use to names of subcommands.
var synonyms = map[string]string{"list": "ls", "remove": "rm", "delete": "rm", "new": "create", "add": "import"}

// Closest returns the word of all that begins with name, if it is the only one, or else the word
// that a typing error turns into name: one edit in words of four letters or more, two in words of
// six or more, since two edits turn almost any short word into another. It is empty if no word is
// close.
func Closest(name string, all []string) string {
	var begin []string
	for _, w := range all {
		if len(name) > 2 && strings.HasPrefix(w, name) {
			begin = append(begin, w)
		}
	}

	if len(begin) == 1 {
		return begin[0]
	}

	best, minimum := "", 3
	for _, w := range all {
		maximum := 0
		switch short := min(len(w), len(name)); {
		case short >= 6:
			maximum = 2
		case short >= 4:
			maximum = 1
		}
		if d := editDistance(name, w); d <= maximum && d < minimum {
			best, minimum = w, d
		}
	}

	return best
}

// editDistance counts the letters to add, drop, change or swap with the next.
func editDistance(a, b string) int {
	a, b = strings.ToLower(a), strings.ToLower(b)
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}

	for j := range d[0] {
		d[0][j] = j
	}

	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			differ := 1
			if a[i-1] == b[j-1] {
				differ = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+differ)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}

	return d[len(a)][len(b)]
}
