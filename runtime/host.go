package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cache"
	groups "github.com/brig-sandbox/brig/cgroups"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/seccomp"
)

// Config says how an agent uses its host. Zero fields take the documented default.
type Config struct {
	RunDir      string       // for the instance's files; zero: /run/brig
	Slots       int          // runs at a time; zero: one per physical core
	Ceiling     api.Limits   // most a run may ask for; zero: api.DefaultCeiling
	Memory      api.Size     // most promised to runs and sessions together; zero: three quarters of the host's
	ImageMemory api.Size     // most that holds files of images, beside Memory; zero: an eighth of the host's; negative: none
	ReadImages  bool         // files of images are read before the first run, and none is held: ImageMemory is not used
	Sessions    int          // that live at a time; zero: DefaultSessions; negative: none
	SessionLife api.Duration // longest life of one; zero: api.SessionLifeMax
	Volumes     Volumes      // of sessions
	Version     string       // of brig, for results
	Images      *rootfs.Store
	Languages   *rootfs.Languages
	Artifacts   *cache.Cache               // of compile stages; nil: every run compiles
	Blobs       *cache.Cache               // inputs that runs name by digest; nil: none can
	Profiles    map[string]seccomp.Profile // the operator's own, offered to everybody beside the tiers
	ProfileLog  bool                       // callers other than root may ask for profile mode log
	Log         *slog.Logger               // nil: discard

	fault func(step string) error // in tests; see step
}

// A Host runs programs. It holds everything an agent has on the machine: the
// instance directory, the group tree, the slots with their cells.
type Host struct {
	cfg            Config
	log            *slog.Logger
	instance       *instance
	maxHeld        api.Size // most that requests hold of the agent's memory
	beside         api.Size // what other agents promised when this one started
	tree           *groups.Tree
	retired        atomic.Bool // a removed image is held no more: see deleteRetired
	mode           string      // v2, v1 or hybrid
	kernel         string
	cellinit       *os.File // sealed memfd
	imageFiles     *os.File // the same of imageFilesELF
	pages          *imagePages
	freeing        freeing
	badness        int   // of the cells' processes, see cellBadness
	allowed        []int // processors of the agent
	pool           *pool
	sessions       *sessions
	volumes        *volumes
	lists          *listTurns
	watches        map[string]string // a slot's share of them, by sysctl
	sessionWatches map[string]string // a session's
	builders       chan struct{}     // a token for each cell being built: a storm of first runs must not start as many runtimes
	serial         atomic.Uint64     // names cells

	warm    sync.WaitGroup // the compilation Open begins
	mu      sync.Mutex
	filters map[filterKey]*filter // guarded by mu; compiled once
}

// A filterKey is a profile's name, or the hash of one that has none here.
type filterKey struct {
	profile string
	mode    api.ProfileMode
}

