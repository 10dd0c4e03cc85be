package dmoj

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/judge/problem"
	"github.com/brig-sandbox/brig/judge/problem/yamlfile"
)

const (
	checkerRule   = "Custom checkers"
	nativeRule    = "Native checkers"
	interactRule  = "Native interactive grading"
	signatureRule = "Function signature grading"
)

// judging reads how submissions are judged: by a grader, an interactor or a checker.
func (r *reader) judging() {
	m := r.top
	if name := m.String("custom_judge"); name != "" {
		m.Fail("custom_judge",
			"brig does not run graders in Python with DMOJ's own interface, such as %s: write an interactor with the "+
				"key interactive, or a bridged checker", name)
	}

	switch {
	case m.Has("signature_grader"):
		r.signature(m.Sub("signature_grader"))
		r.checker(m)
	case m.Has("interactive"):
		r.interactor(m.Sub("interactive"))
		m.Ignore("checker")
	default:
		r.checker(m)
	}

	m.Ignore("interactive")
}

// A checker of DMOJ, as a comparison of brig.
type comparison struct {
	how  api.Comparison
	args []string // of the comparison kattis
}

// checker reads the checker of all test cases.
func (r *reader) checker(m yamlfile.Map) {
	name, args := "standard", yamlfile.Map{}
	switch {
	case m.IsMap("checker"):
		both := m.Sub("checker")
		name, args = both.String("name"), both.Sub("args")
		r.unknown(both)
	case m.Has("checker"):
		name = m.String("checker")
	}

	if name == "bridged" {
		r.bridged(args)
		return
	}

	c := comparison{}
	refuse := func(why string) { r.Error(file, m.LineOf("checker"), checkerRule, "checker %q: %s", name, why) }
	switch name {
	case "standard":
		c.how = api.CompareDMOJ
	case "identical":
		c.how = api.CompareExact
		args.Ignore("pe_allowed") // a message
	case "sorted":
		switch args.String("split_on") {
		case "", "lines":
			c.how = api.CompareUnorderedLines
		case "whitespace":
			c.how = api.CompareUnorderedTokens
		default:
			args.Fail("split_on", "split_on is %q: use lines or whitespace", args.String("split_on"))
		}

	case "unordered":
		c.how = api.CompareUnorderedTokens
	case "rstripped":
		if c.how = api.CompareLines; flag(args, "filter_new_line", false) {
			refuse("brig has no comparison for filter_new_line: use standard, or a bridged checker")
		}
	case "floats", "floatsabs", "floatsrel":
		c = r.floats(name, args)
	case "easy", "linecount", "linematches":
		refuse("brig has no such comparison: write a bridged checker")
	default:
		if strings.Contains(name, ".") {
			refuse("brig does not run checkers in Python with DMOJ's own interface: write a bridged checker")
		} else {
			refuse("there is no such checker")
		}
		return
	}

	r.unknown(args)
	r.p.Compare = &problem.Builtin{How: string(c.how), Args: c.args}
}

// floats maps the comparisons of numbers: the word of the package format of Kattis has the same absolute
// and relative errors, and other words must be the same.
func (r *reader) floats(name string, args yamlfile.Map) comparison {
	precision := int64(6)
	if args.Has("precision") {
		precision, _ = args.Int("precision", 0)
	}

	mode := args.String("error_mode")
	switch name {
	case "floatsabs":
		mode = "absolute"
	case "floatsrel":
		mode = "relative"
	}

	option := map[string]string{"": "float_tolerance", "default": "float_tolerance",
		"absolute": "float_absolute_tolerance", "relative": "float_relative_tolerance"}[mode]
	if option == "" {
		args.Fail("error_mode", "error_mode is %q: use default, absolute or relative", mode)
	}
	return comparison{api.CompareKattis, []string{"case_sensitive", option, fmt.Sprintf("1e-%d", min(precision, 300))}}
}

// protocols are the types of bridged checkers and interactors, with brig's names.
var protocols = map[string]api.Protocol{"": api.ProtocolDMOJ, "default": api.ProtocolDMOJ,
	"testlib": api.ProtocolTestlib, "coci": api.ProtocolCOCI, "peg": api.ProtocolPEG}

// protocol reads the type of a bridged checker or interactor; empty: it is none.
func (r *reader) protocol(m yamlfile.Map, rule string) api.Protocol {
	kind := m.String("type")
	p, ok := protocols[kind]
	if !ok {
		r.Error(file, m.LineOf("type"), rule, "type %q does not exist: use default, testlib, coci or peg", kind)
	}
	return p
}

