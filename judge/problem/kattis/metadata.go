package kattis

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/problem/yamlfile"
)

const metadataRule = "Problem metadata"

// metadata reads problem.yaml.
func (r *reader) metadata() {
	r.version = legacy
	m := r.yaml("problem.yaml", metadataRule)
	switch v := m.String("problem_format_version"); v {
	case "":
		r.p.Format = "kattis legacy"
	case legacy, icpc, draft, current:
		r.version, r.p.Format = v, "kattis "+v
	case "draft", "2023-07", "2025-09-draft":
		r.version, r.p.Format = draft, "kattis "+v
	default:
		m.Fail("problem_format_version",
			"version %q of the format does not exist, or is newer than brig: legacy, legacy-icpc, 2023-07-draft and 2025-09 are known", v)
		return
	}

	r.title(m)
	m.Ignore("uuid", "license", "rights_owner", "keywords", "source")
	if r.version == current {
		r.required(m, "name", "uuid")
	}

	if r.modern() {
		m.Ignore("version", "credits", "embargo_until")
		r.types(m)
		r.constants(m)
		if langs := m.Strings("languages"); len(langs) > 0 && !slices.Equal(langs, []string{"all"}) {
			for _, code := range langs {
				r.p.Languages = append(r.p.Languages, brigName(code))
			}
		}
		if m.Bool("allow_file_writing", false) && r.version == current {
			r.Warn(m.File, m.LineOf("allow_file_writing"), "Allow file writing",
				"submissions can always write files in their own directory: brig does not forbid it")
		}
	} else {
		m.Ignore("author", "source_url")
		r.legacyTypes(m)
	}

	if r.version == draft { // keys of both, in packages of the time
		m.Ignore("author", "source_url", "validation", "validator_flags", "grading", "scoring")
	}

	// unknown reports the keys that nothing has read, so it comes last.
	limits := m.Sub("limits")
	r.limits(limits)
	r.unknown(limits, "Limits", " of limits")
	r.unknown(m, metadataRule, "")
}

func (r *reader) required(m yamlfile.Map, keys ...string) {
	for _, key := range keys {
		if !m.Has(key) {
			r.Error(m.File, 0, metadataRule, "key %q is required", key)
		}
	}
}

// title reads the name: a text, or a text for each language.
func (r *reader) title(m yamlfile.Map) {
	if !m.IsMap("name") {
		r.p.Title = m.String("name")
		return
	}
	names := m.Sub("name")
	for _, language := range names.Keys() {
		if text := names.String(language); r.p.Title == "" || language == "en" {
			r.p.Title = text
		}
	}
}

// types reads the type of 2025-09.
func (r *reader) types(m yamlfile.Map) {
	types := m.Strings("type")
	has := func(name string) bool { return slices.Contains(types, name) }
	for i, name := range types {
		if !slices.Contains([]string{"pass-fail", "scoring", "multi-pass", "interactive", "submit-answer"}, name) {
			m.Fail("type", "type %q does not exist: use pass-fail, scoring, multi-pass, interactive or submit-answer", name)
		}
		if slices.Contains(types[:i], name) {
			m.Fail("type", "type %q is given twice", name)
		}
	}

	switch {
	case has("pass-fail") && has("scoring"):
		m.Fail("type", "a problem cannot be both pass-fail and scoring")
	case has("submit-answer") && (has("multi-pass") || has("interactive")):
		m.Fail("type", "submit-answer excludes multi-pass and interactive")
	case has("submit-answer"):
		m.Fail("type", "brig does not support problems of type submit-answer, whose submissions are no programs")
	}

	r.p.Scoring, r.p.Interactive = has("scoring"), has("interactive")
	if has("multi-pass") {
		r.p.Passes = 2
	}
}

// legacyTypes reads type, validation and grading of legacy.
func (r *reader) legacyTypes(m yamlfile.Map) {
	switch kind := m.String("type"); {
	case kind == "scoring" && r.version == legacy:
		r.p.Scoring = true
	case kind != "" && kind != "pass-fail":
		m.Fail("type", "type %q does not exist in %s", kind, r.version)
	}

	words := strings.Fields(m.String("validation"))
	for i, word := range words {
		switch {
		case i == 0 && (word == "default" || word == "custom"):
			r.custom = word == "custom"
		case i > 0 && r.custom && word == "interactive":
			r.p.Interactive = true
		case i > 0 && r.custom && word == "multi-pass": // DOMjudge's word
			r.p.Passes = 2
		case i > 0 && r.custom && word == "score" && r.version == legacy:
			if !r.p.Scoring {
				m.Fail("validation", "score is only for problems of type scoring")
			}
		default:
			m.Fail("validation", "%q: write default, or custom with interactive, multi-pass or score after it", strings.Join(words, " "))
			return
		}
	}

	r.flags = strings.Fields(m.String("validator_flags"))
	g := m.Sub("grading")
	if r.version == legacy {
		r.objMin = g.String("objective") == "min"
		if r.objMin {
			g.Fail("objective", "brig does not support problems where a lower score is better")
		}
		g.Ignore("show_test_data_groups")
		r.unknown(g, "Grading", " of grading")
	}
}

