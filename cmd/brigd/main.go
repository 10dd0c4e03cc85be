// Command brigd is brig's agent: the one process that holds root. It answers on a
// unix socket and starts programs in cells; it never listens on a network.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/agent"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/cache"
	"github.com/brig-sandbox/brig/internal/procfs"
	"github.com/brig-sandbox/brig/internal/sockdir"
	"github.com/brig-sandbox/brig/internal/sysmon"
	"github.com/brig-sandbox/brig/internal/usage"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/languages"
	"github.com/brig-sandbox/brig/runtime"
	"github.com/brig-sandbox/brig/runtime/ablate"
	"github.com/brig-sandbox/brig/runtime/snapshot"
	"github.com/brig-sandbox/brig/runtime/volume"
	"github.com/brig-sandbox/brig/seccomp"
	"github.com/brig-sandbox/brig/seccomp/load"
)

var version = "dev" // set by the linker

// flags are the agent's settings. Their zero values are the documented defaults.
type flags struct {
	socket, group       string
	runDir, dataDir     string
	languages, profiles string
	slots, sessions     int
	sessionLife         api.Duration
	volumes             volume.Config
	snapshots           snapshot.Config
	memory              api.Size
	images              imageMemory
	templates           templateMemory
	templateLife        api.Duration
	compileTemplates    bool
	artifacts, blobs    api.Size
	packagesMax         api.Size
	packages            bool
	ceiling             api.Limits
	private             bool
	listenFD            int
	lifelineFD          int
	verbose, sweep      bool
	version, man        bool
	profileLog          bool
	ownImage            bool
	mode                api.Mode
	network             string
}

func main() {
	f, err := parse(os.Args[1:])
	if errors.Is(err, pflag.ErrHelp) {
		return
	}

	switch {
	case err != nil:
	case f.sweep:
		err = sweep(f.runDir)
	default:
		if err = ablate.CheckLayers(); err == nil {
			served := make(chan error)
			go func() { served <- serve(f) }() // not here: each switch from the first thread, which is main's alone, takes two
			err = <-served
		}
	}

	if err != nil {
		fmt.Fprintln(os.Stderr, "brigd:", err)
		os.Exit(1)
	}
}

const about = `brigd is brig's agent: it runs programs in sandboxes for callers on a unix socket.

Usage:
  brigd [flags]

Examples:
  sudo brigd --group brig
  sudo brigd --group judges --slots 4 --max-wall 60s`

