// Package runtime opens a host for an agent: it joins slots, cells, runs and sessions, and gives the agent
// what makes them.
package runtime

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	groups "github.com/brig-sandbox/brig/cgroups"
	"github.com/brig-sandbox/brig/internal/cache"
	"github.com/brig-sandbox/brig/internal/rollback"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/languages"
	"github.com/brig-sandbox/brig/runtime/cell"
	"github.com/brig-sandbox/brig/runtime/packages"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/runtime/pool"
	"github.com/brig-sandbox/brig/runtime/run"
	"github.com/brig-sandbox/brig/runtime/session"
	"github.com/brig-sandbox/brig/runtime/snapshot"
	"github.com/brig-sandbox/brig/runtime/template"
	"github.com/brig-sandbox/brig/runtime/volume"
	"github.com/brig-sandbox/brig/seccomp"
)

// Config describes how an agent uses its host. Zero fields take the documented default.
type Config struct {
	RunDir  string     // for the instance's files; zero: /run/brig
	Slots   int        // concurrent runs; zero: one per physical core
	Ceiling api.Limits // most a run may request; zero: api.DefaultCeiling
	Memory  api.Size   // most reserved for runs and sessions together; zero: three quarters of the host's
	// most memory for locked files of images, in addition to Memory; zero: an eighth of the host's; negative: none
	ImageMemory api.Size
	ReadImages  bool // files of images are read before the first run, and none is locked: ImageMemory is not used
	// most memory for templates of interpreters, in addition to Memory; zero: 512 MiB, and at most a sixteenth of the
	// host's; negative: none
	TemplateMemory   api.Size
	TemplateLife     time.Duration // after which a template is made again; zero: DefaultTemplateLife
	CompileTemplates bool          // compile stages begin from templates of compilers
	Sessions         int           // concurrent sessions; zero: DefaultSessions; negative: none
	SessionLife      api.Duration  // longest life of a session; zero: api.SessionLifeMax
	Volumes          volume.Config // of sessions
	Snapshots        snapshot.Config
	Version          string // of brig, for results
	Images           *rootfs.Store
	Languages        *languages.Catalog
	Artifacts        *cache.Cache               // of compile stages; nil: every run compiles
	Blobs            *cache.Cache               // inputs that runs name by digest; nil: none can
	Profiles         map[string]seccomp.Profile // the operator's own, offered to all callers in addition to the tiers
	Mode             api.Mode                   // of runs that name none; empty: strict
	Network          string                     // most that callers other than root may request, see api.Networks; empty: none
	ProfileLog       bool                       // callers other than root may ask for profile mode log
	OwnImage         bool                       // callers other than root may ask for sessions that own their image
	Packages         bool                       // callers other than root may have packages installed
	Filters          *cell.Filters              // of BeginFilters; nil: Open calls it
	PackagesMax      api.Size                   // most bytes of all sets of packages together; zero: DefaultPackagesMax
	Log              *slog.Logger               // nil: discard

	fault   func(step string) error // in tests; see step
	noAhead bool                    // in tests: each session builds its own cell
}

// A Host runs programs. It holds everything an agent has on the machine: the
// instance directory, the group tree, the slots with their cells.
type Host struct {
	cfg         Config
	log         *slog.Logger
	instance    *instance
	otherAgents api.Size // memory that other agents had reserved when this one started
	memory      run.MemoryBounds
	factory     *cell.Factory
	runner      *run.Runner
	sessions    *session.Registry
	packages    *packages.Installer
}

