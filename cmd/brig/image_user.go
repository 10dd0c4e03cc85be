package main

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/brig-sandbox/brig/internal/inputfile"
	"github.com/brig-sandbox/brig/internal/shareddir"
)

// readerID is the uid and gid that reads images and relays networks for root itself: the one after those
// of the processes that read archives and build images (rootfs/archive, rootfs/build). No user of the
// host and no cell has it, as nobody's processes are many (IMG-43).
const readerID = 2_000_065_536

// A reader is the user as which images are read, and networks relayed.
type reader struct {
	credential *syscall.Credential // nil: the user of this process
	home       string
	cache      string // directory for downloads
	ownCache   bool   // we make it for the reader
}

// chooseReader chooses the user that reads images and relays networks: never root. For root it is the user who called sudo, with that
// user's credentials for registries; or a user of its own.
func (c *cli) chooseReader() (reader, error) {
	if os.Geteuid() != 0 {
		return reader{home: c.env("HOME"), cache: filepath.Join(cacheDir(), downloadsDir)}, nil
	}

	u, err := c.invoker()
	switch {
	case err != nil:
		return reader{}, err
	case u != nil:
		return readerOf(u)
	}

	return reader{
		credential: &syscall.Credential{Uid: readerID, Gid: readerID}, home: "/nonexistent",
		cache: filepath.Join(cacheDir(), downloadsDir), ownCache: true,
	}, nil
}

// invoker returns the user for whom root acts by sudo, run0, pkexec or doas, or nil.
func (c *cli) invoker() (*user.User, error) {
	for _, name := range []string{"SUDO_UID", "PKEXEC_UID"} {
		uid, err := strconv.ParseUint(c.env(name), 10, 32)
		if err != nil || uid == 0 {
			continue
		}
		u, err := user.LookupId(strconv.FormatUint(uid, 10))
		if err != nil {
			return nil, fmt.Errorf("%s: %w: log in as a user of this machine, or unset it", name, err)
		}
		return u, nil
	}

	if name := c.env("DOAS_USER"); name != "" && name != "root" {
		u, err := user.Lookup(name)
		if err != nil || u.Uid == "0" {
			return nil, err
		}
		return u, nil
	}

	return nil, nil
}

func readerOf(u *user.User) (reader, error) {
	r := reader{home: u.HomeDir, cache: filepath.Join(u.HomeDir, ".cache", "brig", downloadsDir)}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	gid, gerr := strconv.ParseUint(u.Gid, 10, 32)
	if err = errors.Join(err, gerr); err != nil {
		return r, err
	}

	r.credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	groups, err := u.GroupIds()
	for _, g := range groups {
		if n, err := strconv.ParseUint(g, 10, 32); err == nil && n != 0 {
			r.credential.Groups = append(r.credential.Groups, uint32(n))
		}
	}

	return r, err
}

// makeCache makes the directory for the downloads of root's own reader. Only root can write to the
// directory above it. What another user left there, as nobody did when it read images for root, cannot
// be gone on with.
func (r reader) makeCache() error {
	if !r.ownCache {
		return nil
	}
	if err := shareddir.Make(filepath.Dir(r.cache)); err != nil {
		return err
	}
	if err := shareddir.CheckPassable(filepath.Dir(r.cache), "the directory for downloads",
		int(r.credential.Uid)); err != nil {
		return err
	}
	if err := os.Mkdir(r.cache, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := os.Lchown(r.cache, int(r.credential.Uid), int(r.credential.Gid)); err != nil {
		return err
	}

	dir, err := os.OpenRoot(r.cache)
	if err != nil {
		return err
	}
	defer dir.Close()

	files, err := os.ReadDir(r.cache)
	for _, f := range files {
		info, ierr := dir.Lstat(f.Name())
		if st, ok := infoStat(info, ierr); ok && st.Uid != r.credential.Uid {
			err = errors.Join(err, dir.Remove(f.Name()))
		}
	}

	return err
}

func infoStat(info os.FileInfo, err error) (*syscall.Stat_t, bool) {
	if err != nil {
		return nil, false // just removed
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return st, ok
}

// passedOn are the variables that the reader gets.
var passedOn = []string{
	"PATH", "LANG", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR",
	"DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME",
}

// credentialsFile is the first of the files in which docker and podman keep a user's credentials.
func (c *cli) credentialsFile() string {
	home := c.env("HOME")
	var files []string
	add := func(dir string, more ...string) {
		if dir != "" {
			files = append(files, filepath.Join(append([]string{dir}, more...)...))
		}
	}

	add(c.env("DOCKER_CONFIG"), "config.json")
	add(home, ".docker", "config.json")
	add(c.env("REGISTRY_AUTH_FILE"))
	add(c.env("XDG_RUNTIME_DIR"), "containers", "auth.json")
	add(home, ".config", "containers", "auth.json")
	i := slices.IndexFunc(files, func(name string) bool {
		info, err := os.Stat(name)
		return err == nil && info.Mode().IsRegular()
	})
	if i < 0 {
		return ""
	}
	return files[i]
}

// settings are the variables for the reader. They go to it with the request: those of a proxy may have a
// password.
func (r reader) settings(env func(string) string) map[string]string {
	set := map[string]string{"HOME": r.home}
	for _, name := range passedOn {
		if v := env(name); v != "" {
			set[name] = v
		}
	}
	return set
}

// credentialsFor returns root's own credentials, which only root can read, for the reader that acts for
// root itself. Another reader reads those of its user.
func (c *cli) credentialsFor(r reader) ([]byte, error) {
	name := c.credentialsFile()
	if !r.ownCache || name == "" {
		return nil, nil
	}
	return inputfile.Read(name, maxTextFile)
}
