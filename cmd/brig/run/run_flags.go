package run

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/cmd/brig/images"
	"github.com/brig-sandbox/brig/cmd/brig/judging"
	"github.com/brig-sandbox/brig/internal/inputfile"
	"github.com/brig-sandbox/brig/judge/problem"
)

const runUsage = `
Run a program in a sandbox. It behaves like the bare command: stdin, live
output, exit code.

Usage:
  brig run [flags] FILE [ARGS...]       (FILE - reads the source from stdin)
  brig run [flags] -c CODE [ARGS...]
  brig run [flags] --rootfs IMAGE [-- CMD [ARGS...]]   (no CMD: the image's own)
  brig run [flags] --rootfs IMAGE --language NAME FILE [ARGS...]

Examples:
  brig run hello.py
  echo 3 4 | brig run --memory 64M --wall 2s add.py
  brig run -c 'print(2+2)'
  brig run --file data.csv --out results report.py
  brig run --rootfs python -- /usr/bin/env
  brig run --flag -O3 --flag -std=c++20 solve.cpp < big.in
  brig run --requirement 'numpy==2.*' stats.py
  brig run --allow api.example.org --allow 127.0.0.1:8000 fetch.py
  brig run --tests tests --memory 256M --cpu 1s solve.cpp
  brig run --tests tests --input-file input.txt --output-file output.txt solve.cpp
  brig run --tests tests --check check.cpp --check-protocol testlib \
    --check-file testlib.h solve.py
  brig run --tests tests --interactor talk.py --check-protocol kattis solve.cpp
  brig run --suite pytest --tests test_shapes.py shapes.py

Flags go before FILE: everything after FILE belongs to the program. If one of these flags
is there, brig prints a note, unless -- precedes it. Only FILE is placed in the sandbox;
--file adds more, and --out DIR saves the files that the program wrote.

--tests DIR runs the program on every NAME.in below DIR, compares what it prints with
NAME.ans or NAME.out, and exits with 0 only if every test was accepted. Other usual names
are known too: input1.txt with output1.txt, input/1 with output/1, 01 with 01.a. MEM is the memory
that was charged to the run or, if that is more, the resident memory of its largest
process; -v and --json show both.

Exit codes: the program's own; 1 if it does not compile; 124 cpu or wall limit, 137 memory,
153 output, 159 denied, 128+n signal n, 130 canceled, 125 brig itself failed, 126 and 127
as in a shell. --json and --result distinguish them from a program's own.`

// runOptions is the command line of brig run.
type runOptions struct {
	command string // to whose --help an error refers; empty: run
	run     api.Run
	code    string
	hasCode bool // -c was given, perhaps empty
	socket  string

	env, files, fileBlobs, collect, labels []string

	collectBlobs bool
	profile      string
	warnings     []string // of the profile, where it is a file

	out      string
	force    bool
	json     bool
	result   string
	stats    bool
	quiet    bool
	tty      bool // the program has the caller's terminal
	resident bool // of an exec: it holds no slot

	testsDir string
	problem  *problem.Problem // found there; nil: there is no --tests

	judges judgeFlags
	suite  judging.SuiteFlags

	packages  images.PackageFlags
	installer api.Language // how the packages of the run are installed

	refused []api.Refusal // those that may explain a failure

	noBuild bool
	wait    time.Duration
	args    []string
	hasDash bool // -- precedes them
}