// Open prepares the host: it removes what dead agents left, makes its groups and reads its
// processors. The process must be root and in its own mount namespace (brigd: privateMounts).
func Open(cfg Config) (_ *Host, err error) {
	h := &Host{cfg: cfg.withDefaults()}
	h.log = h.cfg.Log
	undo := rollback.On(&err)
	defer undo.Run()

	if h.cfg.Filters == nil {
		h.cfg.Filters = BeginFilters(h.log)
	}
	undo.Add(func() error { h.cfg.Filters.Wait(); return nil })

	// 1. Remove what earlier agents left.
	if _, err := SweepDead(h.cfg.RunDir, h.log); err != nil {
		h.log.Error("not everything that a dead agent left behind could be removed", "err", err)
	}

	// 2. Make the instance directory, and a private tmpfs below it.
	if err := h.step("open instance"); err != nil {
		return nil, err
	}
	if h.instance, err = newInstance(h.cfg.RunDir); err != nil {
		return nil, err
	}

	undo.Add(h.instance.Close)

	if err := h.step("open dev"); err != nil {
		return nil, err
	}
	if err := cell.TryDev(h.instance.mnt()); err != nil {
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

	tree, err := groups.Create(probed, h.instance.id, h.instance.record)
	if err != nil {
		return nil, err
	}

	undo.Add(tree.Remove)
	if h.cfg.Volumes.Rate > 0 {
		if err := tree.EnableIO(); err != nil {
			return nil, api.Refuse(api.CodeUnsupported,
				"the rate of volumes cannot be bounded on this host: %w: leave out brigd --volume-rate", err)
		}
	}

	// 4. Decide how the processors and the memory are divided.
	cpus, err := h.divide(probed)
	if err != nil {
		return nil, err
	}

	// 5. Put PID 1 of every cell, and the program that reads images, into files that nobody can
	// change.
	if err := h.step("open cellinit"); err != nil {
		return nil, err
	}
	if h.factory, err = cell.NewFactory(h.factoryConfig(tree, cpus.allowed)); err != nil {
		return nil, err
	}

	undo.Add(h.factory.Close)

	// 6. Open the slots; a cell is built when a run first needs it.
	if err := h.step("open slots"); err != nil {
		return nil, err
	}
	if err := h.openSlots(cpus, string(probed.Mode), undo); err != nil {
		return nil, err
	}

	undo.Release()
	return h, nil
}

// withDefaults fills in what does not depend on the host.
func (c Config) withDefaults() Config {
	if c.RunDir == "" {
		c.RunDir = DefaultRunDir
	}
	if c.Ceiling == (api.Limits{}) {
		c.Ceiling = api.DefaultCeiling()
	}
	if c.SessionLife == 0 {
		c.SessionLife = api.SessionLifeMax
	}
	if c.Sessions == 0 {
		c.Sessions = DefaultSessions
	}
	if c.TemplateLife == 0 {
		c.TemplateLife = DefaultTemplateLife
	}
	if c.PackagesMax == 0 {
		c.PackagesMax = DefaultPackagesMax
	}

	c.Sessions = max(c.Sessions, 0)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}

// DefaultSessions is how many sessions may live at once if the operator does not set another
// number. Usually the memory that they reserve is the tighter bound.
const DefaultSessions = 16

// DefaultPackagesMax is the most bytes of all sets of packages together.
const DefaultPackagesMax = 10 * api.GiB

// DefaultTemplateLife is how long a template is used, defaultTemplateMemory the most memory for all of
// them, on a host with little memory a sixteenth of it.
const (
	DefaultTemplateLife   = 10 * time.Minute
	defaultTemplateMemory = 512 * api.MiB
)

// A template serves at most so many runs.
const templateRuns = 10_000

// maxSessions limits what an operator may configure.
const maxSessions = 1024

// DefaultRunDir is where agents keep their instance directories and the socket.
const DefaultRunDir = "/run/brig"

// divide decides how many slots and sessions there are, and how much memory, and refuses what the
// host cannot give.
func (h *Host) divide(probed *groups.Host) (topology, error) {
	cpus, err := processors()
	if err != nil {
		return cpus, err
	}
	if _, err := probed.Controller("cpuset"); err != nil && len(cpus.allowed) > 1 {
		return cpus, fmt.Errorf("pin slots to their cores: %w", err)
	}

	c := &h.cfg
	if c.Slots == 0 {
		c.Slots = len(cpus.cores)
	}
	if c.Slots < 1 || c.Slots > plan.MaxSlot/2 { // each has a companion with ids of its own
		return cpus, api.Refuse(api.CodeBadRequest, "%d slots: the number must be from 1 to %d", c.Slots, plan.MaxSlot/2)
	}
	if c.Ceiling.CPUs == 0 { // more would belong to another slot
		c.Ceiling.CPUs = float64(len(slotCores(cpus.cores, 0, c.Slots)))
	}
	if c.Sessions > maxSessions {
		return cpus, api.Refuse(api.CodeBadRequest, "%d sessions: the maximum is %d", c.Sessions, maxSessions)
	}
	return cpus, h.decideMemory()
}

// factoryConfig is what the factory of cells needs, with these processors.
func (h *Host) factoryConfig(tree *groups.Tree, cpus []int) cell.FactoryConfig {
	return cell.FactoryConfig{
		Log: h.log, Dir: h.instance.mnt(), Tree: tree, Store: h.cfg.Images,
		ImageMemory: h.cfg.ImageMemory, ReadImages: h.cfg.ReadImages,
		Slots: h.cfg.Slots, Sessions: h.cfg.Sessions, Builders: 2 * len(cpus), CPUs: cpus, Step: h.step,
		Filters: h.cfg.Filters,
	}
}

// openSlots makes the slots, and what runs and sessions need.
func (h *Host) openSlots(cpus topology, cgroupMode string, undo *rollback.Steps) error {
	room, err := raiseFileLimit(h.cfg.Slots, h.cfg.Sessions)
	if err != nil {
		return err
	}

	kernel, err := kernelRelease()
	if err != nil {
		return err
	}

	var slots []*pool.Slot
	for i := range h.cfg.Slots {
		s, err := pool.NewSlot(i, slotCores(cpus.cores, i, h.cfg.Slots), len(cpus.allowed))
		if err != nil {
			return err
		}
		undo.Add(s.Close)
		slots = append(slots, s)
	}

	raiseGOMAXPROCS(len(slots))
	defaults := api.Defaults().CappedBy(h.cfg.Ceiling)
	h.runner = &run.Runner{
		Log: h.log,
		Planner: &plan.Planner{
			Images: h.cfg.Images, Languages: h.cfg.Languages, Blobs: h.cfg.Blobs, Profiles: h.cfg.Profiles,
			ProfileLog: h.cfg.ProfileLog, OwnImage: h.cfg.OwnImage, Mode: h.cfg.Mode, Network: h.cfg.Network, Packages: h.cfg.Packages,
			Ceiling: h.cfg.Ceiling, Memory: h.cfg.Memory, Slots: h.cfg.Slots, SessionLife: h.cfg.SessionLife, CPUs: cpus.allowed,
		},
		Pool: pool.New(h.factory, slots,
			cell.ScratchSize{Size: defaults.Scratch, Inodes: defaults.Inodes}, h.cfg.Memory, room),
		Artifacts: h.cfg.Artifacts,
		Templates: template.New(template.Config{Max: h.cfg.TemplateMemory, Life: h.cfg.TemplateLife,
			Runs: templateRuns, Wait: api.TemplateWait}),
		Memory: h.memory,
		About:  run.HostFacts{Kernel: kernel, CgroupMode: cgroupMode, Version: h.cfg.Version},
	}

	if h.cfg.TemplateMemory > 0 {
		h.runner.Planner.TemplateDrivers = plan.TemplateDrivers(template.Drivers())
		h.runner.Planner.CompileTemplates = h.cfg.CompileTemplates
		if h.runner.Planner.NoTemplates, err = template.Unsupported(); err != nil {
			return err
		}
	}

	h.packages = &packages.Installer{Runner: h.runner, Store: h.cfg.Images, Most: h.cfg.PackagesMax,
		Removed: h.ImagesRemoved}
	if room.Sessions < h.cfg.Sessions {
		h.log.Warn("the limit on open files allows less than --sessions: raise it (ulimit -n, LimitNOFILE=)",
			"sessions", room.Sessions, "of", h.cfg.Sessions, "residents", room.Residents)
	}
	ahead := session.MaxAhead
	if h.cfg.noAhead {
		ahead = 0
	}
	h.sessions = session.NewRegistry(h.runner, volume.New(h.cfg.Volumes, kernel, h.log), snapshot.New(h.cfg.Snapshots),
		h.cfg.Sessions, room, ahead)
	return nil
}

// kernelRelease is the kernel's release, as uname(2) gives it.
func kernelRelease() (string, error) {
	var uts unix.Utsname
	if err := unix.Uname(&uts); err != nil {
		return "", os.NewSyscallError("uname", err)
	}
	return unix.ByteSliceToString(uts.Release[:]), nil
}

// BeginFilters begins to compile the filter that most runs need, which takes as long as reading the agent's settings:
// call it before them. Config has the result; the caller waits for it if Open is not called.
func BeginFilters(log *slog.Logger) *cell.Filters {
	filters := &cell.Filters{}
	filters.BeginDefault(log)
	return filters
}

// Lost is closed when somebody has removed or replaced the files of this agent below the run directory:
// then no new agent could remove what a killed one leaves, and this one should end.
func (h *Host) Lost() <-chan struct{} { return h.instance.watch.lost }

// Close ends every session, destroys every cell and leaves the host as Open found it. Runs and
// execs under way must have ended.
func (h *Host) Close() error {
	h.cfg.Filters.Wait()
	var released sync.WaitGroup
	released.Go(h.factory.Images.Pages.Close) // no run is under way, and unlocking takes a while
	err := errors.Join(h.sessions.Close(), h.runner.Templates.Close(), h.runner.Pool.Close())
	released.Wait()
	return errors.Join(err, h.factory.Close(), h.factory.Tree.Remove(), h.instance.Close())
}

// Runner runs programs on the host.
func (h *Host) Runner() *run.Runner { return h.runner }

// ProfileNames lists what a run may name, sorted.
func (h *Host) ProfileNames() []string { return h.runner.Planner.ProfileNames() }

// imageRoom returns the free bytes of the image store; nil: not known.
func (h *Host) imageRoom() *int64 {
	free, err := rootfs.Free(h.cfg.Images.Dir())
	if err != nil {
		return nil
	}
	return &free
}

// Health reports what is in use on the host.
func (h *Host) Health() api.Health {
	slots, leased, cells, committed := h.runner.Pool.Stats()
	held, wanted := h.factory.Images.Pages.Stats()
	templates := h.runner.Templates.Stats()
	return api.Health{
		Status: "ok", Version: h.cfg.Version, Slots: slots, Leased: leased, Cells: cells,
		Sessions: h.sessions.Count(), SessionsMax: h.sessions.Max, ResidentsMax: h.runner.Pool.MaxResidents(),
		Memory: int64(committed), MemoryMax: int64(h.cfg.Memory), AgentMemoryMax: int64(h.memory.MaxMemory()),
		ImagesHeld: int64(held), ImagesWanted: int64(wanted), ImagesMax: int64(h.factory.Images.Pages.Max),
		ImagesDamaged: h.factory.Images.Damaged(), ImageRoom: h.imageRoom(),
		Templates: api.Templates{Kept: templates.Kept, Bytes: int64(templates.Size), Max: int64(h.cfg.TemplateMemory),
			Made: templates.Made, Failed: templates.Failed, Problem: cmp.Or(h.runner.Planner.NoTemplates, templates.Why)},
		VolumesMax: h.sessions.Volumes.Ceiling(), OtherAgents: int64(h.otherAgents), ProfileLog: h.cfg.ProfileLog, OwnImage: h.cfg.OwnImage,
		Network: h.cfg.Network, Packages: h.cfg.Packages, Kernel: h.runner.About.Kernel,
		CgroupMode: h.runner.About.CgroupMode, Ceiling: h.cfg.Ceiling,
	}
}
