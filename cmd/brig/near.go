package main

import (
	"slices"
	"strings"
)

// nearest gives the word of all that name probably means, as text to put behind a
// message: another word for it, the only one that begins with name, or one that a slip of the
// fingers turns into name. It is empty where none is near.
func nearest(name string, all []string) string {
	if e := elsewhere[name]; slices.Contains(all, e.flag) {
		return ": " + e.text
	}
	best, least := "", 3
	var begin []string
	for _, w := range all {
		if len(name) > 2 && strings.HasPrefix(w, name) {
			begin = append(begin, w)
		}
	}
	for _, w := range all {
		d := distance(name, w)
		switch {
		case w == alsoCalled[name], len(begin) == 1 && w == begin[0]:
			d = 0
		case d >= min(len(w), len(name)), d == 2 && len(name) < 5: // too little in common
			continue
		}
		if d < least {
			best, least = w, d
		}
	}
	if best == "" {
		return ""
	}
	return ": did you mean " + best + "?"
}

// alsoCalled has what other programs call some of the subcommands.
var alsoCalled = map[string]string{"list": "ls", "remove": "rm", "delete": "rm", "new": "create", "add": "import", "--bind": "--listen", "--address": "--listen", "--addr": "--listen"}

// elsewhere has what other programs have a flag for and what is here a part of one.
var elsewhere = map[string]struct{ flag, text string }{
	"--port": {"--listen", "the port is a part of --listen, such as --listen 127.0.0.1:9000"},
}

// distance counts the letters to add, drop, change or swap with the next.
func distance(a, b string) int {
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