// helpPage returns the help of brigd, whose flags set f.
func helpPage(f *flags) usage.Page {
	set := pflag.NewFlagSet("brigd", pflag.ContinueOnError)
	set.SortFlags = false
	set.StringVar(&f.socket, "socket", filepath.Join(runtime.DefaultRunDir, "brigd.sock"),
		"`PATH` of the unix socket to listen on")
	set.StringVar(&f.group, "group", "", "`NAME` of the group whose members may use the socket (default: root only)")
	set.StringVar(&f.runDir, "run-dir", runtime.DefaultRunDir, "`DIR` for the files of the running agent")
	set.StringVar(&f.dataDir, "data-dir", "/var/lib/brig",
		"`DIR` of the image store, compiled programs and blobs, on a file system with idmapped mounts (ext4, xfs, btrfs)")
	set.StringVar(&f.languages, "languages", "/etc/brig/languages",
		"`DIR` of language manifests that replace or extend the built-in ones")
	set.StringVar(&f.profiles, "profiles", "/etc/brig/profiles",
		"`DIR` of seccomp profiles (NAME.yaml, or NAME.json of OCI) that every caller may name")
	set.StringVar(&f.network, "network", api.NetworkNone,
		"most `NETWORK` that callers other than root, such as brig serve, may request for a run: none, loopback, "+
			"allow or public; they relay its connections themselves")
	set.BoolVar(&f.profileLog, "profile-log", false,
		"let callers other than root, such as brig serve, use profile_mode log, in which calls that the profile "+
			"denies are allowed and logged")
	set.BoolVar(&f.ownImage, "own-image", false,
		"let callers other than root, such as brig serve, have sessions whose programs own the image and see "+
			"themselves as root, without any privilege")
	set.BoolVar(&f.packages, "packages", false,
		"let callers other than root, such as brig serve, have packages installed; they relay the installer's connections themselves")
	set.StringVar((*string)(&f.mode), "mode", string(api.Strict),
		"`MODE` of the runs that name none: strict; fresh: each in a cell of its own; or exclusive, for exams: each "+
			"also with its own copy of the image")
	set.IntVar(&f.slots, "slots", 0,
		"maximum concurrent runs, each pinned to the cores of its slot (default: one per physical core)")
	set.IntVar(&f.sessions, "sessions", runtime.DefaultSessions,
		"maximum concurrent sessions, each of which reserves its memory, swap and scratch for its life; 0: none")
	set.Var(&f.sessionLife, "max-session-life", "ceiling of a session's lifetime")
	set.StringVar(&f.volumes.Dir, "volumes", "",
		"`DIR` of the volumes of sessions, on ext4, xfs or btrfs; each is a file that takes its full size at once "+
			"(default: volumes below --data-dir)")
	set.Var(&f.volumes.Most, "max-volume", "ceiling of a volume's size")
	set.Var(&f.volumes.Total, "volumes-total", "maximum total size of all volumes")
	set.Var(&f.volumes.Rate, "volume-rate",
		"bytes a second that a session may read from its volume, and as many that it may write, at least 1M; brigd "+
			"then starts only with cgroup v2 and its io controller (default: no limit)")
	set.StringVar(&f.snapshots.Dir, "snapshots", "",
		"`DIR` of the snapshots of sessions, or none (default: snapshots below --data-dir)")
	set.Var(&f.snapshots.Total, "snapshots-total", "maximum total size of all snapshots")
	set.Var(&f.memory, "memory",
		"maximum memory reserved for all runs and sessions together (default: three quarters of the host's)")
	set.Var(&f.images, "image-memory",
		"maximum memory, in addition to --memory, for keeping the files of images in use; none: keep no files; read: "+
			"read them once without keeping them (default: an eighth of the host's)")
	set.Var(&f.templates, "template-memory",
		"maximum memory, in addition to --memory, for templates of started interpreters; none: every run starts its "+
			"interpreter (default: 512M, at most a sixteenth of the host's)")
	set.Var(&f.templateLife, "template-life", "time after which a template is made again; 10,000 runs end it, too")
	set.BoolVar(&f.compileTemplates, "compile-templates", false,
		"compile stages of Java and TypeScript begin from compilers that have warmed up; each is made once, while no caller waits for a slot")
	set.Var(&f.artifacts, "artifact-cache", "maximum total size of compiled programs below --data-dir")
	set.Var(&f.blobs, "blob-cache", "maximum total size of blobs below --data-dir")
	set.Var(&f.packagesMax, "packages-cache",
		"maximum total size of installed packages below --data-dir; stale ones and those least recently used are removed")
	for _, row := range api.LimitTable() {
		if row.Top != "" {
			usage.LimitFlag(set, row, &f.ceiling, "max-"+row.Flag(), row.Top)
		}
	}

	set.BoolVarP(&f.verbose, "verbose", "v", false, "log every run")
	set.BoolVar(&f.sweep, "sweep", false,
		"remove what killed agents left below --run-dir, print the ids of these agents, and exit; every start does "+
			"this too, and so does brig cleanup")
	set.BoolVar(&f.version, "version", false, "print the version, and exit")

	set.BoolVar(&f.man, "man", false, "print the manual page")
	set.BoolVar(&f.private, "private", false, "serve one brig command: --listen-fd and --lifeline-fd are given")
	set.IntVar(&f.listenFD, "listen-fd", -1, "listen on this inherited socket instead of --socket")
	set.IntVar(&f.lifelineFD, "lifeline-fd", -1, "stop when the other end of this inherited pipe is closed")
	for _, internal := range []string{"man", "private", "listen-fd", "lifeline-fd"} {
		set.Lookup(internal).Hidden = true
	}

	return usage.Page{Name: "brigd", Short: "run programs in sandboxes for callers on a unix socket", Text: about,
		Flags: set}
}

