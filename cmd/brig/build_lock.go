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

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
)

// lockPause is the interval between two attempts to take the lock.
const lockPause = 100 * time.Millisecond

// lockBuild takes the lock for building an image, which one process of the host can hold. It is
// released when the file is closed, also because the process was killed. waits is called once if
// another process holds the lock.
func lockBuild(ctx context.Context, image string, onWait func()) (*os.File, error) {
	dir, err := makeCache(locksDir)
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
			onWait()
		}

		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), f.Close())
		}
	}
}

// buildOnce builds the image of a language, unless another process has built it by the time the
// lock is free.
func (c *cli) buildOnce(ctx context.Context, a *caller.Agent, l api.Language, stored func(api.Language) bool,
	build func() error) error {
	var p *progress
	lock, err := lockBuild(ctx, l.Image, func() {
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
	if slices.ContainsFunc(all, func(now api.Language) bool { return now.Name == l.Name && stored(now) }) {
		return nil
	}
	return build()
}
