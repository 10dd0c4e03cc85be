package image

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// This file finds images whose stored files are not those that were imported: truncated by a full disk, overwritten by
// hand, lost by a file system. A right program ends by SIGSEGV then, and looks wrong (TestDamagedImages). So an image is
// compared with its record before a program's bad end is believed.

// An image that was found intact is taken for intact for trustTime, or trustFactor times as long as the comparison took,
// whatever is longer: so comparisons take half a percent of a processor at most.
const (
	trustTime   = time.Second
	trustFactor = 200
)

// damage is what is known of the files of images.
type damage struct {
	mu    sync.Mutex
	trees map[plan.ImageTree]*treeState // guarded by mu
}

// A treeState is what the last comparison of an image with its record has found.
type treeState struct {
	mu    sync.Mutex    // held while the image is compared
	until time.Duration // on the monotonic clock: it is taken for intact
	found error         // guarded by damage.mu; nil: nothing differs
}

// Intact compares an image with the record of its import, by sizes and times, unless that was done a moment ago. The
// error has the code image-damaged.
func (i *Images) Intact(ctx context.Context, img rootfs.Image) error {
	tree := i.damage.state(plan.TreeOf(img))
	tree.mu.Lock()
	defer tree.mu.Unlock()

	if err := i.KnownIntact(img); err != nil || linux.Monotonic() < tree.until {
		return err
	}

	began := linux.Monotonic()
	v, err := i.Store.VerifyMetadata(ctx, img)
	if err != nil { // it was removed meanwhile, the caller has left, or it is older than records
		return nil
	}

	ended := linux.Monotonic()
	tree.until = ended + max(trustTime, trustFactor*(ended-began))
	if v.OK() {
		return nil
	}

	err = damaged(v)
	i.log.Error("an image is damaged: no run of it begins until it is built or imported again", "image", img.Digest,
		"names", img.Names, "err", err)
	i.damage.mu.Lock()
	tree.found = err
	i.damage.mu.Unlock()
	return err
}

// KnownIntact returns the error that Intact has found, without a comparison.
func (i *Images) KnownIntact(img rootfs.Image) error {
	i.damage.mu.Lock()
	defer i.damage.mu.Unlock()
	if tree := i.damage.trees[plan.TreeOf(img)]; tree != nil {
		return tree.found
	}
	return nil
}

// Damaged lists the digests of the images that were found damaged and are still stored, sorted.
func (i *Images) Damaged() (digests []string) {
	i.damage.mu.Lock()
	trees := maps.Clone(i.damage.trees)
	maps.DeleteFunc(trees, func(_ plan.ImageTree, t *treeState) bool { return t.found == nil })
	i.damage.mu.Unlock()
	for tree := range trees {
		if i.Stores(tree) {
			digests = append(digests, tree.Image)
		}
	}
	slices.Sort(digests)
	return slices.Compact(digests)
}

// state is what is known of one tree.
func (d *damage) state(key plan.ImageTree) *treeState {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.trees == nil {
		d.trees = map[plan.ImageTree]*treeState{}
	}
	if d.trees[key] == nil {
		d.trees[key] = &treeState{}
	}
	return d.trees[key]
}

// forget drops what is known of trees that are no longer stored.
func (d *damage) forget(stored func(plan.ImageTree) bool) {
	d.mu.Lock()
	trees := slices.Collect(maps.Keys(d.trees))
	d.mu.Unlock()
	for _, tree := range trees {
		if !stored(tree) {
			d.mu.Lock()
			delete(d.trees, tree)
			d.mu.Unlock()
		}
	}
}

func damaged(v rootfs.Verification) error {
	const maximum = 3
	names := slices.Concat(v.Changed, v.Missing, v.Extra)
	name := v.Image.Digest
	if len(v.Image.Names) > 0 {
		name = v.Image.Names[0]
	}
	return api.Fail(api.CodeImageDamaged,
		"%d files of the stored image %s are not as they were imported (%s): how its programs end says nothing: see "+
			"brig rootfs verify %s, and build or import it again",
		len(names), name, strings.Join(quoted(names[:min(len(names), maximum)]), ", "), name)
}

func quoted(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = fmt.Sprintf("%.100q", name)
	}
	return out
}
