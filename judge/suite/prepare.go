package suite

import (
	_ "embed"
	"path"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// MaxReport is the most bytes of a report.
const MaxReport = 8 << 20

// unittestRunner runs unittest and writes its report at the end.
//
//go:embed unittest.py
var unittestRunner string

// pesterRunner runs Pester and has it write its report.
//
//go:embed pester.ps1
var pesterRunner string

// The launchers of other commands: a run of a language executes a source.
const (
	pythonLauncher = "import os, sys\nos.execvp(sys.argv[1], sys.argv[1:])\n"
	nodeLauncher   = `const { spawnSync } = require('child_process')
const { error, signal, status } = spawnSync(process.argv[2], process.argv.slice(3), { stdio: 'inherit' })
if (error) { console.error(error.message); process.exit(127) }
if (signal) process.kill(process.pid, signal)
process.exit(status)
`
)

// usual are the commands of suites that have none.
var usual = map[api.ReportFormat][]string{
	api.ReportPytest:   {"python3", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml={report}"},
	api.ReportUnittest: {"discover"},
	api.ReportJest:     {"jest", "--ci", "--json", "--outputFile={report}"},
	api.ReportPester:   {"{report}"},
}

// probes are commands that succeed where the usual ones can run.
var probes = map[api.ReportFormat][]string{
	api.ReportPytest: {"python3", "-m", "pytest", "--version"},
	api.ReportJest:   {"jest", "--version"},
}

// nodeCommand is the usual command of JUnit XML for JavaScript.
var nodeCommand = []string{"node", "--test", "--test-reporter=junit", "--test-reporter-destination={report}"}

// javaCommand compiles all sources, and has JUnit's console run the cases of any class. It writes a report for each of
// its engines; the report of the suite has them all.
var javaCommand = []string{"sh", "-c", `
find . -name '*.java' -exec java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -cp /usr/lib/brig/java Compile Main.java {} + || exit
java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -cp 'classes:/usr/lib/brig/junit/*' \
	org.junit.platform.console.ConsoleLauncher execute --disable-banner --disable-ansi-colors --details=none \
	--include-classname='.*' --scan-classpath classes --reports-dir brig-reports
code=$?
{ echo '<testsuites>'; sed '/^<?xml/d' brig-reports/TEST-*.xml; echo '</testsuites>'; } >"$1"
exit $code
`, "junit", "{report}"}

// usualCommand is the command of a suite that has none; empty: there is none for the language.
func usualCommand(f api.ReportFormat, language string) []string {
	switch {
	case f == api.ReportJUnit && isNode(language):
		return nodeCommand
	case f == api.ReportJUnit && isJUnit(language):
		return javaCommand
	case f == api.ReportPytest && (isNode(language) || isJUnit(language)), f == api.ReportJest &&
		(isPython(language) || isJUnit(language)):
		return nil
	}
	return usual[f]
}

// Check refuses a suite that cannot run in a language, before an image is built for it.
func Check(s api.Suite, language string) error {
	r := api.Run{Language: language, Suite: &s, Source: api.Bytes{}, SourceName: "program"}
	_, err := Prepare(r)
	return err
}

// reportName is the name of a suite's report in the working directory.
func reportName(f api.ReportFormat) string {
	switch f {
	case api.ReportUnittest, api.ReportJest:
		return "brig-report.json"
	}
	return "brig-report.xml"
}

// Prepare returns the run that executes the suite of r and collects its report. The program is one file
// next to the others.
func Prepare(r api.Run) (api.Run, error) {
	if err := r.Validate(); err != nil {
		return r, err
	}

	s := *r.Suite
	command := s.Command
	if len(command) == 0 {
		command = usualCommand(s.Report, r.Language)
	}
	if len(command) == 0 {
		return r, api.Refuse(api.CodeBadRequest,
			"suite.command is empty: %s has no usual command for %s: set it, or use the language javascript, or "+
				"java-full for Java", s.Report, r.Language)
	}

	report := reportName(s.Report)
	if slices.ContainsFunc(r.Files, func(f api.File) bool { return f.Name == report }) || r.SourceName == report {
		return r, api.Refuse(api.CodeBadFile, "file %q has the name of the suite's report: leave it out", report)
	}

	words := make([]string, 0, len(command)+1)
	for _, w := range command {
		words = append(words, strings.ReplaceAll(w, api.ReportPlaceholder, report))
	}

	out := r
	out.Suite = nil
	out.Collect = api.Collect{Globs: []string{report}, Files: 1, Bytes: MaxReport}
	if r.Source != nil {
		out.Files = append(slices.Clone(r.Files), api.File{Name: r.SourceName, Content: r.Source})
		out.Source, out.SourceName = nil, ""
	}
	return launch(out, s.Report, words)
}

// Probe returns the run that succeeds if the image of r can run the usual command of its suite. ok is false
// if there is nothing to find out.
func Probe(r api.Run) (probe api.Run, ok bool, err error) {
	words := probes[r.Suite.Report]
	if len(words) == 0 || len(r.Suite.Command) > 0 {
		return r, false, nil
	}
	probe = api.Run{Language: r.Language, Image: r.Image, Requirements: r.Requirements, Index: r.Index,
		Limits: r.Limits, Mode: r.Mode}
	probe, err = launch(probe, r.Suite.Report, words)
	return probe, true, err
}

// launch fills in what executes the words of a command.
func launch(r api.Run, f api.ReportFormat, words []string) (api.Run, error) {
	source := ""
	switch {
	case f == api.ReportUnittest && !isPython(r.Language):
		return r, api.Refuse(api.CodeBadRequest, "suite.report is unittest, and the language is %q: use python", r.Language)
	case f == api.ReportUnittest:
		source, words = unittestRunner, append([]string{reportName(f)}, words...)
	case f == api.ReportPester && !isPowerShell(r.Language):
		return r, api.Refuse(api.CodeBadRequest, "suite.report is pester, and the language is %q: use powershell", r.Language)
	case f == api.ReportPester:
		source = pesterRunner
	case r.Language == "": // the image has the command
	case isPython(r.Language):
		source = pythonLauncher
	case isNode(r.Language):
		source = nodeLauncher
	case isJUnit(r.Language): // a language's image takes a command as it is
	default:
		return r, api.Refuse(api.CodeBadRequest,
			"suites run in Python, JavaScript, java-full, PowerShell (pester), or an image: language %q is none of "+
				"them; set image, and suite.command to what compiles the program and runs the cases", r.Language)
	}

	r.Argv = words
	if source != "" {
		r.Source, r.SourceName = api.Bytes(source), "brig_suite.py"
		switch {
		case isNode(r.Language):
			r.SourceName = "brig_suite.cjs"
		case isPowerShell(r.Language):
			r.SourceName = "brig_suite.ps1"
		}
	}

	return r, nil
}

func isPython(language string) bool {
	return slices.Contains([]string{"python", "python3", "py", "python-full", "python3-full"}, language)
}

func isNode(language string) bool {
	return slices.Contains([]string{"javascript", "js", "node", "javascript-full", "js-full", "node-full"}, language)
}

func isPowerShell(language string) bool {
	return slices.Contains([]string{"powershell", "pwsh", "ps1"}, language)
}

func isJUnit(language string) bool { return language == "java-full" || language == "junit" }

// settings are files by which test runners are configured, and modules that Python imports by itself.
var settings = []string{
	"conftest.py", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg",
	"sitecustomize.py", "usercustomize.py",
	"Pester.ps[dm]1", "junit-platform.properties", "package.json", "jest.config.*", "babel.config.*", ".babelrc*",
	"brig_suite.*", "brig-report.*",
}

// Configures reports whether a file of a submission would configure what runs the cases. Such files are the
// suite's alone.
func Configures(name string) bool {
	return slices.ContainsFunc(settings, func(pattern string) bool {
		ok, _ := path.Match(pattern, path.Base(name)) // the patterns are right
		return ok
	})
}