// bridged reads the arguments of a checker that is a program.
func (r *reader) bridged(m yamlfile.Map) {
	p := r.program(m, nativeRule, "the checker")
	protocol := r.protocol(m, nativeRule)
	if p == nil || protocol == "" {
		return
	}
	if text := m.String("args_format_string"); text != "" && protocol == api.ProtocolDMOJ {
		protocol, r.checkArgs = api.ProtocolExit, r.format(m, nativeRule, text)
	} else if text != "" {
		r.Error(file, m.LineOf("args_format_string"), nativeRule,
			"brig supports args_format_string for the type default alone")
	}

	p.Protocol = string(protocol)
	if protocol == api.ProtocolTestlib {
		p.Points = string(api.PointsAbsolute)
	}

	r.p.Checker, r.partial = p, protocol != api.ProtocolDMOJ && protocol != api.ProtocolExit
	r.limits(m, 20)
	m.Ignore("feedback", "cached", "compiler_time_limit")
	r.unknown(m)
}

// format reads arguments with {input_file}, {output_file} and {answer_file} into those of the protocol
// exit. Quotes are as in a shell.
func (r *reader) format(m yamlfile.Map, rule, text string) []string {
	args, err := words(text)
	if err != nil {
		r.Error(file, m.LineOf("args_format_string"), rule, "args_format_string: %v", err)
	}
	names := strings.NewReplacer("{input_file}", "{input}", "{output_file}", "{output}", "{answer_file}",
		"{answer}", "{{", "{", "}}", "}")
	for i := range args {
		args[i] = names.Replace(args[i])
	}
	return args
}

// words splits a text as a shell does.
func words(text string) (all []string, err error) {
	var word strings.Builder
	quote, open := rune(0), false
	escaped := false
	for _, c := range text {
		switch {
		case escaped:
			if quote == '"' && c != '"' && c != '\\' {
				word.WriteByte('\\')
			}
			word.WriteRune(c)
			escaped = false

		case c == '\\' && quote != '\'':
			escaped, open = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, open = c, true
		case quote == 0 && strings.ContainsRune(" \t\r\n", c):
			if open {
				all = append(all, word.String())
			}
			word.Reset()
			open = false

		default:
			word.WriteRune(c)
			open = true
		}
	}

	if quote != 0 || escaped {
		return nil, fmt.Errorf("a quote does not end")
	}
	if open {
		all = append(all, word.String())
	}
	return all, nil
}

// interactor reads the key interactive.
func (r *reader) interactor(m yamlfile.Map) {
	p := r.program(m, interactRule, "the interactor")
	protocol := r.protocol(m, interactRule)
	switch {
	case p == nil || protocol == "":
		return
	case protocol == api.ProtocolPEG:
		r.Error(file, m.LineOf("type"), interactRule,
			"interactors of the type peg do not exist: use default, testlib or coci")
	case m.Has("args_format_string"):
		r.Error(file, m.LineOf("args_format_string"), interactRule, "brig does not support args_format_string of interactors")
	}

	p.Protocol = string(protocol)
	if protocol == api.ProtocolTestlib {
		p.Points = string(api.PointsAbsolute)
	}

	r.p.Checker, r.p.Interactive, r.partial = p, true, protocol != api.ProtocolDMOJ
	r.limits(m, 0)
	m.Ignore("feedback", "unbuffered", "preprocessing_time", "compiler_time_limit", "args_format_string")
	r.unknown(m)
}

// limits reads the limits of a checker or interactor; seconds is what it has if they say nothing, zero: what
// brig gives.
func (r *reader) limits(m yamlfile.Map, seconds float64) {
	if v, ok := m.Float("time_limit"); ok && v > 0 && v <= 3600 {
		seconds = v
	} else if ok {
		m.Fail("time_limit", "time_limit is %v: must be a number of seconds, at most an hour", v)
	}
	r.p.Limits.Validation.Time = api.Duration(seconds * 1e9)
	if v, ok := m.Int("memory_limit", 1); ok {
		r.p.Limits.Validation.Memory = api.Size(v) * api.KiB
	}
}

// program reads the key files of a program, with its language and its flags.
func (r *reader) program(m yamlfile.Map, rule, what string) *problem.Program {
	key := "files"
	if !m.Has(key) && m.Has("source") { // of a validator
		key = "source"
	}

	p := &problem.Program{Flags: m.Strings("flags")}
	sources := 0
	for _, name := range m.Strings(key) {
		clean, ok := r.inside(m, key, name)
		switch {
		case !ok:
			return nil
		case !r.tree.Has(clean):
			m.Fail(key, "%s is %q: there is no such file", key, name)
			return nil
		}

		p.Files = append(p.Files, clean)
		if known := problem.LanguageOf(clean, extensions); known != "" {
			if sources++; p.Main == "" {
				p.Main, p.Name, p.Language = clean, path.Base(clean), known
			}
		}
	}

	language := m.String("lang")
	if language == "" {
		language = m.String("language") // of a validator
	}
	if language != "" && len(p.Files) > 0 {
		p.Language = languageOf(language)
		if p.Main == "" {
			p.Main, p.Name = p.Files[0], path.Base(p.Files[0])
		}
	}

	switch {
	case p.Main == "":
		r.Error(file, m.LineOf(key), rule, "%s has no source in a language that its name says: set files, and lang", what)
		return nil
	case sources > 1 && p.Language != "c" && p.Language != "cpp":
		r.Error(file, m.LineOf(key), rule, "%s has several sources, which only C and C++ may", what)
		return nil
	}

	return p
}

