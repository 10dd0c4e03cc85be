package batch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// CheckForm refuses a file that has no lines of JSON objects, before a file of results exists. A line that
// is no job is otherwise a refused job, which is right for one line and useless for a wrong file.
func CheckForm(name string, in *os.File) error {
	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() {
		return err // a pipe gives each byte once
	}

	at, err := in.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}

	begin := make([]byte, 4<<10)
	n, err := in.ReadAt(begin, at)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if name == "-" {
		name = "/dev/stdin"
	}
	return wrongForm(name, begin[:n])
}

// wrongForm says what the start of a file is if it is the start of no JSON lines.
func wrongForm(name string, begin []byte) error {
	lines := NewInput(bytes.NewReader(begin), MaxLine)
	first, err := lines.Next()
	if err != nil { // there is no line
		return nil
	}

	_, err = lines.Next()
	text, more := first.Text, err == nil
	switch {
	case bytes.HasPrefix(text, []byte("\x1f\x8b")):
		return fmt.Errorf("%s is compressed: give brig batch its lines with: gzip -dc %s | brig batch - -o FILE", name, name)
	case bytes.HasPrefix(text, []byte("[")):
		return fmt.Errorf("%s is a JSON array, and brig batch reads JSON lines, an object in each: make them with: "+
			"jq -c '.[]' %s", name, name)
	case more && string(text) == "{":
		return fmt.Errorf("%s has an object that goes over several lines, and brig batch reads JSON lines, an object "+
			"in each: make them with: jq -c . %s", name, name)
	case text[0] != '{':
		return fmt.Errorf("%s has no JSON object in its first line, and brig batch reads JSON lines, an object in "+
			"each: see brig batch --help", name)
	}

	return nil
}
