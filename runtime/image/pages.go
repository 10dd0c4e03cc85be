package image

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// imagePages keeps the files of the images in use in memory. The kernel charges a page of a file to
// the group that touches it first, and the charge stays there. Without this type a run would pay,
// in memory and in time, for pages that another run's eviction, or memory pressure, had removed
// from the page cache, and its verdict would depend on that (H6; TestAColdImageChangesNothing). One
// child per tree locks the pages, in the agent's own group; see docs/adr/0015. An image of layers has
// several trees, and images share them.
type imagePages struct {
	images   *Images
	Max      api.Size // bound on all together; zero: none are locked
	readOnce bool     // the files are read once, and none is locked: the agent serves one command and ends soon
	wg       sync.WaitGroup

	mu      sync.Mutex
	byTree  map[plan.ImageTree]*LockedPages // guarded by mu
	granted api.Size                        // guarded by mu; the sum over of
	closed  bool                            // guarded by mu
}

// Held are the pages that a cell needs. The nil value holds nothing.
type Held []*LockedPages

// LockedPages are the pages of one tree.
type LockedPages struct {
	pages *imagePages
	tree  tree
	ready chan struct{} // closed when they are locked, or cannot be
	stop  context.CancelFunc
	done  chan struct{} // closed when the child is gone

	users                 int           // guarded by pages.mu; cells
	lastUsed              time.Duration // guarded by pages.mu; when the last cell went
	decided               bool          // guarded by pages.mu; false: it may be waiting for others to free memory
	wanted, granted, held api.Size      // guarded by pages.mu
}

// MaxUnusedTrees is how many trees that no cell uses are kept in memory, each by a child with five
// descriptors. Without it every set of packages that ran in the last minutes had one (TestUnusedTreesAreBounded).
const MaxUnusedTrees = 128

// IdleLife is how long an image's files stay in memory, and a cell is kept, without a run.
const IdleLife = 5 * time.Minute

func newImagePages(images *Images, maximum api.Size, readOnce bool) *imagePages {
	return &imagePages{images: images, Max: max(maximum, 0), readOnce: readOnce, byTree: map[plan.ImageTree]*LockedPages{}}
}

// A tree is what one child holds: the tree of an image, or that of a layer.
type tree struct {
	key   plan.ImageTree
	names []string // of the image, for messages
	lock  func() (*Lock, error)
}

// treesOf lists the trees of an image.
func (i *Images) treesOf(image rootfs.Image) []tree {
	own := image
	own.Layers, own.Packages = nil, "" // each is locked for itself
	trees := []tree{{plan.TreeOf(own), image.Names, func() (*Lock, error) { return i.Lock(own) }}}
	for _, l := range image.Layers {
		trees = append(trees, tree{layerKey(l), image.Names, func() (*Lock, error) { return i.locked(i.Store.LockLayer(l)) }})
	}
	return trees
}

// layerKey identifies the tree of a layer. No image has such a digest.
func layerKey(l rootfs.Layer) plan.ImageTree {
	return plan.ImageTree{Image: layerPrefix + l.Digest, Imported: l.Imported}
}

const layerPrefix = "layer "

// Acquire has the files of a cell's image locked in memory, from now until Release.
func (i *imagePages) Acquire(image rootfs.Image) Held {
	if i.Max == 0 && !i.readOnce {
		return nil
	}

	i.mu.Lock()
	defer i.mu.Unlock()

	if i.closed {
		return nil // no run will use the cell
	}

	var held Held
	for _, t := range i.images.treesOf(image) {
		p := i.byTree[t.key]
		if p == nil {
			ctx, stop := context.WithCancel(context.Background())
			p = &LockedPages{pages: i, tree: t, ready: make(chan struct{}), stop: stop, done: make(chan struct{})}
			i.byTree[t.key] = p
			i.wg.Go(func() { p.run(ctx) })
		}
		p.users++
		held = append(held, p)
	}

	return held
}

// Release undoes Acquire. The pages stay locked for a while after the last user: cells
// come and go.
func (h Held) Release() error {
	for _, p := range h {
		p.pages.mu.Lock()
		p.users--
		p.lastUsed = linux.Monotonic()
		p.pages.mu.Unlock()
	}
	return nil
}

