package kattis

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/problem/yamlfile"
)

const dataRule = "Test data"

// settings are what test_group.yaml, testdata.yaml and the YAML file of a test say about tests.
type settings struct {
	args, checkArgs []string
	validatorArgs   map[string][]string
}

// data reads the tests and groups below data/.
func (r *reader) data() {
	base := settings{}
	if !r.modern() {
		base.checkArgs = r.flags
	}

	if r.version == current {
		for _, dir := range []string{"data/sample", "data/secret"} {
			r.dir(dir, base)
		}
		if r.p.Scoring {
			r.groups()
		}
	} else {
		root := r.legacySettings("data", base)
		r.legacyDir("data", base, root)
		if r.p.Scoring {
			r.legacyGroups()
		}
	}

	r.extra("data/invalid_input", base, &r.p.InvalidInputs)
	r.extra("data/invalid_output", base, &r.p.InvalidOutputs)
	r.extra("data/valid_output", base, &r.p.ValidOutputs)
	switch {
	case len(r.p.Tests) == 0:
		r.Error("data/secret/", 0, dataRule, "there is no such directory, or no test in it")
	case !r.tree.HasDir("data/secret"):
		r.Warn("data/secret/", 0, dataRule, "there is no such directory, or no test in it: the samples alone count")
	}
}

// dir reads the tests of data/sample or data/secret of 2025-09, or of a group, in lexicographic order.
func (r *reader) dir(dir string, from settings) {
	if m := r.yaml(path.Join(dir, "test_group.yaml"), "Test data configuration"); len(m.Keys()) > 0 {
		from = r.configured(m, from)
		m.Ignore("static_validator_args", "input_visualizer_args", "output_visualizer_args", "full_feedback")
		if m.Has("static_validation_score") {
			m.Fail("static_validation_score", "brig does not support static validators")
		}

		if r.p.Scoring { // groups reads them
			m.Ignore("max_score", "score_aggregation", "require_pass", "static_validation_score")
		} else {
			for _, key := range []string{"max_score", "score_aggregation", "require_pass"} {
				if m.Has(key) {
					m.Fail(key, "%s is only for problems of type scoring", key)
				}
			}
			m.Ignore("static_validation_score")
		}

		r.unknown(m, "Test data configuration", "")
	}

	files, dirs := r.tree.Children(dir)
	for _, name := range merged(files, dirs) {
		if slices.Contains(dirs, name) {
			if !r.filesOfTest(name) {
				r.dir(name, from)
			}
			continue
		}
		r.test(name, from, true)
	}
}

// filesOfTest reports whether a directory has the files of a test. There must be such a test.
func (r *reader) filesOfTest(dir string) bool {
	stem, is := strings.CutSuffix(dir, ".files")
	if is && !r.tree.Has(stem+".in") {
		r.Error(dir+"/", 0, dataRule, "there is no %s.in", path.Base(stem))
	}
	return is
}

// collisions refuses files of tests with the name of a file of an input validator, next to which they are placed, and
// those with the name of a submission's main source, in whose place they would be.
func (r *reader) collisions() {
	of := map[string]string{}
	for _, v := range r.p.Validators {
		for _, file := range v.Files {
			name := path.Base(file)
			if below, is := strings.CutPrefix(file, path.Dir(v.Main)+"/"); is {
				name = below
			}
			of[name] = v.Name
		}
	}

	for _, t := range slices.Concat(r.p.Tests, r.p.InvalidInputs, r.p.InvalidOutputs, r.p.ValidOutputs) {
		for _, name := range slices.Sorted(maps.Keys(t.Files)) {
			if v := of[name]; v != "" {
				r.Error(t.Files[name], 0, "Working directory", "the input validator %s has a file of this name, too", v)
			}
		}
	}

	sources := map[string]string{}
	for _, j := range slices.Backward(r.p.Jury) {
		sources[path.Base(j.Main)] = j.Path
	}

	for _, t := range r.p.Tests {
		for _, name := range slices.Sorted(maps.Keys(t.Files)) {
			if submission := sources[name]; submission != "" {
				r.Error(t.Files[name], 0, "Input",
					"the source of the submission %s has this name, too: rename one of them", submission)
			}
		}
	}
}

