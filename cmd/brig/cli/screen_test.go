package cli

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Each place where a program's output goes to brig's streams has a Screen: after it, brig's words are shown (TTY-13).
func TestProgramsWriteToScreens(t *testing.T) {
	bare := regexp.MustCompile(`(Stdout|Stderr)(:| =|, a\.Stderr, a\.Stdin =) c\.Std(out|err)\b|MultiWriter\(c\.Std|get\(.*c\.Stdout\)`)
	for _, hit := range []string{"Stdout: c.Stdout", "a.Stdout, a.Stderr, a.Stdin = c.Stdout, c.Stderr", "io.MultiWriter(c.Stderr, &kept)"} {
		if !bare.MatchString(hit) {
			t.Fatalf("%q is not found", hit)
		}
	}

	files, screens := 0, 0
	err := filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		code, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		screens += strings.Count(string(code), "c.Screen()")
		if hit := bare.Find(code); hit != nil && filepath.Base(path) != "screen.go" {
			t.Errorf("%s: %s: give the program c.Screen()", path, hit)
		}
		return nil
	})
	if err != nil || files < 50 || screens < 4 {
		t.Errorf("%d files with %d screens (%v)", files, screens, err)
	}
}

// A stream that is no terminal gets what the program writes and nothing else, also behind the writers of a command.
func TestScreensOfTerminalsAlone(t *testing.T) {
	_, slave := openPair(t)
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()

	for name, test := range map[string]struct {
		c    *CLI
		ends bool
	}{
		"files":            {&CLI{Stdout: &StdoutWriter{To: file}, Stderr: file}, false},
		"stderr a file":    {&CLI{Stdout: &StdoutWriter{To: slave}, Stderr: file}, true},
		"stdout a file":    {&CLI{Stdout: &StdoutWriter{To: file}, Stderr: slave}, false}, // the program writes to stdout
		"behind of a flag": {&CLI{Stdout: outer{&StdoutWriter{To: slave}}, Stderr: file}, true},
	} {
		s := test.c.Screen()
		if _, err := s.Stdout().Write([]byte("\x1b]0;")); err != nil {
			t.Error(name, err)
		}
		if asked := s.End(); (asked != nil) != test.ends {
			t.Errorf("%s: End asks %v", name, asked)
		}
	}
	if all, err := os.ReadFile(file.Name()); err != nil || string(all) != "\x1b]0;\x1b]0;" {
		t.Errorf("the file has %q (%v)", all, err)
	}
}

type outer struct{ *StdoutWriter }

func (o outer) Unwrap() io.Writer { return o.StdoutWriter }
