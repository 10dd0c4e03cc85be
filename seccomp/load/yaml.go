package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/brig-sandbox/brig/internal/strictyaml"
	"github.com/brig-sandbox/brig/seccomp"
)

// MaxSize is the size of the largest accepted profile file, in bytes.
const MaxSize = 1 << 20

// file is our YAML format.
type file struct {
	Name    string   `yaml:"name"`
	Arch    string   `yaml:"arch"`
	Extends string   `yaml:"extends"` // a tier
	Default *answer  `yaml:"default"`
	Rules   []rule   `yaml:"rules"`  // without extends
	Append  []rule   `yaml:"append"` // with extends
	Remove  []string `yaml:"remove"` // with extends: calls whose inherited rules go away
}

type rule struct {
	Names  []string `yaml:"names"`
	Args   []cond   `yaml:"args"`
	Action string   `yaml:"action"`
	Errno  string   `yaml:"errno"`
	Why    string   `yaml:"why"`
}

type cond struct {
	Arg   *uint   `yaml:"arg"`
	Value *uint64 `yaml:"value"`
	Mask  uint64  `yaml:"mask"`
}

type answer struct {
	Action string `yaml:"action"`
	Errno  string `yaml:"errno"`
}

// YAML reads one profile in our format. name is the file's name, for messages, and the
// profile's name if the file has none. The profile returned passes seccomp.Validate. Errors
// name the line. A warning is for a rule of the file that works but is probably not what the
// author meant, with its line.
func YAML(name string, data []byte) (p seccomp.Profile, warnings []string, err error) {
	p, warnings, err = fromYAML(name, data)
	if err != nil {
		return seccomp.Profile{}, nil, fmt.Errorf("read profile %s: %w", name, err)
	}
	return p, warnings, nil
}

func fromYAML(name string, data []byte) (p seccomp.Profile, warnings []string, err error) {
	if len(data) > MaxSize {
		return p, nil, fmt.Errorf("%d bytes; at most %d", len(data), MaxSize)
	}

	var f file
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&f); err != nil {
		return p, nil, plainError(err, data)
	}
	if err := dec.Decode(new(file)); !errors.Is(err, io.EOF) {
		return p, nil, errors.New("a second document follows; write one profile per file")
	}

	base, err := f.base(name)
	if err != nil {
		return p, nil, err
	}

	lines := ruleLines(data)
	more, err := convert(append(f.Rules, f.Append...), lines)
	if err != nil {
		return p, nil, err
	}

	named := map[string]bool{}
	for _, r := range base.Rules {
		for _, n := range r.Names {
			named[n] = true
		}
	}

	for _, n := range f.Remove {
		if !named[n] {
			return p, nil, fmt.Errorf("remove: tier %s has no rule for %.64q", f.Extends, n)
		}
	}

	p = seccomp.Extend(base, f.Remove, more)
	warnings, err = splitFindings(p, seccomp.LintExtension(base, f.Remove, more), len(p.Rules)-len(more), lines)
	return p, warnings, err
}

// base returns the profile to which the file's rules are added.
func (f file) base(name string) (seccomp.Profile, error) {
	base := seccomp.Profile{Default: seccomp.Fail(seccomp.EPERM)}
	switch {
	case f.Extends != "" && len(f.Rules) > 0:
		return base, errors.New("rules and extends exclude each other: write append, or drop extends")
	case f.Extends == "" && (len(f.Append) > 0 || len(f.Remove) > 0):
		return base, errors.New("append and remove need extends: name a tier, or write rules")
	case f.Extends == "" && f.Default == nil:
		return base, errors.New("default is missing: write for example default: {action: errno, errno: EPERM}")
	case f.Extends != "":
		var err error
		if base, err = seccomp.Tier(f.Extends); err != nil {
			return base, err
		}
	}

	base.Name, base.Arch = f.Name, seccomp.Arch(f.Arch)
	if base.Name == "" {
		base.Name = name
	}
	if f.Default != nil {
		a, err := toAnswer(f.Default.Action, f.Default.Errno)
		if err != nil {
			return base, fmt.Errorf("default: %w", err)
		}
		base.Default = a
	}

	return base, nil
}

