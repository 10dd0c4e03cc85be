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
	"github.com/brig-sandbox/brig/cache"
	"github.com/brig-sandbox/brig/internal/procfs"
	"github.com/brig-sandbox/brig/internal/sockdir"
	"github.com/brig-sandbox/brig/internal/sysmon"
	"github.com/brig-sandbox/brig/internal/usage"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/runtime"
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
	life                api.Duration
	volumes             runtime.Volumes
	memory              api.Size
	images              imageMemory
	artifacts, blobs    api.Size
	ceiling             api.Limits
	private             bool
	listenFD            int
	lifelineFD          int
	verbose, sweep      bool
	profileLog          bool
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
		if err = runtime.CheckLayers(); err == nil {
			err = serve(f)
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

func parse(args []string) (flags, error) {
	f := flags{ceiling: api.DefaultCeiling(), artifacts: 1 * api.GiB, blobs: 2 * api.GiB, life: api.SessionLifeMax, volumes: runtime.Volumes{Most: api.VolumeSizeMax, Total: 4 * api.VolumeSizeMax}}
	set := pflag.NewFlagSet("brigd", pflag.ContinueOnError)
	set.SortFlags = false
	set.StringVar(&f.socket, "socket", filepath.Join(runtime.DefaultRunDir, "brigd.sock"), "unix socket to answer on")
	set.StringVar(&f.group, "group", "", "group whose members may use the socket (default: root only)")
	set.StringVar(&f.runDir, "run-dir", runtime.DefaultRunDir, "directory for the files of a running agent")
	set.StringVar(&f.dataDir, "data-dir", "/var/lib/brig", "directory of the image store; needs a file system with idmapped mounts (ext4, xfs, btrfs)")
	set.StringVar(&f.languages, "languages", "/etc/brig/languages", "directory of language manifests, over the built-in ones")
	set.StringVar(&f.profiles, "profiles", "/etc/brig/profiles", "directory of seccomp profiles offered to every caller")
	set.BoolVar(&f.profileLog, "profile-log", false, "callers other than root, such as brig serve, may ask for profile_mode log, in which a program does what its profile denies")
	set.IntVar(&f.slots, "slots", 0, "runs at a time (default: one per physical core)")
	set.IntVar(&f.sessions, "sessions", runtime.DefaultSessions, "sessions that live at a time; 0: none")
	set.Var(&f.life, "max-session-life", "ceiling of a session's life")
	set.StringVar(&f.volumes.Dir, "volumes", "", "directory of the volumes of sessions, on ext4, xfs or btrfs (default: volumes below --data-dir)")
	set.Var(&f.volumes.Most, "max-volume", "ceiling of a volume's size")
	set.Var(&f.volumes.Total, "volumes-total", "most that volumes take up together")
	set.Var(&f.memory, "memory", "most memory promised to runs and sessions together (default: three quarters of the host's)")
	set.Var(&f.images, "image-memory", "most memory, beside --memory, that holds the files of images in use; none: none; read: they are read once and not held (default: an eighth of the host's)")
	set.Var(&f.artifacts, "artifact-cache", "most that compiled programs take up below --data-dir")
	set.Var(&f.blobs, "blob-cache", "most that blobs take up below --data-dir")
	set.Var(&f.ceiling.Wall, "max-wall", "ceiling of a run's wall time")
	set.Var(&f.ceiling.CPU, "max-cpu", "ceiling of a run's cpu time")
	set.Var(&f.ceiling.Memory, "max-memory", "ceiling of a run's memory")
	set.Var(&f.ceiling.Swap, "max-swap", "ceiling of a run's swap (default: none)")
	set.Float64Var(&f.ceiling.CPUs, "max-cpus", f.ceiling.CPUs, "ceiling of a run's processors at a time (default: those of a slot)")
	set.StringVar(&f.ceiling.Cpuset, "max-cpuset", "", "processors that callers other than root may name (default: none)")
	set.Int64Var(&f.ceiling.Pids, "max-pids", f.ceiling.Pids, "ceiling of a run's processes and threads")
	set.Var(&f.ceiling.Output, "max-output", "ceiling of a run's stdout and stderr, each")
	set.Var(&f.ceiling.Scratch, "max-scratch", "ceiling of a run's files")
	set.Int64Var(&f.ceiling.Inodes, "max-inodes", f.ceiling.Inodes, "ceiling of a run's number of files")
	set.Int64Var(&f.ceiling.OpenFiles, "max-open-files", f.ceiling.OpenFiles, "ceiling of a process's descriptors")
	set.Int64Var(&f.ceiling.Weight, "max-weight", f.ceiling.Weight, "ceiling of a run's share under contention")
	set.BoolVarP(&f.verbose, "verbose", "v", false, "log every run")
	set.BoolVar(&f.sweep, "sweep", false, "remove what killed agents left below --run-dir, say what, and exit; every start does so too")
	set.BoolVar(&f.private, "private", false, "serve one brig command: --listen-fd and --lifeline-fd are given")
	set.IntVar(&f.listenFD, "listen-fd", -1, "answer on this inherited socket instead")
	set.IntVar(&f.lifelineFD, "lifeline-fd", -1, "stop when this inherited pipe ends")
	showVersion := set.Bool("version", false, "print the version")
	man := set.Bool("man", false, "print the manual page")
	if err := set.MarkHidden("man"); err != nil {
		return f, err
	}
	set.Usage = func() { fmt.Printf("%s\n\nFlags:\n%s", about, set.FlagUsages()) } // called for --help only
	if err := set.Parse(args); err != nil {
		if !errors.Is(err, pflag.ErrHelp) {
			err = fmt.Errorf("%w; see brigd --help", usage.Mistake(err))
		}
		return f, err
	}
	if *showVersion {
		fmt.Println("brigd", version)
		return f, pflag.ErrHelp
	}
	if *man {
		fmt.Print(usage.Page{Name: "brigd", Short: "run programs in sandboxes for callers on a unix socket", Text: about, Flags: set}.Man(8, version, []string{"brig(1)", "brig-serve(1)"}))
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
		return f, errors.New("must run as root: it makes namespaces, mounts and cgroups; try sudo brigd")
	}
	switch {
	case f.slots < 0:
		return f, fmt.Errorf("--slots is %d: name how many runs there may be at a time, or leave it out", f.slots)
	case f.memory != 0 && f.memory < api.MinMemory:
		return f, fmt.Errorf("--memory is %s: the least is %s, as no run takes less", f.memory, api.MinMemory)
	case f.sessions < 0:
		return f, fmt.Errorf("--sessions is %d: name how many may live, or 0 for none", f.sessions)
	case f.life < api.Duration(time.Second):
		return f, fmt.Errorf("--max-session-life is %s: the least is 1s", f.life)
	case f.volumes.Most < api.VolumeSizeMin:
		return f, fmt.Errorf("--max-volume is %s: the least is %s", f.volumes.Most, api.VolumeSizeMin)
	case f.sessions == 0:
		f.sessions = -1 // not the default
	}
	if f.volumes.Dir == "" {
		f.volumes.Dir = filepath.Join(f.dataDir, "volumes")
	}
	return f, f.ceiling.Validate()
}

// serve opens the host, answers until told to stop, and leaves nothing behind.
func serve(f flags) (err error) {
	if err := procfs.Visible(); err != nil {
		return fmt.Errorf("no cell can be made: %w; %s", err, procfs.Cure)
	}
	if err := runtime.PrivateMounts(); err != nil {
		return err
	}
	unix.Umask(0o022) // whatever it was: cells' users pass through the directories that are made here
	level := slog.LevelWarn
	if f.verbose {
		level = slog.LevelDebug
	} else if f.listenFD < 0 {
		level = slog.LevelInfo
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM, unix.SIGINT)
	defer stop()
	if f.lifelineFD >= 0 {
		ctx = lifeline(ctx, f.lifelineFD)
	}

	ln, err := listen(f)
	if err != nil {
		return err
	}
	if f.private { // the directory was made for us: who made it removes it too, unless he was killed
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
	languages, err := rootfs.LoadLanguages(f.languages, tiers)
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	artifacts, err := cache.Open(filepath.Join(f.dataDir, "artifacts"), int64(f.artifacts))
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	stored, err := cache.Open(filepath.Join(f.dataDir, "blobs"), int64(f.blobs))
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	host, err := runtime.Open(runtime.Config{
		RunDir: f.runDir, Slots: f.slots, Sessions: f.sessions, SessionLife: f.life, Ceiling: f.ceiling, Memory: f.memory, ImageMemory: f.images.most, ReadImages: f.images.read, Volumes: f.volumes, Version: version,
		Images: store, Languages: languages, Profiles: profiles, ProfileLog: f.profileLog, Artifacts: artifacts, Blobs: stored, Log: log,
	})
	if err != nil {
		return errors.Join(err, ln.Close())
	}
	defer func() { err = errors.Join(err, host.Close()) }()
	debug.SetMemoryLimit(int64(host.MaxMemory() - 64*api.MiB)) // or garbage would double what requests hold; the rest is not the heap
	began := time.Now()
	srv := agent.New(agent.Config{
		Runner: runner{host}, Sessions: sessions{host}, Volumes: volumes{host}, Images: images{store, host}, Catalog: catalog{host, languages, store}, Blobs: blobs{stored},
		Health: func() api.Health {
			h := host.Health()
			h.UptimeNS, h.BlobsMax = time.Since(began).Nanoseconds(), int64(f.blobs)
			return h
		},
		MaxHeld: host.MaxHeld(), HeldShare: host.HeldShare(), HeldCommon: host.HeldCommon(), MaxWall: time.Duration(f.ceiling.Wall), MaxFile: f.ceiling.Scratch, Log: log,
	})
	sweeping, swept := context.WithCancel(ctx)
	var janitor sync.WaitGroup
	janitor.Go(func() { sweepHourly(sweeping, f.runDir, log) })
	janitor.Go(func() { calmly(sweeping, log) })
	defer func() { swept(); janitor.Wait() }()
	log.Info("brigd answers", "socket", ln.Addr(), "version", version, "for", whom(f.group))
	return srv.Serve(ctx, ln)
}

// whom says who may use the socket.
func whom(group string) string {
	if group == "" {
		return "root alone, not brig serve, which gives up root: --group GROUP lets its members use it too"
	}
	return "root and members of " + group
}

// calmly keeps Go's monitor thread from waking processors that programs have. Without
// it runs take more processor time, and nothing else.
func calmly(ctx context.Context, log *slog.Logger) {
	err := sysmon.Calm()
	if err == nil {
		err = sysmon.Keep(ctx)
	}
	if err != nil {
		log.Warn("Go's monitor thread is left as it is: runs take more processor time", "err", err)
	}
}

// lifeline ends the context when the other end of the pipe is closed, however its
// holder died. The goroutine lives as long as the process.
func lifeline(ctx context.Context, n int) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	pipe := os.NewFile(uintptr(n), "lifeline")
	go func() {
		_, _ = io.Copy(io.Discard, pipe)
		cancel()
	}()
	return ctx
}

// loadProfiles reads the operator's seccomp profiles: NAME.yaml or NAME.json. What in them
// is probably not meant is told, yet not by private agents, which a run starts: it may name no profile.
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
			out[name], warnings, err = load.CheckedYAML(name, text)
		}
		if err != nil {
			return nil, fmt.Errorf("profile %s: %w", e.Name(), err)
		}
		for _, w := range warnings {
			log.Info("a profile is probably not as it is meant", "profile", e.Name(), "warning", w)
		}
	}
	return out, nil
}

// listen takes the inherited socket, or makes the one asked for: a stale file of
// a dead agent is replaced, a living agent's is not.
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
		return nil, errors.Join(fmt.Errorf("another brigd answers on %s: stop it, or choose another --socket", f.socket), conn.Close())
	}
	if err := os.Remove(f.socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	old := unix.Umask(0o177) // nobody else may connect before the mode is set
	ln, err := net.Listen("unix", f.socket)
	unix.Umask(old)
	if err != nil {
		return nil, err
	}
	if f.group != "" {
		if err := share(f.socket, f.group); err != nil {
			return nil, errors.Join(err, ln.Close())
		}
	}
	return ln, nil
}