func (o *runOptions) register(f *pflag.FlagSet) {
	f.SetInterspersed(false) // what follows FILE is the program's
	f.StringVarP(&o.code, "code", "c", "", "run this `CODE` (python unless --language says otherwise)")
	f.StringVarP(&o.run.Language, "language", "l", "",
		"`NAME` of the language; by default from FILE's extension, or its #! line")
	f.StringVar(&o.run.Image, "rootfs", "",
		"run a command of this stored `IMAGE`, by name or digest; with --language: FILE, in this image instead of the language's own")

	cli.LimitFlags(f, &o.run.Limits, nil, api.OfBoth, api.OfExec, api.OfSession)
	f.StringVar(&o.run.Network, "network", "",
		"what the program reaches: none, loopback, allow or public (default none; allow with --allow)")
	f.StringArrayVar(&o.run.Allow, "allow", nil,
		"`HOST` that the program may reach: a name, *.DOMAIN, an address or ADDRESS/BITS, each with :PORT or without "+
			"(80 and 443; repeatable)")
	o.packages.Register(f)
	f.StringVar(&o.run.Preset, "preset", "", "limits to start from: hardened or light")

	f.StringArrayVar(&o.run.Flags, "flag", nil,
		"`FLAG` for the compiler, such as -O3; instead of the default ones (repeatable; see brig languages)")
	f.StringArrayVar(&o.run.FreeFlags.Compile, "free-flag", nil,
		"any `FLAG` for the compiler, in addition to --flag or the default ones (repeatable; see docs/languages.md)")
	f.StringArrayVar(&o.run.FreeFlags.Link, "link-flag", nil, "any `FLAG` for the end of the compiler's command (repeatable)")
	f.StringArrayVar(&o.run.FreeFlags.Run, "run-flag", nil, "any `FLAG` for the interpreter, in front of FILE (repeatable)")
	f.BoolVar(&o.run.MergeStderr, "merge-stderr", false, "stdout gets what is written to stderr, too, in the order of writing")
	f.StringVar(&o.testsDir, "tests", "",
		"run the tests below this `DIR` or in this zip: pairs of NAME.in and NAME.ans or NAME.out; with --suite: unit tests")
	f.StringVar((*string)(&o.run.Compare.How), "compare", "",
		"how --tests compares: "+cli.Comparisons()+" (default lines)")
	f.Float64Var(&o.run.Compare.Tolerance, "tolerance", 0,
		fmt.Sprintf("difference allowed between numbers, with --compare float or json (default %v)", api.DefaultTolerance))
	cli.FileFlags(f, &o.run)
	o.judges.register(f)
	o.suite.RegisterCases(f, "--tests", "FILE's own")
	f.BoolVar(&o.run.StopAtFailure, "stop-at-failure", false,
		"with --tests: end with the first test, in their order, that was not accepted")

	f.StringVar(&o.profile, "profile", "",
		"seccomp profile `NAME|FILE`; brig profile ls has the names (default the language's own)")
	f.StringVar((*string)(&o.run.ProfileMode), "profile-mode", "",
		"enforce, or log: calls that the profile denies are allowed and logged (default enforce)")
	f.StringVar((*string)(&o.run.Mode), "mode", "",
		"strict; fresh: in a cell that no other run uses, before or after; or exclusive: also with a separate copy "+
			"of the image, one for each test (default the agent's, strict)")
	f.BoolVar(&o.run.NoTemplate, "no-template", false,
		"start the interpreter for this run instead of beginning from a template of it")
	f.BoolVar(&o.run.WritableRoot, "writable-root", false, "let the program write to a temporary copy of the image")
	workdirAliasFlag(f, &o.run.WorkdirAlias)

	f.StringArrayVarP(&o.env, "env", "e", nil, "set a variable: `K=V` (repeatable)")
	f.StringArrayVar(&o.files, "file", nil,
		"place a file in /box: `[NAME=]PATH`, or all files below a directory (repeatable)")
	f.StringArrayVar(&o.fileBlobs, "file-blob", nil,
		"place a blob of the agent in /box, which the program may execute: `NAME=DIGEST` (repeatable)")
	f.StringArrayVar(&o.collect, "collect", nil, "collect the files of /box that match `GLOB` (repeatable)")
	o.registerBlobs(f)
	f.StringVar(&o.out, "out", "", "write the collected files to this `DIR`")
	f.BoolVar(&o.force, "force", false, "let --out overwrite files")
	cli.LabelFlag(f, &o.labels)

	f.BoolVar(&o.json, "json", false, "print the result as JSON instead of the program's output")
	f.StringVar(&o.result, "result", "", "write the result, or brig's error, as JSON to this `FILE`")
	f.BoolVarP(&o.stats, "stats", "v", false, "print verdict and usage to stderr")
	o.registerTimeline(f)
	o.registerQuiet(f)
	o.registerTerminal(f)
	cli.BusyWait(f, &o.wait)
	cli.NoBuildFlag(f, &o.noBuild)
	cli.SocketVar(f, &o.socket)
}

