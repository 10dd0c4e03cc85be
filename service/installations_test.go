package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/auth"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/packages"
	"github.com/brig-sandbox/brig/service/queue"
)

// A packageAgent installs packages as an agent does. It refuses runs and sessions whose packages it has
// not.
type packageAgent struct {
	slots   int
	wall    api.Duration
	install func(context.Context, api.PackageRequest) error // nil: at once; the context ends when its caller leaves
	evicted int                                             // guarded by mu; so many requests find that others removed the packages

	mu        sync.Mutex
	installed map[string]bool // guarded by mu
	asked     []string        // guarded by mu; the requirements of each installation
}

// serve returns a service in front of the agent.
func (a *packageAgent) serve(t *testing.T, change func(*Config)) *Gateway {
	return serveFake(t, a.mux(t), func(c *Config) {
		c.Packages = true
		if change != nil {
			change(c)
		}
	}).Config.Handler.(*Gateway)
}

func (a *packageAgent) mux(t *testing.T) *http.ServeMux {
	a.installed = map[string]bool{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/health", func(w http.ResponseWriter, r *http.Request) { say(w, 200, api.Health{Slots: a.slots, Packages: true}) })
	mux.HandleFunc("GET /v1/languages", func(w http.ResponseWriter, r *http.Request) {
		say(w, 200, []api.Language{{Name: "python", Aliases: []string{"py"}, Extensions: []string{"py"}, Image: "python", Stored: true,
			Packages: &api.LanguagePackages{Kind: api.PythonPackages, Image: "python-pip", Stored: true,
				Index: "https://pypi.test/simple", Wall: a.wall}}})
	})

	mux.HandleFunc("POST /v1/packages", func(w http.ResponseWriter, r *http.Request) {
		ask := readPackages(t, r)
		if r.Header.Get("Upgrade") == "" {
			if a.have(t, w, ask.Requirements) {
				say(w, 200, storedSet(ask))
			}
			return
		}

		a.mu.Lock()
		a.asked = append(a.asked, strings.Join(ask.Requirements, " "))
		a.mu.Unlock()
		if a.install != nil {
			var e *api.Error
			if err := a.install(r.Context(), ask); errors.As(err, &e) {
				deny(w, 500, e)
				return
			}
		}

		a.mu.Lock()
		a.installed[nameOf(t, ask.Requirements)] = true
		a.mu.Unlock()
		answerRun(w, r, api.Result{Verdict: api.OK, Packages: storedSet(ask)})
	})

	mux.HandleFunc("POST /v1/runs", func(w http.ResponseWriter, r *http.Request) {
		if ask := readPackages(t, r); a.have(t, w, ask.Requirements) {
			answerRun(w, r, api.Result{Verdict: api.OK, Packages: storedSet(ask)})
		}
	})

	mux.HandleFunc("POST /v1/sessions", func(w http.ResponseWriter, r *http.Request) {
		if a.have(t, w, readPackages(t, r).Requirements) {
			say(w, 201, idleSession("s1"))
		}
	})

	return mux
}

// have reports whether the packages of a request are installed. If not it answers the request.
func (a *packageAgent) have(t *testing.T, w http.ResponseWriter, requirements []string) bool {
	name := nameOf(t, requirements)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.installed[name] && a.evicted > 0 {
		a.evicted--
		delete(a.installed, name)
	}
	if !a.installed[name] {
		deny(w, 404, api.Fail(api.CodePackagesMissing, "they are not installed"))
	}
	return a.installed[name]
}

// installations lists what the agent was asked to install.
func (a *packageAgent) installations() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.asked...)
}

func readPackages(t *testing.T, r *http.Request) (ask api.PackageRequest) {
	text, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(text, &ask)
	}
	if err != nil {
		t.Error(err)
	}
	return ask
}

func nameOf(t *testing.T, requirements []string) string {
	all, err := api.ParseRequirements(api.PythonPackages, requirements)
	if err != nil {
		t.Error(err)
	}
	return fmt.Sprint(all)
}

func storedSet(r api.PackageRequest) *api.PackageSet {
	return &api.PackageSet{Key: "k", Language: r.Language, Kind: api.PythonPackages, Requirements: r.Requirements,
		Installed: []string{"one==1.0"},
		Index:     "https://secret.test/simple", Owner: 62187, Created: "2026-11-25T10:00:00Z", Used: "2026-11-25T10:10:00Z"}
}

// requirement asks for a set of one package.
func requirement(name string) api.PackageRequest {
	return api.PackageRequest{Language: "python", Requirements: []string{name}}
}

func named(key string) core.Caller { return core.Caller{Key: auth.Key{Name: key}} }

// twoKeys has a service know that there are several keys.
func twoKeys(t *testing.T) func(*Config) {
	keys, _ := keysOf(t, auth.Key{Name: "ann"}, auth.Key{Name: "bob"})
	return func(c *Config) { c.Keys, c.Wait = keys, 300*time.Millisecond }
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("in vain: " + what)
		}
	}
}

