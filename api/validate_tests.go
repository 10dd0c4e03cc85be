package api

import (
	"strings"
	"unicode/utf8"
)

// MaxTests is the most tests of one run.
const MaxTests = 16384

const (
	maxTestID     = 256
	maxFlags      = 64
	keepOutputMax = 16 * MiB
)

func (r Run) validateCompile() error {
	if len(r.Flags) > maxFlags {
		return Refuse(CodeBadRequest, "%d flags: the maximum is %d", len(r.Flags), maxFlags)
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
