package run

import (
	"errors"
	"regexp"
	"strings"
	"sync"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
)

// withProgramRemedy adds what to write instead to the error of a program that the image does not have:
// file if the first of args is a file of this host, flag if it is a flag after the place for
// flags. image is the image as the user typed it, which the agent's message does not have; empty
// if none was typed.
func withProgramRemedy(err error, image string, args []string, fileRemedy, flagRemedyText string) error {
	var e *api.Error
	if !errors.As(err, &e) || e.Code != api.CodeNoProgram || len(args) == 0 {
		return err
	}

	text := e.Message
	if image != "" {
		text = digests().ReplaceAllLiteralString(text, "image "+image)
	}

	switch word := args[0]; {
	case strings.HasPrefix(word, "-") && flagRemedyText != "":
		text += ": " + flagRemedyText
	case cli.IsSource(word):
		text += ": " + fileRemedy
	}

	remedied := *e
	remedied.Message = text
	return &remedied
}

var digests = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`image sha256:[0-9a-f]{64}`) })
