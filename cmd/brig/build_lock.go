package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/brig-sandbox/brig/agent/caller"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/flock"
)

// lockBuild takes the lock for building an image, which one process of the host can hold. It is
// released when the file is closed, also because the process was killed. onWait is called once if
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

	err = flock.Try(f)
	if errors.Is(err, flock.ErrHeld) {
		onWait()
		err = flock.Wait(ctx, f, 100*time.Millisecond)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
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