// plan makes the Run, and reads the files that the command line names. It leaves the language empty
// if that follows from the source it returns.
func (o *runOptions) plan(c *cli.CLI) (s cli.Source, err error) {
	r := &o.run
	switch {
	case o.hasCode && o.isCommand():
		return s, fmt.Errorf("-c and --rootfs exclude each other: add --language, which says how to run the code in the image")
	case o.hasCode:
		if r.Language == "" {
			r.Language = "python"
		}
		r.Source, r.Argv = cli.SourceBytes([]byte(o.code)), o.args

	case o.isCommand():
		r.Argv = o.args // none: the image's own command
	case len(o.args) == 0:
		return s, fmt.Errorf("there is nothing to run: name a FILE, or use -c or --rootfs")
	default:
		if s, err = o.planSource(c.Stdin); err != nil {
			return s, err
		}
	}

	if err := o.checkBlobs(); err != nil {
		return s, err
	}
	if len(o.collect) > 0 && o.out == "" && !o.json && o.result == "" {
		return s, fmt.Errorf("--collect needs a destination: add --out DIR, --json or --result FILE")
	}
	if err := o.checkTests(c); err != nil {
		return s, err
	}
	if err := o.judges.apply(r, o.testsDir != ""); err != nil {
		return s, err
	}
	if r.Labels, err = c.Labels(o.labels); err != nil {
		return s, err
	}
	if err := o.planSurroundings(); err != nil {
		return s, err
	}
	if err := cmp.Or(o.checkQuiet(), o.checkTerminal()); err != nil {
		return s, err
	}
	if r.Network == "" && len(r.Allow) > 0 {
		r.Network = api.NetworkAllow
	}
	if r.Requirements, err = o.packages.Requirements(); err != nil {
		return s, err
	}

	r.Interactive = !o.json && o.testsDir == ""
	probe := *r
	if o.problem != nil {
		for _, t := range o.problem.Tests { // not read yet
			probe.Tests = append(probe.Tests, api.Test{ID: t.ID})
		}
	}
	if probe.Language == "" && probe.Image == "" {
		probe.Language = "any" // not known yet
	}
	return s, probe.Validate()
}

// isCommand reports whether the run is a command of an image, and not a source in a language.
func (o *runOptions) isCommand() bool { return o.run.Image != "" && o.run.Language == "" }

// isNumber reports whether a word is a number, such as a time in seconds.
func isNumber(word string) bool {
	_, err := strconv.ParseFloat(strings.TrimSuffix(word, "s"), 64)
	return err == nil
}

// planSource reads FILE.
func (o *runOptions) planSource(stdin io.Reader) (cli.Source, error) {
	file := o.args[0]
	s, err := cli.ReadSource(file, stdin)
	switch info, bad := os.Stat(file); {
	case err == nil:
	case o.testsDir != "" && bad == nil && info.IsDir():
		return s, fmt.Errorf("%s is a directory, but --tests judges one program: brig grade %s %s judges all in it", file,
			cli.ShellWord(o.testsDir), cli.ShellWord(file))
	case errors.Is(err, fs.ErrNotExist) && o.tty && isNumber(file):
		return s, fmt.Errorf("%w: for a time limit use --wall 5s (elapsed time) or --cpu 5s (processor time): -t gives the "+
			"program a terminal", err)
	case errors.Is(err, fs.ErrNotExist) && !o.hasDash && len(o.args) > 1 &&
		!strings.Contains(file, "/") && cli.IsSource(o.args[1]):
		return s, fmt.Errorf("%w: the language follows from the file: did you mean brig run %s?", err, o.args[1])
	case errors.Is(err, fs.ErrNotExist) && o.stats && strings.Contains(file, ":"):
		return s, fmt.Errorf("%w: -v means --stats, and no directory of this host is mounted: --file [NAME=]PATH places files in /box", err)
	}

	if err == nil && o.run.Language == "" {
		err = s.CheckLanguageKnown()
	}

	o.run.Source, o.run.SourceName, o.run.Argv = cli.SourceBytes(s.Text), s.Name, o.args[1:]
	return s, err
}

