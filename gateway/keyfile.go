package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A keyFile is where keys come from. It stays open: a service that was started as root
// can read again what root wrote into it, but not open it.
type keyFile struct {
	path string
	file *os.File  // what was read last
	done fileStamp // what it was like then, or when it could not be read
	seen fileStamp // at the last look
}

// A fileStamp changes whenever a file does, or another takes its place. The zero value
// is that of none.
type fileStamp struct {
	dev, inode    uint64
	size, changed int64
}

func stampOf(st fs.FileInfo) fileStamp {
	sys := st.Sys().(*syscall.Stat_t)
	return fileStamp{sys.Dev, sys.Ino, sys.Size, sys.Ctim.Nano()}
}

// openKeyFile waits for nobody: a FIFO there would keep the service from ever reading
// its keys again, and from stopping (TestKeysAreReadAgain).
func openKeyFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// readKeyFile reads the keys of an open file.
func readKeyFile(path string, f *os.File) ([]Key, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("keys file %s is no regular file", path)
	}
	if st.Mode().Perm()&0o007 != 0 {
		return nil, fmt.Errorf("keys file %s has mode %04o and others can read it: chmod 640 it", path, st.Mode().Perm())
	}
	raw, err := io.ReadAll(io.NewSectionReader(f, 0, 4<<20))
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	k, err := ParseKeys(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return k.list(), nil
}

// A keyChange says what is different in a file that was read again.
type keyChange struct{ added, removed, changed []string }

// reread takes the keys of a file that has changed, when it is as it was at the look
// before: who writes it may not be done. Of a file that cannot be read the error is
// told once, and the keys stay.
func (k *Keys) reread() (*keyChange, error) {
	c, err := k.renew()
	switch {
	case err != nil && k.lost.Load() == nil:
		now := time.Now()
		k.lost.Store(&now)
	case c != nil:
		k.lost.Store(nil)
	}
	return c, err
}

// unread is since when the file cannot be read; zero: it can, or there is none.
func (k *Keys) unread() time.Time {
	if k == nil {
		return time.Time{}
	}
	if since := k.lost.Load(); since != nil {
		return *since
	}
	return time.Time{}
}

func (k *Keys) renew() (*keyChange, error) {
	f := k.file
	if f == nil {
		return nil, nil
	}
	now, other, err := f.look()
	ripe := now == f.seen && now != f.done
	f.seen = now
	if !ripe {
		return nil, nil
	}
	f.done = now
	if err != nil {
		return nil, err
	}
	from := f.file
	if other {
		if from, err = openKeyFile(f.path); err != nil {
			return nil, err
		}
	}
	list, err := readKeyFile(f.path, from)
	if errors.Is(err, errNoKeys) { // the last one was taken away
		list, err = []Key{}, nil
	}
	if err != nil {
		if other {
			err = errors.Join(err, from.Close())
		}
		return nil, err
	}
	if other {
		if err := f.file.Close(); err != nil {
			return nil, err
		}
		f.file = from
	}
	c := difference(k.list(), list)
	k.all.Store(&list)
	return c, nil
}

// look tells how the file is, and whether it is another than the open one. An error has
// a stamp as well.
func (f *keyFile) look() (now fileStamp, other bool, err error) {
	open, err := f.file.Stat()
	if err != nil {
		return fileStamp{}, false, err
	}
	there, err := os.Stat(f.path)
	switch {
	case errors.Is(err, fs.ErrPermission) && open.Sys().(*syscall.Stat_t).Nlink > 0: // the way to it is not ours
		return stampOf(open), false, nil
	case err != nil:
		return fileStamp{}, false, err
	}
	return stampOf(there), !os.SameFile(open, there), nil
}

func difference(old, now []Key) *keyChange {
	c := new(keyChange)
	for _, k := range now {
		i := slices.IndexFunc(old, func(o Key) bool { return o.Name == k.Name })
		if i < 0 {
			c.added = append(c.added, k.Name)
		} else if old[i] != k {
			c.changed = append(c.changed, k.Name)
		}
	}
	for _, k := range old {
		if !slices.ContainsFunc(now, func(n Key) bool { return n.Name == k.Name }) {
			c.removed = append(c.removed, k.Name)
		}
	}
	return c
}

// Replaceable says why a file that takes the place of this one could not be read; nil:
// it could.
func (k *Keys) Replaceable() error {
	if k.file == nil {
		return nil
	}
	f, err := openKeyFile(k.file.path)
	if err != nil {
		return err
	}
	return f.Close()
}

// Close lets go of the file.
func (k *Keys) Close() error {
	if k.file == nil {
		return nil
	}
	return k.file.file.Close()
}

// keysEvery is the time between two looks at the keys file: what has changed counts
// after two.
const keysEvery = time.Second

// keepKeys reads the keys file again when it has changed.
func (g *Gateway) keepKeys(ctx context.Context) {
	tick := time.NewTicker(keysEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		before := g.cfg.Keys.unread()
		c, err := g.cfg.Keys.reread()
		switch {
		case err != nil:
			g.log.Error("THE KEYS FILE CANNOT BE READ AGAIN: the keys stay as they were until it can", "err", err)
			if before.IsZero() {
				g.warnOfKeys(ctx)
			}
		case c != nil:
			g.log.Warn("keys read again", "added", c.added, "removed", c.removed, "changed", c.changed)
			if names := g.idleProfileLog(); len(names) > 0 {
				g.log.Warn("profile_log of these keys has no effect: the agent lets only root ask for profile_mode log until it is started with --profile-log", "keys", names)
			}
			if len(g.cfg.Keys.list()) == 0 {
				g.log.Warn("the keys file has no keys: nobody may use the service")
			}
			for _, name := range c.removed {
				if ids := g.sessions.of(name); len(ids) > 0 {
					g.log.Warn("sessions of a removed key: nobody reaches them, and they end when they are idle", "key", name, "sessions", ids)
				}
			}
		}
	}
}

// warnOfKeys keeps an alert: who took a key away must see that it opens still.
func (g *Gateway) warnOfKeys(ctx context.Context) {
	a := api.Alert{Time: g.cfg.Keys.unread(), Kind: api.KeysUnread, Text: "the keys file cannot be read: keys that were taken away from it since are valid still; the log has the reason"}
	if err := g.cfg.History.AddAlert(ctx, a); err != nil {
		g.log.Error("alert not kept", "kind", a.Kind, "err", err)
	}
}
