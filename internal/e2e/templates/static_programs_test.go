package templates

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// TestStaticProgramsHaveTheirWholeLibrary runs what the C and C++ libraries do lazily: streams of every kind,
// conversions, locales, names, dlopen. Programs are linked statically, and glibc's static library lacks some of
// it unless the link and the image provide it (docs/adr/0044).
func TestStaticProgramsHaveTheirWholeLibrary(t *testing.T) {
	a := harness.StartAgent(t, "--slots", "2")
	harness.Images.Load(t, a, "cpp")

	for _, c := range []struct{ file, stdin, want string }{
		{"wprintf.c", "", "hi\n"},
		{"wide.c", "héj\n", "4 héj\n"},
		{"stdio.c", "", "wide text\n"},
		{"loads.c", "", "locale C.UTF-8, UTF-8\nmbstowcs 2\niconv 1 1 1 1\nuser sandboxuser, group root\nlocalhost 1\ndlopen 7\nccs 3\n"},
		{"wcout.cpp", "hej\n", "hi hej\n"},
		{"wlocale.cpp", "héj\n", "3 héj 1.5\n1\n"},
	} {
		for _, flags := range [][]string{nil, {"-O0"}, {"-O2", "-Wall", "-Werror", "-Wno-deprecated-declarations"}} {
			source, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "static", c.file))
			if err != nil {
				t.Fatal(err)
			}

			language := strings.TrimPrefix(filepath.Ext(c.file), ".")
			res := a.MustRun(t, api.Run{Language: language, Source: source, Stdin: api.Bytes(c.stdin), Flags: flags,
				Limits: api.Limits{Wall: harness.Slowly(30)}})
			if res.Verdict != api.OK || string(res.Stdout) != c.want {
				t.Errorf("%s with %v: %s, exit code %d, stdout %q, stderr %q; want ok and %q", c.file, flags, res.Verdict, res.ExitCode,
					res.Stdout, res.Stderr, c.want)
			}
			if res.Compile != nil && len(res.Compile.Stderr)+len(res.Compile.Stdout) > 0 {
				t.Errorf("%s with %v: the compiler said %q %q; want nothing: what these functions load is in the image", c.file, flags,
					res.Compile.Stdout, res.Compile.Stderr)
			}
		}
	}
}
