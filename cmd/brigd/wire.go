package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cache"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/archive"
	"github.com/brig-sandbox/brig/rootfs/languages"
	"github.com/brig-sandbox/brig/runtime"
)

// This file implements the agent's interfaces with the runtime and the image store. It is the only
// file that knows both sides.

type sessions struct{ host *runtime.Host }

func (s sessions) Create(ctx context.Context, ask api.SessionRequest, c api.Caller) (api.Session, error) {
	return s.host.CreateSession(ctx, ask, c)
}

func (s sessions) List(c api.Caller) []api.Session { return s.host.Sessions(c) }

func (s sessions) Get(id string, c api.Caller) (api.Session, error) {
	return s.host.Session(id, c)
}

func (s sessions) Use(id string, c api.Caller) (api.Session, error) {
	return s.host.UseSession(id, c)
}

func (s sessions) Delete(id string, c api.Caller) error {
	return s.host.DeleteSession(id, c)
}

func (s sessions) Exec(ctx context.Context, id string, e api.Exec, io api.Streams, c api.Caller) (api.Result, error) {
	return s.host.Exec(ctx, id, e, io, c)
}

func (s sessions) PutFile(id, name string, volume, executable bool, content io.Reader, c api.Caller) error {
	return s.host.PutFile(id, name, volume, executable, content, c)
}

func (s sessions) OpenFile(id, name string, volume bool, c api.Caller) (io.ReadCloser, error) {
	return s.host.OpenFile(id, name, volume, c)
}

func (s sessions) RemoveFile(id, name string, volume bool, c api.Caller) error {
	return s.host.RemoveFile(id, name, volume, c)
}

func (s sessions) ListFiles(ctx context.Context, id, dir string, volume bool, hold func(bytes int64) error, c api.Caller) (api.FileList, error) {
	return s.host.ListFiles(ctx, id, dir, volume, hold, c)
}

type volumes struct{ host *runtime.Host }

func (v volumes) List(c api.Caller) ([]api.Volume, error) { return v.host.Volumes(c) }

func (v volumes) Remove(ctx context.Context, name string, c api.Caller) error {
	return v.host.RemoveVolume(ctx, name, c)
}

type blobs struct{ *cache.Cache }

func (b blobs) Put(digest string, r io.Reader) error {
	err := b.PutBlob(digest, r)
	switch {
	case errors.Is(err, cache.ErrDigest):
		return api.Refuse(api.CodeBadRequest, "blob %s: %w: nothing was stored; send it again", digest, err)
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return api.Fail(api.CodeHostExhausted, "%w: free space at --data-dir, or raise --blob-cache", err)
	}
	return err
}

type images struct {
	store *rootfs.Store
	host  *runtime.Host
}

func (i images) Import(ctx context.Context, r io.Reader, name, expectDigest string, progress func(string)) (api.Image, error) {
	img, err := i.store.Import(ctx, r, rootfs.Options{
		Name: name, ExpectDigest: expectDigest,
		Progress: func(a archive.Amount) {
			if progress != nil {
				progress(fmt.Sprint(a))
			}
		},
	})
	if img.Replaced {
		i.host.ImagesRemoved()
	}
	return describe(img), imageError(err)
}

func (i images) List(context.Context) ([]api.Image, error) {
	list, err := i.store.List()
	out := make([]api.Image, 0, len(list))
	for _, img := range list {
		out = append(out, describe(img))
	}
	return out, err
}

func (i images) Remove(_ context.Context, name string) error {
	err := i.store.Remove(name)
	i.host.ImagesRemoved()
	return imageError(err)
}

// GC removes images without a name, and the remains of broken imports.
func (i images) GC(context.Context) (api.Cleaned, error) {
	list, err := i.store.List()
	var c api.Cleaned
	for _, img := range list {
		if len(img.Names) > 0 {
			continue
		}
		removed, rerr := i.store.RemoveUnnamed(img.Digest) // it may have a name by now
		err = errors.Join(err, rerr)
		if !removed || rerr != nil {
			continue
		}
		c.Images = append(c.Images, img.Digest)
		c.Bytes += img.Size
	}
	i.host.ImagesRemoved()
	return c, errors.Join(err, i.store.Clean())
}

func (i images) Verify(ctx context.Context, name string) (api.Verified, error) {
	v, err := i.store.Verify(ctx, name)
	return api.Verified{
		Image: describe(v.Image), Members: v.Amount.Entries, Bytes: v.Amount.Unpacked,
		Changed: v.Changed, Missing: v.Missing, Extra: v.Extra,
	}, imageError(err)
}

func describe(img rootfs.Image) api.Image {
	return api.Image{Digest: img.Digest, Names: img.Names, Size: img.Size, Created: img.Imported.UTC().Format(time.RFC3339), Replaced: img.Replaced}
}

// imageError maps errors of the store to codes of the API.
func imageError(err error) error {
	var unsafe *archive.UnsafeError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, rootfs.ErrName):
		return api.Refuse(api.CodeBadRequest, "%w", err)
	case errors.Is(err, rootfs.ErrNotFound):
		return api.Refuse(api.CodeNoImage, "%w", err)
	case errors.As(err, &unsafe), errors.Is(err, rootfs.ErrNoRecord), errors.Is(err, archive.ErrTruncated), errors.Is(err, archive.ErrMalformed), errors.Is(err, rootfs.ErrDigest), errors.Is(err, archive.ErrTooLarge):
		return api.Refuse(api.CodeBadImage, "%w", err)
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return api.Fail(api.CodeHostExhausted, "%w", err)
	}
	return err
}

type catalog struct {
	host      *runtime.Host
	languages *languages.Catalog
	store     *rootfs.Store
}

func (c catalog) Languages() []api.Language {
	var out []api.Language
	for _, l := range c.languages.All() {
		one := api.Language{
			Name: l.Name, Aliases: l.Aliases, Extensions: l.Extensions, Image: l.Image, Stored: c.store.Has(l.Image), Tier: l.Tier, Version: l.Version,
			Flags: l.Flags, FlagPatterns: l.FlagPatterns, DefaultFlags: l.DefaultFlags, TimeFactor: l.TimeFactor, MemoryFactor: l.MemoryFactor,
		}
		if lack, err := languages.Outdated(c.store, []languages.Manifest{l}); err == nil { // an error is ignored here: a run reports it
			one.Lacks = lack[l.Image]
		}
		if len(l.Compile) > 0 {
			one.CompileTier = l.CompileTier
		}
		out = append(out, one)
	}
	return out
}

func (c catalog) Profiles() []api.Profile {
	var out []api.Profile
	for _, name := range c.host.ProfileNames() {
		out = append(out, api.Profile{Name: name})
	}
	return out
}

// shareSocket lets a group use the socket.
func shareSocket(socket, group string) error {
	g, err := user.LookupGroup(group)
	if err != nil {
		return fmt.Errorf("socket group: %w; create it with groupadd %s", err, group)
	}
	gid, err := strconv.Atoi(g.Gid)
	if err != nil {
		return err
	}
	return errors.Join(os.Chown(socket, 0, gid), os.Chmod(socket, 0o660))
}