// defaults are the settings before flags change them.
func defaults() flags {
	return flags{ceiling: api.DefaultCeiling(), artifacts: 1 * api.GiB, blobs: 2 * api.GiB,
		packagesMax: runtime.DefaultPackagesMax, sessionLife: api.SessionLifeMax,
		templateLife: api.Duration(runtime.DefaultTemplateLife),
		volumes:      volume.Config{Most: api.VolumeSizeMax, Total: 4 * api.VolumeSizeMax},
		snapshots:    snapshot.Config{Total: api.SnapshotsTotal}}
}

func parse(args []string) (flags, error) {
	f := defaults()
	page := helpPage(&f)
	set := page.Flags
	set.Usage = func() { fmt.Print(page.Help()) } // called for --help only
	if err := set.Parse(args); err != nil {
		if !errors.Is(err, pflag.ErrHelp) {
			err = fmt.Errorf("%w; see brigd --help", usage.FlagError(err))
		}
		return f, err
	}
	if f.version {
		fmt.Println("brigd", version)
		return f, pflag.ErrHelp
	}
	if f.man {
		fmt.Print(page.Man(8, version, []string{"brig(1)", "brig-serve(1)"}))
		return f, pflag.ErrHelp
	}
	if f.private && f.listenFD < 0 {
		f.listenFD = 3
	}
	if f.private && f.lifelineFD < 0 {
		f.lifelineFD = 4
	}

	switch {
	case len(set.Args()) > 0:
		return f, fmt.Errorf("unexpected argument %q; see brigd --help", set.Arg(0))
	case os.Geteuid() != 0:
		return f, errors.New("must run as root: it creates namespaces, mounts and cgroups; try sudo brigd")
	}

	switch {
	case f.slots < 0:
		return f, fmt.Errorf("--slots is %d: set the maximum number of concurrent runs, or leave it out", f.slots)
	case f.memory != 0 && f.memory < api.MinMemory:
		return f, fmt.Errorf("--memory is %s: the least is %s, the smallest memory limit of a run", f.memory, api.MinMemory)
	case !slices.Contains(api.RunModes(), f.mode):
		return f, fmt.Errorf("--mode %q does not exist: use strict, fresh or exclusive", f.mode)
	case !slices.Contains(api.Networks(), f.network):
		return f, fmt.Errorf("--network %q does not exist: use %s", f.network, strings.Join(api.Networks(), ", "))
	case f.sessions < 0:
		return f, fmt.Errorf("--sessions is %d: set the maximum number of sessions, or 0 for none", f.sessions)
	case f.sessionLife < api.Duration(time.Second):
		return f, fmt.Errorf("--max-session-life is %s: the least is 1s", f.sessionLife)
	case f.volumes.Most < api.VolumeSizeMin:
		return f, fmt.Errorf("--max-volume is %s: the least is %s", f.volumes.Most, api.VolumeSizeMin)
	case f.volumes.Rate != 0 && f.volumes.Rate < api.MiB:
		return f, fmt.Errorf("--volume-rate is %s: the least is 1M", f.volumes.Rate)
	case f.sessions == 0:
		f.sessions = -1 // not the default
	}

	switch f.snapshots.Dir {
	case "":
		f.snapshots.Dir = filepath.Join(f.dataDir, "snapshots")
	case "none":
		f.snapshots.Dir = ""
	}
	if f.volumes.Dir == "" {
		f.volumes.Dir = filepath.Join(f.dataDir, "volumes")
	}
	return f, f.ceiling.Validate()
}