// extensions are those that the format has beyond those of all formats.
var extensions = map[string]string{"pl": "perl"}

// languages are DMOJ's names without the number of a version, with brig's.
var languages = map[string]string{
	"C": "c", "CLANG": "c", "CPP": "cpp", "CLPP": "cpp", "CLANGX": "cpp", "PY": "python", "PYPY": "pypy", "JAVA": "java",
	"KOTLIN": "kotlin", "RUST": "rust",
	"GO": "go", "PAS": "pascal", "RUBY": "ruby", "PERL": "perl", "PHP": "php", "HASK": "haskell", "V8JS": "javascript",
	"NODEJS": "javascript", "MONOCS": "mono", "MONOFS": "fsharp", "MONOVB": "vb",
	"D": "d", "OCAML": "ocaml", "LUA": "lua", "SCALA": "scala", "SWIFT": "swift",
	"F": "fortran", // F95
}

func languageOf(name string) string {
	name = strings.ToUpper(name)
	if name == "PY2" {
		return "python2"
	}
	if known := languages[strings.TrimRight(name, "0123456789")]; known != "" {
		return known
	}
	return strings.ToLower(name)
}

// signature reads the key signature_grader: submissions in C and C++ have functions that an entry calls.
func (r *reader) signature(m yamlfile.Map) {
	entry, header := m.String("entry"), m.String("header")
	if entry == "" || header == "" {
		r.Error(file, r.top.LineOf("signature_grader"), signatureRule, "signature_grader needs entry and header")
		return
	}

	entry, header = r.find(m, "entry", entry), r.find(m, "header", header)
	if entry == "" || header == "" {
		return
	}

	before := fmt.Sprintf("#define SIGNATURE_GRADER\n#include \"%s\"\n", path.Base(header))
	if strings.ContainsAny(path.Base(header), "\"\n\\") {
		m.Fail("header", "the name %q cannot be included", path.Base(header))
	}
	if !flag(m, "allow_main", false) {
		before += "#define main main_of_submission\n"
	}

	r.unknown(m)
	for _, language := range []struct{ name, ext string }{{"cpp", ".cpp"}, {"c", ".c"}} {
		if language.name == "c" && path.Ext(entry) != ".c" {
			continue // it is C++
		}
		as := map[string]string{entry: "signature_entry" + language.ext, header: path.Base(header)}
		r.p.Include = append(r.p.Include,
			problem.Include{Language: language.name, Dir: path.Dir(entry), Files: []string{entry, header}, As: as,
				Before: before + "#line 1\n"})
		r.p.Languages = append(r.p.Languages, language.name)
	}

	slices.Sort(r.p.Languages)
}

// validator reads the program that dmoj-validate runs on each input.
func (r *reader) validator() {
	if !r.top.Has("validator") {
		return
	}

	m := r.top.Sub("validator")
	const rule = "validator"
	p := r.program(m, rule, "the validator")
	if p == nil {
		return
	}

	kind, text := m.String("type"), m.String("args_format_string")
	switch {
	case text != "":
	case kind == "" || kind == "default":
		text = "{batch_no} {case_no}"
	case kind == "testlib":
		text = "--group st{batch_no}"
	default:
		r.Error(file, m.LineOf("type"), rule, "validators of the type %q do not exist: use default or testlib", kind)
		return
	}

	p.Protocol = string(api.ProtocolTestlib) // it accepts with 0
	for i := range r.p.Tests {
		at := r.places[i]
		args, err := words(strings.NewReplacer("{batch_no}", fmt.Sprint(at.batch), "{case_no}",
			fmt.Sprint(at.number)).Replace(text))
		if err != nil {
			r.Error(file, m.LineOf("args_format_string"), rule, "args_format_string: %v", err)
			return
		}
		r.p.Tests[i].ValidatorArgs = map[string][]string{"": args}
	}

	r.p.Validators = []problem.Program{*p}
	m.Ignore("time_limit", "memory_limit", "compiler_time_limit", "read_feedback_from")
	r.unknown(m)
}
