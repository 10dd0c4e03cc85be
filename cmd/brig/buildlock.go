package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// lockPause is the time between two looks whether another's build has ended.
const lockPause = 100 * time.Millisecond

// lockBuild makes the caller the only one on the host who builds an image, until the
// file is closed: also when he is killed. waits is called when another is building it.
func lockBuild(ctx context.Context, dir, image string, waits func()) (*os.File, error) {
	dir, err := makeLocks(dir)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, image+".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for waited := false; ; waited = true {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
		}
		if !waited {
			waits()
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), f.Close())
		}
	}
}

// makeLocks makes the directory of locks, which is root's alone, in the cache. Builds run as
// another user, who passes through the cache to its own directory there, such as npm's: a
// cache that an earlier brig made for root alone is opened for that.
func makeLocks(cache string) (dir string, err error) {
	if cache == "" {
		return "", errors.New("there is no place for the cache of builds: set HOME")
	}
	dir = filepath.Join(cache, "locks")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	info, err := os.Stat(cache)
	if err != nil {
		return "", err
	}
	if mode := info.Mode().Perm(); os.Geteuid() == 0 && mode&0o055 != 0o055 {
		if err := os.Chmod(cache, mode|0o055); err != nil {
			return "", err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	return dir, nil
}

// buildOnce builds the image of a language, unless another has done so by the time it
// is our turn.
func (c *console) buildOnce(ctx context.Context, a *agentHandle, l api.Language, build func() error) error {
	var p *progress
	lock, err := lockBuild(ctx, cacheDir(), l.Image, func() {
		c.note("another brig is building image %s: waiting for it", l.Image)
		p = c.progress("waiting for image " + l.Image)
	})
	if p != nil {
		p.end()
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	all, err := a.Languages(ctx)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(now api.Language) bool { return now.Name == l.Name && now.Stored }) {
		return nil
	}
	return build()
}
