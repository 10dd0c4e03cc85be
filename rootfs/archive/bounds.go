package archive

import (
	"fmt"
	"time"
)

// Bounds limit one import. A zero field takes its default.
type Bounds struct {
	Bytes   int64         // unpacked, all files together, and 4 KiB for each directory; default 8 GiB
	Input   int64         // size of the archive before unpacking; default 8 GiB
	Entries int64         // members, and directories without a member; default 1,000,000
	Ratio   int64         // unpacked bytes per archive byte, beyond the first 64 MiB; default 200
	Time    time.Duration // wall time; default 15 minutes
}

// Fixed bounds, far above what a legitimate archive needs.
const (
	maxPath       = 4095    // PATH_MAX less its NUL
	maxTreePath   = 3500    // of a directory below the root: with the store's path and a name it must be below PATH_MAX
	maxComponent  = 255     // NAME_MAX
	maxDepth      = 128     // components of a name
	maxNames      = 1 << 28 // bytes of all names together, which the unpacking side keeps in memory
	ratioFloor    = 64 << 20
	maxHops       = 16       // dangling links followed while making missing parents
	maxLayerNames = 16 << 20 // bytes of the names that Contents of a layer has
)

// DirBytes is what a directory takes on most file systems.
const DirBytes = 4 << 10

// blockBytes is the unit in which most file systems store files. What takes no block takes an inode and
// a name.
const blockBytes = 4 << 10

// WithDefaults returns the bounds with every zero field set to its default.
func (b Bounds) WithDefaults() Bounds {
	or := func(v *int64, d int64) {
		if *v <= 0 {
			*v = d
		}
	}

	or(&b.Bytes, 8<<30)
	or(&b.Input, 8<<30)
	or(&b.Entries, 1_000_000)
	or(&b.Ratio, 200)
	if b.Time <= 0 {
		b.Time = 15 * time.Minute
	}
	return b
}

// An Amount is the progress of an import.
type Amount struct {
	Entries  int64
	Unpacked int64 // bytes
}

func (a Amount) String() string {
	return fmt.Sprintf("%d members, %d MiB unpacked", a.Entries, a.Unpacked>>20)
}
