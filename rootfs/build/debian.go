package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/rootfs"
)

// buildBase is the first of the 65,536 host uids and gids that a build's root and its users map to.
// The id ranges that the usual distributions allocate end below it.
const buildBase = 2_000_000_000

// A debianBuild is the build of one image.
type debianBuild struct {
	recipe     Recipe
	dir        *buildDir
	cache      string
	aptOptions []string
	log        io.Writer
	step       func(string)
	room       func(atLeast int64) error
}

// buildDebian writes the tar of a Debian tree to out.
//
// apt, mmdebstrap, its hooks and every program of the packages run as the root of a user namespace
// that maps to unprivileged ids on the host, in a pid and a mount namespace that end with them.
// Host root runs nothing that was downloaded (TestBuildNeverRunsAsHostRoot).
func buildDebian(ctx context.Context, r Recipe, out io.Writer, o Options) (err error) {
	tools := []string{"mmdebstrap", "apt-get", "tar", "unshare", "dpkg-deb", "update-alternatives"}
	if r.NPM != "" {
		tools = append(tools, "npm")
	}
	if err := needTools(tools...); err != nil {
		return err
	}

	sources, err := debianSources(r.Suite, o.Mirror)
	if err != nil {
		return err
	}

	w, err := newBuildDir(o.Cache)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()

	b := &debianBuild{recipe: r.withBase(), dir: w, cache: o.Cache, aptOptions: aptOptions(ctx), log: o.Log,
		step: o.Step, room: o.Room}
	if err := errors.Join(b.write("sources.sources", sources), b.write("finish.sh", b.variables()+b.recipe.Finish),
		b.write("status", "")); err != nil {
		return err
	}
	if err := b.fetchDebs(ctx); err != nil {
		return err
	}
	if err := b.fetchNPM(ctx); err != nil {
		return err
	}

	output := &tail{w: o.Log}
	cmd := exec.CommandContext(ctx, "mmdebstrap", b.mmdebstrapArgs()...)
	cmd.Stdout, cmd.Stderr = out, stageProgress{output, b.step}
	b.confine(cmd)
	if err := cmd.Run(); err != nil {
		return toolFailed(ctx, "mmdebstrap", err, output)
	}
	return nil
}

// toolFailed is the error of a tool that did not start or did not succeed.
func toolFailed(ctx context.Context, command string, err error, output fmt.Stringer) error {
	err = errors.Join(context.Cause(ctx), err)
	if errors.Is(err, syscall.EPERM) { // the clone of confine
		return fmt.Errorf("%s: %w: this host gives it no user namespace: sudo brig doctor says why", command, err)
	}
	return fmt.Errorf("%s: %w; its last output:\n%s", command, err, output)
}

// variables returns the assignments of the shell variables with which Finish, and the scripts that
// run before it, find their directories, and the functions that Finish may call.
func (b *debianBuild) variables() string {
	functions := ""
	if b.recipe.NPM != "" {
		functions = cutSymbols
	}
	return functions + "node_modules=" + b.dir.file("npm/node_modules") + "\ndebs=" + b.dir.file("debs") + "\naside=" +
		b.dir.file("aside") + "\n"
}

func (b *debianBuild) write(name, text string) error { return b.dir.writeOwned(name, text) }

// confine makes a tool run as the build's user, in namespaces that end with the tool.
func (b *debianBuild) confine(cmd *exec.Cmd) {
	cmd.Dir, cmd.Env = "/", buildEnv(b.recipe, b.dir.Path)
	cmd.WaitDelay = waitDelay
	if os.Geteuid() != 0 {
		return // mmdebstrap makes the user namespace itself, with newuidmap
	}
	ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: buildBase, Size: 65536}}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS,
		UidMappings: ids, GidMappings: ids, GidMappingsEnableSetgroups: true,
		Credential: &syscall.Credential{},
	}
}

