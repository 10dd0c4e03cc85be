package plan

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/languages"
)

// A Template is the started interpreter from which a run begins: how it is made and how it is tried.
// Runs with the same key begin from the same one.
type Template struct {
	Key   string
	Make  *Run // writes TemplateFile
	Trial *Run // a program that must print TrialOutput; nil: Alike are tried

	// Alike are compile stages, of which each must make the same from it as with the ordinary start.
	Alike []*Run
	Of    string // language and version, for what is said of a difference

	LackSays []string // what a compiler writes that lacks stack or heap

	stack   api.Size // that the run must have; zero: any up to maxStack
	memory  api.Size // the same, if the command names it; zero: any
	threads bool     // it makes threads and descriptors
}

// Lacks reports whether a compiler says in its output that it lacked stack or heap.
func (t *Template) Lacks(outputs ...[]byte) bool {
	return slices.ContainsFunc(outputs, func(out []byte) bool {
		return slices.ContainsFunc(t.LackSays, func(s string) bool { return bytes.Contains(out, []byte(s)) })
	})
}

// A TemplateDriver is a shared object that makes templates, with its digest: each run's key has it, and
// computing it took a tenth of the agent's time for a plan.
type TemplateDriver struct {
	object []byte
	digest [sha256.Size]byte
}

// TemplateDrivers returns the drivers with these shared objects.
func TemplateDrivers(objects map[string][]byte) map[string]TemplateDriver {
	drivers := make(map[string]TemplateDriver, len(objects))
	for kind, object := range objects {
		drivers[kind] = TemplateDriver{object, sha256.Sum256(object)}
	}
	return drivers
}

// Names in /box while a template is made.
const (
	templateDriver = "driver.so"
	TemplateFile   = "template"
	TrialOutput    = "ready\n"
)

// templateLimits are those of the stages that make and try a template. They take only what the image
// needs: nothing of a user's is in them.
func templateLimits() api.Limits {
	return api.Limits{
		Wall: api.Duration(20e9), CPU: api.Duration(20e9), Memory: 768 * api.MiB,
		Scratch: MaxTemplate + api.MiB, Output: 64 * api.KiB,
		Stack: maxStack,
	}
}

// maxStack is the largest stack of a run that begins from a template. The kernel maps libraries below
// the room that the limit leaves for the stack (arch/x86/mm/mmap.c, mmap_base), and in a template they
// stay there.
const maxStack = 64 * api.GiB

// MaxTemplate is the size of the largest template.
const MaxTemplate = 256 * api.MiB

// startVariables are the beginnings of the names of environment variables that decide which file is
// executed, or that the dynamic loader or a library reads before a program's first code.
var startVariables = []string{"PATH", "LD_", "GLIBC_", "MALLOC_", "OMP_", "OPENBLAS_", "GOTO_", "MKL_", "BRIG_"}

// interpreterVariables are those that an interpreter or a library reads when it starts, by the kind of
// template.
var interpreterVariables = map[string][]string{
	"python": {"HOME", "LANG", "LC_", "TZ", "PYTHON", "__PYVENV", "NPY_", "NUMPY_", "NUMEXPR_",
		"PANDAS_", "OPENSSL", "SSL_"},
	"ruby": {"HOME", "LANG", "LC_", "TZ", "RUBY", "GEM", "BUNDLE", "XDG_"},
	"php":  {"HOME", "LANG", "LC_", "TZ", "PHP", "USE_", "ZEND_", "ICU_", "XML", "OPENSSL", "SSL_"},
	"java": {"HOME", "LANG", "LC_", "TZ", "JAVA", "_JAVA", "JDK", "CLASSPATH", "USER"},
	"node": {"HOME", "LANG", "LC_", "TZ", "NODE", "UV_", "OPENSSL", "SSL_", "ICU_"},
}

const coldLimits = "the limit cpus, cpuset, pids, open_files, memory or stack is not one of the template, or " +
	"address_space or data is set"

const coldSizes = "the memory limit is neither the language's nor a power of two from 64M to 1G, or the stack limit is set"

// usualSizes reports whether a run has one of the few pairs of memory and stack limit for which there
// are templates of a command that names them.
func (pl *Planner) usualSizes(lang Language, l api.Limits) bool {
	one := pl.usual(lang).Memory
	if l.Memory >= 64*api.MiB && l.Memory <= api.GiB && l.Memory&(l.Memory-1) == 0 {
		one = l.Memory
	}
	usual := api.Limits{Memory: one}.Over(lang.runStage(false).limits).Over(api.Defaults()).Resolve()
	return l.Memory == usual.Memory && l.Stack == usual.Stack
}

