package agent_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/brig-sandbox/brig/agent"
	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
)

// smallStore has room for blobs of so many bytes, and evicts nothing.
type smallStore struct {
	mu   sync.Mutex
	room int               // guarded by mu
	all  map[string][]byte // guarded by mu
	fail error
}

func (s *smallStore) Offer(name string, content []byte) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil || len(content) > s.room {
		return false, s.fail
	}
	s.all[name], s.room = bytes.Clone(content), s.room-len(content)
	return true, nil
}

func (s *smallStore) Put(string, string, io.Reader) error { return errors.New("nothing is put") }

func (s *smallStore) Has(string) bool { return false }

func (s *smallStore) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.all)
}

func (s *smallStore) Open(string) (io.ReadCloser, error) { return nil, errors.New("nothing is opened") }
func (s *smallStore) Remove(string) error                { return errors.New("nothing is removed") }

// API-14: files that a program leaves become blobs of its caller as far as there is room; the others are in the result,
// and for none of them anything is evicted.
func TestCollectedFilesEvictNothing(t *testing.T) {
	const large, small, late = "0123456789", "01234", "9876543210"
	leaves := func() []api.File {
		return []api.File{{Name: "a", Content: api.Bytes(large)}, {Name: "b", Content: api.Bytes(late)},
			{Name: "c", Content: api.Bytes(small), Executable: true}}
	}
	name := func(content string) string {
		sum := sha256.Sum256([]byte(content))
		return hex.EncodeToString(sum[:])
	}

	for _, tt := range []struct {
		what    string
		blobs   bool
		room    int
		maxBlob api.Size
		fail    error
		kept    []bool
	}{
		{"not asked for", false, 100, 0, nil, []bool{false, false, false}},
		{"with room", true, 100, 0, nil, []bool{true, true, true}},
		{"with little room", true, 15, 0, nil, []bool{true, false, true}},
		{"without room", true, 0, 0, nil, []bool{false, false, false}},
		{"larger than a blob may be", true, 100, 9, nil, []bool{false, false, true}},
		{"a store that fails", true, 100, 0, errors.New("disk full"), []bool{false, false, false}},
	} {
		store := &smallStore{room: tt.room, all: map[string][]byte{}, fail: tt.fail}
		socket, stop := serve(t, agent.Config{Blobs: store, MaxBlob: tt.maxBlob,
			Runner: runner(func(context.Context, api.Run, api.Streams, api.Caller) (api.Result, error) {
				return api.Result{Verdict: api.OK, Files: leaves()}, nil
			})})

		run := api.Run{Image: "i", Argv: []string{"a"}, Collect: api.Collect{Blobs: tt.blobs}}
		c := client.New(socket)
		for form, do := range map[string]func() (api.Result, error){
			"answered": func() (api.Result, error) { return c.Run(t.Context(), run) },
			"streamed": func() (api.Result, error) { return c.RunEvents(t.Context(), run, nil, client.Events{}) },
		} {
			store.mu.Lock()
			store.room = tt.room
			clear(store.all)
			store.mu.Unlock()
			res, err := do()
			if err != nil || len(res.Files) != 3 {
				t.Errorf("%s, %s: %+v, %v", tt.what, form, res, err)
				continue
			}
			kept := 0
			for i, f := range leaves() {
				want := f
				if tt.kept[i] {
					kept++
					want = api.File{Name: f.Name, Blob: name(string(f.Content)), Size: api.Size(len(f.Content)), Executable: f.Executable}
				}
				got := res.Files[i]
				if got.Blob != want.Blob || got.Size != want.Size || string(got.Content) != string(want.Content) ||
					got.Executable != want.Executable {
					t.Errorf("%s, %s: %+v; want %+v", tt.what, form, got, want)
				}
			}
			if n := store.count(); n != kept {
				t.Errorf("%s, %s: the store has %d blobs; want %d", tt.what, form, n, kept)
			}
		}
		stop()
	}
}
