package rootfs

import (
	"errors"
	"fmt"
	"time"

	"github.com/brig-sandbox/brig/rootfs/archive"
)

// packageBounds bound all sets of packages together.
type packageBounds struct {
	bytes int64 // on disk
	sets  int
}

// maxPackageSets is the most sets that are stored. Each removal and each list reads the files of all, of up
// to 24 KiB.
const maxPackageSets = 1000

// ErrPackagesFull is wrapped by the error for a set that does not fit next to those in use.
var ErrPackagesFull = errors.New("there is no room for the set of packages")

// An ownerUse is what the sets of one owner take.
type ownerUse struct {
	bytes      int64
	sets       int
	candidates []PackageSet // those that may be removed, in the order in which they are
}

// makeRoom returns the sets that are to be removed so that fresh fits: all that are stale, and then, of the
// owner who has most, those that were used least recently. No owner takes from another one who has less
// (PKG-12). sets are in the order of their use. The set that fresh replaces makes room, too.
func makeRoom(sets []PackageSet, fresh PackageSet, maximum packageBounds,
	inUse func(PackageSet) bool) (gone []PackageSet, err error) {
	if fresh.Size > maximum.bytes {
		return nil, fmt.Errorf("%w: it takes %d bytes on disk, and all sets together may take %d (brigd --packages-cache)",
			archive.ErrTooLarge, fresh.Size, maximum.bytes)
	}

	// The new set counts before any is removed: its owner takes room only from owners that have no less
	// than it will have (PKG-12).
	own := &ownerUse{bytes: fresh.Size, sets: 1}
	owners := map[uint32]*ownerUse{fresh.Owner: own}
	total := packageBounds{fresh.Size, 1}
	for _, set := range sets {
		switch {
		case set.Key == fresh.Key:
			continue
		case set.Stale(time.Now()) && !inUse(set):
			gone = append(gone, set)
			continue
		}

		o := owners[set.Owner]
		if o == nil {
			o = &ownerUse{}
			owners[set.Owner] = o
		}

		o.candidates = append(o.candidates, set)
		o.bytes, o.sets = o.bytes+set.Size, o.sets+1
		total.bytes, total.sets = total.bytes+set.Size, total.sets+1
	}

	for total.bytes > maximum.bytes || total.sets > maximum.sets {
		o := largest(owners, own, total.bytes > maximum.bytes)
		if o == nil {
			return nil, fmt.Errorf("%w: all sets take %d of %d bytes, and are %d of %d, and those of this user are "+
				"in use: have its sessions end, or have the operator raise brigd --packages-cache",
				ErrPackagesFull, total.bytes-fresh.Size, maximum.bytes, total.sets-1, maximum.sets)
		}
		set := o.candidates[0]
		if o.candidates = o.candidates[1:]; inUse(set) {
			continue
		}
		gone = append(gone, set)
		o.bytes, o.sets = o.bytes-set.Size, o.sets-1
		total.bytes, total.sets = total.bytes-set.Size, total.sets-1
	}

	return gone, nil
}

// largest returns the owner whose sets take most, by bytes or by number, of those who have a set that may be
// removed and take no less than own; nil: there is none.
func largest(owners map[uint32]*ownerUse, own *ownerUse, byBytes bool) (maximum *ownerUse) {
	takes := func(o *ownerUse) int64 {
		if byBytes {
			return o.bytes
		}
		return int64(o.sets)
	}

	if len(own.candidates) > 0 {
		maximum = own // if others take as much, too
	}

	for _, o := range owners {
		if len(o.candidates) > 0 && takes(o) >= takes(own) && (maximum == nil || takes(o) > takes(maximum)) {
			maximum = o
		}
	}

	return maximum
}
