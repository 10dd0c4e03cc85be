package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/inputfile"
)

// A source is the program that the command line names, with what indicates its language.
type source struct {
	text        []byte
	name        string // of its file; empty: it came from stdin
	ext         string // of the name, with its dot
	interpreter string // of a first line #!/usr/bin/env python3: python3
}

// readSource reads FILE, or stdin where it is -.
func readSource(file string, stdin io.Reader) (source, error) {
	if file != "-" {
		text, err := readFile(file)
		return source{text, filepath.Base(file), filepath.Ext(file), interpreter(text)}, err
	}
	if isTerminal(stdin) {
		return source{}, errors.New("FILE - reads the source from stdin, which is a terminal: redirect it, or use -c CODE")
	}
	text, err := io.ReadAll(io.LimitReader(stdin, maxInput+1))
	if err == nil && len(text) > maxInput {
		err = fmt.Errorf("the source on stdin is larger than %s, the maximum", api.Size(maxInput))
	}
	return source{text: text, interpreter: interpreter(text)}, err
}

// checkLanguageKnown refuses a source if nothing indicates its language.
func (s source) checkLanguageKnown() error {
	switch {
	case s.ext != "" || s.interpreter != "":
		return nil
	case s.name == "":
		return errors.New("the source from stdin has no extension and no #! line to show its language: add --language")
	}
	return fmt.Errorf("%s has no extension and no #! line to show its language: add --language", s.name)
}

// interpreter returns the program that a #! line names, without its directory. If that is env, it
// returns the program that env would start.
func interpreter(text []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimPrefix(text, []byte("\ufeff")), []byte("\n")) // Windows editors write this mark
	rest, ok := bytes.CutPrefix(line, []byte("#!"))
	words := strings.Fields(string(rest))
	if !ok || len(words) == 0 || len(line) > 255 { // the kernel reads no more of it
		return ""
	}
	if path.Base(words[0]) != "env" {
		return path.Base(words[0])
	}

	for _, w := range words[1:] {
		if !strings.HasPrefix(w, "-") && !strings.Contains(w, "=") {
			return path.Base(w)
		}
	}

	return ""
}

// interpreters maps programs of #! lines to a language, if their name is not the language's.
var interpreters = map[string]string{
	"dash": "bash", "zsh": "bash", "nodejs": "javascript", "runghc": "haskell", "runhaskell": "haskell",
	"tsx": "typescript", "ts-node": "typescript", "instantfpc": "pascal",
}

// runsWithInterpreter reports whether program, from a #! line, runs language l. It ignores versions:
// python3.11 is python.
func runsWithInterpreter(program string, l api.Language) bool {
	if program == "" {
		return false
	}
	plain := strings.TrimRight(program, "0123456789.-")
	for _, name := range []string{program, plain, interpreters[plain]} {
		if hasName(name, l) {
			return true
		}
	}
	return false
}

// hasName reports whether name is a name of l. It ignores case: people write Python, and no two
// languages differ by case alone.
func hasName(name string, l api.Language) bool {
	if name == "" {
		return false
	}
	if strings.EqualFold(name, l.Name) {
		return true
	}
	for _, a := range l.Aliases {
		if strings.EqualFold(name, a) {
			return true
		}
	}
	return false
}

// isSource reports whether word, typed as a command, is a program's file.
func isSource(word string) bool {
	info, err := os.Stat(word)
	return err == nil && info.Mode().IsRegular() && filepath.Ext(word) != ""
}

// readFile reads an input file of a run, which the user named.
func readFile(path string) ([]byte, error) {
	text, err := inputfile.Read(path, maxInput)
	return text, withSizeRemedy(err)
}

// withSizeRemedy adds a remedy to the error of a file that is too large for a request.
func withSizeRemedy(err error) error {
	if e := new(inputfile.TooLargeError); errors.As(err, &e) {
		return fmt.Errorf("%s is %s: a run takes files of %s at most: put it into an image (brig rootfs import), or "+
			"into a session (brig session put)", e.Path, e.Size, formatSize(e.Limit))
	}
	return err
}

const maxInput = 64 << 20 // the most an agent accepts in one request: larger files need not be read