// Open takes the host into use: it removes what dead agents left, makes its
// groups and reads its processors. The process must be root and in a mount
// namespace of its own (see PrivateMounts).
func Open(cfg Config) (_ *Host, err error) {
	if cfg.RunDir == "" {
		cfg.RunDir = DefaultRunDir
	}
	if cfg.Ceiling == (api.Limits{}) {
		cfg.Ceiling = api.DefaultCeiling()
	}
	if cfg.SessionLife == 0 {
		cfg.SessionLife = api.SessionLifeMax
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	h := &Host{cfg: cfg, log: cfg.Log, freeing: freeing{log: cfg.Log}, filters: map[filterKey]*filter{}, lists: newListTurns(listsAtATime, listsWaiting)}
	undo := undoing(&err)
	defer undo.run()

	// 1. Nothing of an earlier agent is left.
	if _, err := SweepDead(cfg.RunDir, h.log); err != nil {
		h.log.Error("not all that a dead agent left could be removed", "err", err)
	}

	// 2. We have a directory, and a private tmpfs below it.
	if err := h.step("open instance"); err != nil {
		return nil, err
	}
	if h.instance, err = newInstance(cfg.RunDir); err != nil {
		return nil, err
	}
	undo.add(h.instance.Close)

	if err := h.step("open dev"); err != nil {
		return nil, err
	}
	if err := h.tryDev(); err != nil {
		return nil, fmt.Errorf("prepare /dev: %w", err)
	}

	// 3. Our groups stand in every hierarchy, below our own.
	if err := h.step("open groups"); err != nil {
		return nil, err
	}
	probed, err := groups.Probe()
	if err != nil {
		return nil, err
	}
	if h.tree, err = groups.Create(probed, h.instance.id, h.instance.record); err != nil {
		return nil, err
	}
	undo.add(h.tree.Remove)
	h.mode = string(probed.Mode)

	// 4. PID 1 of every cell, and what reads images, lie in files nobody can change.
	if err := h.step("open cellinit"); err != nil {
		return nil, err
	}
	if h.badness, err = cellBadness(); err != nil {
		return nil, err
	}
	if h.cellinit, err = sealedMemfd("cellinit", cellinitELF, true); err != nil {
		return nil, err
	}
	undo.add(h.cellinit.Close)
	if h.imageFiles, err = sealedMemfd("imagefiles", imageFilesELF, true); err != nil {
		return nil, err
	}
	undo.add(h.imageFiles.Close)
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		return nil, os.NewSyscallError("uname", err)
	}
	h.kernel = unix.ByteSliceToString(uts.Release[:])

	// 5. The filter most runs need is being compiled meanwhile; it takes as long as
	// a cell does.
	h.warm.Go(h.compileDefault)
	undo.add(func() error { h.warm.Wait(); return nil })

	// 6. Slots are open; cells are built when a run first needs one.
	if err := h.step("open slots"); err != nil {
		return nil, err
	}
	cpus, err := processors()
	if err != nil {
		return nil, err
	}
	h.allowed = cpus.allowed
	h.builders = make(chan struct{}, 2*len(cpus.allowed))
	if _, err := probed.Controller("cpuset"); err != nil && len(cpus.allowed) > 1 {
		return nil, fmt.Errorf("pin slots to their cores: %w", err)
	}
	if h.cfg.Slots == 0 {
		h.cfg.Slots = len(cpus.cores)
	}
	if h.cfg.Slots < 1 || h.cfg.Slots > maxSlot {
		return nil, api.Refuse(api.CodeBadRequest, "%d slots: it must lie between 1 and %d", h.cfg.Slots, maxSlot)
	}
	if h.cfg.Ceiling.CPUs == 0 { // more would be another slot's
		h.cfg.Ceiling.CPUs = float64(len(slotCores(cpus.cores, 0, h.cfg.Slots)))
	}
	if h.cfg.Sessions == 0 {
		h.cfg.Sessions = DefaultSessions
	}
	h.cfg.Sessions = max(h.cfg.Sessions, 0)
	if h.cfg.Sessions > maxSessions {
		return nil, api.Refuse(api.CodeBadRequest, "%d sessions: the most is %d", h.cfg.Sessions, maxSessions)
	}
	h.watches, h.sessionWatches = watchShares(2, h.cfg.Slots), watchShares(4, max(h.cfg.Sessions, 1))
	room, err := makeRoom(h.cfg.Slots, h.cfg.Sessions)
	if err != nil {
		return nil, err
	}
	if err := h.apportion(); err != nil {
		return nil, err
	}
	var slots []*slot
	for i := range h.cfg.Slots {
		s, err := newSlot(i, slotCores(cpus.cores, i, h.cfg.Slots), len(cpus.allowed))
		if err != nil {
			return nil, err
		}
		undo.add(s.Close)
		slots = append(slots, s)
	}
	h.pages = newImagePages(h)
	spareProcs(len(slots))
	h.pool = newPool(h, slots, h.cfg.Memory, room)
	h.sessions = newSessions(h, room.sessions)
	h.volumes = newVolumes(h.cfg.Volumes, h.kernel, h.log)
	undo.release()
	return h, nil
}

// compileDefault has the default tier ready for the first run. A failure is told
// to that run, which tries again.
func (h *Host) compileDefault() {
	_, err := h.compiled(filterKey{defaultTier, api.Enforce}, func() (seccomp.Profile, error) { return seccomp.Tier(defaultTier) })
	if err != nil {
		h.log.Error("default seccomp tier does not compile", "err", err)
	}
}

// defaultTier is the profile of a run that names none.
const defaultTier = "default"

// DefaultSessions is how many sessions live at a time where the operator says nothing
// else. Mostly the memory they promise is the narrower bound.
const DefaultSessions = 16

// DefaultRunDir is where agents keep their instance directories and the socket.
const DefaultRunDir = "/run/brig"

func (h *Host) stateDir() string { return filepath.Join(h.instance.mnt(), "state") }
func (h *Host) cellsDir() string { return filepath.Join(h.instance.mnt(), "cells") }

func (h *Host) cellName(slot int) string {
	return fmt.Sprintf("cell-%d-%d", slot, h.serial.Add(1))
}

