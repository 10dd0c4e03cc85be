// Package reader reads images for root in a process without privilege, and has an agent store them.
package reader

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

// UID is the uid and gid that reads images and relays networks for root itself: the one after those
// of the processes that read archives and build images (rootfs/archive, rootfs/build). No user of the
// host and no cell has it, as nobody's processes are many (IMG-43).
const UID = 2_000_065_536

// Downloads is the directory of downloads in the cache of a user.
const Downloads = "downloads"

const maxCredentials = 1 << 20 // bytes of their file

// A User is the user as which images are read, and networks relayed.
type User struct {
	Credential *syscall.Credential // nil: the user of this process
	home       string
	cache      string // directory for downloads
	ownCache   bool   // we make it for the reader
}

// Choose chooses the user that reads images and relays networks: never root. For root it is the user who called sudo,
// with that user's credentials for registries; or a user of its own. downloads is the directory for those of others.
func Choose(env func(string) string, downloads string) (User, error) {
	if os.Geteuid() != 0 {
		return User{home: env("HOME"), cache: downloads}, nil
	}

	u, err := invoker(env)
	switch {
	case err != nil:
		return User{}, err
	case u != nil:
		return userOf(u)
	}

	return User{
		Credential: &syscall.Credential{Uid: UID, Gid: UID}, home: "/nonexistent",
		cache: downloads, ownCache: true,
	}, nil
}

// invoker returns the user for whom root acts by sudo, run0, pkexec or doas, or nil.
func invoker(env func(string) string) (*user.User, error) {
	for _, name := range []string{"SUDO_UID", "PKEXEC_UID"} {
		uid, err := strconv.ParseUint(env(name), 10, 32)
		if err != nil || uid == 0 {
			continue
		}
		u, err := user.LookupId(strconv.FormatUint(uid, 10))
		if err != nil {
			return nil, fmt.Errorf("%s: %w: log in as a user of this machine, or unset it", name, err)
		}
		return u, nil
	}

	if name := env("DOAS_USER"); name != "" && name != "root" {
		u, err := user.Lookup(name)
		if err != nil || u.Uid == "0" {
			return nil, err
		}
		return u, nil
	}

	return nil, nil
}

func userOf(u *user.User) (User, error) {
	r := User{home: u.HomeDir, cache: filepath.Join(u.HomeDir, ".cache", "brig", Downloads)}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	gid, gerr := strconv.ParseUint(u.Gid, 10, 32)
	if err = errors.Join(err, gerr); err != nil {
		return r, err
	}

	r.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	groups, err := u.GroupIds()
	for _, g := range groups {
		if n, err := strconv.ParseUint(g, 10, 32); err == nil && n != 0 {
			r.Credential.Groups = append(r.Credential.Groups, uint32(n))
		}
	}

	return r, err
}

// makeCache makes the directory for the downloads of root's own reader. Only root can write to the
// directory above it. What another user left there, as nobody did when it read images for root, cannot
// be gone on with.
func (u User) makeCache() error {
	if !u.ownCache {
		return nil
	}
	if err := shareddir.Make(filepath.Dir(u.cache)); err != nil {
		return err
	}
	if err := shareddir.CheckPassable(filepath.Dir(u.cache), "the directory for downloads",
		int(u.Credential.Uid)); err != nil {
		return err
	}
	if err := os.Mkdir(u.cache, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := os.Lchown(u.cache, int(u.Credential.Uid), int(u.Credential.Gid)); err != nil {
		return err
	}

	dir, err := os.OpenRoot(u.cache)
	if err != nil {
		return err
	}
	defer dir.Close()

	files, err := os.ReadDir(u.cache)
	for _, f := range files {
		info, ierr := dir.Lstat(f.Name())
		if st, ok := infoStat(info, ierr); ok && st.Uid != u.Credential.Uid {
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
func credentialsFile(env func(string) string) string {
	home := env("HOME")
	var files []string
	add := func(dir string, more ...string) {
		if dir != "" {
			files = append(files, filepath.Join(append([]string{dir}, more...)...))
		}
	}

	add(env("DOCKER_CONFIG"), "config.json")
	add(home, ".docker", "config.json")
	add(env("REGISTRY_AUTH_FILE"))
	add(env("XDG_RUNTIME_DIR"), "containers", "auth.json")
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
func (u User) settings(env func(string) string) map[string]string {
	set := map[string]string{"HOME": u.home}
	for _, name := range passedOn {
		if v := env(name); v != "" {
			set[name] = v
		}
	}
	return set
}

// credentials returns root's own credentials, which only root can read, for the reader that acts for
// root itself. Another reader reads those of its user.
func (u User) credentials(env func(string) string) ([]byte, error) {
	name := credentialsFile(env)
	if !u.ownCache || name == "" {
		return nil, nil
	}
	return inputfile.Read(name, maxCredentials)
}
