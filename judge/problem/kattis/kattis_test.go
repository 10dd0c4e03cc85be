package kattis

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/brig-sandbox/brig/judge/problem/problemtest"
)

// Each archive of testdata is a package that shows rules of one version, with what is understood of it,
// or the mistakes in it.
func TestPackages(t *testing.T) { problemtest.Packages(t, Read, 10) }

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"accepted", "accepted/a.py", true}, {"accepted/*", "accepted/a.py", true}, {"accepted/*", "accepted/d/x.py", true},
		{"*", "accepted/a.py", true},
		{"accepted/a", "accepted/a.py", false}, {"*.py", "accepted/a.py", false}, {"accepted/{a,b}.{py,cpp}", "accepted/b.cpp", true},
		{"accepted/{a,b}.{py,cpp}", "accepted/c.cpp", false}, {"secret/*-hard", "secret/1-hard", true},
		{"secret/*-hard", "secret/g/1-hard", false},
		{"secret/group1", "secret/group1/1", true}, {"secret/group1", "secret/group10/1", false}, {"{a", "a", false},
		{"[a]", "a", false}, {"a**", "ab", false},
		{strings.Repeat("{a,b}", 40), "a", false},
	} {
		if got := Match(tt.pattern, tt.name); got != tt.want {
			t.Errorf("Match(%.40q, %q) = %v", tt.pattern, tt.name, got)
		}
	}
}

// No YAML of a stranger makes the reader panic.
func FuzzMetadata(f *testing.F) {
	f.Add("problem_format_version: 2025-09\nname: {en: A, sv: B}\ntype: [scoring, interactive]\nlimits: {time_limit: "+
		"2, time_multipliers: {ac_to_time_limit: 3}}\nconstants: {a: 1, b: {value: 2, tex: x}}\n", "a: &a [*a]\npermitted: *a\n")
	f.Add("a: &a {b: *a}\nlimits: *a\n", "accepted/*: {permitted: [AC], secret/1: {required: [TLE]}}\n")
	f.Fuzz(func(t *testing.T, metadata, submissions string) {
		a := &txtar.Archive{Files: []txtar.File{
			{Name: "problem.yaml", Data: []byte(metadata)}, {Name: "submissions/submissions.yaml", Data: []byte(submissions)},
			{Name: "submissions/accepted/a.py"}, {Name: "data/secret/1.in"}, {Name: "data/secret/1.ans"},
			{Name: "data/secret/test_group.yaml", Data: []byte(submissions)},
		}}
		for i := range a.Files {
			if strings.HasPrefix(string(a.Files[i].Data), "-> ") {
				return
			}
		}
		Read(problemtest.Unpack(t, a))
	})
}
