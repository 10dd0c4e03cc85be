// Package cli is what the commands of brig have in common: their streams and exit codes, shared flags, the
// connection to an agent, and how results are put into words.
package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/terminal"
)

// A CLI has the streams and the environment of a command.
type CLI struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Env            func(string) string
	Version        string   // of brig
	Words          []string // the command line: commands whose names are not in it are not made; nil: all are made
	Code           int      // exit code of the command that was run
	CompilerOutput []byte   // output of a compiler that was printed already
	quiet          bool     // neither notes nor progress
}

// Quiet returns c without notes and progress if quiet, for what a command does before its own work. Errors are reported.
func (c *CLI) Quiet(quiet bool) *CLI {
	if !quiet {
		return c
	}
	one := *c
	one.quiet = true
	return &one
}

// Hint reports a mistake on the command line.
func (c *CLI) Hint(command string, err error) int {
	c.say("%v\nTry: brig %s", err, strings.TrimSpace(command+" --help"))
	return ExitBrig
}

// End is Fail for what a signal may have ended, which the exit code says alone.
func (c *CLI) End(err error) int {
	if s := (Interrupted{}); errors.As(err, &s) {
		return s.Exit()
	}
	return c.Fail(err)
}

// Fail reports an error of brig, and returns the exit code.
func (c *CLI) Fail(err error) int {
	c.say("%v", err)
	var e *api.Error
	if errors.As(err, &e) {
		return errorExit(e.Code)
	}
	return ExitBrig
}

// Text is stdout for brig's own messages. A program's output and JSON go to stdout unchanged.
func (c *CLI) Text() io.Writer { return terminal.Writer{To: c.Stdout} }

// Note prints a message of brig on stderr.
func (c *CLI) Note(format string, args ...any) {
	if !c.quiet {
		c.say(format, args...)
	}
}

func (c *CLI) say(format string, args ...any) {
	fmt.Fprintf(terminal.Writer{To: c.Stderr}, "brig: "+format+"\n", args...)
}
