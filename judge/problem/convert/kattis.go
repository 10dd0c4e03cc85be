package convert

import (
	"crypto/sha256"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/problem/kattis"
)

// kattis writes a package of 2025-09. One that is such a package already is copied.
func (w *writer) kattis() {
	if w.p.Format == "kattis 2025-09" {
		for _, name := range w.tree.Names() {
			w.add(name, content{from: name, executable: w.tree.Executable(name)})
		}
		return
	}
	if w.named() {
		w.lost("submissions %s, and those of the format read stdin and write stdout", w.reads())
	}

	args := w.judge()
	w.metadata()
	w.tests(args)
	w.extra()
	w.programs()
	w.submissions()
}

// yaml adds a file with these keys, in the order of their names.
func (w *writer) yaml(name string, keys map[string]any) {
	if len(keys) == 0 {
		return
	}
	text, err := yaml.Marshal(keys)
	if err != nil {
		w.lost("%s: %v", name, err)
		return
	}
	w.add(name, content{text: text})
}

// metadata writes problem.yaml. The uuid follows from what the package contains.
func (w *writer) metadata() {
	p := w.p
	digest, err := w.tree.Digest()
	if err != nil {
		w.lost("%v", err)
	}

	id := sha256.Sum256([]byte(digest))
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80 // version 8: a hash of one's own
	keys := map[string]any{"problem_format_version": "2025-09",
		"uuid": fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16])}
	keys["name"] = p.Title
	if p.Title == "" {
		keys["name"] = p.Name
	}

	types := []string{"pass-fail"}
	if p.Scoring {
		types[0] = "scoring"
	}
	if p.Interactive {
		types = append(types, "interactive")
	}

	limits := map[string]any{}
	if p.Passes > 0 {
		types = append(types, "multi-pass")
		limits["validation_passes"] = p.Passes
	}

	keys["type"] = types
	if p.Limits.Time > 0 {
		limits["time_limit"] = seconds(p.Limits.Time)
		limits["time_resolution"] = resolution(p.Limits.Time)
	}

	for _, one := range []struct {
		key  string
		size api.Size
		unit api.Size
	}{{"memory", p.Limits.Memory, api.MiB}, {"output", p.Limits.Output, api.MiB}, {"code", p.Limits.Code, api.KiB},
		{"compilation_memory", p.Limits.Compile.Memory, api.MiB}, {"validation_memory", p.Limits.Validation.Memory, api.MiB},
		{"validation_output", p.Limits.Validation.Output, api.MiB}} {
		if one.size > 0 {
			limits[one.key] = int64((one.size + one.unit - 1) / one.unit)
		}
	}

	// The format has whole numbers, also of seconds here. They are rounded up, so that no limit becomes stricter.
	for key, time := range map[string]api.Duration{"compilation_time": p.Limits.Compile.Time,
		"validation_time": p.Limits.Validation.Time} {
		if time > 0 {
			limits[key] = int64(math.Ceil(seconds(time)))
		}
	}

	if t := p.Limits.Timing; t.Accepted >= 1 && t.TooSlow >= 1 {
		limits["time_multipliers"] = map[string]any{"ac_to_time_limit": t.Accepted, "time_limit_to_tle": t.TooSlow}
	}
	if len(limits) > 0 {
		keys["limits"] = limits
	}
	if len(p.Languages) > 0 {
		codes := []string{}
		for _, name := range p.Languages {
			codes = append(codes, kattis.Code(name))
		}
		keys["languages"] = codes
	}
	if len(p.Constants) > 0 {
		w.lost("its constants cannot be written")
	}

	w.yaml("problem.yaml", keys)
}

func seconds(d api.Duration) float64 { return float64(d) / 1e9 }

// resolution is the largest usual step of which a limit is a multiple.
func resolution(limit api.Duration) float64 {
	for _, step := range []int64{1e9, 1e8, 1e7, 1e6} {
		if int64(limit)%step == 0 {
			return float64(step) / 1e9
		}
	}
	return seconds(limit)
}

