package cli

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// A quiet command says no note and no progress, and each error.
func TestAQuietCommandSaysErrorsAlone(t *testing.T) {
	for name, tt := range map[string]struct {
		quiet bool
		say   func(c *CLI)
		want  string
	}{
		"a note":         {false, func(c *CLI) { c.Note("the image of %s", "python") }, "brig: the image of python\n"},
		"a quiet note":   {true, func(c *CLI) { c.Note("the image of %s", "python") }, ""},
		"a quiet copy":   {true, func(c *CLI) { one := *c; one.Stdout = io.Discard; one.Note("x"); one.Progress("x").End() }, ""},
		"quiet progress": {true, func(c *CLI) { c.Progress("making an image").End() }, ""},
		"an error":       {true, func(c *CLI) { c.Fail(errors.New("no image")) }, "brig: no image\n"},
		"a mistake":      {true, func(c *CLI) { c.Hint("grade", errors.New("no tests")) }, "brig: no tests\nTry: brig grade --help\n"},
	} {
		var stderr strings.Builder
		c := &CLI{Stderr: &stderr}
		tt.say(c.Quiet(tt.quiet))
		if got := stderr.String(); got != tt.want {
			t.Errorf("%s: %q; want %q", name, got, tt.want)
		}
	}

	c := &CLI{}
	if c.Quiet(true) == c || c.quiet {
		t.Error("the command itself became quiet")
	}
}
