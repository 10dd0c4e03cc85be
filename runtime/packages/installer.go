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
func (i *Installer) Install(ctx context.Context, r api.PackageRequest, s api.Streams, caller api.Caller) (api.PackageSet, error) {
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
			set, err := i.install(ctx, p, s)
			i.end(p.Set.Key, own, err)
			return set, err
		}
		select {
		case <-other.done:
			if api.HasCode(other.err, api.CodePackagesFailed) {
				return api.PackageSet{}, other.err
			}
		case <-ctx.Done():
			return api.PackageSet{}, api.Fail(api.CodeStopping, "canceled while another request installed the packages: %w", ctx.Err())
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
func (i *Installer) store(ctx context.Context, set rootfs.PackageSet, box *os.File, links map[string]string) (rootfs.PackageSet, error) {
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
	// A set that is larger than all may be together is refused, and removes no other.
	bounds := archive.Bounds{Bytes: min(maxBytes, max(int64(i.Most), 1)), Input: 2 * maxBytes, Entries: maxEntries, Time: 5 * time.Minute}
	set, err = i.Store.AddPackageSet(ctx, source, set, bounds, int64(i.Most))
	cerr := r.Close() // the writer ends, if it has not
	if werr := source.join(); err == nil {
		err = errors.Join(cerr, werr)
	}
	return set, err
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
	if errors.Is(err, errTree) || errors.As(err, &unsafe) || errors.Is(err, archive.ErrTooLarge) || errors.Is(err, archive.ErrMalformed) {
		return api.Refuse(api.CodePackagesFailed, "the packages were installed, and cannot be stored: %w", err)
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

// Sets lists the sets that a caller may use: its own and root's. Root sees all.
func (i *Installer) Sets(caller api.Caller) ([]api.PackageSet, error) {
	all, err := i.Store.PackageSets()
	var sets []api.PackageSet
	for _, s := range all {
		if caller.UID == 0 || s.Owner == 0 || s.Owner == caller.UID {
			sets = append(sets, plan.DescribePackages(s))
		}
	}
	return sets, err
}

// Remove removes a set of the caller; root removes any. Runs that use it keep it until they end
// (PKG-10).
func (i *Installer) Remove(key string, caller api.Caller) error {
	sets, err := i.Store.PackageSets()
	if err != nil {
		return err
	}
	for _, s := range sets {
		if s.Key != key {
			continue
		}
		if caller.UID != 0 && s.Owner != caller.UID {
			return api.Refuse(api.CodeForbidden, "the set of packages %s belongs to another user: have root remove it", key)
		}
		err := i.Store.RemovePackageSet(key)
		i.Removed()
		if errors.Is(err, rootfs.ErrNoPackages) {
			break
		}
		return err
	}
	return api.Refuse(api.CodeNotFound, "there is no set of packages %.80q: brig packages ls lists them", key)
}
