package kattis

import (
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/problem/yamlfile"
)

// legacyScore is what testdata.yaml says about scores; it is inherited by the directories below.
type legacyScore struct {
	stop           bool
	accept, reject float64
	maximum        float64 // of range; infinite: there is none
	flags          []string
}

// maxScore is the most points of a test, and of a group.
const maxScore = 1e9

// score is the points of a key, or standard.
func score(m yamlfile.Map, key string, standard float64) float64 {
	v, ok := m.Float(key)
	switch {
	case !ok:
		return standard
	case math.Abs(v) > maxScore:
		m.Fail(key, "%s is %v: must be at most %.0f", key, v, maxScore)
		return standard
	}
	return v
}

// graderFlags are the arguments of the default grader.
var graderFlags = []string{"sum", "avg", "min", "max", "worst_error", "first_error", "always_accept",
	"accept_if_any_accepted", "ignore_sample"}

// legacyNode is a directory below data with its settings.
type legacyNode struct {
	settings
	score legacyScore
}

// legacySettings reads a directory's testdata.yaml; what it does not say is that of the directory above.
func (r *reader) legacySettings(dir string, from settings) legacyNode {
	return r.legacyInherited(dir, legacyNode{from, legacyScore{stop: true, accept: 1, maximum: math.Inf(1)}})
}

func (r *reader) legacyInherited(dir string, n legacyNode) legacyNode {
	const rule = "Test data groups"
	name := path.Join(dir, "testdata.yaml")
	if r.version == draft && r.tree.Has(path.Join(dir, "test_group.yaml")) {
		name = path.Join(dir, "test_group.yaml")
	}

	m := r.yaml(name, rule)
	if len(m.Keys()) == 0 {
		return n
	}

	switch word := m.String("on_reject"); word {
	case "":
	case "break", "continue":
		n.score.stop = word == "break"
	default:
		m.Fail("on_reject", "on_reject %q does not exist: use break or continue", word)
	}

	if m.String("grading") == "custom" {
		m.Fail("grading", "brig does not support custom graders")
	}

	if m.Has("grader_flags") {
		n.score.flags = strings.Fields(m.String("grader_flags"))
		for _, flag := range n.score.flags {
			switch {
			case flag == "ignore_sample" && dir != "data":
				m.Fail("grader_flags", "ignore_sample is only for data/testdata.yaml")
			case !slices.Contains(graderFlags, flag):
				m.Fail("grader_flags", "argument %q of the default grader does not exist", flag)
			}
		}
	}

	n.score.accept, n.score.reject = score(m, "accept_score", n.score.accept), score(m, "reject_score", n.score.reject)
	if words := strings.Fields(m.String("range")); len(words) == 2 {
		high, err := strconv.ParseFloat(strings.TrimPrefix(words[1], "+"), 64)
		low, bad := strconv.ParseFloat(words[0], 64)
		switch {
		case bad != nil || err != nil || math.IsNaN(low) || math.IsNaN(high):
			m.Fail("range", "range %q: write two numbers", strings.Join(words, " "))
		case math.Abs(high) > maxScore && !math.IsInf(high, 1):
			m.Fail("range", "range %q: must end with a number of at most %.0f, or with +inf", strings.Join(words, " "), maxScore)
		default:
			n.score.maximum = high
		}
	} else if len(words) > 0 {
		m.Fail("range", "range %q: write two numbers", strings.Join(words, " "))
	}

	// Those of the nearest directory follow validator_flags of problem.yaml, which every test has.
	if m.IsMap("output_validator_flags") {
		n.checkArgs = slices.Concat(r.flags, strings.Fields(m.Sub("output_validator_flags").String("flags")))
	} else if m.Has("output_validator_flags") {
		n.checkArgs = slices.Concat(r.flags, strings.Fields(m.String("output_validator_flags")))
	}
	if m.IsMap("input_validator_flags") {
		one := m.Sub("input_validator_flags")
		n.validatorArgs = map[string][]string{one.String("name"): strings.Fields(one.String("flags"))}
	} else if m.Has("input_validator_flags") {
		n.validatorArgs = map[string][]string{"": strings.Fields(m.String("input_validator_flags"))}
	}

	r.unknown(m, rule, "")
	return n
}

// legacyDir reads the tests of a directory and those below it.
func (r *reader) legacyDir(dir string, from settings, n legacyNode) {
	files, dirs := r.tree.Children(dir)
	for _, name := range merged(files, dirs) {
		switch {
		case dir == "data" && name != "data/sample" && name != "data/secret":
			// the tests of validators are read elsewhere
		case slices.Contains(dirs, name):
			if !strings.HasSuffix(name, ".files") {
				r.legacyDir(name, from, r.legacyInherited(name, n))
			}
		case path.Ext(name) == ".in", path.Ext(name) == ".ans":
			if path.Ext(name) == ".ans" && r.tree.Has(strings.TrimSuffix(name, ".ans")+".interaction") {
				continue
			}
			r.test(name, n.settings, true)
		}
	}
}

// legacyGroups reads how legacy scores: each directory is a group, scored by the default grader. The
// groups below a directory come before it.
func (r *reader) legacyGroups() {
	root := r.legacySettings("data", settings{})
	var walk func(dir string, n legacyNode) problem.Group
	walk = func(dir string, n legacyNode) problem.Group {
		id := strings.TrimPrefix(dir, "data/")
		g := problem.Group{ID: id, How: "sum", Passes: "all", Stop: n.score.stop, Each: n.score.accept,
			Reject: n.score.reject}
		for _, flag := range n.score.flags {
			switch flag {
			case "sum", "avg", "min", "max":
				g.How = flag
			case "worst_error", "first_error":
				g.Passes = "all"
			case "always_accept":
				g.Passes = "always"
			case "accept_if_any_accepted":
				g.Passes = "any"
			}
		}

		_, dirs := r.tree.Children(dir)
		for _, sub := range dirs {
			if dir == "data" && sub != "data/sample" && sub != "data/secret" ||
				dir == "data" && sub == "data/sample" && slices.Contains(n.score.flags, "ignore_sample") {
				continue
			}
			one := walk(sub, r.legacyInherited(sub, n))
			g.Groups = append(g.Groups, one.ID)
		}

		own := 0
		for _, t := range r.p.Tests {
			if path.Dir(t.ID) == id {
				own++
			}
		}

		// Without a range, the most that a group can give follows from its tests and groups.
		if g.Points = n.score.maximum; math.IsInf(g.Points, 0) {
			g.Points = g.Each
			if g.How == "sum" {
				g.Points = g.Each * float64(own)
				for _, sub := range r.p.Groups {
					if slices.Contains(g.Groups, sub.ID) {
						g.Points += sub.Points
					}
				}
			}
		}

		r.p.Groups = append(r.p.Groups, g)
		return g
	}

	walk("data", root)
}
