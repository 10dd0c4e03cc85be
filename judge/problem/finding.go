package problem

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Finding is one place where a package breaks a rule of its format.
type Finding struct {
	File    string `json:"file"`           // below the package; a directory ends in "/"
	Line    int    `json:"line,omitempty"` // from 1; zero: the whole file
	Text    string `json:"text"`           // what is wrong
	Rule    string `json:"rule,omitempty"` // part of the format's specification that says so; empty: there is none
	Warning bool   `json:"warning,omitempty"`
}

// String is the finding in one line.
func (f Finding) String() string {
	place := f.File
	if f.Rule == "" { // of names alone
		return place + " " + f.Text
	}
	if f.Line > 0 {
		place += fmt.Sprintf(":%d", f.Line)
	}
	return fmt.Sprintf("%s: %s (%s)", place, f.Text, f.Rule)
}

// Findings collects the places where a package breaks a rule, so that an author sees all of them at
// once.
type Findings struct{ All []Finding }

// Error adds a mistake: the package cannot be used.
func (f *Findings) Error(file string, line int, rule, format string, args ...any) {
	f.All = append(f.All, Finding{File: file, Line: line, Rule: rule, Text: fmt.Sprintf(format, args...)})
}

// Warn adds what is probably a mistake, and does not matter.
func (f *Findings) Warn(file string, line int, rule, format string, args ...any) {
	f.All = append(f.All, Finding{File: file, Line: line, Rule: rule, Text: fmt.Sprintf(format, args...), Warning: true})
}

// maxShown bounds the mistakes in an error.
const maxShown = 20

// Err is the error with all mistakes, a line for each; nil: there is none.
func (f *Findings) Err() error {
	var lines []string
	for _, one := range f.Sorted() {
		if !one.Warning {
			lines = append(lines, one.String())
		}
	}

	if len(lines) == 0 {
		return nil
	}
	if n := len(lines) - maxShown; n > 0 {
		lines = append(lines[:maxShown], fmt.Sprintf("and %d more", n))
	}
	return errors.New(strings.Join(lines, "\n"))
}

// Failed reports whether Err is an error. Readers ask it for each of thousands of tests.
func (f *Findings) Failed() bool {
	return slices.ContainsFunc(f.All, func(one Finding) bool { return !one.Warning })
}

// Warnings are the findings that do not matter.
func (f *Findings) Warnings() []Finding {
	return slices.DeleteFunc(f.Sorted(), func(one Finding) bool { return !one.Warning })
}

// Sorted returns the findings by file and line. A file that is read twice has each mistake once.
func (f *Findings) Sorted() []Finding {
	all := slices.Clone(f.All)
	slices.SortStableFunc(all, func(a, b Finding) int { return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line) })
	return slices.Compact(all)
}