// inTime repeats an attempt whose requests in the background may begin too late, with a longer pause for them each time.
func inTime(t *testing.T, attempt func(pause time.Duration) error) {
	t.Helper()
	for pause := 50 * time.Millisecond; ; pause *= 4 {
		err := attempt(pause)
		if err == nil {
			return
		}
		if pause > 10*time.Second {
			t.Fatal(err)
		}
		t.Log(err)
	}
}

// inBackground begins an installation, whose outcome the channel gets.
func inBackground(t *testing.T, g *Gateway, c core.Caller, r api.PackageRequest) <-chan error {
	done := make(chan error, 1)
	go func() { done <- g.installs.Ensure(t.Context(), c, r) }()
	return done
}

// blocked returns an installer that waits until release is called.
func blocked(t *testing.T) (install func(context.Context, api.PackageRequest) error, release func()) {
	held := make(chan struct{})
	release = sync.OnceFunc(func() { close(held) })
	t.Cleanup(release)
	return func(ctx context.Context, _ api.PackageRequest) error {
		select {
		case <-held:
		case <-ctx.Done():
		}
		return nil
	}, release
}

// A key whose slots are all taken, and that asks for packages, holds back no other key that asks for them.
func TestKeysDoNotShareOtherErrors(t *testing.T) {
	a := &packageAgent{slots: 4}
	g := a.serve(t, twoKeys(t))
	ann := core.Caller{Key: auth.Key{Name: "ann", Runs: 1}}
	long, err := g.core.Queue.Take(t.Context(), queue.Owner{Key: "ann", MaxSlots: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer long.Release()

	first := inBackground(t, g, ann, requirement("one"))
	eventually(t, "ann waits for a slot, or has waited", func() bool { return g.core.Queue.Stats().Waiting == 1 || len(first) == 1 })
	if err := g.installs.Ensure(t.Context(), named("bob"), requirement("one")); err != nil {
		t.Errorf("bob: %v", err)
	}
	if err := <-first; !api.HasCode(problemError(err), api.CodeQueueTimeout) {
		t.Errorf("ann: %v", err)
	}
}

// problemError is the error that a caller sees.
func problemError(err error) error {
	if err == nil {
		return nil
	}
	p, _ := core.ProblemFor(err)
	return &api.Error{Code: p.Code, Message: p.Detail}
}

// Keys that ask for the same packages share the installation and its failure. Those that wait for it
// have no slot.
func TestKeysShareAnInstallation(t *testing.T) {
	failed := api.Refuse(api.CodePackagesFailed, "the installer failed")
	for name, tt := range map[string]struct {
		err  *api.Error // of the first installation
		bob  *api.Error
		asks int
	}{
		"it succeeds":     {asks: 1},
		"it fails":        {err: failed, bob: failed, asks: 1},
		"its agent stops": {err: api.Fail(api.CodeStopping, "the agent stops"), asks: 2},
	} {
		attempt := func(t *testing.T, pause time.Duration) error {
			install, release := blocked(t)
			a := &packageAgent{slots: 8}
			a.install = func(ctx context.Context, r api.PackageRequest) error {
				_ = install(ctx, r)
				if tt.err != nil && len(a.installations()) == 1 {
					return tt.err
				}
				return nil
			}

			g := a.serve(t, twoKeys(t))
			first := inBackground(t, g, named("ann"), requirement("one"))
			eventually(t, "ann's installation runs", func() bool { return len(a.installations()) == 1 })
			second := inBackground(t, g, named("bob"), requirement("one"))
			time.Sleep(pause)
			if n := g.core.Queue.Held("bob"); n != 0 {
				t.Errorf("bob has %d slots while another key's installation runs", n)
			}

			release()
			ann, bob := <-first, <-second
			if (ann == nil) != (tt.err == nil) {
				t.Errorf("ann: %v", ann)
			}
			if (bob == nil) != (tt.bob == nil) || bob != nil && !api.HasCode(bob, tt.bob.Code) || len(a.installations()) != tt.asks {
				got, want := fmt.Sprint(bob), fmt.Sprint(tt.bob)
				return fmt.Errorf("bob: %s; want %s; installed %q; want %d", got, want, a.installations(), tt.asks)
			}
			return nil
		}

		t.Run(name, func(t *testing.T) {
			inTime(t, func(pause time.Duration) error { return attempt(t, pause) })
		})
	}
}

// A key that asks for more sets than may be installed at the same time leaves others room.
func TestOneKeyLeavesInstallationsToOthers(t *testing.T) {
	install, release := blocked(t)
	a := &packageAgent{slots: 2, install: install, wall: api.Duration(time.Minute)}
	g := a.serve(t, func(c *Config) { twoKeys(t)(c); c.QueuePlaces = 1000 })
	const many = packages.MaxInstallations + 36
	all := make(chan error, many)
	for i := range many {
		go func() { all <- g.installs.Ensure(t.Context(), named("ann"), requirement(fmt.Sprintf("p%d", i))) }()
	}

	for range many - packages.MaxInstallations {
		if err := <-all; !api.HasCode(problemError(err), api.CodeQueueFull) {
			t.Fatalf("ann: %v", err)
		}
	}

	bob := inBackground(t, g, named("bob"), requirement("one"))
	time.Sleep(50 * time.Millisecond)
	release()
	if err := <-bob; err != nil {
		t.Errorf("bob: %v", err)
	}
}

// A key with packages that take long leaves one place to others.
func TestSlowInstallersLeaveAPlaceToOthers(t *testing.T) {
	slow, _ := blocked(t)
	a := &packageAgent{slots: 4, wall: api.Duration(time.Second)}
	a.install = func(ctx context.Context, r api.PackageRequest) error {
		if r.Requirements[0] == "quick" {
			return nil
		}
		return slow(ctx, r)
	}

	g := a.serve(t, twoKeys(t))
	for _, name := range []string{"a", "b", "c"} {
		inBackground(t, g, named("ann"), requirement(name))
	}

	eventually(t, "ann's first installation runs", func() bool { return len(a.installations()) > 0 })
	time.Sleep(50 * time.Millisecond)
	if err := g.installs.Ensure(t.Context(), named("bob"), requirement("quick")); err != nil {
		t.Errorf("bob: %v", err)
	}
	if all := a.installations(); len(all) != 2 {
		t.Errorf("of two places, %q were taken", all)
	}
}

// An installation that waits for another one waits longer than a run waits for a slot.
func TestAPlaceIsWaitedForAsLongAsAnInstallerTakes(t *testing.T) {
	install, release := blocked(t)
	a := &packageAgent{slots: 1, install: install, wall: api.Duration(time.Minute)}
	g := a.serve(t, func(c *Config) { twoKeys(t)(c); c.Wait = 50 * time.Millisecond })
	ann := inBackground(t, g, named("ann"), requirement("slow"))
	eventually(t, "ann's installation runs", func() bool { return len(a.installations()) == 1 })
	bob := inBackground(t, g, named("bob"), requirement("one"))
	time.Sleep(200 * time.Millisecond)
	release()
	if err := errors.Join(<-ann, <-bob); err != nil {
		t.Error(err)
	}
}

// The wait for another installation has an end.
func TestAPlaceIsNotWaitedForForEver(t *testing.T) {
	install, _ := blocked(t)
	a := &packageAgent{slots: 1, install: install, wall: api.Duration(time.Millisecond)}
	g := a.serve(t, func(c *Config) { twoKeys(t)(c); c.Wait = 50 * time.Millisecond })
	inBackground(t, g, named("ann"), requirement("slow"))
	eventually(t, "ann's installation runs", func() bool { return len(a.installations()) == 1 })
	if err := g.installs.Ensure(t.Context(), named("bob"), requirement("two")); !api.HasCode(problemError(err), api.CodeQueueTimeout) {
		t.Errorf("after the longest time of an installer: %v", err)
	}
}

// However a request writes the same packages, they are installed once.
func TestOneInstallationInManyForms(t *testing.T) {
	inTime(t, func(pause time.Duration) error {
		install, release := blocked(t)
		a := &packageAgent{slots: 16, install: install}
		g := a.serve(t, nil)
		var all []<-chan error
		for _, r := range []api.PackageRequest{requirement("numpy==2.*"), requirement("numpy == 2.*"), requirement("NumPy==2.*"),
			{Language: "py", Requirements: []string{"numpy==2.*", "NumPy==2.*"}}} {
			all = append(all, inBackground(t, g, named("ann"), r))
		}

		time.Sleep(pause)
		release()
		for _, done := range all {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}

		if n := a.installations(); len(n) != 1 {
			return fmt.Errorf("installed %q", n)
		}
		return nil
	})
}

// An installer whose network cannot be relayed is not left alone until its time is over.
func TestAnInstallerWithoutRelayEnds(t *testing.T) {
	left := make(chan error, 1)
	mux := http.NewServeMux()
	languages := (&packageAgent{slots: 2}).mux(t)
	mux.Handle("GET /v1/health", languages)
	mux.Handle("GET /v1/languages", languages)
	mux.HandleFunc("POST /v1/packages", func(w http.ResponseWriter, r *http.Request) {
		readPackages(t, r)
		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()

		_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: "+api.StreamProtocol+"\r\n\r\n")
		sockets, _, _ := loopbackSockets(t, 1)
		head := make([]byte, api.FrameHeader)
		api.PutFrameHeader(head, api.FrameNetwork, 0)
		_, _, _ = c.(*net.UnixConn).WriteMsgUnix(head, syscall.UnixRights(int(sockets[0].Fd())), nil) // the kernel dropped the others
		for _, s := range sockets {
			s.Close()
		}

		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		_, err = io.Copy(io.Discard, rw)
		left <- err
	})

	g := serveFake(t, mux, func(c *Config) { c.Packages = true }).Config.Handler.(*Gateway)
	if err := g.installs.Ensure(t.Context(), named("ann"), requirement("one")); !api.HasCode(err, api.CodeHostExhausted) {
		t.Errorf("the request gets %v", err)
	}

	select {
	case err := <-left:
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("the installer goes on without a network")
		}
	case <-time.After(2 * time.Minute):
		t.Error("no installer was started")
	}
}
