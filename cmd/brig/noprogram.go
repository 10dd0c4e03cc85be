package main

import (
	"errors"
	"regexp"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// curedProgram says what to write where err is of a program that an image has not: the first
// of args may be a file of this host, or a flag behind the place for flags. image is as it was
// typed, which an agent does not tell; empty: it was not.
func curedProgram(err error, image string, args []string, file, flag string) error {
	var e *api.Error
	if !errors.As(err, &e) || e.Code != api.CodeNoProgram || len(args) == 0 {
		return err
	}
	text := e.Message
	if image != "" {
		text = digests.ReplaceAllLiteralString(text, "image "+image)
	}
	switch word := args[0]; {
	case strings.HasPrefix(word, "-") && flag != "":
		text += ": " + flag
	case isSource(word):
		text += ": " + file
	}
	cured := *e
	cured.Message = text
	return &cured
}

var digests = regexp.MustCompile(`image sha256:[0-9a-f]{64}`)
