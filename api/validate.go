package api

import (
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// The bounds of a Run that the kernel or brig sets, not the operator.
const (
	MaxArgv     = 4096      // arguments
	MaxEnv      = 3072      // environment variables; a start message holds these, MaxArgv arguments and the language's own variables
	MaxArgBytes = 128 << 10 // arguments and environment together, with their NULs
	MaxFiles    = 4096      // inputs
	maxName     = 255       // NAME_MAX
	maxPath     = 1024
)

// MaxTests is the most tests of one run.
const MaxTests = 16384

const (
	maxTestID     = 256
	maxFlags      = 64
	maxFreeFlag   = 512 // bytes
	keepOutputMax = 16 * MiB
)

// Validate refuses a Run that contradicts itself or that no agent could carry
// out. It knows nothing of ceilings, stored images or languages.
func (r Run) Validate() error {
	for _, check := range []func() error{
		r.validateProgram, r.validateArgs, r.validateFiles, r.Collect.validate, r.validateChoices, r.Limits.Validate,
		r.validateCompile, r.Timeline.validate, r.validateTests, r.validateTestFiles, r.validateJudging, r.validateCalls,
		r.validateSuite, r.validatePackages,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (r Run) validatePackages() error {
	return validateRequirements(r.Language, r.Image, r.Requirements, r.Index)
}

func (r Run) validateProgram() error {
	switch {
	case r.Language == "" && r.Image == "":
		return Refuse(CodeBadRequest, "the run names neither a language nor an image: set one of them")
	case r.Source != nil && r.Language == "":
		return Refuse(CodeBadRequest, "source needs a language to run it")
	case r.Suite != nil: // it has its own command
		return nil
	case r.Source == nil && r.SourceName != "":
		return Refuse(CodeBadRequest,
			"source_name %q is set, but source is not: set source, or leave source_name out", r.SourceName)
	case r.Source == nil && len(r.Argv) == 0 && (r.Image == "" || r.Language != ""): // an image may have a command
		return Refuse(CodeBadRequest, "there is nothing to run: set source, or argv")
	case r.Source == nil && len(r.Argv) > 0 && r.Argv[0] == "":
		return Refuse(CodeBadRequest, "argv[0] is empty: it must name the program")
	case len(r.Flags) > 0 && r.Source == nil:
		return Refuse(CodeBadRequest, "flags are set, but there is no source to compile: set source, or leave flags out")
	case !r.FreeFlags.IsZero() && r.Source == nil:
		return Refuse(CodeBadRequest, "free_flags are set, but there is no source: set source, or leave free_flags out")
	}

	return nil
}

// validateArgs refuses NUL, which ends a C string, in all arguments of execve, and more than the
// kernel and the start message can hold.
func (r Run) validateArgs() error {
	if len(r.Argv) > MaxArgv {
		return Refuse(CodeBadRequest, "argv has %d arguments: the maximum is %d", len(r.Argv), MaxArgv)
	}
	if len(r.Env) > MaxEnv {
		return Refuse(CodeBadRequest, "env has %d variables: the maximum is %d", len(r.Env), MaxEnv)
	}

	total := 0
	for i, a := range r.Argv {
		if strings.ContainsRune(a, 0) {
			return Refuse(CodeBadRequest, "argv[%d] contains a NUL byte", i)
		}
		total += len(a) + 1
	}

	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			return Refuse(CodeBadRequest, "env name %q is empty or contains = or NUL", name)
		case strings.ContainsRune(r.Env[name], 0):
			return Refuse(CodeBadRequest, "env %s contains a NUL byte", name)
		}
		total += len(name) + len(r.Env[name]) + 2
	}

	if total > MaxArgBytes {
		return Refuse(CodeTooLarge, "argv and env are %s together: the maximum is %s; pass large data as a file or on stdin",
			Size(total), Size(MaxArgBytes))
	}
	return nil
}

func (r Run) validateFiles() error {
	if len(r.Files) > MaxFiles {
		return Refuse(CodeBadFile, "%d files: the maximum is %d", len(r.Files), MaxFiles)
	}

	names := make([]string, 0, len(r.Files)+1)
	for _, f := range r.Files {
		if err := f.validate(r.Language == ""); err != nil {
			return err
		}
		names = append(names, f.Name)
	}

	if r.SourceName != "" {
		if err := FileName(r.SourceName); err != nil {
			return err
		}
		names = append(names, r.SourceName)
	}

	slices.Sort(names)
	for i := 1; i < len(names); i++ {
		if names[i] == names[i-1] {
			return Refuse(CodeBadFile, "file %q is given twice", names[i])
		}
	}

	for _, n := range names {
		for dir := path.Dir(n); dir != "." && dir != "/"; dir = path.Dir(dir) {
			if _, clash := slices.BinarySearch(names, dir); clash {
				return Refuse(CodeBadFile, "file %q is also the directory of %q", dir, n)
			}
		}
	}

	return nil
}

// TmpDir begins the name of a file that is placed in /tmp.
const TmpDir = "/tmp/"

// validate refuses a file that cannot be placed. Only a command has links and files in /tmp: what a compiler or a
// template of an interpreter has read must not depend on them.
func (f File) validate(ofCommand bool) error {
	name := f.Name
	if ofCommand {
		name = strings.TrimPrefix(name, TmpDir)
	}
	if err := FileName(name); err != nil {
		return err
	}

	switch {
	case f.Link == "":
		return checkBlob("file "+f.Name, f.Blob, len(f.Content) > 0)
	case !ofCommand:
		return Refuse(CodeBadFile, "file %q is a link, which only files of a run without language may be, and those of no test: send the content", f.Name)
	case len(f.Content) > 0 || f.Blob != "" || f.Executable:
		return Refuse(CodeBadFile, "file %q is a link and has content, a blob or x bits as well: set one of them", f.Name)
	case len(f.Link) > maxPath:
		return Refuse(CodeBadFile, "file %q is a link to a path of %d bytes: the maximum is %d", f.Name, len(f.Link), maxPath)
	case strings.ContainsRune(f.Link, 0) || !utf8.ValidString(f.Link):
		return Refuse(CodeBadFile, "file %q is a link to a path with NUL or bytes that are not UTF-8", f.Name)
	}
	return nil
}

// FileName refuses names that could refer to something else than a file below /box: absolute names,
// empty parts, "." and "..", NUL, parts that are too long, and bytes that are not UTF-8 (FIO-03,
// FIO-12).
func FileName(name string) error {
	bad := func(why string) error {
		return Refuse(CodeBadFile, "file name %q %s: write a name relative to /box, such as data/in.txt", name, why)
	}
	switch {
	case name == "":
		return Refuse(CodeBadFile, "the file name is empty: write a name relative to /box, such as data/in.txt")
	case name[0] == '/':
		return bad("is absolute")
	case len(name) > maxPath:
		return bad("is too long")
	case strings.ContainsRune(name, 0) || !utf8.ValidString(name):
		return bad("contains NUL or bytes that are not UTF-8")
	}

	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "":
			return bad("has an empty part")
		case part == "." || part == "..":
			return bad("has a part " + part)
		case len(part) > maxName:
			return bad("has a part longer than 255 bytes")
		}
	}

	return nil
}