// namedValidators gives arguments for one input validator to the validator of that name, with or without the
// ending of its file, and warns of those for one that does not exist.
func (r *reader) namedValidators() {
	named := map[string]string{"": ""}
	for _, v := range slices.Backward(r.p.Validators) {
		named[strings.TrimSuffix(v.Name, path.Ext(v.Name))] = v.Name
	}

	for _, v := range r.p.Validators {
		named[v.Name] = v.Name
	}

	missing := map[string]bool{}
	for _, all := range [][]problem.Test{r.p.Tests, r.p.InvalidInputs, r.p.InvalidOutputs, r.p.ValidOutputs} {
		for i, t := range all {
			args := map[string][]string{}
			for _, name := range slices.Sorted(maps.Keys(t.ValidatorArgs)) {
				full, exists := named[name]
				if !exists && !missing[name] {
					missing[name] = true
					r.Warn(t.Input, 0, dataRule, "its arguments are for the input validator %q, which does not exist", name)
				}
				args[cmp.Or(full, name)] = t.ValidatorArgs[name]
			}
			if t.ValidatorArgs != nil {
				all[i].ValidatorArgs = args
			}
		}
	}
}

// merged are files and directories in the order in which the format uses them: by name without .in.
func merged(files, dirs []string) []string {
	all := slices.Concat(files, dirs)
	slices.SortFunc(all, func(a, b string) int {
		return strings.Compare(strings.TrimSuffix(a, ".in"), strings.TrimSuffix(b, ".in"))
	})
	return all
}

// test adds the test of an input file. Other files belong to a test, or to nothing.
func (r *reader) test(name string, from settings, answer bool) {
	ext := path.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	switch {
	case ext == ".ans" && !r.tree.Has(stem+".in"):
		r.Error(name, 0, dataRule, "there is no %s.in", path.Base(stem))
		return
	case ext != ".in":
		return
	case answer && !r.tree.Has(stem+".ans"):
		r.Error(name, 0, dataRule, "there is no %s.ans", path.Base(stem))
		return
	}

	if r.tree.HasDir(stem+".files") && r.version != current {
		r.Error(stem+".files/", 0, "Input",
			"files for a single test are of the format 2025-09: the package is one of %s", r.version)
	}
	if r.version == current {
		if m := r.yaml(stem+".yaml", "Test case configuration"); len(m.Keys()) > 0 {
			from = r.configured(m, from)
			m.Ignore("input_visualizer_args", "output_visualizer_args", "full_feedback", "hint", "description")
			r.unknown(m, "Test case configuration", "")
		}
	}

	t := problem.Test{ID: strings.TrimPrefix(stem, "data/"), Input: name, Args: from.args, CheckArgs: from.checkArgs,
		ValidatorArgs: from.validatorArgs}
	t.Sample = strings.HasPrefix(t.ID, "sample/")
	for _, file := range r.tree.Below(stem + ".files") {
		if t.Files == nil {
			t.Files = map[string]string{}
		}
		t.Files[strings.TrimPrefix(file, stem+".files/")] = file
	}

	if answer {
		t.Answer = stem + ".ans"
	}

	r.p.Tests = append(r.p.Tests, t)
}

// configured is from with what m says.
func (r *reader) configured(m yamlfile.Map, from settings) settings {
	if m.Has("args") {
		from.args = m.Strings("args")
	}
	if m.Has("output_validator_args") {
		from.checkArgs = m.Strings("output_validator_args")
	}

	if m.IsMap("input_validator_args") {
		from.validatorArgs = map[string][]string{}
		each := m.Sub("input_validator_args")
		for _, name := range each.Keys() {
			from.validatorArgs[name] = each.Strings(name)
		}
	} else if m.Has("input_validator_args") {
		from.validatorArgs = map[string][]string{"": m.Strings("input_validator_args")}
	}

	return from
}

