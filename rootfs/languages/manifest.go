package languages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
)

// A Language is one manifest: the image in which programs of the language run, and the commands
// that compile and run them. Compile and Run may contain placeholders: {source} is the source
// file's name, {stem} the name without its extension, {memory_mib} the stage's memory limit in MiB,
// {heap_mib} the part of it that a managed heap may use, {memory_hex} the memory limit in bytes,
// hexadecimal, {stack_kib} the size in KiB that a stack may have. In Run, {dir} is the directory of
// the artifacts. In Compile, as whole arguments, {sources} stands for all source files, {sources_beside} for
// those in the directory of the main one, and {flags} for the requested flags.
type Manifest struct {
	Name       string
	Aliases    []string
	Version    string   // as users know it
	Image      string   // stored name or digest
	ImageFrom  string   // reference of a registry's image to store under that name; empty: brig has a recipe, or the operator imports one
	Extensions []string // of source files, without the dot
	SourceFile string   // name of the source in /box, unless the request has another
	Needs      []string // paths in the image that the commands rely on

	Compile       []string          // command of the compile stage; empty: there is none
	CompileEnv    map[string]string // over the basic environment, in the compile stage
	CompileLimits api.Limits        // defaults of the compile stage; zero fields are those of CompileDefaults
	Artifacts     []string          // names in /box that the run stage gets; a directory with all below it
	Flags         []string          // the flags that a run may request (CMP-11)
	FlagPatterns  []string          // regular expressions of further flags; one must match the whole flag
	RefusedFlags  map[string]string // why flags that people expect are refused, by the flag or its part before "="
	DefaultFlags  []string          // for a run that requests none
	ReservedStems string            // regular expression: names without extension that mean more to the compiler than a name; empty: none

	Syntax         []string // command that checks a source; an exit code other than 0 means a syntax error
	Run            []string
	Env            map[string]string // over the basic environment
	InteractiveEnv map[string]string // over Env when a person reads the output

	Tier        string // seccomp profile of a run; empty: "default"
	CompileTier string // of the compile stage; empty: "compile"
	Proc        string // "pid", the default: only the run's own processes in /proc; or "full"

	Limits       api.Limits // defaults of a run; zero fields are brig's own
	TimeFactor   float64    // for judge systems that scale a task's time limit; default 1
	MemoryFactor float64    // the same for the memory limit
	OOMExitCode  int        // exit code of the runtime when it lacks memory; 0: it has none
	OOMSays      string     // its stderr output before that, or several texts with | between them; empty: the peak of memory decides

	Packages *Packages // how packages are installed; nil: requirements are refused

	Templates       []Template       // from which runs may begin; the first whose When matches; empty: none
	CompileTemplate *CompileTemplate // from which compile stages may begin; nil: none

	patterns []*regexp.Regexp // FlagPatterns, compiled
	reserved *regexp.Regexp   // ReservedStems, compiled; nil: none
	file     string           // of the manifest, for errors
}

// manifest is the YAML form of a Language.
type yamlManifest struct {
	Name           string            `yaml:"name"`
	Extends        string            `yaml:"extends"`
	Aliases        []string          `yaml:"aliases"`
	Version        string            `yaml:"version"`
	Image          string            `yaml:"image"`
	ImageFrom      string            `yaml:"image_from"`
	Extensions     []string          `yaml:"extensions"`
	SourceFile     string            `yaml:"source_file"`
	Needs          []string          `yaml:"needs"`
	Compile        []string          `yaml:"compile"`
	CompileEnv     map[string]string `yaml:"compile_env"`
	CompileLimits  yaml.Node         `yaml:"compile_limits"`
	Artifacts      []string          `yaml:"artifacts"`
	Flags          []string          `yaml:"flags"`
	FlagPatterns   []string          `yaml:"flag_patterns"`
	RefusedFlags   map[string]string `yaml:"refused_flags"`
	DefaultFlags   []string          `yaml:"default_flags"`
	ReservedStems  string            `yaml:"reserved_stems"`
	Syntax         []string          `yaml:"syntax"`
	Run            []string          `yaml:"run"`
	Env            map[string]string `yaml:"env"`
	InteractiveEnv map[string]string `yaml:"interactive_env"`
	Tier           string            `yaml:"tier"`
	CompileTier    string            `yaml:"compile_tier"`
	Proc           string            `yaml:"proc"`
	Limits         yaml.Node         `yaml:"limits"`
	TimeFactor     *float64          `yaml:"time_factor"`
	MemoryFactor   *float64          `yaml:"memory_factor"`
	OOMExitCode    int               `yaml:"oom_exit_code"`
	OOMSays        string            `yaml:"oom_says"`
	Packages       *yamlPackages     `yaml:"packages"`
	Templates      []yamlTemplate    `yaml:"templates"`

	CompileTemplate *yamlCompileTemplate `yaml:"compile_template"`
}