// mmdebstrapArgs returns the command line. Variant extract unpacks packages without configuring
// them: no maintainer script runs in the tree (but see debianAlternatives).
func (b *debianBuild) mmdebstrapArgs() []string {
	r := b.recipe
	args := []string{"--mode=unshare", "--variant=extract", "--format=tar", "--include=" + strings.Join(r.Packages, ",")}
	for _, p := range r.Exclude {
		args = append(args, "--dpkgopt=path-exclude="+p)
	}

	for _, p := range r.Keep {
		args = append(args, "--dpkgopt=path-include="+p)
	}

	for _, opt := range b.aptOptions {
		args = append(args, "--aptopt="+opt)
	}

	return append(args,
		// Fetched packages are not fetched again. They are hard links where the file system and the
		// owner allow that, else copies.
		"--setup-hook=set -eu; mkdir -p \"$1/var/cache/apt/archives\" \"$1/var/lib/apt/lists\"; "+
			"find "+b.dir.file("debs")+
			" -maxdepth 1 -name '*.deb' -exec cp --link -t \"$1/var/cache/apt/archives\" {} + 2>/dev/null || "+
			"find "+b.dir.file("debs")+
			" -maxdepth 1 -name '*.deb' -exec cp --remove-destination -t \"$1/var/cache/apt/archives\" {} +; "+
			"find "+b.dir.file("apt/lists")+" -maxdepth 1 -type f ! -name lock -exec cp -p -t \"$1/var/lib/apt/lists\" {} +",
		"--extract-hook=sh -eu "+b.dir.file("finish.sh")+" \"$1\"",
		// mmdebstrap's clean-up expects the package manager, which finish.sh has removed.
		"--skip=cleanup/apt,cleanup/mmdebstrap",
		r.Suite, "-", b.dir.file("sources.sources"))
}

func buildEnv(r Recipe, tmp string) []string {
	env := []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "HOME=/nonexistent",
		"TMPDIR=" + tmp, "SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.Epoch, 10),
	}
	for _, name := range []string{"http_proxy", "https_proxy", "no_proxy"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

func needTools(names ...string) error {
	packages := map[string]string{"mmdebstrap": "mmdebstrap", "apt-get": "apt", "tar": "tar", "npm": "npm",
		"unshare": "util-linux", "dpkg-deb": "dpkg", "update-alternatives": "dpkg"}
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("%s is missing: install it with: apt-get install %s", name, packages[name])
		}
	}
	return nil
}

// A buildDir is the working directory of a build. The build's unprivileged user owns it and can
// reach its path.
type buildDir struct{ *rootfs.StagingDir }

// newBuildDir makes a buildDir and removes those of killed builds. It moves their packages to the
// cache, where each package is checked before it is used.
func newBuildDir(cache string) (*buildDir, error) {
	// Not /tmp, which is often small and mounted nodev.
	const parent, prefix = "/var/tmp", "brig-build-"
	stale, err := filepath.Glob(filepath.Join(parent, prefix+"*"))
	if err != nil {
		return nil, err
	}

	for _, path := range stale {
		var st unix.Stat_t
		// Any user may make a directory there; remove only those that a build made.
		if unix.Lstat(path, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR &&
			(st.Uid == buildBase || int(st.Uid) == os.Geteuid()) {
			if err := errors.Join(salvageDebs(path, cache), rootfs.CleanStagingDir(path)); err != nil {
				return nil, fmt.Errorf("remove the directory of an earlier build: %w", err)
			}
		}
	}

	dir, err := rootfs.MakeStagingDir(parent, prefix)
	if err != nil {
		return nil, err
	}

	w := &buildDir{dir}
	err = w.chown(w.Path)
	for _, name := range []string{"debs", "debs/partial", "aside", "apt", "apt/lists", "apt/lists/partial"} {
		err = errors.Join(err, w.mkdirOwned(name))
	}

	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *buildDir) file(name string) string { return filepath.Join(w.Path, name) }

func (w *buildDir) chown(path string) error {
	if os.Geteuid() != 0 {
		info, err := os.Stat(path)
		if err != nil || !info.IsDir() {
			return err
		}
		return os.Chmod(path, 0o755) // mmdebstrap runs as another user than brig
	}
	return os.Lchown(path, buildBase, buildBase)
}

func (w *buildDir) writeOwned(name, text string) error {
	if err := os.WriteFile(w.file(name), []byte(text), 0o644); err != nil {
		return err
	}
	return w.chown(w.file(name))
}

// tail passes the output of a tool on and remembers the end of it.
type tail struct {
	w    io.Writer
	last []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.last = append(t.last, p...)
	if over := len(t.last) - 2000; over > 0 {
		t.last = append([]byte(nil), t.last[over:]...)
	}
	return t.w.Write(p)
}

func (t *tail) String() string { return strings.TrimSpace(string(t.last)) }