func (c Collect) validate() error {
	switch {
	case c.Files < 0 || c.Files > CollectFilesMax:
		return Refuse(CodeBadFile, "collect.files is %d: must be between 0 and %d", c.Files, CollectFilesMax)
	case c.Bytes < 0 || c.Bytes > CollectBytesMax:
		return Refuse(CodeBadFile, "collect.bytes is %s: the maximum is %s", c.Bytes, CollectBytesMax)
	case c.None && len(c.Globs) > 0:
		return Refuse(CodeBadFile, "collect.none and globs are both set: set one of them")
	case c.None && c.Blobs:
		return Refuse(CodeBadFile, "collect.none and blobs are both set: set one of them")
	case len(c.Globs) > CollectFiles:
		return Refuse(CodeBadFile, "collect has %d globs: the maximum is %d", len(c.Globs), CollectFiles)
	}

	patterns := 0
	for _, g := range c.Globs {
		if _, err := path.Match(g, "x"); err != nil {
			return Refuse(CodeBadFile, "collect glob %q: %w", g, err)
		}
		if err := FileName(g); err != nil {
			return err
		}
		if IsPattern(g) {
			patterns += len(g)
		}
	}

	if patterns > MaxGlobBytes {
		return Refuse(CodeBadFile,
			"the globs of collect with *, ?, [ or \\ have %d bytes in total: the maximum is %d; use fewer or shorter "+
				"ones, or plain names, which do not count", patterns, MaxGlobBytes)
	}
	return nil
}

