package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// A source is a program as the command line names it, and what tells its language.
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
		return source{}, errors.New("a FILE of - is a source from stdin, which is a terminal: redirect it, or use -c CODE")
	}
	text, err := io.ReadAll(io.LimitReader(stdin, maxInput+1))
	if err == nil && len(text) > maxInput {
		err = fmt.Errorf("the source on stdin is larger than %s, the most", api.Size(maxInput))
	}
	return source{text: text, interpreter: interpreter(text)}, err
}

// untold refuses a source that nothing tells the language of.
func (s source) untold() error {
	switch {
	case s.ext != "" || s.interpreter != "":
		return nil
	case s.name == "":
		return errors.New("a source from stdin has no extension to tell its language by, and no #! line: add --language")
	}
	return fmt.Errorf("%s has no extension to tell its language by, and no #! line: add --language", s.name)
}

// interpreter gives the program that a #! line names, without its directory: of
// env the word that env would start.
func interpreter(text []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimPrefix(text, []byte("\ufeff")), []byte("\n")) // editors of Windows put the mark there
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

// interpreters are programs of #! lines that are no name of their language.
var interpreters = map[string]string{
	"dash": "bash", "zsh": "bash", "nodejs": "javascript", "pypy": "python", "runghc": "haskell", "runhaskell": "haskell",
	"tsx": "typescript", "ts-node": "typescript", "instantfpc": "pascal",
}

// interprets reports whether program, of a #! line, is the one of language l. Versions
// do not count: python3.11 is python.
func interprets(program string, l api.Language) bool {
	if program == "" {
		return false
	}
	plain := strings.TrimRight(program, "0123456789.-")
	for _, name := range []string{program, plain, interpreters[plain]} {
		if called(name, l) {
			return true
		}
	}
	return false
}

// called reports whether name is one of l's. Letters may be of either case: people write
// Python, and no two languages differ by that alone.
func called(name string, l api.Language) bool {
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

// readFile reads a file that a run takes: one that the user named.
func readFile(path string) ([]byte, error) {
	text, err := readInput(path, maxInput)
	return text, runTakes(err)
}

// runTakes says what to do with a file that no request holds, where err is of one.
func runTakes(err error) error {
	if e := new(oversize); errors.As(err, &e) {
		return fmt.Errorf("%s is %s: a run takes files of %s at most: put it into an image (brig rootfs import), or into a session (brig session put)", e.path, e.is, roundSize(e.most))
	}
	return err
}

const maxInput = 64 << 20 // the most an agent takes in one request, so what is larger need not be read

// named is err without the system call that met it: who named a file knows the file.
func named(err error) error {
	if e := new(fs.PathError); errors.As(err, &e) {
		return fmt.Errorf("%s: %w", e.Path, e.Err)
	}
	return err
}