// planSurroundings fills in the program's surroundings: environment, files, profile.
func (o *runOptions) planSurroundings() error {
	r := &o.run
	for _, kv := range o.env {
		k, v, ok := strings.Cut(kv, "=")
		if !ok || k == "" {
			return fmt.Errorf("--env %q: write NAME=VALUE", kv)
		}
		if r.Env == nil {
			r.Env = map[string]string{}
		}
		r.Env[k] = v
	}

	for _, spec := range o.files {
		name, from, ok := strings.Cut(spec, "=")
		if !ok {
			name, from = filepath.Base(spec), spec
		}
		files, err := readInputs(name, from)
		if err != nil {
			return err
		}
		r.Files = append(r.Files, files...)
	}

	for _, spec := range o.fileBlobs {
		name, digest, ok := strings.Cut(spec, "=")
		if !ok {
			return fmt.Errorf("--file-blob %s: write NAME=DIGEST, with a digest of brig run --collect-blobs", spec)
		}
		r.Files = append(r.Files, api.File{Name: name, Blob: digest, Executable: true})
	}

	r.Collect = api.Collect{Globs: o.collect, Blobs: o.collectBlobs,
		None: len(o.collect) == 0 && o.out == "" && !o.json && !o.collectBlobs}
	if !cli.IsProfileFile(o.profile) {
		r.Profile = o.profile
		return nil
	}

	p, warnings, err := loadProfile(o.profile)
	if err != nil {
		return err
	}

	o.warnings = warnings
	r.ProfileRules, err = json.Marshal(p)
	return err
}

// readInputs reads what --file names: a file, or every regular file below a directory. It refuses
// anything else there, such as a link, by name: the inputs of a run should not depend on where a
// link happens to lead.
func readInputs(name, from string) ([]api.File, error) {
	info, err := os.Stat(from)
	if err != nil {
		return nil, inputfile.WithoutSyscall(err)
	}
	if !info.IsDir() {
		content, err := cli.ReadFile(from)
		return []api.File{{Name: name, Content: content, Executable: info.Mode()&0o111 != 0}}, err
	}
	if name == "." || name == ".." || name == "/" {
		return nil, fmt.Errorf("--file %s: give it a name in /box: --file NAME=%s", from, from)
	}

	root, err := os.OpenRoot(from)
	if err != nil {
		return nil, inputfile.WithoutSyscall(err)
	}
	defer root.Close()

	var out []api.File
	var size int64
	err = filepath.WalkDir(from, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("--file %s: %s is not a regular file: leave it out, or name the files one by one", from, p)
		}

		rest, err := filepath.Rel(from, p)
		if err != nil {
			return err
		}

		content, err := inputfile.ReadBelow(root, rest, cli.MaxInput)
		if err != nil {
			return fmt.Errorf("--file %s: %w", from, cli.WithSizeRemedy(err))
		}
		if size += int64(len(content)); size > cli.MaxInput {
			return fmt.Errorf("--file %s: %w", from,
				cli.WithSizeRemedy(&inputfile.TooLargeError{Path: "the total size of its files",
					Size: cli.FormatSize(size), Limit: cli.MaxInput}))
		}

		info, err := d.Info()
		if err != nil {
			return err
		}

		out = append(out, api.File{Name: path.Join(name, filepath.ToSlash(rest)), Content: content,
			Executable: info.Mode()&0o111 != 0})
		return err
	})

	return out, err
}

func (o *runOptions) registerQuiet(f *pflag.FlagSet) {
	f.BoolVarP(&o.quiet, "quiet", "q", false, "print only the program's output: no verdict, hint or note")
}

func (o *runOptions) checkQuiet() error {
	if o.quiet && o.stats {
		return fmt.Errorf("--quiet and --stats exclude each other")
	}
	return o.checkTimeline()
}

// workdirAliasFlag registers the flag for a second name of /box.
func workdirAliasFlag(f *pflag.FlagSet, alias *string) {
	f.StringVar(alias, "workdir-alias", "", "`NAME`, a second one of /box: "+strings.Join(api.WorkdirAliases(), ", "))
}
