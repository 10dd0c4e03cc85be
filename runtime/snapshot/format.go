// Package snapshot keeps copies of the files of sessions, from which other sessions begin (adr 0063).
//
// A snapshot is one file, which only the agent writes and reads: a description, and then a record for each file,
// directory and link in the order of a walk. No name that a program chose is ever a name on the host's disk. The files
// of a session are read, and written, by threads that have the rights of its program alone, so what a name leads to is
// at most what the program itself can reach (SNP-02, SNP-03).
package snapshot

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strings"

	"github.com/brig-sandbox/brig/api"
)

// magic begins every file.
var magic = [16]byte([]byte("brig snapshot 1\n"))

// aboutSize is how much of the file the description has, with what fills it up.
const aboutSize = 4096

// A kind says what a record is.
type kind byte

const (
	kindDir     kind = 'd' // the records until its leave are what is in it
	kindLeave   kind = 'u'
	kindFile    kind = 'f' // chunks follow
	kindSymlink kind = 'l'
	kindHard    kind = 'h' // one more name of a file that came before
	kindEnd     kind = 'e' // the digest of the whole follows
)

// A header begins a record.
type header struct {
	Kind    kind
	_       byte
	Mode    uint16 // nine bits
	NameLen uint16
	TextLen uint16 // of what a symbolic link says, or of the path of the other name
	Sec     int64  // time of the last change
	Nsec    uint32
	_       uint32
	Size    int64
}

// A record is a header with its texts.
type record struct {
	header

	Name string // in its directory
	Text string
}

const headerSize = 32

// append encodes a record.
func (r *record) append(b []byte) []byte {
	b = append(b, byte(r.Kind), 0)
	b = binary.LittleEndian.AppendUint16(b, r.Mode)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(r.Name)))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(r.Text)))
	b = binary.LittleEndian.AppendUint64(b, uint64(r.Sec))
	b = binary.LittleEndian.AppendUint32(b, r.Nsec)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(r.Size))
	b = append(b, r.Name...)
	return append(b, r.Text...)
}

// parseHeader decodes a header.
func parseHeader(b []byte) header {
	return header{
		Kind: kind(b[0]), Mode: binary.LittleEndian.Uint16(b[2:]), NameLen: binary.LittleEndian.Uint16(b[4:]),
		TextLen: binary.LittleEndian.Uint16(b[6:]), Sec: int64(binary.LittleEndian.Uint64(b[8:])),
		Nsec: binary.LittleEndian.Uint32(b[16:]), Size: int64(binary.LittleEndian.Uint64(b[24:])),
	}
}

// block is the unit in which content is looked at: one of zeros is not stored, whether the program wrote it or left a
// hole there. So what a snapshot takes does not depend on what a file claims (SNP-05).
const block = 4096

// maxChunk is the most bytes of one chunk.
const maxChunk = 128 << 10

// maxText is the most bytes of what a link says, and of a path.
const maxText = api.MaxPath

var errDamaged = errors.New("the file of the snapshot is damaged")

// check refuses records that no agent has written.
func (r *record) check() error {
	named := r.Kind != kindLeave && r.Kind != kindEnd
	switch {
	case !strings.ContainsRune("dufhle", rune(r.Kind)):
	case named != (r.Name != ""), r.Name == ".", r.Name == "..", len(r.Name) > 255, strings.ContainsAny(r.Name, "/\x00"):
	case len(r.Text) > maxText, strings.ContainsRune(r.Text, 0):
	case (r.Kind == kindSymlink || r.Kind == kindHard) != (r.Text != ""):
	case r.Mode&^0o777 != 0, r.Size < 0, r.Nsec >= 1e9:
	default:
		return nil
	}
	return errDamaged
}

// A digest is that of a file's content, or of a snapshot.
type digest [sha256.Size]byte

// compareRecords orders two entries of the same directory, as a walk visits them.
func compareRecords(a, b *record) int { return strings.Compare(a.Name, b.Name) }