// judge writes what judges: arguments of the default output validator, which it returns, or a program.
func (w *writer) judge() (args []string) {
	p := w.p
	if p.Checker == nil {
		how := ""
		if p.Compare != nil {
			how = p.Compare.How
		}

		switch api.Comparison(how) {
		case api.CompareKattis:
			return p.Compare.Args
		case api.CompareExact:
			return []string{"case_sensitive", "space_change_sensitive"}
		case api.CompareTokens:
		case "", api.CompareLines, api.CompareWhiteDiff, api.CompareDMOJ:
			w.leftOut("where lines end does not count any more: the default output validator compares words, or all white space")
		default:
			w.lost("the default output validator has nothing like the comparison %s", how)
		}

		return []string{"case_sensitive"}
	}

	if p.Interactor != nil {
		w.lost("the format has no interactor with a checker after it")
		return nil
	}
	if p.Checker.Protocol != string(api.ProtocolKattis) {
		w.lost("%s speaks the protocol %s, and an output validator of the format kattis: it exits with 42 or 43",
			p.Checker.Main, p.Checker.Protocol)
		return nil
	}

	w.sources("output_validator", *p.Checker)
	return nil
}

// allOrNothing reports whether no test can get a part of its points.
func (w *writer) allOrNothing() bool {
	return w.p.Checker == nil ||
		slices.Contains([]string{string(api.ProtocolDMOJ), string(api.ProtocolExit)}, w.p.Checker.Protocol)
}

// tests writes data/sample and data/secret. The groups of the format are the directories of data/secret.
func (w *writer) tests(args []string) {
	groups, of := w.groups()
	settings := map[string]map[string]any{"data/sample": {}, "data/secret": {}}
	if len(args) > 0 {
		settings["data/sample"]["output_validator_args"], settings["data/secret"]["output_validator_args"] = args, args
	}

	dirs, total := map[string]string{}, 0.0
	for i, g := range groups {
		dir := strings.TrimRight(fmt.Sprintf("data/secret/%0*d-%s", len(fmt.Sprint(len(groups))), i+1, plain(g.ID)), "-")
		keys := map[string]any{"max_score": int64(g.Points), "score_aggregation": g.How}
		var requires []string
		for _, id := range g.Requires {
			requires = append(requires, strings.TrimPrefix(dirs[id], "data/"))
		}
		if len(requires) > 0 {
			keys["require_pass"] = requires
		}
		dirs[g.ID], settings[dir] = dir, keys
		total += g.Points
	}

	if len(groups) > 0 {
		settings["data/secret"]["max_score"], settings["data/secret"]["score_aggregation"] = int64(total), "sum"
	}

	samples := map[string]int{}
	for i, t := range w.p.Tests {
		dir, number := "data/secret", i+1
		switch group, ok := of[t.ID]; {
		case ok:
			dir = dirs[group]
		case t.Sample:
			dir = "data/sample"
			samples[dir]++
			number = samples[dir]
		case len(groups) > 0:
			w.lost("test %s is in no group", t.ID)
		}
		w.test(fmt.Sprintf("%s/%0*d", dir, len(fmt.Sprint(len(w.p.Tests))), number), t)
	}

	// The settings alone would make a group without tests.
	if samples["data/sample"] == 0 {
		delete(settings, "data/sample")
	}

	for dir, keys := range settings {
		w.yaml(dir+"/test_group.yaml", keys)
	}
}

// test writes the files of a test, with the arguments that it does not share with all.
func (w *writer) test(name string, t problem.Test) {
	w.add(name+".in", input(t))
	w.add(name+".ans", answer(t))
	w.testFiles(name, t)
	keys := map[string]any{}
	if len(t.Args) > 0 {
		keys["args"] = t.Args
	}

	c := w.p.Compare
	if w.p.Checker != nil && len(t.CheckArgs) > 0 ||
		c != nil && c.How == string(api.CompareKattis) && !slices.Equal(t.CheckArgs, c.Args) {
		keys["output_validator_args"] = t.CheckArgs
	}

	w.yaml(name+".yaml", keys)
}

// testFiles writes the files that a test has of its own.
func (w *writer) testFiles(name string, t problem.Test) {
	for short, file := range t.Files {
		w.add(name+".files/"+short, content{from: file, executable: w.tree.Executable(file)})
	}
}

