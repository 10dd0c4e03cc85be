package api

import (
	"slices"
	"strings"
)

// A Suite is a set of unit tests that runs in one sandbox with the program, by a command that writes a
// report. A program can forge that report: its results say answer_visible. The agent executes the
// command and reads no report: brig run, brig grade, brig batch and the service do.
type Suite struct {
	Report  ReportFormat `json:"report" doc:"what runs the cases, and the form of the report: pytest, unittest, jest, pester, or junit for any command that writes JUnit XML"`
	Command []string     `json:"command,omitempty" doc:"the command that runs the cases; {report} stands for the file that it must write; empty: the usual one; for unittest: arguments of python3 -m unittest"`
	Cases   int          `json:"cases,omitempty" doc:"how many cases the suite has: those that the report lacks were not passed; zero: as many as the report has"`
}

// A ReportFormat is the form of a suite's report.
type ReportFormat string

// The forms.
const (
	ReportJUnit    ReportFormat = "junit"    // JUnit XML
	ReportPytest   ReportFormat = "pytest"   // JUnit XML that pytest writes
	ReportUnittest ReportFormat = "unittest" // written by a runner of brig for Python's unittest
	ReportJest     ReportFormat = "jest"     // JSON of jest --json
	ReportPester   ReportFormat = "pester"   // JUnit XML that Pester of PowerShell writes
)

// ReportPlaceholder stands for the report's file in the command of a suite.
const ReportPlaceholder = "{report}"

// validateSuite refuses a suite that is incomplete, and fields that it excludes.
func (r Run) validateSuite() error {
	s := r.Suite
	if s == nil {
		return nil
	}

	named := slices.ContainsFunc(s.Command, func(w string) bool { return strings.Contains(w, ReportPlaceholder) })
	switch {
	case !slices.Contains(s.Report.Values(), s.Report):
		return Refuse(CodeBadRequest, "suite.report %q does not exist: use %s", s.Report, orList(s.Report.Values()))
	case s.Cases < 0 || s.Cases > MaxTests:
		return Refuse(CodeBadRequest, "suite.cases is %d: must be between 0 and %d", s.Cases, MaxTests)
	case len(s.Command) > 0 && s.Report != ReportUnittest && !named:
		return Refuse(CodeBadRequest,
			"suite.command does not name the report: write %s where the command takes the name of the file", ReportPlaceholder)
	case s.Report == ReportPester && len(s.Command) > 0:
		return Refuse(CodeBadRequest,
			"suite.command is set, and pester has a command of its own: leave it out, or use report junit and an image")
	case s.Report == ReportUnittest && r.Language == "":
		return Refuse(CodeBadRequest,
			"suite.report is unittest: set language to python, or use another report with the command of an image")
	case len(r.Argv) > 0:
		return Refuse(CodeBadRequest, "suite and argv are both set: the command of a suite is suite.command")
	case r.Source != nil && r.SourceName == "":
		return Refuse(CodeBadRequest,
			"suite and source are set without source_name: the cases need the name of the program's file")
	case len(r.Tests) > 0 || r.Check != nil || r.Interactor != nil || r.Call != nil || r.Compare != (Compare{}):
		return Refuse(CodeBadRequest, "suite excludes tests and what judges them: use one of the two")
	case len(r.Collect.Globs) > 0 || r.Collect.Files != 0 || r.Collect.Bytes != 0 || r.Collect.Blobs:
		return Refuse(CodeBadRequest, "suite excludes collect: the report is the file that is collected")
	}

	return nil
}
