package plan

import (
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
)

// A CellKey says which runs a cell can serve: runs of one image under one filter, with one kind of
// /proc.
type CellKey struct {
	ImageTree
	Policy   string // hash of the profile and its mode
	FullProc bool
	Mode     api.Mode
	Network  bool  // each shell has a network namespace of its own
	Install  bool  // the directory packages of /box is also mounted at /packages
	Writable bool  // a throw-away layer over the image; the cell then serves one run
	Layer    Layer // its bounds

	OwnsImage bool // programs are user 0 of a user namespace below the cell's, and Writable

	Alias string // a second name of /box: one of api.WorkdirAliases; empty: none
}

// SharesFiles reports whether cells of a key have files that others have too. In mode exclusive the
// image is a copy, and a writable root is a separate file system.
func (k CellKey) SharesFiles() bool { return k.Mode != api.Exclusive && !k.Writable }

// An ImageTree identifies the tree that an image had at one time. An image that is removed or
// replaced and imported again has another one.
type ImageTree struct {
	Image    string // digest
	Imported time.Time
	Packages string // digest of the layer with the packages; empty: none
}

// TreeOf identifies the tree of a stored image. A layer that was replaced is another tree, too.
func TreeOf(image rootfs.Image) ImageTree {
	t := ImageTree{image.Digest, image.Imported, image.Packages}
	for _, l := range image.Layers {
		if l.Imported.After(t.Imported) {
			t.Imported = l.Imported
		}
	}
	return t
}

// A Cell says which cell a run needs.
type Cell struct {
	Key    CellKey
	Image  rootfs.Image
	Policy *Policy
	Layer  *Layer // bounds of the throw-away layer; nil: read-only root
}

// cellFor plans cells of an image under a policy.
func cellFor(image rootfs.Image, f *Policy, fullProc bool, mode api.Mode) Cell {
	return Cell{
		Key:    CellKey{ImageTree: TreeOf(image), Policy: f.Hash, FullProc: fullProc, Mode: mode},
		Image:  image,
		Policy: f,
	}
}

// makeWritable gives the cells a throw-away layer over their image, within the limits on files.
func (p *Cell) makeWritable(limits api.Limits) {
	p.Layer = &Layer{Size: limits.Scratch, Inodes: limits.Inodes}
	p.Key.Writable, p.Key.Layer = true, *p.Layer
}

// A Layer has the bounds of the throw-away layer of a writable root.
type Layer struct {
	Size   api.Size
	Inodes int64
}

// Copies reports whether the cell's root is a copy of the image: then it shares no page, directory
// entry or inode with a run of another cell (H7; TestExclusiveRunsShareNothing,
// TestHostileChannelsOfAnImage).
func (p Cell) Copies() bool { return p.Key.Mode == api.Exclusive }

// CopySize is the most memory that the copy takes: the files in whole pages, and what the kernel
// keeps for each entry, some 1.2 KiB in a tmpfs. It is reserved together with the run's own memory.
func (p Cell) CopySize() api.Size {
	if !p.Copies() {
		return 0
	}
	return p.CopyBytes() + api.Size(p.Image.Entries)*3*api.KiB/2
}

// CopyBytes is the most that the copy's files take.
func (p Cell) CopyBytes() api.Size {
	return api.Size(p.Image.Size) + rootfs.AccountBytes + api.Size(p.Image.Entries+1)*4*api.KiB
}

// ReservedFor describes the memory that is reserved for a run in such a cell.
func (p Cell) ReservedFor() string {
	if p.Copies() {
		return "limit memory with swap, the compiled program, the files of a test, the kernel's tables for pids " +
			"times open_files and the copy of the image that mode exclusive makes"
	}
	return "limit memory with swap, the compiled program, the files of a test and the kernel's tables for pids times open_files"
}
