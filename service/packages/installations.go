package packages

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/agent/egress"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/queue"
	"github.com/brig-sandbox/brig/service/quota"
	"github.com/brig-sandbox/brig/service/relay"
)

// Installations are those under way. The requests of one key for the same packages are one installation,
// which waits for a slot as the key's runs do. If several keys ask for the same packages, the first that
// has a slot installs them, and the others wait for it without one.
type Installations struct {
	*core.Core
	places *queue.Queue // of installers that run: at most half of the slots
	quota  *quota.Pool  // installations of each key

	mu      sync.Mutex
	asked   map[askedSet]*installation // guarded by mu; the installations of each key
	running map[string]*installation   // guarded by mu; those that have a slot, by name of the set
}

// An askedSet is a set of packages that a key asks for.
type askedSet struct{ key, set string }

// An installation goes on when its requests have gone: the next one finds the packages.
type installation struct {
	done chan struct{}
	err  error // set before done is closed
}

func (i *installation) end(err error) {
	i.err = err
	close(i.done)
}

// forAll reports whether the outcome is that of the packages, and so that of every key. Any other error,
// such as no slot in time, is that of the key alone whose installation it was
// (TestKeysDoNotShareOtherErrors).
func (i *installation) forAll() bool {
	return i.err == nil || api.HasCode(i.err, api.CodePackagesFailed)
}

// MaxInstallations bounds the installations under way or waiting for a slot, which outlive the requests
// that asked for them.
const MaxInstallations = 64

// New makes the installations of a service.
func New(s *core.Core) *Installations {
	return &Installations{
		Core: s, places: queue.New(1, s.Config.MaxConns), quota: newInstallQuota(s.Config.Keys),
		asked: map[askedSet]*installation{}, running: map[string]*installation{},
	}
}

// newInstallQuota counts the installations of each key. If there are other keys, none gets more than its
// fair share: it could otherwise keep all others from installing (TestOneKeyLeavesInstallationsToOthers).
func newInstallQuota(keys *auth.Keys) *quota.Pool {
	return quota.New(func(own, all, n int64) bool {
		if keys.Multiple() {
			return quota.Fair(own, all, n, MaxInstallations, 1)
		}
		return all+n <= MaxInstallations
	})
}

// A wantedSet is a set of packages to install.
type wantedSet struct {
	name    string // the same for all requests that mean the same set
	request api.PackageRequest
	about   api.LanguagePackages
}

// wantedSetOf names what a request asks for: numpy==2.* and NumPy == 2.* are one set.
func wantedSetOf(v *core.AgentStatus, r api.PackageRequest) (wantedSet, error) {
	about, err := v.PackagesOf(r.Language)
	if err != nil {
		return wantedSet{}, err
	}

	all, err := api.ParseRequirements(about.Kind, r.Requirements)
	if err != nil {
		return wantedSet{}, err
	}

	parts := []string{v.ResolveAlias(r.Language), r.Index}
	for _, q := range all {
		parts = append(parts, q.String())
	}
	return wantedSet{strings.Join(parts, "\x00"), r, about}, nil
}