// RefuseBlobs refuses blobs of a run that any agent may execute: nobody would know whose they are.
func (c Collect) RefuseBlobs() error {
	if !c.Blobs {
		return nil
	}
	return Refuse(CodeBadRequest, "collect.blobs is set in a job of a batch: the files of a job are in its result; leave it out")
}

// IsPattern reports whether a glob may match a name other than its own text.
func IsPattern(glob string) bool { return strings.ContainsAny(glob, `*?[\`) }

func (r Run) validateChoices() error {
	if _, err := Preset(r.Preset); err != nil {
		return err
	}
	if err := validateNetwork(r.Network, r.Allow); err != nil {
		return err
	}

	if err := r.validateTTY(); err != nil {
		return err
	}

	switch {
	case r.WorkdirAlias != "" && !slices.Contains(WorkdirAliases(), r.WorkdirAlias):
		return Refuse(CodeBadRequest, "workdir_alias %.80q is not offered: use %s, or leave it out", r.WorkdirAlias,
			strings.Join(WorkdirAliases(), ", "))
	case r.Mode != "" && !slices.Contains(RunModes(), r.Mode):
		return Refuse(CodeBadRequest, "mode %q does not exist: use strict, fresh or exclusive", r.Mode)
	case r.MergeStderr && r.Interactor != nil:
		return Refuse(CodeBadRequest, "merge_stderr: the stdout of a program with an interactor goes to the interactor: leave it out")
	case r.MergeStderr && (r.Suite != nil || r.CallsFunctions()):
		return Refuse(CodeBadRequest, "merge_stderr: brig reads a report in the output of unit tests and called functions: leave it out")
	case r.ProfileMode != "" && r.ProfileMode != Enforce && r.ProfileMode != Log:
		return Refuse(CodeBadRequest, "profile mode %q does not exist: use enforce or log", r.ProfileMode)
	case r.Profile != "" && len(r.ProfileRules) > 0:
		return Refuse(CodeBadRequest, "the run sets both profile %q and profile_rules: set one of them", r.Profile)
	case len(r.Language) > 256 || len(r.Image) > 256:
		return Refuse(CodeBadRequest, "the name of the language or image is over 256 bytes: no such name exists")
	}

	return r.Labels.Validate()
}

func (r Run) validateCompile() error {
	if len(r.Flags) > maxFlags {
		return Refuse(CodeBadRequest, "%d flags: the maximum is %d", len(r.Flags), maxFlags)
	}
	if err := r.FreeFlags.validate(); err != nil {
		return err
	}
	if r.CompileLimits != (Limits{}) && r.Source == nil {
		return Refuse(CodeBadRequest, "compile_limits are set, and there is no source to compile")
	}
	return r.CompileLimits.Validate()
}

func (r Run) validateTests() error {
	if err := checkBlob("stdin", r.StdinBlob, len(r.Stdin) > 0); err != nil {
		return err
	}
	if err := r.Compare.Validate(); err != nil {
		return err
	}

	switch {
	case len(r.Tests) > MaxTests:
		return Refuse(CodeBadRequest, "%d tests: the maximum is %d", len(r.Tests), MaxTests)
	case len(r.Tests) > 0 && (len(r.Stdin) > 0 || r.StdinBlob != ""):
		return Refuse(CodeBadRequest, "stdin and tests are both set: set stdin in each test")
	case len(r.Tests) > 0 && r.Collect.Blobs:
		return Refuse(CodeBadRequest,
			"collect.blobs and tests are both set: the files of tests are in the result; leave blobs out, or run one of them "+
				"alone, with its stdin")
	case len(r.Tests) > 0 && r.Timeline != nil:
		return Refuse(CodeBadRequest,
			"timeline and tests are both set: tests have no timeline; run one of them alone, with its stdin")
	case r.KeepOutput < 0 || r.KeepOutput > keepOutputMax:
		return Refuse(CodeBadRequest,
			"keep_output is %s: the maximum is %s of each stream; to receive more, run the program without tests and "+
				"read its events", r.KeepOutput, keepOutputMax)
	case len(r.Tests) == 0 && (r.StopAtFailure || r.KeepOutput != 0 || r.Compare != (Compare{})):
		return Refuse(CodeBadRequest, "stop_at_failure, keep_output and compare need tests, but there are none")
	}

	seen := make(map[string]bool, len(r.Tests))
	for i, t := range r.Tests {
		switch {
		case t.ID == "" || len(t.ID) > maxTestID || strings.ContainsRune(t.ID, 0) || !utf8.ValidString(t.ID):
			return Refuse(CodeBadRequest, "tests[%d].id %q: write 1 to %d bytes of UTF-8 without NUL", i, t.ID, maxTestID)
		case seen[t.ID]:
			return Refuse(CodeBadRequest,
				"test %q is given twice: use unique ids; a test without an id gets its number, from 1", t.ID)
		}
		seen[t.ID] = true
		if err := t.validate(r); err != nil {
			return Refuse(err.(*Error).Code, "test %q: %w", t.ID, err) //nolint:errorlint // validate returns no other type
		}
	}

	return nil
}

func (t Test) validate(r Run) error {
	if err := checkBlob("stdin", t.StdinBlob, len(t.Stdin) > 0); err != nil {
		return err
	}
	if err := checkBlob("expected", t.ExpectedBlob, t.Expected != nil); err != nil {
		return err
	}
	if len(t.Args) > 0 { // otherwise they are the run's
		if err := (Run{Argv: append(append([]string(nil), r.Argv...), t.Args...), Env: r.Env}).validateArgs(); err != nil {
			return err
		}
	}

	switch {
	case r.Interactor != nil && r.Interactor.Protocol == ProtocolNone &&
		(len(t.Stdin) > 0 || t.StdinBlob != "" || t.Expected != nil || t.ExpectedBlob != ""):
		return Refuse(CodeBadRequest, "stdin or expected is set, which nobody reads with an interactor of the protocol none: "+
			"leave them out, or send files")
	case t.Compare != nil && (r.Check != nil || r.Interactor != nil):
		return Refuse(CodeBadRequest, "compare is set, and the run has a checker or an interactor: leave compare out")
	case t.Compare != nil:
		if err := t.Compare.Validate(); err != nil {
			return err
		}
	case len(t.CheckArgs) > 0 && r.Check == nil && r.Interactor == nil:
		return Refuse(CodeBadRequest, "check_args are set, and the run has neither a checker nor an interactor")
	}

	if len(t.CheckArgs) > 0 {
		if err := (Run{Argv: t.CheckArgs}).validateArgs(); err != nil {
			return err
		}
	}

	return t.Limits.Validate()
}

// checkBlob refuses an invalid digest, and a digest in addition to content of the same field.
func checkBlob(what, digest string, content bool) error {
	switch {
	case digest == "":
		return nil
	case content:
		return Refuse(CodeBadRequest, "%s has both content and a blob: set one of them", what)
	}
	return BlobDigest(digest)
}

// BlobDigest refuses a text that is not the name of a blob: its sha256 as 64 lower-case hex digits.
func BlobDigest(digest string) error {
	if len(digest) != 64 || strings.Trim(digest, "0123456789abcdef") != "" {
		return Refuse(CodeBadRequest, "blob %.80q: write the content's sha256 as 64 lower-case hex digits", digest)
	}
	return nil
}