// groups are the groups that can be written, and the one of each test.
func (w *writer) groups() (groups []problem.Group, of map[string]string) {
	p := w.p
	if !p.Scoring || len(p.Groups) == 0 {
		return nil, nil
	}

	of = map[string]string{}
	written := map[string]problem.Group{}
	all := p.Members()
	for _, g := range p.Groups {
		members := all[g.ID]
		sample := len(members) > 0 && !slices.ContainsFunc(members, func(t problem.Test) bool { return !t.Sample })
		switch {
		case len(g.Groups) > 0:
			if len(members) > 0 || g.How != "sum" && g.How != "" || len(g.Requires) > 0 {
				w.lost("group %s joins groups by %s, and the format only has their sum", g.ID, g.How)
			}
			continue
		case sample && g.Points == 0:
			continue // data/sample is a group of its own
		case len(members) == 0:
			continue
		}

		g.Points = pointsOf(g, len(members))
		if g.How == "min" && w.allOrNothing() || g.Points == 0 {
			g.How = "pass-fail" // which is the same
		}

		switch {
		case !slices.Contains([]string{"sum", "min", "pass-fail"}, g.How):
			w.lost("group %s joins its tests by %s, and the format has sum, min and pass-fail", g.ID, g.How)
		case g.Reject != 0:
			w.lost("group %s gives points for tests that are not accepted", g.ID)
		case g.Passes != "" && g.Passes != string(api.PassAll):
			w.lost("group %s is accepted if %s of its tests are, and in the format if all are", g.ID, g.Passes)
		case g.Stop && g.How == "sum":
			w.lost("group %s stops at a failure, which the format has not", g.ID)
		case g.Points != math.Trunc(g.Points):
			w.lost("group %s has %v points, and the format only has whole ones", g.ID, g.Points)
		}

		for _, id := range g.Requires {
			if other, ok := written[id]; !ok || other.How != "pass-fail" {
				w.lost("group %s requires %s, which is not a group that passes or fails", g.ID, id)
			}
		}

		for _, t := range members {
			of[t.ID] = g.ID
		}

		groups, written[g.ID] = append(groups, g), g
	}

	return groups, of
}

// pointsOf are the points of a group with so many tests.
func pointsOf(g problem.Group, tests int) float64 {
	switch {
	case g.Each == 0:
		return g.Points
	case g.How == "sum" || g.How == "":
		return g.Each * float64(tests)
	}
	return g.Each
}

// extra writes the tests of validators.
func (w *writer) extra() {
	for _, set := range []struct {
		dir   string
		tests []problem.Test
	}{{"data/invalid_input", w.p.InvalidInputs}, {"data/invalid_output", w.p.InvalidOutputs},
		{"data/valid_output", w.p.ValidOutputs}} {
		for i, t := range set.tests {
			name := fmt.Sprintf("%s/%0*d", set.dir, len(fmt.Sprint(len(set.tests))), i+1)
			w.add(name+".in", input(t))
			w.testFiles(name, t)
			if t.Output != "" {
				w.add(name+".ans", answer(t))
				w.add(name+".out", content{from: t.Output})
			}
		}
	}
}

// programs writes the input validators, and the files for submissions.
func (w *writer) programs() {
	for _, v := range w.p.Validators {
		switch {
		case v.Skip != "":
			w.leftOut("the input validator %s is left out: %s", v.Name, v.Skip)
		case v.Protocol == string(api.ProtocolTestlib):
			w.leftOut("the input validator %s is left out: it accepts with exit code 0, and the format wants 42", v.Name)
		default:
			w.sources("input_validators", v)
		}
	}

	for _, in := range w.p.Include {
		if in.Before != "" {
			w.lost("submissions in %s begin with a text of the problem, which the format has not", in.Language)
			continue
		}

		dir := "include/default"
		if in.Language != "" {
			dir = "include/" + kattis.Code(in.Language)
		}

		for _, file := range in.Files {
			name := in.As[file]
			if name == "" {
				name = strings.TrimPrefix(file, in.Dir+"/")
			}
			w.add(path.Join(dir, name), content{from: file, executable: w.tree.Executable(file)})
		}
	}
}
