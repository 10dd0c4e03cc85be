package rootfs

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Packages are kept as <sha256>_<name>.deb: apt believes a package it finds in
// its archive directory, so we check it ourselves.

const (
	debAge  = 90 * 24 * time.Hour // older packages have a successor
	debMost = 1 << 30             // bytes of one package
)

// loadDebs copies kept packages to where a build expects them. Damaged and old
// ones are removed.
func loadDebs(cache, to string) error {
	if cache == "" {
		return nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return fmt.Errorf("package cache: %w", err)
	}
	files, err := os.ReadDir(cache)
	if err != nil {
		return fmt.Errorf("package cache: %w", err)
	}
	for _, f := range files {
		sum, name, ok := strings.Cut(f.Name(), "_")
		path := filepath.Join(cache, f.Name())
		if !ok || len(sum) != sha256.Size*2 {
			continue // not ours
		}
		info, err := f.Info()
		if err != nil || time.Since(info.ModTime()) > debAge {
			err = errors.Join(err, os.Remove(path))
		} else {
			var got string
			if got, err = copyDeb(path, filepath.Join(to, name)); err == nil && got != sum {
				err = errors.Join(os.Remove(path), os.Remove(filepath.Join(to, name)))
			}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("package cache: %w", err)
		}
	}
	return nil
}

// saveDebs keeps the packages a build left. The directory belongs to the build's
// user: nothing in it is followed, and only regular files are read.
func saveDebs(from, cache string) error {
	if cache == "" {
		return nil
	}
	files, err := os.ReadDir(from)
	if err != nil {
		return fmt.Errorf("package cache: %w", err)
	}
	for _, f := range files {
		if !f.Type().IsRegular() || !strings.HasSuffix(f.Name(), ".deb") {
			continue
		}
		tmp := filepath.Join(cache, ".new-"+f.Name())
		sum, err := copyDeb(filepath.Join(from, f.Name()), tmp)
		if err != nil {
			return errors.Join(fmt.Errorf("package cache: %w", err), os.Remove(tmp))
		}
		path := filepath.Join(cache, sum+"_"+f.Name())
		if _, err := os.Lstat(path); err == nil {
			err = os.Remove(tmp) // keeps its age
			if err != nil {
				return err
			}
			continue
		}
		if err := os.Rename(tmp, path); err != nil {
			return fmt.Errorf("package cache: %w", err)
		}
	}
	return nil
}

// copyDeb copies a regular file and returns the sha256 of what it copied.
func copyDeb(from, to string) (sum string, err error) {
	in, err := os.OpenFile(from, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer in.Close()
	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > debMost {
		return "", errors.Join(fmt.Errorf("%s is no package", from), err)
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, h), io.LimitReader(in, debMost))
	// Whatever the umask: the build's user must read it.
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, out.Chmod(0o644), out.Close())
}
