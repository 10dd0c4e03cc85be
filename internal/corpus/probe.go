package corpus

import (
	"embed"
	"errors"
	"io/fs"

	"github.com/brig-sandbox/brig/api"
)

// built holds what make makes of testdata/hostile: probes.elf, one static program that does
// what its file's name begins with, programs of their own that act before main, and what is expected of each.
//
//go:embed built
var built embed.FS

// Probe returns the program of a case, or of another name in testdata/hostile, as an input. A program for an
// unknown name prints an error and exits with 127.
func Probe(id string) api.File {
	elf, err := built.ReadFile("built/" + id + ".elf")
	if errors.Is(err, fs.ErrNotExist) {
		elf, err = built.ReadFile("built/probes.elf")
	}
	if err != nil {
		panic("corpus: built without its programs: " + err.Error()) // make builds them
	}
	return api.File{Name: id, Content: elf, Executable: true}
}
