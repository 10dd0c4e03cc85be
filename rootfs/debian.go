package rootfs

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
	"time"

	"golang.org/x/sys/unix"
)

// buildBase is the first host uid and gid of the 65,536 a build's root and its
// users stand for. No allocation of the usual distributions reaches it.
const buildBase = 2_000_000_000

// buildDebian writes the tar of a Debian tree to out.
//
// mmdebstrap, its hooks and every program of the packages run as the root of a
// user namespace that maps to nobody on the host, in a pid and a mount namespace
// that end with them: host root runs nothing that was downloaded
// (TestBuildNeverRunsAsHostRoot).
func buildDebian(ctx context.Context, r Recipe, out io.Writer, o BuildOptions) (err error) {
	r = r.onBase()
	if err := needTools("mmdebstrap", "apt-get", "tar"); err != nil {
		return err
	}
	sources, err := debianSources(r.Suite, o.Mirror)
	if err != nil {
		return err
	}
	w, err := newBuildDir()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if err := errors.Join(w.writeOwned("sources.sources", sources), w.writeOwned("finish.sh", r.Finish)); err != nil {
		return err
	}
	if err := loadDebs(o.Cache, w.file("debs")); err != nil {
		return err
	}
	says := &tail{w: o.Log}
	cmd := exec.CommandContext(ctx, "mmdebstrap", mmdebstrapArgs(r, w, aptOptions(ctx))...)
	cmd.Dir, cmd.Env = "/", buildEnv(r, w.path)
	cmd.Stdout, cmd.Stderr = out, says
	cmd.WaitDelay = 10 * time.Second
	if os.Geteuid() == 0 {
		ids := []syscall.SysProcIDMap{{ContainerID: 0, HostID: buildBase, Size: 65536}}
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWPID | syscall.CLONE_NEWNS,
			UidMappings: ids, GidMappings: ids, GidMappingsEnableSetgroups: true,
			Credential: &syscall.Credential{},
		}
	} // any other user: mmdebstrap makes the namespace itself, with newuidmap
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("mmdebstrap: %w; it said last:\n%s", errors.Join(context.Cause(ctx), err), says)
	}
	return saveDebs(w.file("debs"), o.Cache)
}

// mmdebstrapArgs is the command line. Variant extract unpacks packages without
// configuring them, so that no maintainer script runs at all.
func mmdebstrapArgs(r Recipe, w *buildDir, apt []string) []string {
	args := []string{"--mode=unshare", "--variant=extract", "--format=tar", "--include=" + strings.Join(r.Packages, ",")}
	for _, p := range r.Exclude {
		args = append(args, "--dpkgopt=path-exclude="+p)
	}
	for _, p := range r.Keep {
		args = append(args, "--dpkgopt=path-include="+p)
	}
	for _, opt := range apt {
		args = append(args, "--aptopt="+opt)
	}
	debs := w.file("debs")
	return append(args,
		"--setup-hook=set -eu; mkdir -p \"$1/var/cache/apt/archives\"; find "+debs+" -name '*.deb' -exec cp -t \"$1/var/cache/apt/archives\" {} +",
		// Before anything of the packages has run: what is kept is what apt verified.
		"--extract-hook=set -eu; find \"$1/var/cache/apt/archives\" -maxdepth 1 -name '*.deb' -exec cp -n -t "+debs+" {} +",
		"--extract-hook=sh -eu "+w.file("finish.sh")+" \"$1\"",
		// Its clean-up expects the package manager that finish.sh has removed.
		"--skip=cleanup/apt,cleanup/mmdebstrap",
		r.Suite, "-", w.file("sources.sources"))
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
	packages := map[string]string{"mmdebstrap": "mmdebstrap", "apt-get": "apt", "tar": "tar"}
	for _, name := range names {
		if _, err := exec.LookPath(name); err != nil {
			return fmt.Errorf("%s is missing: install it with: apt-get install %s", name, packages[name])
		}
	}
	return nil
}

// A buildDir is where a build happens, under a path its unprivileged user can
// reach and owned by it.
type buildDir struct{ *work }

// newBuildDir makes one, and removes those whose build was killed.
func newBuildDir() (*buildDir, error) {
	// Not /tmp, which is often small and mounted nodev.
	const parent, prefix = "/var/tmp", "brig-build-"
	stale, err := filepath.Glob(filepath.Join(parent, prefix+"*"))
	if err != nil {
		return nil, err
	}
	for _, path := range stale {
		var st unix.Stat_t
		// Anyone may make a directory there; only what a build made is ours to remove.
		if unix.Lstat(path, &st) == nil && isDir(st) && (st.Uid == buildBase || int(st.Uid) == os.Geteuid()) {
			if err := cleanWork(path); err != nil {
				return nil, fmt.Errorf("remove what an earlier build left: %w", err)
			}
		}
	}
	dir, err := makeWork(parent, prefix)
	if err != nil {
		return nil, err
	}
	w := &buildDir{dir}
	if err := errors.Join(w.own(w.path), os.Mkdir(w.file("debs"), 0o755), w.own(w.file("debs"))); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *buildDir) file(name string) string { return filepath.Join(w.path, name) }

func (w *buildDir) own(path string) error {
	if os.Geteuid() != 0 {
		return os.Chmod(path, 0o755) // mmdebstrap's user is another than ours
	}
	return os.Lchown(path, buildBase, buildBase)
}

func (w *buildDir) writeOwned(name, text string) error {
	if err := writeFile(w.file(name), []byte(text)); err != nil {
		return err
	}
	return w.own(w.file(name))
}

// tail passes on what a tool says and remembers the end of it.
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