// parse parses a manifest. file is used only in errors. An error about an existing field names its
// line. A tier that is not in known is refused, unless known is nil.
func parse(file string, text []byte, known []string) (Manifest, error) {
	m, err := decode(file, text)
	if err != nil {
		return Manifest{}, err
	}

	l := Manifest{
		Name: m.Name, Aliases: m.Aliases, Version: m.Version, Image: m.Image, ImageFrom: m.ImageFrom,
		Extensions: m.Extensions,
		SourceFile: m.SourceFile, Needs: m.Needs, Compile: m.Compile, Syntax: m.Syntax, Run: m.Run, Env: m.Env,
		InteractiveEnv: m.InteractiveEnv,
		Tier:           m.Tier, CompileTier: m.CompileTier, Proc: m.Proc, OOMExitCode: m.OOMExitCode, OOMSays: m.OOMSays,
		TimeFactor: factor(m.TimeFactor), MemoryFactor: factor(m.MemoryFactor),
		CompileEnv: m.CompileEnv, Artifacts: m.Artifacts, Flags: m.Flags, FlagPatterns: m.FlagPatterns,
		RefusedFlags: m.RefusedFlags, DefaultFlags: m.DefaultFlags,
		ReservedStems: m.ReservedStems,
	}
	if l.Limits, err = manifestLimits("limits", m.Limits); err == nil {
		l.CompileLimits, err = manifestLimits("compile_limits", m.CompileLimits)
	}
	if err == nil {
		l.patterns, err = flagPatterns(l.FlagPatterns)
	}
	if err == nil && l.ReservedStems != "" {
		if l.reserved, err = regexp.Compile(l.ReservedStems); err != nil {
			err = fieldErrorf("reserved_stems", "reserved_stems: %w", err)
		}
	}
	if err == nil {
		l.Packages, err = packagesOf(m.Packages, known)
	}
	if err == nil {
		l.Templates, err = templatesOf(m.Templates)
	}
	if err == nil {
		l.CompileTemplate, err = compileTemplateOf(m.CompileTemplate, l.Compile)
	}
	if err == nil {
		err = l.check(known)
	}
	if err != nil {
		return Manifest{}, inFile(file, text, err)
	}

	// The defaults follow the checks: compile_tier of a language without compile must be known as not set.
	for _, d := range []struct {
		field *string
		value string
	}{{&l.Tier, "default"}, {&l.CompileTier, "compile"}, {&l.Proc, "pid"}} {
		if *d.field == "" {
			*d.field = d.value
		}
	}

	return l, nil
}

// flagPatterns compiles patterns of flags. Each must begin with a dash, so that no pattern allows a
// file name or a file of options (CMP-11).
func flagPatterns(patterns []string) (all []*regexp.Regexp, err error) {
	for _, p := range patterns {
		if !strings.HasPrefix(p, "-") {
			return nil, valueErrorf("flag_patterns", p, "flag_patterns: %q: begin it with a dash", p)
		}
		r, err := regexp.Compile(`\A(?:` + p + `)\z`)
		if err != nil {
			return nil, valueErrorf("flag_patterns", p, "flag_patterns: %q: %v", p, err)
		}
		all = append(all, r)
	}
	return all, nil
}

func factor(f *float64) float64 {
	if f == nil {
		return 1
	}
	return *f
}

// manifestLimits decodes limits by way of JSON, so that manifests and requests have the same names
// and units.
func manifestLimits(field string, n yaml.Node) (api.Limits, error) {
	var limits api.Limits
	if n.IsZero() {
		return limits, nil
	}

	var fields map[string]any
	err := n.Decode(&fields)
	var text []byte
	if err == nil {
		text, err = json.Marshal(fields)
	}
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		err = d.Decode(&limits)
	}
	if err == nil {
		err = limits.Validate()
	}
	if err != nil {
		return limits, fmt.Errorf("line %d: %s: %w", n.Line, field, err)
	}
	return limits, nil
}

// maxOOMSays limits the length of oom_says, which is searched in the last 4 KiB of stderr.
const maxOOMSays = 100

