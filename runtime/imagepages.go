package runtime

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
)

// imagePages hold the files of the images in use in memory. A page of a file is charged to
// the group of whoever touches it first, and stays charged there: without this a run paid
// for what another's eviction, or memory pressure, had thrown out of the page cache, in
// memory and in time, and the verdict depended on it (H6; TestAColdImageChangesNothing).
// The pages are locked by a child for each image, in the agent's own group; see
// docs/adr/0015.
type imagePages struct {
	host  *Host
	most  api.Size // bound on all together; zero: none are held
	brief bool     // they are read once, and none is held: who serves one command ends soon
	wg    sync.WaitGroup

	mu      sync.Mutex
	of      map[imageTree]*heldPages // guarded by mu
	granted api.Size                 // guarded by mu; the sum over of
	closed  bool                     // guarded by mu
}

// heldPages are those of one image. Its nil value holds nothing.
type heldPages struct {
	all   *imagePages
	image rootfs.Image
	ready chan struct{} // closed when they are held, or cannot be
	stop  context.CancelFunc
	done  chan struct{} // closed when the child is gone

	users                 int           // guarded by all.mu; cells
	left                  time.Duration // guarded by all.mu; when the last of them went
	settled               bool          // guarded by all.mu; it waits for nobody's room
	wanted, granted, held api.Size      // guarded by all.mu
}

func newImagePages(h *Host) *imagePages {
	return &imagePages{host: h, most: max(h.cfg.ImageMemory, 0), brief: h.cfg.ReadImages, of: map[imageTree]*heldPages{}}
}

