package api

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A PackageKind is a kind of package, with its own names, versions and index.
type PackageKind string

// The kinds.
const (
	PythonPackages PackageKind = "python" // as pip and uv install them, from an index of PEP 503
	NPMPackages    PackageKind = "npm"
	GemPackages    PackageKind = "gem"
)

// PackageKinds lists the kinds.
func PackageKinds() []PackageKind { return PackageKind("").Values() }

// The bounds of a list of requirements.
const (
	RequirementsMax   = 64  // entries
	RequirementBytes  = 200 // of one entry
	requirementBounds = 16  // of the version of one package
)

// A Requirement names a package, and bounds its version. It is a name, extras in brackets (python
// alone) and operators with versions, separated by commas: nothing that an installer could take for
// an option, a path or a URL (PKG-07).
type Requirement struct {
	Name     string   // in the kind's normal form
	Extras   []string // sorted
	Versions []VersionBound
}

// A VersionBound is an operator and a version.
type VersionBound struct{ Op, Version string }

// A requirementForm is what requirements of a kind look like.
type requirementForm struct {
	name    *regexp.Regexp
	version *regexp.Regexp
	exact   *regexp.Regexp // of ==, if the installer takes other versions for a choice; nil: version
	ops     []string       // longer ones first
	extras  bool
	example string
}

// requirementForms is made when it is first needed: every command of brig has this package.
var requirementForms = sync.OnceValue(func() map[PackageKind]requirementForm {
	return map[PackageKind]requirementForm{
		PythonPackages: {
			name:    regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$`),
			version: regexp.MustCompile(`^[0-9A-Za-z]+(?:[.!+_-][0-9A-Za-z]+)*(?:\.\*)?$`),
			ops:     []string{"==", "!=", "<=", ">=", "~=", "<", ">"}, extras: true, example: "numpy==2.* or pandas>=2,<3",
		},
		NPMPackages: {
			name:    regexp.MustCompile(`^(?:@[a-z0-9][a-z0-9._-]*/)?[a-z0-9][a-z0-9._-]*$`),
			version: regexp.MustCompile(`^[0-9]+(?:[.+-][0-9A-Za-z]+)*$`),
			exact:   regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$`), // 4 and 4.17 are any 4.x, 4.17.x
			ops:     []string{"==", "<=", ">=", "<", ">", "^", "~"},
			example: "lodash==4.17.21 or express>=4,<5 or @types/node^20",
		},
		GemPackages: {
			name:    regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$`),
			version: regexp.MustCompile(`^[0-9]+(?:[.-][0-9A-Za-z]+)*$`),
			ops:     []string{"==", "!=", "<=", ">=", "~>", "<", ">"}, example: "rake==13.2.1 or rack~>3.0",
		},
	}
})

// ParseRequirement parses an entry of Run.Requirements.
func ParseRequirement(kind PackageKind, entry string) (Requirement, error) {
	form, ok := requirementForms()[kind]
	if !ok {
		return Requirement{}, Refuse(CodeBadRequest, "there are no packages of the kind %.40q", kind)
	}

	bad := func(format string, args ...any) (Requirement, error) {
		return Requirement{}, Refuse(CodeBadRequest,
			"requirement %.80q: %s: write a name and bounds of its version, such as %s", entry,
			fmt.Sprintf(format, args...), form.example)
	}

	if len(entry) > RequirementBytes {
		return bad("it has more than %d bytes", RequirementBytes)
	}

	text := spaces().ReplaceAllString(strings.Trim(entry, " "), "$1")
	for _, c := range text {
		if c <= ' ' || c > '~' {
			return bad("the character %q is not allowed", c)
		}
	}

	end := strings.IndexAny(text, "[=!<>~^")
	if end < 0 {
		end = len(text)
	}

	r := Requirement{Name: text[:end]}
	if !form.name.MatchString(r.Name) {
		return bad("%.80q is no name of a package: options, paths and URLs are not allowed", r.Name)
	}

	text = text[end:]
	if kind == PythonPackages {
		r.Name = normalName(r.Name)
	}

	if inner, ok := strings.CutPrefix(text, "["); ok {
		extras, rest, closed := strings.Cut(inner, "]")
		if !form.extras || !closed {
			return bad("extras in brackets are not understood here")
		}
		for e := range strings.SplitSeq(extras, ",") {
			if !form.name.MatchString(e) {
				return bad("%.80q is no name of an extra", e)
			}
			r.Extras = append(r.Extras, normalName(e))
		}
		slices.Sort(r.Extras)
		r.Extras, text = slices.Compact(r.Extras), rest
	}

	if text == "" {
		return r, nil
	}

	for part := range strings.SplitSeq(text, ",") {
		b, why := form.bound(part)
		if why != "" {
			return bad("%s", why)
		}
		r.Versions = append(r.Versions, b)
	}

	if len(r.Versions) > requirementBounds {
		return bad("its version has more than %d bounds", requirementBounds)
	}

	slices.SortFunc(r.Versions, func(a, b VersionBound) int { return strings.Compare(a.Op+a.Version, b.Op+b.Version) })
	r.Versions = slices.Compact(r.Versions)
	return r, nil
}

// bound parses one operator with its version; why says what is wrong.
func (f requirementForm) bound(text string) (b VersionBound, why string) {
	for _, op := range f.ops {
		if v, ok := strings.CutPrefix(text, op); ok {
			b = VersionBound{op, v}
			break
		}
	}

	switch {
	case b.Op == "":
		return b, fmt.Sprintf("%.80q does not begin with one of %s", text, strings.Join(f.ops, " "))
	case !f.version.MatchString(b.Version):
		return b, fmt.Sprintf("%.80q is no version", b.Version)
	case b.Op == "==" && f.exact != nil && !f.exact.MatchString(b.Version):
		return b, fmt.Sprintf("==%[1]s is not one version: name all three numbers, or write ^%[1]s or ~%[1]s", b.Version)
	case strings.HasSuffix(b.Version, ".*") && b.Op != "==" && b.Op != "!=":
		return b, ".* is for == and != alone"
	}

	return b, ""
}

// spaces are those around operators, commas and brackets, which mean nothing.
var spaces = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(` *([][,=!<>~^]) *`) })

var nameSeparators = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[-_.]+`) })