// scratchDefaults are the bounds a shell's scratch is made with; a run that wants
// others has it resized.
func (h *Host) scratchDefaults() (api.Size, int64) {
	l := lowered(api.Defaults(), h.cfg.Ceiling)
	return l.Scratch, l.Inodes
}

// Close ends every session, destroys every cell and leaves the host as it was found.
// Runs and execs under way must have ended.
func (h *Host) Close() error {
	h.warm.Wait()
	var released sync.WaitGroup
	released.Go(h.pages.Close) // no run is under way, and unlocking takes a while
	err := errors.Join(h.sessions.Close(), h.pool.Close())
	released.Wait()
	h.freeing.Close()
	h.deleteRetired()
	return errors.Join(err, h.cellinit.Close(), h.imageFiles.Close(), h.tree.Remove(), h.instance.Close())
}

// Run executes r and reports how it ended. The error is an *api.Error, and
// non-nil only when brig refused or failed; whatever the program did is a Result.
// ctx means that the caller is still there: its end cancels the run.
func (h *Host) Run(ctx context.Context, r api.Run, streams Streams, caller Caller) (api.Result, error) {
	begun := monotonic()
	id := ""
	var res api.Result
	streams.kept = newKeeping(streams)
	defer func() { streams.kept.settle(&res) }()
	if err := streams.kept.add(h.blobBytes(r)); err != nil {
		return api.Result{}, apiError(err, "")
	}
	j, err := h.plan(r, caller)
	if err == nil {
		id, j.run.again = j.id, streams.Again
		if j.compile != nil {
			j.compile.again = streams.Again
		}
		res, err = h.carryOut(ctx, j, streams, begun)
	}
	if err != nil {
		return api.Result{}, h.told(err, id)
	}
	return res, nil
}

// lease gives a plan its slot. patient waits for one; else there is one, or an
// error.
func (h *Host) lease(ctx context.Context, p *plan, patient bool) (*lease, error) {
	if patient {
		return h.pool.await(ctx, p.cell, p.once, p.promise())
	}
	return h.pool.arrive(ctx, p.cell, p.once, p.promise(), p.again)
}

// execute leases, climbs and judges.
func (h *Host) execute(ctx context.Context, p *plan, streams Streams, begun time.Duration, patient bool) (api.Result, error) {
	l, err := h.lease(ctx, p, patient)
	if err != nil {
		return api.Result{}, err
	}
	return h.executeIn(ctx, l, p, streams, begun)
}

// executeIn climbs and judges. The slot is given back before the caller has
// taken the last of the output: one who takes nothing must not keep it.
func (h *Host) executeIn(ctx context.Context, l *lease, p *plan, streams Streams, begun time.Duration) (api.Result, error) {
	out := newOutputs(streams, p, l.stall.slot.wake)
	defer out.finish()
	l.live = startLive(streams.Usage, l.stall.slot.wake)
	defer l.live.join()
	o, err := l.climb(ctx, p, streams, out, begun)
	if err != nil {
		return api.Result{}, err
	}
	out.finish()
	return h.result(p, o, out), nil
}

// climb runs the plan in the leased cell and gives the lease back, with the cell
// in doubt unless all went well or the caller is to blame (AGT-10: also when a bug
// of ours panics).
func (l *lease) climb(ctx context.Context, p *plan, streams Streams, out *outputs, begun time.Duration) (o *outcome, err error) {
	doubt, outlived := true, false
	defer func() {
		l.live.end() // the slot's next run is not to be woken for this one
		if outlived {
			l.giveBackEmpty()
			return
		}
		l.giveBack(doubt)
	}()
	o, err = climb(ctx, l, p, streams, out, begun)
	doubt, outlived = err != nil && !mendable(err), err == nil && o.outlived
	return o, err
}

// Health tells what of the host is in use.
func (h *Host) Health() api.Health {
	slots, leased, cells, committed := h.pool.stats()
	held, wanted := h.pages.stats()
	return api.Health{
		Status: "ok", Version: h.cfg.Version, Slots: slots, Leased: leased, Cells: cells,
		Sessions: h.sessions.count(), SessionsMax: h.sessions.most,
		Memory: int64(committed), MemoryMax: int64(h.cfg.Memory), OwnMax: int64(h.MaxMemory()), ImagesHeld: int64(held), ImagesWanted: int64(wanted), ImagesMax: int64(h.pages.most),
		VolumesMax: h.volumes.ceiling(), Beside: int64(h.beside), ProfileLog: h.cfg.ProfileLog, Kernel: h.kernel, CgroupMode: h.mode,
	}
}
