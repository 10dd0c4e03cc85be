package build

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

	"github.com/brig-sandbox/brig/internal/flock"
	"github.com/brig-sandbox/brig/internal/shareddir"
)

// Packages are cached as <sha256>_<name>.deb. Builds do not trust the cache: the expected hash of a
// package comes from the archive's signed index, and the copy into a build is hashed and compared.
// So it does not matter which process wrote the file. Several builds can use the cache at once.

const (
	maxDebAge  = 90 * 24 * time.Hour // older packages have a successor
	maxDebSize = 1 << 30             // bytes of one package
)

// loadDebs copies the wanted packages that are in the cache to the build's directory and returns
// the missing ones. It removes damaged and old packages from the cache.
func loadDebs(cache, to string, wanted []wantedDeb) (missing []wantedDeb, err error) {
	if cache == "" {
		return wanted, nil
	}
	if err := shareddir.Make(cache); err != nil {
		return nil, fmt.Errorf("package cache: %w", err)
	}
	if err := removeOldDebs(cache); err != nil {
		return nil, fmt.Errorf("package cache: %w", err)
	}

	for _, d := range wanted {
		path, copied := filepath.Join(cache, d.sha256+"_"+d.file), filepath.Join(to, d.file)
		got, err := copyDeb(path, copied)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, d)
		case err != nil:
			return nil, fmt.Errorf("package cache: %w", err)
		case got != d.sha256:
			if err := errors.Join(os.Remove(path), os.Remove(copied)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("package cache: %w", err)
			}
			missing = append(missing, d)
		}
	}

	return missing, nil
}

// removeOldDebs removes packages older than maxDebAge, which have a successor by now.
func removeOldDebs(cache string) error {
	files, err := os.ReadDir(cache)
	if err != nil {
		return err
	}

	for _, f := range files {
		sum, _, ok := strings.Cut(f.Name(), "_")
		ours := ok && len(sum) == sha256.Size*2 || strings.HasPrefix(f.Name(), debTemp)
		info, err := f.Info()
		if !ours || err == nil && time.Since(info.ModTime()) <= maxDebAge {
			continue
		}
		if err == nil {
			err = os.Remove(filepath.Join(cache, f.Name()))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // not exist: another build removed it first
			return err
		}
	}

	return nil
}

// debTemp is the name prefix of an incomplete package.
const debTemp = ".new-"

// salvageDebs caches the packages that a killed build had downloaded. They are complete: apt gives
// a package its final name only when the download is complete.
func salvageDebs(build, cache string) error {
	dir, err := os.Open(build)
	if err != nil {
		return ignoreMissing(err)
	}
	defer dir.Close()
	if flock.Try(dir) != nil {
		return nil // its build is still running
	}
	return ignoreMissing(saveDebs(filepath.Join(build, "debs"), cache))
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// saveDebs copies the packages in a build's directory to the cache. The directory belongs to the
// build's user: saveDebs follows no links in it and reads only regular files.
func saveDebs(from, cache string) error {
	if cache == "" {
		return nil
	}
	if err := shareddir.Make(cache); err != nil {
		return fmt.Errorf("package cache: %w", err)
	}

	files, err := os.ReadDir(from)
	if err != nil {
		return fmt.Errorf("package cache: %w", err)
	}

	for _, f := range files {
		if !f.Type().IsRegular() || !strings.HasSuffix(f.Name(), ".deb") {
			continue
		}
		if err := saveDeb(filepath.Join(from, f.Name()), cache); err != nil {
			return fmt.Errorf("package cache: %w", err)
		}
	}

	return nil
}

func saveDeb(path, cache string) error {
	f, err := os.CreateTemp(cache, debTemp)
	if err != nil {
		return err
	}

	tmp := f.Name()
	sum, err := copyDeb(path, tmp)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}

	kept := filepath.Join(cache, sum+"_"+filepath.Base(path))
	if _, err := os.Lstat(kept); err == nil {
		return os.Remove(tmp) // the cached file keeps its age
	}
	return os.Rename(tmp, kept)
}

// copyDeb copies a regular file and returns the sha256 of the copied bytes.
func copyDeb(from, to string) (sum string, err error) {
	in, err := os.OpenFile(from, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer in.Close()

	if info, err := in.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxDebSize {
		return "", errors.Join(fmt.Errorf("%s is not a package", from), err)
	}

	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|unix.O_NOFOLLOW, 0o644)
	if err != nil {
		return "", err
	}

	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(out, h), io.LimitReader(in, maxDebSize))

	// Independent of the umask: the build's user must be able to read the file.
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, out.Chmod(0o644), out.Close())
}
