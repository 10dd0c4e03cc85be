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
	"github.com/brig-sandbox/brig/internal/cache"
	"github.com/brig-sandbox/brig/rootfs"
	"github.com/brig-sandbox/brig/rootfs/languages"
	"github.com/brig-sandbox/brig/runtime"
)

// This file implements the agent's interfaces with the runtime and the image store. It is the only
// file that knows both sides.

type sessions struct{ host *runtime.Host }

func (s sessions) Create(ctx context.Context, ask api.SessionRequest, wait time.Duration,
	c api.Caller) (api.Session, error) {
	return s.host.CreateSession(ctx, ask, wait, c)
}

func (s sessions) List(c api.Caller) []api.Session { return s.host.Sessions(c) }

func (s sessions) Get(id string, c api.Caller) (api.Session, error) {
	return s.host.Session(id, c)
}

func (s sessions) Use(id string, c api.Caller) (api.Session, error) {
	return s.host.UseSession(id, c)
}

func (s sessions) SetLife(id string, l api.LifeRequest, c api.Caller) (api.Session, error) {
	return s.host.SetLife(id, l, c)
}

func (s sessions) Delete(id string, c api.Caller) error {
	return s.host.DeleteSession(id, c)
}

func (s sessions) End(e api.EndRequest, c api.Caller) int { return s.host.EndSessions(e, c) }

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

func (s sessions) ListFiles(ctx context.Context, id, dir string, volume bool, hold func(bytes int64) error,
	c api.Caller) (api.FileList, error) {
	return s.host.ListFiles(ctx, id, dir, volume, hold, c)
}

type paths struct{ host *runtime.Host }

func (p paths) Status(ctx context.Context, id, path string, follow bool, c api.Caller) (api.PathStatus, error) {
	return p.host.PathStatus(ctx, id, path, follow, c)
}

func (p paths) List(ctx context.Context, id, path string, l api.PathListing, hold func(bytes int64) error,
	c api.Caller) (api.PathList, error) {
	return p.host.ListPath(ctx, id, path, l, hold, c)
}

func (p paths) Open(ctx context.Context, id, path string, offset, length int64, c api.Caller) (api.PathContent, error) {
	return p.host.OpenPath(ctx, id, path, offset, length, c)
}

func (p paths) Put(ctx context.Context, id, path string, mode *uint32, content io.Reader, c api.Caller) error {
	return p.host.PutPath(ctx, id, path, mode, content, c)
}

func (p paths) MakeDir(ctx context.Context, id, path string, mode *uint32, c api.Caller) (api.PathMade, error) {
	return p.host.MakeDir(ctx, id, path, mode, c)
}

func (p paths) Link(ctx context.Context, id, path, target string, c api.Caller) error {
	return p.host.LinkPath(ctx, id, path, target, c)
}

func (p paths) Move(ctx context.Context, id, from, to string, replace bool, c api.Caller) error {
	return p.host.MovePath(ctx, id, from, to, replace, c)
}

func (p paths) Remove(ctx context.Context, id, path string, recursive bool, c api.Caller) error {
	return p.host.RemovePath(ctx, id, path, recursive, c)
}

type snapshots struct{ host *runtime.Host }

func (s snapshots) Make(ctx context.Context, session string, r api.SnapshotRequest, hold func(bytes int64) error,
	c api.Caller) (api.SnapshotMade, error) {
	return s.host.MakeSnapshot(ctx, session, r, hold, c)
}

func (s snapshots) List(space string, c api.Caller) ([]api.Snapshot, error) {
	return s.host.Snapshots(space, c)
}

func (s snapshots) Get(ref, space string, c api.Caller) (api.Snapshot, error) {
	return s.host.Snapshot(ref, space, c)
}

func (s snapshots) Remove(ref, space string, c api.Caller) error {
	return s.host.RemoveSnapshot(ref, space, c)
}

func (s snapshots) Diff(ctx context.Context, session, since string, hold func(bytes int64) error, c api.Caller) (*os.File, error) {
	return s.host.Diff(ctx, session, since, hold, c)
}

func (s snapshots) Take(ctx context.Context, session string, r api.TakeRequest, hold func(bytes int64) error,
	c api.Caller) (api.TakenFiles, error) {
	return s.host.Take(ctx, session, r, hold, c)
}

type volumes struct{ host *runtime.Host }

func (v volumes) List(c api.Caller) ([]api.Volume, error) { return v.host.Volumes(c) }

func (v volumes) Remove(ctx context.Context, name, run string, c api.Caller) error {
	return v.host.RemoveVolume(ctx, name, run, c)
}

type packages struct{ host *runtime.Host }

func (p packages) Install(ctx context.Context, r api.PackageRequest, s api.Streams,
	c api.Caller) (api.PackageSet, error) {
	return p.host.InstallPackages(ctx, r, s, c)
}

func (p packages) List(c api.Caller, reserve func(bytes int64) error) ([]api.PackageSet, error) {
	return p.host.PackageSets(c, reserve)
}

func (p packages) Remove(key string, c api.Caller) error { return p.host.RemovePackageSet(key, c) }

type blobs struct{ *cache.Cache }

func (b blobs) Put(name, digest string, r io.Reader) error {
	err := b.PutBlob(name, digest, r)
	switch {
	case errors.Is(err, cache.ErrDigest):
		return api.Refuse(api.CodeBadRequest, "blob %s: %w: nothing was stored; send it again", digest, err)
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return api.Fail(api.CodeHostExhausted, "%w: free space at --data-dir, or raise --blob-cache", err)
	}
	return err
}

func (b blobs) Open(name string) (io.ReadCloser, error) {
	content, err := b.OpenContent(name)
	if errors.Is(err, cache.ErrNotFound) {
		return nil, api.Refuse(api.CodeNoBlob, "the blob is not stored here, or was removed: send it again")
	}
	return content, err
}

type catalog struct {
	host      *runtime.Host
	languages *languages.Catalog
	store     *rootfs.Store
}

func (c catalog) Languages(ctx context.Context) []api.Language {
	var out []api.Language
	for _, l := range c.languages.All() {
		one := api.Language{
			Name: l.Name, Aliases: l.Aliases, Extensions: l.Extensions, Image: l.Image, ImageFrom: l.ImageFrom,
			Stored: c.store.Has(l.Image), Tier: l.Tier, Version: l.Version,
			Flags: l.Flags, FlagPatterns: l.FlagPatterns, DefaultFlags: l.DefaultFlags, TimeFactor: l.TimeFactor,
			MemoryFactor: l.MemoryFactor,
		}

		if lack, err := languages.Outdated(ctx, c.store, []languages.Manifest{l}); err == nil { // an error is ignored here: a run reports it
			one.Lacks = lack[l.Image]
		}
		if p := l.Packages; p != nil {
			one.Packages = &api.LanguagePackages{Kind: p.Kind, Image: p.Image, Stored: c.store.Has(p.Image), Index: p.Index,
				Hosts: p.Hosts, Wall: p.Limits.Wall}
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