// limits reads the limits of either version.
func (r *reader) limits(m yamlfile.Map) {
	l := &r.p.Limits
	l.Memory, l.Output, l.Code = size(m, "memory", api.MiB), size(m, "output", api.MiB), size(m, "code", api.KiB)
	l.Compile, l.Validation = stage(m, "compilation"), stage(m, "validation")
	if !r.modern() {
		l.Timing = problem.Timing{Accepted: positive(m, "time_multiplier", 0, maxFactor, 5),
			TooSlow: positive(m, "time_safety_margin", 0, maxFactor, 2), Resolution: api.Duration(1e9)}
		r.timeLimitOfTools()
		if r.version == legacy { // older packages say it here
			if v := positive(m, "time_for_AC_submissions", 0, maxTime, 0); v > 0 {
				r.Warn(m.File, m.LineOf("time_for_AC_submissions"), "Limits", "time_for_AC_submissions is ignored")
			}
		}
		if r.p.Passes > 0 {
			r.passes(m)
		}
		return
	}

	x := m.Sub("time_multipliers")
	l.Timing = problem.Timing{Accepted: positive(x, "ac_to_time_limit", 1, maxFactor, 2),
		TooSlow: positive(x, "time_limit_to_tle", 1, maxFactor, 1.5)}
	r.unknown(x, "Problem timing", " of time_multipliers")
	resolution := positive(m, "time_resolution", minResolution, maxTime, 1)
	l.Timing.Resolution = seconds(resolution)
	if v := positive(m, "time_limit", 0, maxTime, 0); v > 0 {
		l.Time = seconds(v)
		if n := v / resolution; math.Abs(n-math.Round(n)) > 1e-9*n {
			m.Fail("time_limit", "time_limit %v is no multiple of time_resolution %v", v, resolution)
		}
	}

	r.passes(m)
	if l.Time == 0 {
		r.timeLimitOfTools()
	}
}

// passes reads how many passes a problem has at most.
func (r *reader) passes(m yamlfile.Map) {
	if v, ok := m.Int("validation_passes", 2); ok {
		switch {
		case r.p.Passes == 0:
			m.Fail("validation_passes", "validation_passes is only for problems of type multi-pass")
		case v > api.MaxPasses:
			m.Fail("validation_passes", "validation_passes is %d: brig runs at most %d passes", v, api.MaxPasses)
		default:
			r.p.Passes = int(v)
		}
	}
}

// The bounds of numbers, so that no limit is more than a duration can be, or zero.
const (
	maxTime       = 3600 // seconds
	minResolution = 1e-6 // seconds
	maxFactor     = 1000
)

// positive is the number of a key that is more than 0, or standard.
func positive(m yamlfile.Map, key string, minimum, maximum, standard float64) float64 {
	v, ok := m.Float(key)
	switch {
	case !ok:
		return standard
	case v <= 0 || v > maximum:
		m.Fail(key, "%s is %v: must be more than 0, and at most %v", key, v, maximum)
		return standard
	case v < minimum:
		m.Fail(key, "%s is %v: must be at least %v", key, v, minimum)
		return standard
	}
	return v
}

func seconds(v float64) api.Duration { return api.Duration(math.Round(v * 1e9)) }

var iniLimit = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^\s*timelimit\s*=\s*['"]?([0-9.]+)['"]?\s*$`)
})

// timeLimitOfTools reads the time limit from the files where tools put it, in the order in which DOMjudge does; that of
// problemtools is the last. What a problem.yaml of 2025-09 says takes precedence.
func (r *reader) timeLimitOfTools() {
	for _, file := range []string{"domjudge-problem.ini", problem.HiddenTimeLimit, "timelimit"} {
		if !r.tree.Has(file) {
			continue
		}

		text, err := r.tree.Read(file, maxYAML)
		if err != nil {
			r.Error(file, 0, "Limits", "%v", err)
			continue
		}

		number := strings.TrimSpace(string(text))
		if file == "domjudge-problem.ini" {
			found := iniLimit().FindStringSubmatch(number)
			if found == nil {
				continue
			}
			number = found[1]
		}

		v, err := strconv.ParseFloat(number, 64)
		if err != nil || v <= 0 || v > 3600 {
			r.Error(file, 0, "Limits", "the time limit %q is no number of seconds", number)
			continue
		}

		r.p.Limits.Time = seconds(v)
		return
	}
}

var constantName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`) })

// constants reads the constants of 2025-09.
func (r *reader) constants(m yamlfile.Map) {
	all := m.Sub("constants")
	for _, name := range all.Keys() {
		if !constantName().MatchString(name) {
			all.Fail(name, "constant %q: its name must be of letters, digits and underscores", name)
			continue
		}
		if r.p.Constants == nil {
			r.p.Constants = map[string]string{}
		}
		if !all.IsMap(name) {
			r.p.Constants[name] = all.String(name)
			continue
		}

		variants := all.Sub(name)
		if !variants.Has("value") {
			all.Fail(name, "constant %q has no value", name)
		}

		for _, variant := range variants.Keys() {
			text := variants.String(variant)
			r.p.Constants[name+"."+variant] = text
			if variant == "value" {
				r.p.Constants[name] = text
			}
		}
	}
}