func convert(rules []rule, lines []int) ([]seccomp.Rule, error) {
	var out []seccomp.Rule
	for i, r := range rules {
		a, err := toAnswer(r.Action, r.Errno)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at(lines, i), err)
		}
		s := seccomp.Rule{Names: r.Names, Answer: a, Why: r.Why}
		for _, c := range r.Args {
			if c.Arg == nil || c.Value == nil {
				return nil, fmt.Errorf("%s: a condition needs arg and value", at(lines, i))
			}
			s.Args = append(s.Args, seccomp.ArgCond{Index: *c.Arg, Value: *c.Value, Mask: c.Mask})
		}
		out = append(out, s)
	}

	return out, nil
}

func toAnswer(action, errno string) (seccomp.Answer, error) {
	a := seccomp.Answer{Action: seccomp.Action(action)}
	if errno != "" {
		if err := a.Errno.UnmarshalText([]byte(errno)); err != nil {
			return a, err
		}
	}
	return a, nil
}

// splitFindings splits findings into warnings and the errors of seccomp.Validate, with lines:
// the rules of p from first on are those of the file.
func splitFindings(p seccomp.Profile, findings []seccomp.Finding, first int,
	lines []int) (warnings []string, err error) {
	ours := tierReasons()
	var errs []error
	for _, f := range findings {
		text := f.String()
		if f.Rule >= first {
			text = at(lines, f.Rule-first) + ": " + f.Text
		}
		switch {
		case f.Fatal:
			errs = append(errs, errors.New(text))
		case f.Rule < 0 || f.Rule >= first && !ours[p.Rules[f.Rule].Why]:
			warnings = append(warnings, text)
		}
	}

	return warnings, errors.Join(errs...)
}

// tierReasons returns the reasons of the rules of built-in tiers. Some of those rules
// refuse, by name and with a reason to show, calls that the default refuses too. That is
// no cause for a warning, not even in a file to which a tier was exported.
func tierReasons() map[string]bool {
	all := map[string]bool{}
	for _, name := range seccomp.Tiers() {
		if p, err := seccomp.Tier(name); err == nil {
			for _, r := range p.Rules {
				all[r.Why] = true
			}
		}
	}
	return all
}

func at(lines []int, i int) string {
	if i < len(lines) {
		return fmt.Sprintf("line %d", lines[i])
	}
	return fmt.Sprintf("rule %d of the file", i)
}

// ruleLines returns the line of each rule under rules and append, in order. The
// text has been decoded before; a rule that is not found here has no line.
func ruleLines(data []byte) []int {
	var doc yaml.Node
	if yaml.Unmarshal(data, &doc) != nil || len(doc.Content) == 0 {
		return nil
	}

	var out []int
	top := doc.Content[0].Content
	for i := 0; i+1 < len(top); i += 2 {
		if top[i].Value == "rules" || top[i].Value == "append" {
			for _, n := range top[i+1].Content {
				out = append(out, n.Line)
			}
		}
	}

	return out
}

// plainError returns the library's error in the words of the file.
func plainError(err error, data []byte) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty")
	}
	if line := tabIndentedLine(data); line > 0 && strings.Contains(err.Error(), "cannot start any token") {
		return fmt.Errorf("line %d is indented with a tab: YAML allows only spaces", line)
	}
	return errors.New(strings.TrimPrefix(strictyaml.Plain(err).Error(), "yaml: "))
}

// tabIndentedLine returns the number of the first line indented with a tab, from 1; 0 if there
// is none.
func tabIndentedLine(data []byte) int {
	n := 0
	for line := range bytes.Lines(data) {
		n++
		text := bytes.TrimLeft(line, " \t")
		if bytes.Contains(line[:len(line)-len(text)], []byte("\t")) {
			return n
		}
	}
	return 0
}