// Wait waits until as many of the files are in memory as will be.
func (h Held) Wait(ctx context.Context) error {
	for _, p := range h {
		select {
		case <-p.ready:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// run is the goroutine of one tree's pages. A failure only costs runs of the image this
// protection: it is logged, Health shows it, and run tries again. For example, the kernel for lack
// of memory, or somebody, may have killed the child.
func (p *LockedPages) run(ctx context.Context) {
	defer close(p.done)

	signalReady := sync.OnceFunc(func() { close(p.ready) })
	defer signalReady()

	log := p.pages.images.log.With("image", p.tree.key.Image, "names", p.tree.names)
	var pause time.Duration
	for p.begin() {
		began := linux.Monotonic()
		err := p.lock(ctx, func() {
			signalReady()
			if pause > 0 {
				log.Info("the files of an image are held in memory again")
			}
		})

		signalReady() // no run waits for another try
		p.pages.mu.Lock()
		p.pages.granted -= p.granted
		p.granted, p.held, p.decided = 0, 0, true
		p.pages.mu.Unlock()
		if err == nil || ctx.Err() != nil || api.HasCode(err, api.CodeNoImage) { // if the image was just removed, its cell reports that
			return
		}

		const text = "the files of an image are not held in memory: verdicts and measurements of its runs depend on " +
			"what is in the page cache"
		if p.pages.readOnce { // the one command has read the files by now, or ends
			log.Error(text, "err", err)
			return
		}

		pause = relockPause(pause, linux.Monotonic()-began)
		log.Error(text, "err", err, "tried again in", pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// relockPause returns the pause before an image is locked again. lasted is how long the last try read
// or locked it; last is the previous pause, zero at first. If it fails again and again there are a
// few tries in quick succession and then one per minute: reading an image takes memory, whose lack
// ended the try.
func relockPause(last, lasted time.Duration) time.Duration {
	if last == 0 || lasted > relockPauseMax {
		return relockPauseMin
	}
	return min(2*last, relockPauseMax)
}

const relockPauseMin, relockPauseMax = time.Second, time.Minute

// begin reports whether the pages are still to be locked. From here on they do not give up memory
// for others until they have their own grant: two could wait for each other. Pages that were given
// up before are no longer in the map.
func (p *LockedPages) begin() bool {
	p.pages.mu.Lock()
	defer p.pages.mu.Unlock()
	if p.pages.byTree[p.tree.key] != p {
		return false
	}
	p.decided = false
	return true
}

// lock keeps the pages locked until ctx ends. It returns earlier on failure.
func (p *LockedPages) lock(ctx context.Context, ready func()) (err error) {
	p.pages.closeSurplus()
	imageLock, err := p.tree.lock()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, imageLock.Close()) }()

	trees, err := imageLock.Trees()
	if err != nil {
		return err
	}
	defer trees[0].Close() // there is one: see treesOf

	what := "hold"
	if p.pages.readOnce {
		what = "read"
	}

	child, err := p.pages.images.startChild(what, trees[0])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, child.Close()) }()

	if p.pages.readOnce {
		_, err := child.receive(ctx, imageHeld)
		return err
	}

	w, err := child.receive(ctx, imageWanted)
	if err != nil {
		return err
	}

	granted, err := p.grant(api.Size(w.A))
	if err != nil {
		return err
	}
	if err := child.send(imageMessage{Kind: imageGrant, A: uint64(granted)}); err != nil {
		return err
	}
	if w, err = child.receive(ctx, imageHeld); err != nil {
		return err
	}

	p.pages.mu.Lock()
	p.held = api.Size(w.A)
	wanted := p.wanted
	p.pages.mu.Unlock()
	if remedy := "raise --image-memory"; api.Size(w.A) < wanted {
		if granted == wanted {
			remedy = "raise the sysctl vm.max_map_count"
		}
		p.pages.images.log.Warn("not all files of an image are held in memory: verdicts and measurements of its runs "+
			"can depend on what is in the page cache; "+remedy,
			"image", p.tree.key.Image, "names", p.tree.names, "files take", wanted, "held", api.Size(w.A),
			"image-memory", p.pages.Max)
	}

	ready()
	_, err = child.receive(ctx, imageHeld) // there is no further message: this waits for the end of the child or of ctx
	return err
}

// grant reserves memory for an image and returns how much of it may be locked. Images that no cell
// uses give up theirs, the least recently used one first.
func (p *LockedPages) grant(wanted api.Size) (api.Size, error) {
	i := p.pages
	for {
		i.mu.Lock()
		p.wanted = wanted
		room := i.Max - i.granted
		oldest := i.leastRecentlyUsed()
		if room >= wanted || oldest == nil {
			p.granted, p.decided = min(room, wanted), true
			i.granted += p.granted
			i.mu.Unlock()
			return p.granted, nil
		}

		delete(i.byTree, oldest.tree.key)
		i.mu.Unlock()
		oldest.close()
	}
}

// leastRecentlyUsed returns the least recently used pages that no cell uses; i.mu is held. Pages that wait for
// memory themselves are not returned: two could wait for each other.
func (i *imagePages) leastRecentlyUsed() (oldest *LockedPages) {
	for _, p := range i.byTree {
		if p.users == 0 && p.decided && (oldest == nil || p.lastUsed < oldest.lastUsed) {
			oldest = p
		}
	}
	return oldest
}

// closeSurplus unlocks the pages that were used least recently of more unused trees than are kept.
func (i *imagePages) closeSurplus() {
	for {
		i.mu.Lock()
		unused := 0
		for _, p := range i.byTree {
			if p.users == 0 {
				unused++
			}
		}

		oldest := i.leastRecentlyUsed()
		if unused <= MaxUnusedTrees || oldest == nil {
			i.mu.Unlock()
			return
		}

		delete(i.byTree, oldest.tree.key)
		i.mu.Unlock()
		oldest.close()
	}
}

// close unlocks the pages. They must no longer be in the map.
func (p *LockedPages) close() {
	p.stop()
	<-p.done
}

// releaseUnused unlocks pages that no cell has used for a while, or whose image is no longer stored.
func (i *imagePages) releaseUnused() {
	var unused []*LockedPages
	i.mu.Lock()
	for _, p := range i.byTree {
		if p.users == 0 {
			unused = append(unused, p)
		}
	}

	i.mu.Unlock() // the following lookups may wait for a disk

	for _, p := range unused {
		gone := !i.images.Stores(p.tree.key)
		i.mu.Lock()
		ends := p.users == 0 && i.byTree[p.tree.key] == p && (gone || linux.Monotonic()-p.lastUsed > IdleLife)
		if ends {
			delete(i.byTree, p.tree.key)
		}
		i.mu.Unlock()
		if ends {
			p.close()
		}
	}

	i.closeSurplus()
}

// Stats returns how much is locked, and how much the files of all images in use take.
func (i *imagePages) Stats() (held, wanted api.Size) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, p := range i.byTree {
		held += p.held
		wanted += p.wanted
	}
	return held, wanted
}

// Close unlocks everything. No run may be under way.
func (i *imagePages) Close() {
	i.mu.Lock()
	i.closed = true
	for _, p := range i.byTree {
		p.stop()
	}
	clear(i.byTree)
	i.mu.Unlock()
	i.wg.Wait()
}

// CheckMemlock refuses a bound that this process is not allowed to lock.
func CheckMemlock(maximum api.Size) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit); err != nil {
		return os.NewSyscallError("getrlimit RLIMIT_MEMLOCK", err)
	}

	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&head, &caps[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	if maximum <= 0 || uint64(maximum) <= limit.Cur || caps[0].Effective&(1<<unix.CAP_IPC_LOCK) != 0 {
		return nil
	}

	return api.Refuse(api.CodeUnsupported,
		"holding the files of images in memory needs CAP_IPC_LOCK, or a limit of %s on locked memory "+
			"(LimitMEMLOCK=): grant one of them, or start brigd with --image-memory none; then verdicts of runs "+
			"depend on what is in the page cache", maximum)
}
