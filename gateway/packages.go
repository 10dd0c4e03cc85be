package gateway

import (
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/egress"
	"github.com/brig-sandbox/brig/gateway/queue"
)

// permitPackages refuses packages that the operator does not offer, or not to the key. It returns the
// index, which the operator chooses: the service itself reaches it, and keys share what is installed.
func (g *Gateway) permitPackages(c caller, language string, requirements []string, index string) (string, error) {
	if len(requirements) == 0 {
		return "", nil
	}
	kind := g.agent.packageKind(language)
	own := g.cfg.Indexes[kind]
	switch {
	case !g.cfg.Packages && own == "":
		return "", api.Refuse(api.CodeUnsupported, "requirements: this service installs no packages: use an image that has them, such as language python-full, or have the operator offer it (brig serve --packages)")
	case g.cfg.Keys != nil && !c.Packages:
		return "", api.Refuse(api.CodeForbidden, "requirements: this key may not have packages installed: leave them out, or have the operator set packages: true on the key %s", c.Name)
	case index != "":
		return "", api.Refuse(api.CodeForbidden, "index: the operator of the service chooses the index: leave it out")
	}
	if kind != "" { // an error in a requirement costs no slot
		if _, err := api.ParseRequirements(kind, requirements); err != nil {
			return "", err
		}
	}
	return own, nil
}

// packageKind is the kind of packages of a language; empty: it has none.
func (v *agentStatus) packageKind(language string) api.PackageKind {
	if p := v.packagesOf(language); p != nil {
		return p.Kind
	}
	return ""
}

// packagesOf says how packages are installed for a language; nil: requirements are refused.
func (v *agentStatus) packagesOf(language string) *api.LanguagePackages {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, l := range v.languages {
		if l.Name == language || slices.Contains(l.Aliases, language) {
			return l.Packages
		}
	}
	return nil
}

// installations are those under way, by what is installed. Several requests for the same packages are
// one installation, whatever their keys.
type installations struct {
	mu  sync.Mutex
	all map[string]*installation // guarded by mu
}

// An installation goes on when its requests have gone: the next one finds the packages.
type installation struct {
	done chan struct{}
	err  error // set before done is closed
}

// maxInstallations bounds the installations under way or waiting for a slot, which outlive the requests
// that asked for them.
const maxInstallations = 64

// packageTries is how often a request has packages installed: others may remove them in between.
const packageTries = 3

// withPackages waits for a slot and has the agent execute a request. If its packages are missing, it has
// them installed, which takes a slot of its own meanwhile, and waits for a slot again.
func (g *Gateway) withPackages(ctx context.Context, o *runRequest) (api.Result, time.Duration, error) {
	for try := 1; ; try++ {
		wait, stopWaiting := context.WithTimeoutCause(ctx, g.cfg.Wait, errWaitTimeout)
		res, waited, err := g.withSlot(ctx, wait, o)
		stopWaiting()
		if !api.HasCode(err, api.CodePackagesMissing) || try == packageTries {
			return res, waited, err
		}
		if err := g.installPackages(ctx, o.caller, api.PackageRequest{Language: o.run.Language, Requirements: o.run.Requirements, Index: o.run.Index}); err != nil {
			return res, waited, err
		}
	}
}

