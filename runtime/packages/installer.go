// Package packages installs sets of packages: it runs an installer in a sandbox of its own, takes what
// the installer left through the admission child, and stores it. It decides nothing about where packages
// come from: the caller relays the installer's connections.
package packages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/archive"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/runtime/run"
)

// An Installer installs sets of packages and keeps them in a store.
type Installer struct {
	Runner  *run.Runner
	Store   *rootfs.Store
	Most    api.Size // of all sets together
	Removed func()   // called when sets were removed or replaced: cells may use them

	mu      sync.Mutex
	flights map[string]*flight // guarded by mu; by key
}

// A flight is an installation under way.
type flight struct {
	done chan struct{}
	err  error // set before done is closed
}

// Install installs a set, unless it is stored already. Several requests for one set at the same time
// are one installation; the others wait for it. If its caller leaves, the next one installs.
func (i *Installer) Install(ctx context.Context, r api.PackageRequest, s api.Streams,
	caller api.Caller) (api.PackageSet, error) {
	for {
		p, err := i.Runner.Planner.Install(ctx, r, caller)
		if err != nil {
			return api.PackageSet{}, err
		}
		if p.Have {
			set := plan.DescribePackages(p.Set)
			set.Cached = true
			return set, nil
		}
		if s.Network == nil {
			return api.PackageSet{}, plan.MissingPackages(r.Requirements)
		}

		own, other := i.begin(p.Set.Key)
		if other == nil {
			return i.perform(p.Set.Key, own, func() (api.PackageSet, error) { return i.install(ctx, p, s) })
		}

		select {
		case <-other.done:
			if api.HasCode(other.err, api.CodePackagesFailed) {
				return api.PackageSet{}, other.err
			}
		case <-ctx.Done():
			return api.PackageSet{},
				api.Fail(api.CodeStopping, "canceled while another request installed the packages: %w", ctx.Err())
		}
	}
}

// begin returns a new flight, or the one that is under way.
func (i *Installer) begin(key string) (own, other *flight) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if f := i.flights[key]; f != nil {
		return nil, f
	}
	if i.flights == nil {
		i.flights = map[string]*flight{}
	}
	own = &flight{done: make(chan struct{})}
	i.flights[key] = own
	return own, nil
}

// perform executes an installation and ends its flight, also when a bug of ours panics: otherwise the key
// would be blocked until the agent is restarted.
func (i *Installer) perform(key string, f *flight,
	install func() (api.PackageSet, error)) (set api.PackageSet, err error) {
	defer func() { i.end(key, f, err) }()
	return install()
}

func (i *Installer) end(key string, f *flight, err error) {
	i.mu.Lock()
	delete(i.flights, key)
	i.mu.Unlock()
	f.err = err
	close(f.done)
}

// install runs the installer and stores the set.
func (i *Installer) install(ctx context.Context, p *plan.Install, s api.Streams) (api.PackageSet, error) {
	set, said := p.Set, new(lastWords)
	for _, w := range []*io.Writer{&s.Stdout, &s.Stderr} { // pip explains a conflict of versions on stdout
		if *w == nil {
			*w = io.Discard
		}
		*w = io.MultiWriter(*w, said)
	}

	s.Attach = nil // an installer reads nothing
	place, err := i.Store.EnsurePackagesPlace(ctx)
	if err != nil {
		return api.PackageSet{}, err
	}

	p.Above(place)
	stored := false
	res, err := i.Runner.Install(ctx, p.Run, s, func(box *os.File) (err error) {
		set.Installed = readList(box)
		set, err = i.store(ctx, set, box, p.Links)
		stored = err == nil
		return err
	})

	switch {
	case err != nil:
		return api.PackageSet{}, installError(err)
	case !stored:
		return api.PackageSet{}, failure(res, said.text())
	}

	i.Removed()
	return plan.DescribePackages(set), nil
}