// takes reports whether a run with these limits may begin from the template: otherwise its
// restore would fail, and it would be executed twice (TPL-06). A template has mapped other memory than the
// interpreter maps at its start, and more of it: a limit on what is mapped would leave the program less.
func (t *Template) takes(l api.Limits) bool {
	const minDescriptors = 5         // 0 to 2, the template, and a file of the image that restore maps
	const minPids, minFiles = 32, 64 // enough for the threads and descriptors of every started interpreter
	named := (t.stack == 0 || l.Stack == t.stack) && (t.memory == 0 || l.Memory == t.memory)
	return named && l.AddressSpace == 0 && l.Data == 0 && l.OpenFiles >= minDescriptors && l.Stack <= maxStack &&
		(!t.threads || l.Pids >= minPids && l.OpenFiles >= minFiles)
}

// template decides whether a run begins from a template. If the language has one and the run does not
// begin from it, cold says why.
func (pl *Planner) template(r api.Run, lang Language, image rootfs.Image, p *Run) (_ *Template, cold string, _ error) {
	if len(lang.Templates) == 0 {
		return nil, "", nil
	}
	if cold := pl.cold(r, lang, p); cold != "" {
		return nil, cold, nil
	}

	from, ok := templateFor(r, lang.Manifest)
	if !ok {
		return nil, "the language has no template for this source", nil
	}
	if from.Kind != "loader" {
		if cold := coldInterpreter(r, lang, p, from.Kind); cold != "" {
			return nil, cold, nil
		}
	}

	made := &Template{}
	placeholders := languages.Placeholders{Source: lang.SourceFile}
	switch from.Kind {
	case "ruby": // it notes the size of its stack when it starts
		made.stack = pl.usual(lang).Stack
	case "node", "java": // the command has the sizes of the heap and the stack
		if !pl.usualSizes(lang, p.Limits) {
			return nil, coldSizes, nil
		}
		made.stack, made.memory, made.threads = p.Limits.Stack, p.Limits.Memory, true
		placeholders.Memory, placeholders.Stack = p.Limits.Memory, p.Limits.Stack
	}

	if !made.takes(p.Limits) {
		return nil, coldLimits, nil
	}

	// As defaults, not as a wish: a ceiling below them lowers them, and must not refuse the run.
	ofLanguage := lang.runStage(r.Interactive)
	limits, err := EffectiveLimits(api.Limits{}, "", templateLimits().Over(ofLanguage.limits), pl.Ceiling)
	if err != nil {
		return nil, "", err
	}

	limits.Memory = min(limits.Memory, pl.Memory)
	limits.Stack = cmp.Or(made.stack, limits.Stack)
	stage := &Run{
		ID: p.ID, Stage: api.StageCompile, Mode: p.Mode, Limits: limits, Collect: api.Collect{None: true},
		Cell: cellFor(image, p.Cell.Policy, ofLanguage.fullProc, p.Mode),
	}
	if placeholders.Memory == 0 {
		placeholders.Memory, placeholders.Stack = limits.Memory, limits.Stack
	}

	env := ofLanguage.variables(placeholders, nil)
	stage.Env = env
	stage.Argv = placeholders.Expand(ofLanguage.command, nil)
	trial := *stage
	trial.Files = []api.File{{Name: stage.Argv[len(stage.Argv)-1], Content: []byte(from.Trial)}}
	driver := pl.TemplateDrivers[from.Kind]
	stage.Files = []api.File{{Name: templateDriver, Content: driver.object}}
	switch from.Kind {
	case "ruby": // it has compiled a script when the template is written: an empty one
		stage.Files = append(stage.Files, api.File{Name: lang.SourceFile})
	case "java":
		arguments := api.File{Name: "classes/.main",
			Content: []byte(strings.Join(append(slices.Clone(from.Arguments), "Trial\n"), "\n"))}
		stage.Files = append(stage.Files, arguments)
		trial.Files = []api.File{arguments, {Name: "classes/Trial.class", Content: []byte(from.Trial)}}
	}

	stage.Env = slices.Concat(env,
		[]string{"LD_PRELOAD=/box/" + templateDriver, "BRIG_TEMPLATE=/box/" + TemplateFile,
			"BRIG_TEMPLATE_IMPORT=" + from.Import, "BRIG_TEMPLATE_AFTER=" + from.After})
	made.Key, made.Make, made.Trial = templateKey(stage, driver, from.Trial), stage, &trial
	return made, "", nil
}

// usual are the limits of a run of the language that asks for none.
func (pl *Planner) usual(lang Language) api.Limits {
	return lang.runStage(false).limits.Over(api.Defaults()).CappedBy(pl.Ceiling).Resolve()
}