// serve opens the host, serves requests until a signal or the lifeline stops it, and cleans up.
func serve(f flags) (err error) {
	// Collections of garbage would take the processors from what starts: nearly all that it allocates stays.
	garbage := debug.SetGCPercent(-1)

	if err := checkCapabilities(); err != nil {
		return err
	}
	if err := procfs.Visible(); err != nil {
		return fmt.Errorf("cannot create a cell: %w; %s", err, procfs.Remedy)
	}
	if err := privateMounts(); err != nil {
		return err
	}

	unix.Umask(0o022) // overrides the inherited one: users of cells traverse the directories made here
	level := slog.LevelWarn
	if f.verbose {
		level = slog.LevelDebug
	} else if f.listenFD < 0 {
		level = slog.LevelInfo
	}

	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	if f.listenFD < 0 {
		warnFiltered(log)
	}
	filters := runtime.BeginFilters(log) // meanwhile the languages and the host's files are read
	defer filters.Wait()

	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM, unix.SIGINT)
	defer stop()

	if f.lifelineFD >= 0 {
		ctx = lifeline(ctx, f.lifelineFD)
	}

	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)

	ln, err := listen(f)
	if err != nil {
		return err
	}
	if f.private { // brig made the directory and removes it too, unless brig was killed
		defer func() { _ = sockdir.Remove(ln.Addr().String()) }()
	}

	store, err := rootfs.Open(filepath.Join(f.dataDir, "images"))
	if err != nil {
		return errors.Join(err, ln.Close())
	}

	profiles, err := loadProfiles(f.profiles, log)
	if err != nil {
		return errors.Join(err, ln.Close())
	}

	tiers := append(seccomp.Tiers(), slices.Sorted(maps.Keys(profiles))...)
	known, err := languages.Load(f.languages, tiers)
	if err != nil {
		return errors.Join(err, ln.Close())
	}

	artifacts, err := cache.Open(filepath.Join(f.dataDir, "artifacts"), int64(f.artifacts))
	if err != nil {
		return errors.Join(err, ln.Close())
	}

	blobCache, err := cache.Open(filepath.Join(f.dataDir, "blobs"), int64(f.blobs))
	if err != nil {
		return errors.Join(err, ln.Close())
	}

	host, err := runtime.Open(runtime.Config{
		RunDir: f.runDir, Slots: f.slots, Sessions: f.sessions, SessionLife: f.sessionLife, Ceiling: f.ceiling,
		Memory: f.memory, ImageMemory: f.images.max, ReadImages: f.images.read, TemplateMemory: f.templates.max,
		TemplateLife: time.Duration(f.templateLife), CompileTemplates: f.compileTemplates,
		Volumes: f.volumes, Snapshots: f.snapshots, Version: version,
		Images: store, Languages: known, Profiles: profiles, ProfileLog: f.profileLog, OwnImage: f.ownImage, Mode: f.mode, Network: f.network,
		Packages: f.packages, PackagesMax: f.packagesMax, Filters: filters, Artifacts: artifacts, Blobs: blobCache, Log: log,
	})
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	defer func() { err = errors.Join(err, host.Close()) }()

	collectLater(garbage)
	debug.SetMemoryLimit(int64(host.HeapLimit()))
	began := time.Now()
	srv := agent.New(agent.Config{
		Runner: host.Runner(), Sessions: sessions{host}, Paths: paths{host}, Volumes: volumes{host},
		Snapshots: snapshots{host}, Images: images{store, host},
		Packages: packages{host}, Catalog: catalog{host, known, store}, Blobs: blobs{blobCache},
		Health: func() api.Health {
			h := host.Health()
			h.UptimeNS, h.BlobsMax = time.Since(began).Nanoseconds(), int64(f.blobs)
			return h
		},
		MaxMemory: host.MaxHeld(), MemoryShare: host.HeldShare(), MemoryCommon: host.HeldCommon(),
		MemoryFreed: host.MemoryFreed, MaxWall: time.Duration(f.ceiling.Wall), MaxFile: f.ceiling.Scratch, Log: log,
	})

	sweeping, stopSweeping := context.WithCancel(ctx)
	var janitor sync.WaitGroup
	janitor.Go(func() { sweepHourly(sweeping, f.runDir, log) })
	janitor.Go(func() { reduceMonitorWakeups(sweeping, log) })
	janitor.Go(func() { endIfLost(sweeping, host.Lost(), end, f.runDir) })
	defer func() { stopSweeping(); janitor.Wait() }()

	log.Info("brigd is listening", "socket", ln.Addr(), "version", version, "for", socketUsers(f.group))
	err = srv.Serve(ctx, ln)
	if errors.Is(context.Cause(ctx), errLost) {
		err = errors.Join(context.Cause(ctx), err)
	}
	return err
}