// take has the files of a cell's image held, from now until give.
func (i *imagePages) take(image rootfs.Image) *heldPages {
	if i.most == 0 && !i.brief {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.closed {
		return nil // the cell is for no run
	}
	p := i.of[treeOf(image)]
	if p == nil {
		ctx, stop := context.WithCancel(context.Background())
		p = &heldPages{all: i, image: image, ready: make(chan struct{}), stop: stop, done: make(chan struct{})}
		i.of[treeOf(image)] = p
		i.wg.Go(func() { p.keep(ctx) })
	}
	p.users++
	return p
}

// give takes back what take did. The pages are held on for a while: cells come and go.
func (p *heldPages) give() error {
	if p == nil {
		return nil
	}
	p.all.mu.Lock()
	defer p.all.mu.Unlock()
	p.users--
	p.left = monotonic()
	return nil
}

// wait waits until the files are in memory, as far as they will be.
func (p *heldPages) wait(ctx context.Context) error {
	if p == nil {
		return nil
	}
	select {
	case <-p.ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// keep is the goroutine of one image's pages. A failure costs runs of the image their
// protection and nothing else: it is logged, Health shows it, and it is tried again. A child may
// have been killed, by the kernel for want of memory or by somebody.
func (p *heldPages) keep(ctx context.Context) {
	defer close(p.done)
	settle := sync.OnceFunc(func() { close(p.ready) })
	defer settle()
	log := p.all.host.log.With("image", p.image.Digest, "names", p.image.Names)
	var pause time.Duration
	for p.begin() {
		began := monotonic()
		err := p.hold(ctx, func() {
			settle()
			if pause > 0 {
				log.Info("the files of an image are held in memory again")
			}
		})
		settle() // no run waits for another try
		p.all.mu.Lock()
		p.all.granted -= p.granted
		p.granted, p.held, p.settled = 0, 0, true
		p.all.mu.Unlock()
		if err == nil || ctx.Err() != nil || isFull(err, api.CodeNoImage) { // of an image just removed its cell is told
			return
		}
		const text = "the files of an image are not held in memory: verdicts and figures of its runs depend on what is in the page cache"
		if p.all.brief { // who is served has read them by now, or ends
			log.Error(text, "err", err)
			return
		}
		pause = holdAgain(pause, monotonic()-began)
		log.Error(text, "err", err, "tried again in", pause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
}

// holdAgain is how long to wait before an image is held again that was held, or being read, for
// so long; last is what was waited before, zero at first. Where it ends again and again there are
// a few tries at once and then one in a minute: reading an image costs what ended it, memory.
func holdAgain(last, lasted time.Duration) time.Duration {
	if last == 0 || lasted > holdPauseMax {
		return holdPauseMin
	}
	return min(2*last, holdPauseMax)
}

const holdPauseMin, holdPauseMax = time.Second, time.Minute

// begin reports whether the pages are still to be held. From here on they give room to nobody
// until they have their own: two could wait for each other. Those that had given theirs up
// before are out of the map.
func (p *heldPages) begin() bool {
	p.all.mu.Lock()
	defer p.all.mu.Unlock()
	if p.all.of[treeOf(p.image)] != p {
		return false
	}
	p.settled = false
	return true
}

// hold holds until ctx ends. It returns earlier when that cannot be.
func (p *heldPages) hold(ctx context.Context, ready func()) (err error) {
	held, err := p.all.host.hold(p.image)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, held.Close()) }()
	tree, err := held.hold.Tree()
	if err != nil {
		return err
	}
	defer tree.Close()
	what := "hold"
	if p.all.brief {
		what = "read"
	}
	child, err := p.all.host.startImageChild(what, tree)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, child.Close()) }()
	if p.all.brief {
		_, err := child.hear(ctx, imageHeld)
		return err
	}
	w, err := child.hear(ctx, imageWanted)
	if err != nil {
		return err
	}
	granted, err := p.grant(api.Size(w.A))
	if err != nil {
		return err
	}
	if err := child.say(imageWord{Kind: imageGrant, A: uint64(granted)}); err != nil {
		return err
	}
	if w, err = child.hear(ctx, imageHeld); err != nil {
		return err
	}
	p.all.mu.Lock()
	p.held = api.Size(w.A)
	wanted := p.wanted
	p.all.mu.Unlock()
	if cure := "raise --image-memory"; api.Size(w.A) < wanted {
		if granted == wanted {
			cure = "raise the sysctl vm.max_map_count"
		}
		p.all.host.log.Warn("not all files of an image are held in memory: verdicts and figures of its runs can depend on what is in the page cache; "+cure,
			"image", p.image.Digest, "names", p.image.Names, "files take", wanted, "held", api.Size(w.A), "image-memory", p.all.most)
	}
	ready()
	_, err = child.hear(ctx, imageHeld) // says no more: this waits for its end, or ours
	return err
}

// grant makes room for an image and says how much of it may be held. Images that no cell
// uses give theirs up, the one longest unused first.
func (p *heldPages) grant(wanted api.Size) (api.Size, error) {
	i := p.all
	for {
		i.mu.Lock()
		p.wanted = wanted
		room := i.most - i.granted
		oldest := i.oldest()
		if room >= wanted || oldest == nil {
			p.granted, p.settled = min(room, wanted), true
			i.granted += p.granted
			i.mu.Unlock()
			return p.granted, nil
		}
		delete(i.of, treeOf(oldest.image))
		i.mu.Unlock()
		oldest.close()
	}
}

// oldest is, of those that no cell uses, the one longest unused; i.mu is held. One that
// waits for room itself is left alone: two could wait for each other.
func (i *imagePages) oldest() (oldest *heldPages) {
	for _, p := range i.of {
		if p.users == 0 && p.settled && (oldest == nil || p.left < oldest.left) {
			oldest = p
		}
	}
	return oldest
}

// close gives the pages back. They must be out of the map.
func (p *heldPages) close() {
	p.stop()
	<-p.done
}

// sweep gives back what no cell has used for a while, or is of an image that is stored no
// more.
func (i *imagePages) sweep() {
	var unused []*heldPages
	i.mu.Lock()
	for _, p := range i.of {
		if p.users == 0 {
			unused = append(unused, p)
		}
	}
	i.mu.Unlock() // what follows waits for a disk
	for _, p := range unused {
		img, err := i.host.cfg.Images.Lookup(p.image.Digest)
		gone := err != nil || treeOf(img) != treeOf(p.image)
		i.mu.Lock()
		ends := p.users == 0 && i.of[treeOf(p.image)] == p && (gone || monotonic()-p.left > idleLife)
		if ends {
			delete(i.of, treeOf(p.image))
		}
		i.mu.Unlock()
		if ends {
			p.close()
		}
	}
}

// stats tells how much is held, and how much the files of all images in use take.
func (i *imagePages) stats() (held, wanted api.Size) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, p := range i.of {
		held += p.held
		wanted += p.wanted
	}
	return held, wanted
}

// Close gives everything back. No run may be under way.
func (i *imagePages) Close() {
	i.mu.Lock()
	i.closed = true
	for _, p := range i.of {
		p.stop()
	}
	clear(i.of)
	i.mu.Unlock()
	i.wg.Wait()
}

// lockable refuses to hold what this process may not lock.
func lockable(most api.Size) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &limit); err != nil {
		return os.NewSyscallError("getrlimit RLIMIT_MEMLOCK", err)
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&head, &caps[0]); err != nil {
		return os.NewSyscallError("capget", err)
	}
	if most <= 0 || uint64(most) <= limit.Cur || caps[0].Effective&(1<<unix.CAP_IPC_LOCK) != 0 {
		return nil
	}
	return api.Refuse(api.CodeUnsupported, "to hold the files of images in memory takes CAP_IPC_LOCK, or a limit of %s on locked memory (LimitMEMLOCK=): give either, or start brigd with --image-memory none, and verdicts of runs depend on what is in the page cache", most)
}
