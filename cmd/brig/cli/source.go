package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/inputfile"
	"github.com/brig-sandbox/brig/internal/suggest"
)

// A Source is the program that the command line names, with what indicates its language.
type Source struct {
	Text        []byte
	Name        string // of its file; empty: it came from stdin
	Ext         string // of the name, with its dot
	Interpreter string // of a first line #!/usr/bin/env python3: python3
}

// ReadSource reads FILE, or stdin where it is -.
func ReadSource(file string, stdin io.Reader) (Source, error) {
	if file != "-" {
		text, err := ReadFile(file)
		return Source{text, filepath.Base(file), filepath.Ext(file), Interpreter(text)}, err
	}
	if IsTerminal(stdin) {
		return Source{}, errors.New("FILE - reads the source from stdin, which is a terminal: redirect it, or use -c CODE")
	}
	text, err := io.ReadAll(io.LimitReader(stdin, MaxInput+1))
	if err == nil && len(text) > MaxInput {
		err = fmt.Errorf("the source on stdin is larger than %s, the maximum", api.Size(MaxInput))
	}
	return Source{Text: text, Interpreter: Interpreter(text)}, err
}

// CheckLanguageKnown refuses a source if nothing indicates its language.
func (s Source) CheckLanguageKnown() error {
	switch {
	case s.Ext != "" || s.Interpreter != "":
		return nil
	case s.Name == "":
		return errors.New("the source from stdin has no extension and no #! line to show its language: add --language")
	}
	return fmt.Errorf("%s has no extension and no #! line to show its language: add --language", s.Name)
}

// Interpreter returns the program that a #! line names, without its directory. If that is env, it
// returns the program that env would start.
func Interpreter(text []byte) string {
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
		if HasName(name, l) {
			return true
		}
	}
	return false
}

// HasName reports whether name is a name of l. It ignores case: people write Python, and no two
// languages differ by case alone.
func HasName(name string, l api.Language) bool {
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

// IsSource reports whether word, typed as a command, is a program's file.
func IsSource(word string) bool {
	info, err := os.Stat(word)
	return err == nil && info.Mode().IsRegular() && filepath.Ext(word) != ""
}

// ReadFile reads an input file of a run, which the user named.
func ReadFile(path string) ([]byte, error) {
	text, err := inputfile.Read(path, MaxInput)
	return text, WithSizeRemedy(err)
}

// WithSizeRemedy adds a remedy to the error of a file that is too large for a request.
func WithSizeRemedy(err error) error {
	if e := new(inputfile.TooLargeError); errors.As(err, &e) {
		return fmt.Errorf("%s is %s: a run takes files of %s at most: put it into an image (brig rootfs import), or "+
			"into a session (brig session put)", e.Path, e.Size, FormatSize(e.Limit))
	}
	return err
}

// MaxInput is the most an agent accepts in one request: larger files need not be read.
const MaxInput = 64 << 20

// LanguageOf chooses one of all: the one called name, or that of the source.
func LanguageOf(all []api.Language, name string, src Source) (api.Language, error) {
	ext := api.Extension(src.Ext)
	matchers := []func(api.Language) bool{func(l api.Language) bool { return HasName(name, l) }}
	if name == "" {
		matchers = []func(api.Language) bool{
			func(l api.Language) bool { return slices.Contains(l.Extensions, ext) },
			func(l api.Language) bool { return runsWithInterpreter(src.Interpreter, l) },
		}
	}

	for _, match := range matchers {
		if i := slices.IndexFunc(all, match); i >= 0 {
			return all[i], nil
		}
	}

	var known, named []string
	for _, l := range all {
		known, named = append(known, l.Extensions...), append(named, l.Name)
	}

	switch {
	case name != "":
		return api.Language{},
			api.Refuse(api.CodeNoLanguage, "there is no language %.80q%s (known: %s)", name,
				suggest.Text(strings.ToLower(name), named), strings.Join(named, " "))
	case ext == "":
		return api.Language{},
			api.Refuse(api.CodeNoLanguage, "the program %.80q of the #! line belongs to no language (known: %s): add --language",
				src.Interpreter, strings.Join(named, " "))
	}

	return api.Language{}, api.Refuse(api.CodeNoLanguage, "no language has the extension .%s (known: %s): add --language",
		ext, strings.Join(known, " "))
}

// SourceBytes returns text as a source. An empty text is an empty program, not a missing one.
func SourceBytes(text []byte) api.Bytes {
	if text == nil {
		return api.Bytes{}
	}
	return text
}

// MaxTextFile limits, in bytes, a file that people write: settings, a recipe.
const MaxTextFile = 1 << 20