// Ensure has packages installed, or waits for the installation that is under way.
func (i *Installations) Ensure(ctx context.Context, c core.Caller, r api.PackageRequest) error {
	set, err := wantedSetOf(&i.Agent, r)
	if err != nil {
		return err
	}

	one, err := i.begin(c, set)
	if err != nil {
		return err
	}

	select {
	case <-one.done:
		return one.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// begin returns the key's installation of a set, which it begins unless it is under way.
func (i *Installations) begin(c core.Caller, set wantedSet) (*installation, error) {
	id := askedSet{c.Name, set.name}
	i.mu.Lock()
	defer i.mu.Unlock()

	if one := i.asked[id]; one != nil {
		return one, nil
	}
	if !i.quota.TryAcquire(c.Name, 1) {
		return nil, core.Problem(http.StatusTooManyRequests,
			api.Fail(api.CodeQueueFull,
				"%d installations of packages are under way or waiting, %d of them for this key: send the request again later",
				i.quota.Total(), i.quota.Used(c.Name)))
	}
	if !i.Enter() {
		i.quota.Release(c.Name, 1)
		return nil, core.ErrStopping()
	}

	one := &installation{done: make(chan struct{})}
	i.asked[id] = one
	go func() { // the service waits for its end, and kill ends it
		defer i.Leave()
		err := i.install(i.Kill, c, set)
		if err != nil && i.Kill.Err() != nil {
			err = core.ErrStopping()
		}
		i.mu.Lock()
		delete(i.asked, id)
		i.mu.Unlock()
		i.quota.Release(c.Name, 1)
		one.end(err)
	}()

	return one, nil
}

// install installs a set for a key, or waits while another key's installation of it runs.
func (i *Installations) install(ctx context.Context, c core.Caller, set wantedSet) error {
	for {
		other := i.runningOf(set)
		if other == nil {
			var err error
			if other, err = i.installInSlot(ctx, c, set); other == nil {
				i.Metrics.PackagesInstalled(set.request.Language, err)
				return err
			}
		}

		select {
		case <-other.done:
		case <-ctx.Done():
			return ctx.Err()
		}

		if other.forAll() {
			return other.err
		}
	}
}

// installInSlot waits for a place and a slot, and has the agent install a set. other is the installation
// of the set that another key has begun meanwhile.
func (i *Installations) installInSlot(ctx context.Context, c core.Caller,
	set wantedSet) (other *installation, err error) {
	owner := queue.Owner{Key: c.Name, MaxSlots: c.Runs, MaxWaiting: c.Waiting}
	place, err := i.takePlace(ctx, owner, time.Duration(set.about.Wall)+i.Config.Wait)
	if err != nil {
		return nil, err
	}
	defer place.Release()

	policy, err := egress.InstallPolicy(ctx, set.about, set.request.Index)
	if err != nil {
		return nil, err
	}

	policy.Internal = append(policy.Internal, i.Config.EgressInternal...)
	wait, stop := context.WithTimeoutCause(ctx, i.Config.Wait, core.WaitTimeout(i.Config.Wait))
	defer stop()

	slot, err := i.Queue.Take(wait, owner)
	if err != nil {
		return nil, i.NoSlotError(ctx, wait, err)
	}
	defer slot.Release()

	own, other := i.start(set)
	if other != nil {
		return other, nil
	}

	err = i.installWhenFree(ctx, wait, c, set, policy)
	i.finish(set, own, err)
	return nil, err
}

// takePlace waits for one of the places of installers. A key leaves one of several to other keys: it may
// have packages that take as long to install as an installer may take. For the same reason the longest
// wait is longer than that for a slot (TestSlowInstallersLeaveAPlaceToOthers,
// TestAPlaceIsWaitedForAsLongAsAnInstallerTakes).
func (i *Installations) takePlace(ctx context.Context, owner queue.Owner, longest time.Duration) (*queue.Slot, error) {
	places := max(i.Queue.Stats().Slots/2, 1)
	i.places.Resize(places)
	if share := places - 1; share > 0 && i.Config.Keys.Multiple() && (owner.MaxSlots == 0 || owner.MaxSlots > share) {
		owner.MaxSlots = share
	}

	wait, stop := context.WithTimeoutCause(ctx, longest, core.WaitTimeout(longest))
	defer stop()

	place, err := i.places.Take(wait, owner)
	switch {
	case err == nil:
		return place, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case wait.Err() != nil:
		return nil, core.Problem(http.StatusServiceUnavailable,
			api.Fail(api.CodeQueueTimeout,
				"other packages were installed for %v: send the request again later, or have the operator add slots, "+
					"half of which may install", longest))
	}

	return nil, err
}

// runningOf returns the installation of a set that has a slot; nil: there is none.
func (i *Installations) runningOf(set wantedSet) *installation {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.running[set.name]
}

// start records that an installation has its slot, unless another one of the set has one.
func (i *Installations) start(set wantedSet) (own, other *installation) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if other := i.running[set.name]; other != nil {
		return nil, other
	}
	own = &installation{done: make(chan struct{})}
	i.running[set.name] = own
	return own, nil
}

func (i *Installations) finish(set wantedSet, own *installation, err error) {
	i.mu.Lock()
	delete(i.running, set.name)
	i.mu.Unlock()
	own.end(err)
}

// installWhenFree has the agent install a set. While others use all slots of the agent it tries again.
func (i *Installations) installWhenFree(ctx, wait context.Context, c core.Caller, set wantedSet,
	policy egress.Policy) error {
	for pause := time.Millisecond; ; pause = min(2*pause, core.MaxRetryPause) {
		began := time.Now()
		stored, err := i.relayInstall(client.WithWait(ctx, core.WaitInAgent(wait)), set.request, policy)
		if !api.HasCode(err, api.CodeBusy, api.CodeOverloaded) {
			i.Log.Info("packages", "key", c.Name, "language", set.request.Language, "set", stored.Key, "bytes", stored.Size,
				"took", time.Since(began).Round(time.Millisecond), "failed", err != nil)
			return err
		}
		select {
		case <-time.After(pause):
		case <-wait.Done():
			return i.NoSlotError(ctx, wait, err)
		}
	}
}

// relayInstall has the agent install packages, and relays the connections of the installer. An installer
// whose network cannot be relayed is canceled (TestAnInstallerWithoutRelayEnds).
func (i *Installations) relayInstall(ctx context.Context, r api.PackageRequest,
	policy egress.Policy) (api.PackageSet, error) {
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	n, err := relay.New(api.NetworkAllow, policy, cancel)
	if err != nil {
		return api.PackageSet{}, err
	}
	set, err := i.Config.Agent.InstallPackages(running, r, client.Events{Network: n.Start})
	if _, nerr := n.Close(); nerr != nil {
		return set, errors.Join(nerr, err)
	}
	return set, err
}
