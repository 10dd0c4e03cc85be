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
	"github.com/brig-sandbox/brig/rootfs/languages"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/runtime/volume"
	"github.com/brig-sandbox/brig/seccomp"
)

// Config describes how an agent uses its host. Zero fields take the documented default.
type Config struct {
	RunDir      string        // for the instance's files; zero: /run/brig
	Slots       int           // concurrent runs; zero: one per physical core
	Ceiling     api.Limits    // most a run may request; zero: api.DefaultCeiling
	Memory      api.Size      // most reserved for runs and sessions together; zero: three quarters of the host's
	ImageMemory api.Size      // most memory for locked files of images, in addition to Memory; zero: an eighth of the host's; negative: none
	ReadImages  bool          // files of images are read before the first run, and none is locked: ImageMemory is not used
	Sessions    int           // concurrent sessions; zero: DefaultSessions; negative: none
	SessionLife api.Duration  // longest life of a session; zero: api.SessionLifeMax
	Volumes     volume.Config // of sessions
	Version     string        // of brig, for results
	Images      *rootfs.Store
	Languages   *languages.Catalog
	Artifacts   *cache.Cache               // of compile stages; nil: every run compiles
	Blobs       *cache.Cache               // inputs that runs name by digest; nil: none can
	Profiles    map[string]seccomp.Profile // the operator's own, offered to all callers in addition to the tiers
	ProfileLog  bool                       // callers other than root may ask for profile mode log
	Log         *slog.Logger               // nil: discard

	fault func(step string) error // in tests; see step
}

// A Host runs programs. It holds everything an agent has on the machine: the
// instance directory, the group tree, the slots with their cells.
type Host struct {
	cfg                  Config
	log                  *slog.Logger
	instance             *instance
	maxHeld              api.Size // most that requests retain of the agent's memory
	otherAgents          api.Size // memory that other agents had reserved when this one started
	tree                 *groups.Tree
	retired              atomic.Bool // a removed image is no longer in use: see deleteRetired
	mode                 string      // v2, v1 or hybrid
	kernel               string
	cellinit             *os.File // sealed memfd
	imageFiles           *os.File // sealed memfd of imageFilesELF
	pages                *imagePages
	reclaimer            reclaimer
	oomScoreAdj          int   // oom_score_adj of the cells' processes, see cellOOMScoreAdj
	allowed              []int // processors of the agent
	pool                 *pool
	sessions             *sessions
	volumes              *volume.Store
	lists                *listQueue
	inotifyLimits        map[string]string // a slot's share of the inotify limits, by sysctl
	sessionInotifyLimits map[string]string // a session's share
	builders             chan struct{}     // a token for each cell being built: many first runs at once must not start as many runtimes
	serial               atomic.Uint64     // names cells

	planner *plan.Planner
	warm    sync.WaitGroup // the compilation that Open begins
	filters filters
}