// cold says why a run cannot begin from a template; empty: it can.
func (pl *Planner) cold(r api.Run, lang Language, p *Run) string {
	usual := pl.usual(lang)
	switch {
	case pl.NoTemplates != "":
		return pl.NoTemplates
	case len(pl.TemplateDrivers) == 0:
		return "templates are switched off on this agent"
	case r.NoTemplate:
		return "the request asks for the ordinary start"
	case r.Source == nil:
		return "the request has a command and no source"
	case r.TTY != nil:
		return "the run has a terminal, which an interpreter looks for at its start"
	case r.Image != "":
		return "the request names an image"
	case len(r.FreeFlags.Run) > 0:
		return "the request has flags of its own for the interpreter"
	case p.Mode != api.Strict:
		return "mode " + string(p.Mode) + " shares nothing between runs"
	case r.WritableRoot:
		return "the root is writable"
	case p.Cell.Policy.Mode == api.Log:
		return "profile mode log reports the calls of the start, too"
	case p.Cell.Policy.Name != lang.Tier || len(r.ProfileRules) > 0:
		return "the profile is not that of the language"
	case p.Network != nil:
		return "the run has a network"
	case p.Packages != nil:
		return "the run has packages"
	case p.Limits.Stack > maxStack || p.Limits.CPUs != usual.CPUs || p.Limits.Cpuset != "":
		return coldLimits
	}

	return coldVariable(r.Env, startVariables)
}

// coldInterpreter says why a run cannot begin from an interpreter that has started; empty: it can.
func coldInterpreter(r api.Run, lang Language, p *Run, kind string) string {
	switch {
	case kind == "java":
		flags := slices.Concat(r.Flags, r.FreeFlags.Compile)
		if i := slices.IndexFunc(flags, func(f string) bool { return f == "-da" || f == "--enable-preview" }); i >= 0 {
			return "the flag " + flags[i] + " is for the start of the machine"
		}
	case p.Source != lang.SourceFile && (kind != "python" || !isNameOfScript(p.Source)):
		return "the source has another name than " + lang.SourceFile
	case kind == "python" && bytes.Contains(r.Source[max(len(r.Source)-65557, 0):], []byte("PK\x05\x06")):
		return "the source may be a zip archive"
	case kind == "python" && len(r.Source) > 1 && r.Source[0] >= 0x80 && r.Source[1] == '\r': // the first bytes of each version's
		return "the source may be compiled code"
	case kind == "python" && standardModule(ownModules(r, lang.SourceFile)) != "":
		return "a file has the name of Python's module " + standardModule(ownModules(r, lang.SourceFile))
	case kind == "ruby" && bytes.Contains(r.Source, []byte("__END__")):
		return "the start of Ruby makes DATA of what follows __END__"
	case kind == "ruby" && hasRubyOptions(r.Source):
		return "the start of Ruby reads options in the first line of the source"
	}

	for _, f := range placedFiles(r) {
		if name := path.Clean(f.name); strings.HasPrefix(name, ".local/") || strings.HasPrefix(name, ".config/") ||
			strings.HasPrefix(name, ".gem") {
			return "the interpreter may read " + name + " when it starts"
		}
	}

	return coldVariable(r.Env, interpreterVariables[kind])
}

// isNameOfScript reports whether python3 takes a file of this name in its working directory for a source, and no
// part of its start depends on the name.
func isNameOfScript(name string) bool {
	return strings.HasSuffix(name, ".py") && !strings.HasPrefix(name, "-") && !strings.Contains(name, "/")
}

// hasRubyOptions reports whether a source may begin with a line such as "#!/usr/bin/ruby -w".
func hasRubyOptions(source []byte) bool {
	line, _, _ := bytes.Cut(source, []byte("\n"))
	return bytes.HasPrefix(line, []byte("#!")) && !bytes.HasSuffix(line, []byte("ruby"))
}

// coldVariable says which variable a start would read whose name begins with one of these.
func coldVariable(env map[string]string, beginnings []string) string {
	for name := range env {
		if slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(name, b) }) {
			return "the start of the interpreter reads the variable " + name
		}
	}
	return ""
}

// Settings is a hash of what a caller decides about the start of a program.
func (p *Run) Settings() string {
	return hashOf(struct {
		Limits    api.Limits
		Argv, Env []string
	}{p.Limits, p.Argv, p.Env})
}

// templateKey is a hash of everything that decides what a template contains. Boot and processor are
// those of the agent, which keeps templates only while it runs.
func templateKey(p *Run, driver TemplateDriver, trial string) string {
	files := [][sha256.Size]byte{driver.digest}
	for _, f := range p.Files {
		if f.Name != templateDriver { // what it loads
			files = append(files, sha256.Sum256([]byte(f.Name)), sha256.Sum256(f.Content))
		}
	}

	return hashOf(struct {
		Tree      ImageTree
		Policy    string
		FullProc  bool
		Argv, Env []string
		Stack     api.Size
		CPUs      float64
		Files     [][sha256.Size]byte
		Trial     string
	}{p.Cell.Key.ImageTree, p.Cell.Key.Policy, p.Cell.Key.FullProc, p.Argv, p.Env, p.Limits.Stack,
		p.Limits.CPUs, files, trial})
}

func hashOf(what any) string {
	text, err := json.Marshal(what)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
