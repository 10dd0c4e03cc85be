package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/brig-sandbox/brig/internal/flock"
)

// LockBuild takes the lock for building an image, which one process of the host can hold. It is
// released when the file is closed, also because the process was killed. onWait is called once if
// another process holds the lock.
func LockBuild(ctx context.Context, image string, onWait func()) (*os.File, error) {
	dir, err := MakeCache(LocksDir)
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
