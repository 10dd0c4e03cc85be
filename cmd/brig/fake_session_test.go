package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// fakeSessions imitates sessions: it keeps their files, and fake imitates their programs.
type fakeSessions struct {
	*fake
	mu    sync.Mutex
	files []map[string][]byte   // guarded by mu; by session; nil: ended; those of its volume under workspace/
	kept  map[string]api.Volume // guarded by mu

	labels []api.Labels // guarded by mu; by session
}

func (f *fakeSessions) find(id string) (map[string][]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, files := range f.files {
		if id == fmt.Sprint("s", i+1) && files != nil {
			return files, nil
		} else if id == fmt.Sprint("s", i+1) {
			return nil, api.Refuse(api.CodeSessionEnded, "session %s has ended: it was deleted: make another", id)
		}
	}
	return nil, api.Refuse(api.CodeNotFound, "no session has the id %q: see brig session ls", id)
}

func (f *fakeSessions) Create(_ context.Context, ask api.SessionRequest, _ time.Duration,
	_ api.Caller) (api.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.files, f.labels = append(f.files, map[string][]byte{}), append(f.labels, ask.Labels)
	s := f.info(len(f.files))
	s.Language = ask.Language
	if v := ask.Volume; v != nil {
		s.Volume = &api.MountedVolume{Name: v.Name, Size: max(v.Size, api.VolumeSizeMin), ReadOnly: v.ReadOnly, Shared: v.Shared}
		if f.kept == nil {
			f.kept = map[string]api.Volume{}
		}
		f.kept[v.Name] = api.Volume{Name: v.Name, Run: ask.VolumeRun(), Size: s.Volume.Size,
			Modified: "2026-01-02T03:04:05Z", Sessions: []string{s.ID}}
	}

	return s, nil
}

func (f *fakeSessions) info(n int) api.Session {
	return api.Session{
		ID: fmt.Sprint("s", n), State: api.SessionQuiet, Image: "sha256:0a0b0c0d", Idle: api.SessionIdle, Life: api.SessionLife,
		Limits:   api.Defaults(),
		Labels:   f.labels[n-1],
		IdleEnds: time.Now().Add(5 * time.Minute).Format(time.RFC3339Nano),
		Usage:    api.SessionUsage{Memory: api.Known(1<<20, "memory.current"), Processes: api.Known(1, "pids.current")},
	}
}

func (f *fakeSessions) List(api.Caller) (all []api.Session) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, files := range f.files {
		if files != nil {
			all = append(all, f.info(i+1))
		}
	}
	return all
}

func (f *fakeSessions) Get(id string, _ api.Caller) (s api.Session, err error) {
	_, err = f.find(id)
	return s, err
}

func (f *fakeSessions) Use(id string, c api.Caller) (api.Session, error) { return f.Get(id, c) }

func (f *fakeSessions) SetLife(id string, _ api.LifeRequest, c api.Caller) (api.Session, error) {
	return f.Get(id, c)
}

func (f *fakeSessions) Delete(id string, _ api.Caller) error {
	if _, err := f.find(id); err != nil {
		return err
	}
	var n int
	_, err := fmt.Sscanf(id, "s%d", &n)
	f.files[n-1] = nil
	return err
}

func (f *fakeSessions) End(e api.EndRequest, _ api.Caller) (ended int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, l := range f.labels {
		if f.files[i] != nil && e.Has(l) {
			f.files[i] = nil
			ended++
		}
	}
	return ended
}

func (f *fakeSessions) Exec(ctx context.Context, id string, e api.Exec, s api.Streams, c api.Caller) (api.Result, error) {
	if _, err := f.find(id); err != nil {
		return api.Result{}, err
	}
	return f.Run(ctx, api.Run{Source: e.Source, SourceName: e.SourceName, Argv: e.Argv, Env: e.Env, Limits: e.Limits}, s, c)
}

func (f *fakeSessions) PutFile(id, name string, volume, _ bool, content io.Reader, _ api.Caller) error {
	files, err := f.find(id)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(content)
	files[fakeName(name, volume)] = text
	return err
}

func (f *fakeSessions) OpenFile(id, name string, volume bool, _ api.Caller) (io.ReadCloser, error) {
	files, err := f.find(id)
	if err != nil {
		return nil, err
	}
	text, there := files[fakeName(name, volume)]
	if !there {
		return nil, api.Refuse(api.CodeNotFound, "there is no file %q in the session", name)
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}

func (f *fakeSessions) RemoveFile(id, name string, volume bool, _ api.Caller) error {
	files, err := f.find(id)
	delete(files, fakeName(name, volume))
	return err
}

func (f *fakeSessions) ListFiles(_ context.Context, id, dir string, volume bool, _ func(int64) error,
	_ api.Caller) (l api.FileList, err error) {
	files, err := f.find(id)
	for _, key := range slices.Sorted(maps.Keys(files)) {
		if name, is := strings.CutPrefix(key, fakeName("", volume)); is && strings.HasPrefix(name, dir) {
			l.Files = append(l.Files, api.FileInfo{Name: name, Kind: api.RegularFile, Size: int64(len(files[key]))})
		}
	}
	return l, err
}

func fakeName(name string, volume bool) string {
	if volume {
		return "workspace/" + name
	}
	return name
}

// fakeVolumes are the volumes that were requested of fakeSessions.
type fakeVolumes struct{ *fakeSessions }

func (f fakeVolumes) List(api.Caller) (all []api.Volume, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(f.kept)) {
		all = append(all, f.kept[name])
	}
	return all, nil
}

func (f fakeVolumes) Remove(_ context.Context, name, _ string, _ api.Caller) error {
	f.mu.Lock()
	defer f.mu.Unlock()

	v, there := f.kept[name]
	if !there {
		return api.Refuse(api.CodeNotFound, "there is no volume %q", name)
	}

	for _, id := range v.Sessions {
		var n int
		if _, err := fmt.Sscanf(id, "s%d", &n); err != nil || f.files[n-1] != nil {
			return api.Refuse(api.CodeConflict, "session %s has volume %q: end it first", id, name)
		}
	}

	delete(f.kept, name)
	return nil
}