// extra reads the tests of validators.
func (r *reader) extra(dir string, from settings, into *[]problem.Test) {
	before := r.p.Tests
	r.p.Tests = nil
	outputs := !strings.HasSuffix(dir, "invalid_input")
	var walk func(dir string, from settings)
	walk = func(dir string, from settings) {
		if m := r.yaml(path.Join(dir, "test_group.yaml"), "Validation test data"); len(m.Keys()) > 0 {
			from = r.configured(m, from)
		}
		files, dirs := r.tree.Children(dir)
		for _, name := range files {
			r.test(name, from, outputs)
		}
		for _, sub := range dirs {
			if !r.filesOfTest(sub) {
				walk(sub, from)
			}
		}
	}

	walk(dir, from)
	found := r.p.Tests
	r.p.Tests = before
	for i, t := range found {
		if !outputs {
			continue
		}
		found[i].Output = strings.TrimSuffix(t.Input, ".in") + ".out"
		if !r.tree.Has(found[i].Output) {
			r.Error(t.Input, 0, "Validation test data", "there is no %s.out", path.Base(strings.TrimSuffix(t.Input, ".in")))
		}
	}

	*into = found
}

// groups reads how 2025-09 scores: data/secret is a group, and each directory in it with a
// test_group.yaml is one.
func (r *reader) groups() {
	const rule = "Scoring problems"
	m := r.yaml("data/secret/test_group.yaml", "Test data configuration")
	whole := r.group(m, "secret", "sum", 100)
	_, dirs := r.tree.Children("data/secret")
	var groups []problem.Group
	for _, dir := range dirs {
		if file := dir + "/test_group.yaml"; r.tree.Has(file) {
			g := r.group(r.yaml(file, "Test data configuration"), strings.TrimPrefix(dir, "data/"), "pass-fail", 0)
			if g.Points == 0 && g.How == "pass-fail" && !g.zero {
				r.Error(file, 0, rule, "group %s needs a max_score, because it is pass-fail", g.ID)
			}
			if g.Points == 0 && whole.Points > 0 && !g.zero {
				r.Error(file, 0, rule, "group %s needs a max_score, because secret has one", g.ID)
			}
			groups = append(groups, g.Group)
			whole.Groups = append(whole.Groups, g.ID)
		}
	}

	if len(groups) > 0 && len(groups) < len(dirs) {
		r.Error("data/secret/", 0, "Test data groups",
			"every directory in it must be a group, with a test_group.yaml, or none")
	}

	sample := problem.Group{ID: "sample", How: "sum"}
	for _, t := range r.p.Tests {
		if t.Sample {
			r.p.Groups = append(r.p.Groups, sample)
			break
		}
	}

	r.checkRequires(groups, rule)
	r.p.Groups = append(append(r.p.Groups, groups...), whole.Group)
}

// A rawGroup is a group, and whether its points are zero because the package says so.
type rawGroup struct {
	problem.Group
	zero bool
}

func (r *reader) group(m yamlfile.Map, id, how string, points float64) rawGroup {
	g := rawGroup{Group: problem.Group{ID: id, How: how, Points: points, Requires: m.Strings("require_pass")}}
	switch text := m.String("max_score"); text {
	case "":
	case "unbounded":
		g.Points = 0
	default:
		if v, ok := m.Int("max_score", 0); ok {
			g.Points, g.zero = float64(v), v == 0
		}
	}

	if text := m.String("score_aggregation"); text != "" {
		g.How = text
		if !slices.Contains([]string{"pass-fail", "sum", "min"}, text) {
			m.Fail("score_aggregation", "score_aggregation %q does not exist: use pass-fail, sum or min", text)
		}
	}

	return g
}

// checkRequires refuses a group that requires one that does not come before it.
func (r *reader) checkRequires(groups []problem.Group, rule string) {
	known := []string{"sample"}
	for _, g := range groups {
		for _, need := range g.Requires {
			if !slices.Contains(known, need) {
				r.Error("data/"+g.ID+"/test_group.yaml", 0, rule, "require_pass names %q, which is no group before it", need)
			}
		}
		known = append(known, g.ID)
	}
}