// normalName is the form in which an index compares names of Python packages (PEP 503).
func normalName(name string) string {
	return strings.ToLower(nameSeparators().ReplaceAllString(name, "-"))
}

// String is the requirement in its normal form, which ParseRequirement reads.
func (r Requirement) String() string {
	var s strings.Builder
	s.WriteString(r.Name)
	if len(r.Extras) > 0 {
		fmt.Fprintf(&s, "[%s]", strings.Join(r.Extras, ","))
	}
	for i, v := range r.Versions {
		if i > 0 {
			s.WriteByte(',')
		}
		s.WriteString(v.Op + v.Version)
	}
	return s.String()
}

// Pinned reports whether the requirement names one version.
func (r Requirement) Pinned() bool {
	return len(r.Versions) == 1 && r.Versions[0].Op == "==" && !strings.HasSuffix(r.Versions[0].Version, ".*")
}

// ForInstaller is the requirement in the words of the kind's installer: a line of pip's requirements
// file, an argument of npm install, or a gem's name and, after a tab, its versions.
func (r Requirement) ForInstaller(kind PackageKind) string {
	var bounds []string
	for _, v := range r.Versions {
		bounds = append(bounds, v.Op+v.Version)
	}

	switch {
	case kind == PythonPackages || len(bounds) == 0:
		return r.String()
	case kind == NPMPackages:
		for i, b := range bounds {
			bounds[i] = strings.TrimPrefix(b, "==")
		}
		return r.Name + "@" + strings.Join(bounds, " ")
	}

	for i, b := range bounds {
		bounds[i] = strings.Replace(b, "==", "=", 1)
	}
	return r.Name + "\t" + strings.Join(bounds, ",")
}

// ParseRequirements parses a list. It sorts the list and leaves out what is there twice.
func ParseRequirements(kind PackageKind, entries []string) ([]Requirement, error) {
	if len(entries) > RequirementsMax {
		return nil, Refuse(CodeBadRequest, "there are %d requirements: the maximum is %d", len(entries), RequirementsMax)
	}

	var all []Requirement
	for _, e := range entries {
		r, err := ParseRequirement(kind, e)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}

	slices.SortFunc(all, func(a, b Requirement) int { return strings.Compare(a.String(), b.String()) })
	return slices.CompactFunc(all, func(a, b Requirement) bool { return a.String() == b.String() }), nil
}

// RequirementsOfFile reads a file of requirements: one a line, with comments after #.
func RequirementsOfFile(text string) (entries []string) {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line != "" {
			entries = append(entries, line)
		}
	}
	return entries
}