// Open prepares the host: it removes what dead agents left, makes its groups and reads its
// processors. The process must be root and in its own mount namespace (see PrivateMounts).
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
	h := &Host{cfg: cfg, log: cfg.Log, reclaimer: reclaimer{log: cfg.Log}, lists: newListQueue(maxLists, maxWaitingLists)}
	undo := undoing(&err)
	defer undo.run()

	// 1. Remove what earlier agents left.
	if _, err := SweepDead(cfg.RunDir, h.log); err != nil {
		h.log.Error("not everything that a dead agent left behind could be removed", "err", err)
	}

	// 2. Make the instance directory, and a private tmpfs below it.
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

	// 3. Make our groups in every hierarchy, below our own group.
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

	// 4. Put PID 1 of every cell, and the program that reads images, into files that nobody can
	// change.
	if err := h.step("open cellinit"); err != nil {
		return nil, err
	}
	if h.oomScoreAdj, err = cellOOMScoreAdj(); err != nil {
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

	// 5. Compile the filter that most runs need in the background; that takes as long as building a
	// cell.
	h.warm.Go(h.compileDefault)
	undo.add(func() error { h.warm.Wait(); return nil })

	// 6. Open the slots; a cell is built when a run first needs it.
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
	if h.cfg.Slots < 1 || h.cfg.Slots > plan.MaxSlot {
		return nil, api.Refuse(api.CodeBadRequest, "%d slots: the number must be from 1 to %d", h.cfg.Slots, plan.MaxSlot)
	}
	if h.cfg.Ceiling.CPUs == 0 { // more would belong to another slot
		h.cfg.Ceiling.CPUs = float64(len(slotCores(cpus.cores, 0, h.cfg.Slots)))
	}
	if h.cfg.Sessions == 0 {
		h.cfg.Sessions = DefaultSessions
	}
	h.cfg.Sessions = max(h.cfg.Sessions, 0)
	if h.cfg.Sessions > maxSessions {
		return nil, api.Refuse(api.CodeBadRequest, "%d sessions: the most is %d", h.cfg.Sessions, maxSessions)
	}
	h.inotifyLimits, h.sessionInotifyLimits = inotifyShares(2, h.cfg.Slots), inotifyShares(4, max(h.cfg.Sessions, 1))
	room, err := raiseFileLimit(h.cfg.Slots, h.cfg.Sessions)
	if err != nil {
		return nil, err
	}
	if err := h.decideMemory(); err != nil {
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
	h.planner = &plan.Planner{
		Images: h.cfg.Images, Languages: h.cfg.Languages, Blobs: h.cfg.Blobs, Profiles: h.cfg.Profiles, ProfileLog: h.cfg.ProfileLog,
		Ceiling: h.cfg.Ceiling, Memory: h.cfg.Memory, SessionLife: h.cfg.SessionLife, CPUs: h.allowed,
	}
	h.pages = newImagePages(h)
	raiseGOMAXPROCS(len(slots))
	h.pool = newPool(h, slots, h.cfg.Memory, room)
	h.sessions = newSessions(h, room.sessions)
	h.volumes = volume.New(h.cfg.Volumes, h.kernel, h.log)
	undo.release()
	return h, nil
}

// compileDefault compiles the default tier ahead of the first run. If that fails, the first run
// tries again and reports the error.
func (h *Host) compileDefault() {
	tier, err := seccomp.Tier(plan.DefaultTier)
	if err == nil {
		_, err = h.filters.get(plan.NewPolicy(tier, api.Enforce))
	}
	if err != nil {
		h.log.Error("default seccomp tier does not compile", "err", err)
	}
}

// DefaultSessions is how many sessions may live at once if the operator does not set another
// number. Usually the memory that they reserve is the tighter bound.
const DefaultSessions = 16

// DefaultRunDir is where agents keep their instance directories and the socket.
const DefaultRunDir = "/run/brig"

func (h *Host) stateDir() string { return filepath.Join(h.instance.mnt(), "state") }
func (h *Host) cellsDir() string { return filepath.Join(h.instance.mnt(), "cells") }

func (h *Host) cellName(slot int) string {
	return fmt.Sprintf("cell-%d-%d", slot, h.serial.Add(1))
}

// scratchDefaults are the bounds with which a shell's scratch is made. It is resized for a run that
// requests others.
func (h *Host) scratchDefaults() (api.Size, int64) {
	l := api.Defaults().CappedBy(h.cfg.Ceiling)
	return l.Scratch, l.Inodes
}

// Close ends every session, destroys every cell and leaves the host as Open found it. Runs and
// execs under way must have ended.
func (h *Host) Close() error {
	h.warm.Wait()
	var released sync.WaitGroup
	released.Go(h.pages.Close) // no run is under way, and unlocking takes a while
	err := errors.Join(h.sessions.Close(), h.pool.Close())
	released.Wait()
	h.reclaimer.Close()
	h.deleteRetired()
	return errors.Join(err, h.cellinit.Close(), h.imageFiles.Close(), h.tree.Remove(), h.instance.Close())
}

// Run executes r and reports how it ended. The error is an *api.Error, and non-nil only when brig
// refused or failed; whatever the program did is a Result. The end of ctx means that the caller has
// left, and cancels the run.
func (h *Host) Run(ctx context.Context, r api.Run, s api.Streams, caller api.Caller) (api.Result, error) {
	begun := monotonic()
	id := ""
	var res api.Result
	streams := runStreams{s, newRetention(s)}
	defer func() { streams.retention.finish(&res) }()
	if err := streams.retention.add(h.blobBytes(r)); err != nil {
		return api.Result{}, apiError(err, "")
	}
	j, err := h.plan(r, caller)
	if err == nil {
		id, j.Run.RetryDelay = j.ID, s.RetryDelay
		if j.Compile != nil {
			j.Compile.RetryDelay = s.RetryDelay
		}
		res, err = h.runJob(ctx, j, streams, begun)
	}
	if err != nil {
		return api.Result{}, h.toAPIError(err, id)
	}
	return res, nil
}

// plan plans a run, and compiles the filters of its stages.
func (h *Host) plan(r api.Run, caller api.Caller) (*plan.Job, error) {
	j, err := h.planner.Job(r, caller)
	if err != nil {
		return nil, err
	}
	if j.Compile != nil {
		if _, err := h.filters.get(j.Compile.Cell.Policy); err != nil {
			return nil, err
		}
	}
	_, err = h.filters.get(j.Run.Cell.Policy)
	return j, err
}

// lease gets a slot for a plan. If wait is true it waits for one; otherwise it fails at once if none
// is free.
func (h *Host) lease(ctx context.Context, p *plan.Run, wait bool) (*lease, error) {
	want, err := h.cellPlan(p.Cell)
	if err != nil {
		return nil, err
	}
	if wait {
		return h.pool.acquireAgain(ctx, want, p.Once, p.Reservation())
	}
	return h.pool.acquire(ctx, want, p.Once, p.Reservation(), p.RetryDelay)
}

// execute leases a slot, runs the steps and judges.
func (h *Host) execute(ctx context.Context, p *plan.Run, streams runStreams, begun time.Duration, wait bool) (api.Result, error) {
	l, err := h.lease(ctx, p, wait)
	if err != nil {
		return api.Result{}, err
	}
	return h.executeIn(ctx, l, p, streams, begun)
}

// executeIn runs the steps and judges. The slot is given back before the caller has taken the last
// of the output: a caller that does not read must not keep it.
func (h *Host) executeIn(ctx context.Context, l *lease, p *plan.Run, streams runStreams, begun time.Duration) (api.Result, error) {
	out := newOutputs(streams, p, l.slotState.slot.wake)
	defer out.finish()
	l.reporter = startUsageReporter(streams.Usage, l.slotState.slot.wake)
	defer l.reporter.join()
	o, err := l.executeSteps(ctx, p, streams, out, begun)
	if err != nil {
		return api.Result{}, err
	}
	out.finish()
	return h.result(p, o, out), nil
}

// executeSteps runs the plan in the leased cell and gives the lease back. The cell is in doubt unless all
// went well or the error is the caller's fault (AGT-10: also when a bug of ours panics).
func (l *lease) executeSteps(ctx context.Context, p *plan.Run, streams runStreams, out *outputs, begun time.Duration) (o *outcome, err error) {
	doubt, stillRunning := true, false
	defer func() {
		l.reporter.end() // the slot's next run must not be woken for this one
		if stillRunning {
			l.giveBackWhenEmpty()
			return
		}
		l.giveBack(doubt)
	}()
	o, err = executeSteps(ctx, l, p, streams, out, begun)
	doubt, stillRunning = err != nil && !isUserError(err), err == nil && o.stillRunning
	return o, err
}

// ProfileNames lists what a run may name, sorted.
func (h *Host) ProfileNames() []string { return h.planner.ProfileNames() }

// Health reports what is in use on the host.
func (h *Host) Health() api.Health {
	slots, leased, cells, committed := h.pool.stats()
	held, wanted := h.pages.stats()
	return api.Health{
		Status: "ok", Version: h.cfg.Version, Slots: slots, Leased: leased, Cells: cells,
		Sessions: h.sessions.count(), SessionsMax: h.sessions.max,
		Memory: int64(committed), MemoryMax: int64(h.cfg.Memory), AgentMemoryMax: int64(h.MaxMemory()), ImagesHeld: int64(held), ImagesWanted: int64(wanted), ImagesMax: int64(h.pages.max),
		VolumesMax: h.volumes.Ceiling(), OtherAgents: int64(h.otherAgents), ProfileLog: h.cfg.ProfileLog, Kernel: h.kernel, CgroupMode: h.mode,
	}
}