// installPackages has packages installed, or waits for the installation that is under way.
func (g *Gateway) installPackages(ctx context.Context, c caller, r api.PackageRequest) error {
	key := strings.Join(append([]string{r.Language, r.Index}, slices.Sorted(slices.Values(r.Requirements))...), "\x00")
	g.installs.mu.Lock()
	one := g.installs.all[key]
	if one == nil {
		if len(g.installs.all) >= maxInstallations {
			g.installs.mu.Unlock()
			return problem(http.StatusTooManyRequests, api.Fail(api.CodeQueueFull, "%d installations of packages are under way or waiting: send the request again later", maxInstallations))
		}
		if !g.enter() {
			g.installs.mu.Unlock()
			return errStopping()
		}
		if g.installs.all == nil {
			g.installs.all = map[string]*installation{}
		}
		one = &installation{done: make(chan struct{})}
		g.installs.all[key] = one
		go func() { // g.wg waits for it, and g.kill ends it
			defer g.wg.Done()
			one.err = g.install(g.kill, c, r)
			g.metrics.PackagesInstalled(r.Language, one.err)
			g.installs.mu.Lock()
			delete(g.installs.all, key)
			g.installs.mu.Unlock()
			close(one.done)
		}()
	}
	g.installs.mu.Unlock()
	select {
	case <-one.done:
		return one.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// install waits for a slot and has the agent install packages. At most half of the slots install at a
// time: an installation takes minutes if its index is slow.
func (g *Gateway) install(ctx context.Context, c caller, r api.PackageRequest) error {
	about := g.agent.packagesOf(r.Language)
	if about == nil {
		return api.Refuse(api.CodeBadRequest, "packages cannot be installed for language %s: leave requirements out", r.Language)
	}
	policy, err := egress.InstallPolicy(ctx, *about, r.Index)
	if err != nil {
		return err
	}
	policy.Internal = append(policy.Internal, g.cfg.EgressInternal...)
	wait, stop := context.WithTimeoutCause(ctx, g.cfg.Wait, errWaitTimeout)
	defer stop()
	owner := queue.Owner{Key: c.Name, MaxSlots: c.Runs, MaxWaiting: c.Waiting}
	g.installers.Resize(max(g.queue.Stats().Slots/2, 1))
	place, err := g.installers.Take(wait, owner)
	if err != nil {
		return g.noSlotError(ctx, wait, err)
	}
	defer place.Release()
	slot, err := g.queue.Take(wait, owner)
	if err != nil {
		return g.noSlotError(ctx, wait, err)
	}
	defer slot.Release()
	for pause := time.Millisecond; ; pause = min(2*pause, maxRetryPause) {
		began := time.Now()
		set, err := g.relayInstall(ctx, r, policy)
		if !api.HasCode(err, api.CodeBusy, api.CodeOverloaded) {
			g.log.Info("packages", "key", c.Name, "language", r.Language, "set", set.Key, "bytes", set.Size, "took", time.Since(began).Round(time.Millisecond), "failed", err != nil)
			return err
		}
		select {
		case <-time.After(pause):
		case <-wait.Done():
			return g.noSlotError(ctx, wait, err)
		}
	}
}

// relayInstall has the agent install packages, and relays the connections of the installer.
func (g *Gateway) relayInstall(ctx context.Context, r api.PackageRequest, policy egress.Policy) (api.PackageSet, error) {
	var relay *egress.Relay
	var failed error
	set, err := g.cfg.Agent.InstallPackages(ctx, r, client.Events{
		Network: func(sockets []*os.File) { relay, failed = egress.Start(policy, sockets) },
	})
	if relay != nil && failed == nil {
		relay.Close()
	}
	if failed != nil {
		err = api.Fail(api.CodeHostExhausted, "the service could not relay the network of the installer: %w: send the run again later", errors.Join(failed, err))
	}
	return set, err
}

// ensurePackages has the packages of a session installed, unless they are.
func (g *Gateway) ensurePackages(ctx context.Context, c caller, s api.SessionRequest) error {
	if len(s.Requirements) == 0 {
		return nil
	}
	r := api.PackageRequest{Language: s.Language, Requirements: s.Requirements, Index: s.Index}
	_, err := g.cfg.Agent.Packages(ctx, r)
	if api.HasCode(err, api.CodePackagesMissing) {
		err = g.installPackages(ctx, c, r)
	}
	return err
}

// validPackages refuses an index that is none.
func (c Config) validPackages() error {
	for _, index := range c.Indexes {
		if _, err := api.ParseIndex(index); err != nil {
			return err
		}
	}
	return nil
}

// offersPackages reports whether the service has packages of any kind installed.
func (c Config) offersPackages() bool { return c.Packages || len(c.Indexes) > 0 }

// unofferedPackages reports whether the agent answers and installs packages for root alone.
func (g *Gateway) unofferedPackages() bool {
	h, _, err := g.agent.get()
	return g.cfg.offersPackages() && err == nil && !h.Packages
}