// socketUsers describes the users that may use the socket, for the log.
func socketUsers(group string) string {
	if group == "" {
		return "root only, not brig serve, which gives up root: --group GROUP lets the members of that group use it too"
	}
	return "root and members of " + group
}

// reduceMonitorWakeups stops Go's monitor thread from waking processors that run programs. If that fails,
// runs only take more processor time.
func reduceMonitorWakeups(ctx context.Context, log *slog.Logger) {
	err := sysmon.SlowMonitor()
	if err == nil {
		err = sysmon.RestoreInherited(ctx)
	}
	if err != nil {
		log.Warn("cannot slow down Go's monitor thread: runs take more processor time", "err", err)
	}
}

// lifeline cancels the context when the other end of the pipe is closed, however the process
// that holds it ended. The goroutine lives as long as this process.
func lifeline(ctx context.Context, n int) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	pipe := os.NewFile(uintptr(n), "lifeline")
	go func() {
		_, _ = io.Copy(io.Discard, pipe)
		cancel()
	}()
	return ctx
}

// loadProfiles reads the operator's seccomp profiles: NAME.yaml or NAME.json. It logs probable
// mistakes in them at level info, which a private agent does not print: the run that starts one
// might not use any of these profiles.
func loadProfiles(dir string, log *slog.Logger) (map[string]seccomp.Profile, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}

	out := map[string]seccomp.Profile{}
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		if ext != ".yaml" && ext != ".json" {
			continue
		}

		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}

		name := strings.TrimSuffix(e.Name(), ext)
		var warnings []string
		if ext == ".json" {
			out[name], err = load.OCI(name, text)
		} else {
			out[name], warnings, err = load.YAML(name, text)
		}
		if err != nil {
			return nil, fmt.Errorf("profile %s: %w", e.Name(), err)
		}

		for _, w := range warnings {
			log.Info("a profile has a probable mistake", "profile", e.Name(), "warning", w)
		}
	}

	return out, nil
}

// listen uses the inherited socket, or makes the requested one. It replaces the stale socket file
// of a dead agent, and fails if an agent still answers on it.
func listen(f flags) (net.Listener, error) {
	if f.listenFD >= 0 {
		file := os.NewFile(uintptr(f.listenFD), "listener")
		defer file.Close()
		ln, err := net.FileListener(file)
		if err != nil {
			return nil, fmt.Errorf("inherited socket %d: %w", f.listenFD, err)
		}
		return ln, nil
	}

	if err := os.MkdirAll(filepath.Dir(f.socket), 0o711); err != nil {
		return nil, err
	}
	if conn, err := net.Dial("unix", f.socket); err == nil {
		return nil, errors.Join(fmt.Errorf("another brigd answers on %s: stop it, or choose another --socket",
			f.socket), conn.Close())
	}
	if err := os.Remove(f.socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}

	old := unix.Umask(0o177) // only root may connect before the mode is set
	ln, err := net.Listen("unix", f.socket)
	unix.Umask(old)
	if err != nil {
		return nil, err
	}
	if f.group != "" {
		if err := shareSocket(f.socket, f.group); err != nil {
			return nil, errors.Join(err, ln.Close())
		}
	}

	return ln, nil
}
