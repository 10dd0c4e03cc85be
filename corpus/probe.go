package corpus

import (
	_ "embed"

	"github.com/brig-sandbox/brig/api"
)

// probes is one static program that is every probe: it does what its file's name
// begins with. make corpus/probes.elf builds it of cases/*.c.
//
//go:embed probes.elf
var probes []byte

// Probe returns the program of a case, or of another name in cases/, as an input.
// One that does not exist prints so and exits with 127.
func Probe(id string) api.File {
	return api.File{Name: id, Content: probes, Executable: true}
}