// store has the admission child read what the installer left.
func (i *Installer) store(ctx context.Context, set rootfs.PackageSet, box *os.File,
	links map[string]string) (_ rootfs.PackageSet, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return set, err
	}

	written := make(chan error, 1)
	go func() { // joined below
		err := writeTree(box, links, w)
		written <- errors.Join(err, w.Close())
	}()
	source := &checkedReader{r: r, written: written}
	defer func() { // also when a bug of ours panics
		cerr := r.Close() // the writer ends, if it has not
		if werr := source.join(); err == nil {
			err = errors.Join(cerr, werr)
		}
	}()

	// A set that is larger than all may be together is refused, and removes no other.
	bounds := archive.Bounds{Bytes: min(maxBytes, max(int64(i.Most), 1)), Input: 2 * maxBytes,
		Entries: maxEntries, Time: 5 * time.Minute}
	return i.Store.AddPackageSet(ctx, source, set, bounds, int64(i.Most))
}

// A checkedReader ends with an error if the archive was not written completely: the part would not
// pass for the whole.
type checkedReader struct {
	r       io.Reader
	written chan error
	joined  bool
	err     error
}

func (c *checkedReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	if errors.Is(err, io.EOF) {
		if werr := c.join(); werr != nil {
			err = werr
		}
	}
	return n, err
}

// join waits for the writer, which ends when the pipe has no reader any more.
func (c *checkedReader) join() error {
	if !c.joined {
		c.err, c.joined = <-c.written, true
	}
	return c.err
}

// installError is the error of an installation whose installer ended well.
func installError(err error) error {
	var unsafe *archive.UnsafeError
	full := errors.Is(err, rootfs.ErrPackagesFull)
	if full || errors.Is(err, errTree) || errors.As(err, &unsafe) || errors.Is(err, archive.ErrTooLarge) ||
		errors.Is(err, archive.ErrMalformed) {
		e := api.Refuse(api.CodePackagesFailed, "the packages were installed, and cannot be stored: %w", err)
		e.RetrySafe = full
		return e
	}
	return err
}

// failure is the error of an installer that failed, in its own words.
func failure(res api.Result, words string) error {
	why, again := "the installer failed", false
	switch res.Verdict {
	case api.Canceled:
		return api.Fail(api.CodeStopping, "the installation was canceled")
	case api.WallLimit:
		why, again = fmt.Sprintf("the installer took longer than %s", res.Limits.Wall), true
	case api.Nonzero:
	default:
		why = fmt.Sprintf("the installer ended with %s", res.Verdict)
		if len(res.LimitsHit) > 0 {
			why += " (limits: " + strings.Join(res.LimitsHit, ", ") + ")"
		}
	}

	if words != "" {
		why += ":\n" + words
	}

	e := api.Refuse(api.CodePackagesFailed, "%s", why)
	e.RetrySafe = again
	return e
}

// setDescription is the most memory that a set takes while it is listed: 64 requirements and what is kept of
// the installer's list, as they are stored and as they are sent.
const setDescription = 48 << 10

// Sets lists the sets that a caller may use: its own and root's. Root sees all. It reserves the memory for
// the list first.
func (i *Installer) Sets(caller api.Caller, reserve func(bytes int64) error) ([]api.PackageSet, error) {
	n, err := i.Store.CountPackageSets()
	if err == nil {
		err = reserve(int64(n) * setDescription)
	}
	if err != nil {
		return nil, err
	}

	all, err := i.Store.PackageSets()
	var sets []api.PackageSet
	for _, s := range all {
		if visible(s, caller) {
			sets = append(sets, plan.DescribePackages(s))
		}
	}

	return sets, err
}

// visible reports whether a caller may use a set, and knows of it.
func visible(s rootfs.PackageSet, caller api.Caller) bool {
	return caller.UID == 0 || s.Owner == 0 || s.Owner == caller.UID
}

// Remove removes a set of the caller; root removes any. Runs that use it keep it until they end
// (PKG-10). A set of another user is as one that does not exist: its key could be computed, and the answer
// would tell what that user has installed (PKG-13).
func (i *Installer) Remove(key string, caller api.Caller) error {
	s, err := i.Store.LookupPackageSet(key)
	switch {
	case err != nil:
	case !visible(s, caller):
		err = rootfs.ErrNoPackages
	case caller.UID != 0 && s.Owner != caller.UID:
		return api.Refuse(api.CodeForbidden, "the set of packages %s belongs to root: have root remove it", key)
	default:
		err = i.Store.RemovePackageSet(key)
		i.Removed()
	}

	if errors.Is(err, rootfs.ErrNoPackages) {
		return api.Refuse(api.CodeNotFound, "there is no set of packages %.80q: brig packages ls lists them", key)
	}
	return err
}