// A nameRule is the form of a name, and its most bytes. A bound in the expression would take most of a
// millisecond to compile, in every command of brig.
type nameRule struct {
	form    func() *regexp.Regexp
	maximum int
}

// form compiles an expression when it is first needed.
func form(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

func (r nameRule) matches(name string) bool {
	return len(name) <= r.maximum && r.form().MatchString(name)
}

var (
	languageName = nameRule{form(`^[a-z0-9][a-z0-9+#._-]*$`), 32}
	fileName     = nameRule{form(`^[A-Za-z0-9_][A-Za-z0-9._-]*$`), 64}
	// imageReference keeps a reference one plain word of a command; brig rootfs pull parses it.
	imageReference = nameRule{form(`^[A-Za-z0-9][A-Za-z0-9._:/@-]*$`), 512}
	envName        = nameRule{form(`^[A-Za-z_][A-Za-z0-9_]*$`), 128}
)

func (l Manifest) check(tiers []string) error {
	_, digestErr := rootfs.ParseDigest(l.Image)
	switch {
	case !languageName.matches(l.Name):
		return fieldErrorf("name", "name %q: use at most 32 lower-case letters, digits and + # . _ -", l.Name)
	case rootfs.CheckName(l.Image) != nil && digestErr != nil:
		return fieldErrorf("image", "image %q: write a stored image's name or digest", l.Image)
	case l.ImageFrom != "" && (!imageReference.matches(l.ImageFrom) || digestErr == nil):
		return fieldErrorf("image_from",
			"image_from %q: write the reference of a registry's image, such as debian:12, and the name to store it "+
				"under in image", l.ImageFrom)
	case !fileName.matches(l.SourceFile):
		return fieldErrorf("source_file", "source_file %q: write a plain file name such as main.py", l.SourceFile)
	case len(l.Run) == 0 || l.Run[0] == "":
		return fieldErrorf("run", "run is missing: write the command, such as [python3, \"{source}\"]")
	case len(l.Compile) == 0 &&
		!slices.ContainsFunc(l.Run, func(w string) bool { return strings.Contains(w, "{source}") }):
		return fieldErrorf("run",
			"run does not mention {source}, and compile is missing: add {source} where the name of the source belongs")
	case l.Proc != "" && l.Proc != "pid" && l.Proc != "full":
		return fieldErrorf("proc", "proc %q: write pid or full", l.Proc)
	case l.OOMExitCode < 0 || l.OOMExitCode > 255:
		return fieldErrorf("oom_exit_code", "oom_exit_code %d: an exit code is between 0 and 255", l.OOMExitCode)
	case l.OOMSays != "" && l.OOMExitCode == 0:
		return fieldErrorf("oom_says", "oom_says needs oom_exit_code: set both")
	case len(l.OOMSays) > maxOOMSays:
		return fieldErrorf("oom_says", "oom_says has %d bytes: the limit is %d", len(l.OOMSays), maxOOMSays)
	case !(l.TimeFactor > 0 && l.TimeFactor <= 100):
		return fieldErrorf("time_factor", "time_factor %v: use a number above 0 and at most 100", l.TimeFactor)
	case !(l.MemoryFactor > 0 && l.MemoryFactor <= 100):
		return fieldErrorf("memory_factor", "memory_factor %v: use a number above 0 and at most 100", l.MemoryFactor)
	}

	for field, tier := range map[string]string{"tier": l.Tier, "compile_tier": l.CompileTier} {
		if tier != "" && tiers != nil && !slices.Contains(tiers, tier) {
			return fieldErrorf(field, "%s %q does not exist: use one of %s", field, tier, strings.Join(tiers, ", "))
		}
	}

	for field, words := range map[string][]string{"aliases": l.Aliases, "extensions": l.Extensions} {
		for _, word := range words {
			if !languageName.matches(word) {
				return valueErrorf(field, word,
					"%s: %q: use at most 32 lower-case letters, digits and + # . _ -, no leading dot", field, word)
			}
		}
	}

	for field, env := range map[string]map[string]string{"env": l.Env, "interactive_env": l.InteractiveEnv,
		"compile_env": l.CompileEnv} {
		for name, value := range env {
			if !envName.matches(name) || strings.IndexByte(value, 0) >= 0 {
				return valueErrorf(field, name,
					"%s: environment variable %q: use letters, digits and _ in its name, no NUL in its value", field, name)
			}
			if err := checkPlaceholders(field, []string{value}, inlinePlaceholders, nil); err != nil {
				return err
			}
		}
	}

	if err := l.checkNeeds(); err != nil {
		return err
	}
	return l.checkCompile()
}
