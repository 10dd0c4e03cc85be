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

	"github.com/brig-sandbox/brig/agent"
	"github.com/brig-sandbox/brig/api"
)

// fakeSessions plays sessions: their files are kept, and fake plays their programs.
type fakeSessions struct {
	*fake
	mu    sync.Mutex
	files []map[string][]byte // guarded by mu; by session; nil: ended
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

func (f *fakeSessions) Create(_ context.Context, ask api.SessionRequest, _ agent.Caller) (api.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.files = append(f.files, map[string][]byte{})
	return f.info(len(f.files)), nil
}

func (f *fakeSessions) info(n int) api.Session {
	return api.Session{
		ID: fmt.Sprint("s", n), State: api.SessionQuiet, Image: "sha256:0a0b0c0d", Idle: api.SessionIdle, Life: api.SessionLife, Limits: api.Defaults(),
		IdleEnds: time.Now().Add(5 * time.Minute).Format(time.RFC3339Nano),
		Usage:    api.SessionUsage{Memory: api.Known(1<<20, "memory.current"), Processes: api.Known(1, "pids.current")},
	}
}

func (f *fakeSessions) List(agent.Caller) (all []api.Session) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, files := range f.files {
		if files != nil {
			all = append(all, f.info(i+1))
		}
	}
	return all
}

func (f *fakeSessions) Get(id string, _ agent.Caller) (s api.Session, err error) {
	_, err = f.find(id)
	return s, err
}

func (f *fakeSessions) Delete(id string, _ agent.Caller) error {
	if _, err := f.find(id); err != nil {
		return err
	}
	var n int
	_, err := fmt.Sscanf(id, "s%d", &n)
	f.files[n-1] = nil
	return err
}

func (f *fakeSessions) Exec(ctx context.Context, id string, e api.Exec, s agent.Streams, c agent.Caller) (api.Result, error) {
	if _, err := f.find(id); err != nil {
		return api.Result{}, err
	}
	return f.Run(ctx, api.Run{Source: e.Source, SourceName: e.SourceName, Argv: e.Argv, Env: e.Env, Limits: e.Limits}, s, c)
}

func (f *fakeSessions) PutFile(id, name string, volume, _ bool, content io.Reader, _ agent.Caller) error {
	files, err := f.find(id)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(content)
	files[name] = text
	return err
}

func (f *fakeSessions) OpenFile(id, name string, volume bool, _ agent.Caller) (io.ReadCloser, error) {
	files, err := f.find(id)
	if err != nil {
		return nil, err
	}
	text, there := files[name]
	if !there {
		return nil, api.Refuse(api.CodeNotFound, "there is no file %q in the session", name)
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}

func (f *fakeSessions) RemoveFile(id, name string, volume bool, _ agent.Caller) error {
	files, err := f.find(id)
	delete(files, name)
	return err
}

func (f *fakeSessions) ListFiles(id, dir string, volume bool, _ agent.Caller) (l api.FileList, err error) {
	files, err := f.find(id)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasPrefix(name, dir) {
			l.Files = append(l.Files, api.FileInfo{Name: name, Kind: api.RegularFile, Size: int64(len(files[name]))})
		}
	}
	return l, err
}
