package archtest

import (
	"fmt"
	"go/scanner"
	"go/token"
	"path"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	columns    = 140
	textLength = 60 // so many characters of one literal on a line are a text: a program, a pattern, a doc tag
)

// Lines of Go have at most 140 characters. A line with a text cannot always be broken, and may be longer.
func TestLinesAreShort(t *testing.T) {
	files := 0
	eachFile(t, func(name string, content []byte) {
		if path.Ext(name) != ".go" || isGenerated(content) {
			return
		}
		files++
		for _, line := range longLines(content) {
			t.Errorf("%s:%s: break it after at most %d characters", name, line, columns)
		}
	})

	if files < 500 {
		t.Errorf("only %d files were read: this test looks in the wrong place", files)
	}
}

// The control: the check finds long lines of code, and only those.
func TestLongLinesAreFound(t *testing.T) {
	long := strings.Repeat("word, ", 24)
	for code, want := range map[string]int{
		"var x = f(" + long + ")":                       1,
		"// " + long:                                    1,
		"var x = \"" + long + "\"":                      0,
		"var x = `\nfirst\n" + long + "\nlast`":         0,
		"var x = f(" + long + ", `a\nb`)":               1,
		"var x = f(" + long[:120] + ", \"short\")":      0,
		"x `doc:\"" + strings.Repeat("word ", 40) + "`": 0,
	} {
		if got := longLines([]byte("package p\n" + code + "\n")); len(got) != want {
			t.Errorf("%q: %d found; want %d", code, len(got), want)
		}
	}
}

// longLines returns the number and the beginning of each line that is too long and has no text.
func longLines(content []byte) (found []string) {
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(content))
	var s scanner.Scanner
	s.Init(file, content, nil, 0)
	texts := map[int]bool{}
	for {
		pos, kind, literal := s.Scan()
		if kind == token.EOF {
			break
		}
		if kind != token.STRING {
			continue
		}

		first := file.Line(pos)
		for i, part := range strings.Split(literal, "\n") {
			if utf8.RuneCountInString(part) >= textLength {
				texts[first+i] = true
			}
		}
	}

	for i, line := range strings.Split(string(content), "\n") {
		if utf8.RuneCountInString(line) > columns && !texts[i+1] {
			found = append(found, fmt.Sprintf("%d: %.60s...", i+1, strings.TrimSpace(line)))
		}
	}
	return found
}
