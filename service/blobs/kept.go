package blobs

import (
	"bytes"
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// Kept are files that clients of dialects keep under ids, their own or such that nobody can guess. The contents are
// blobs of the client's key, and count for its quota. An id is of one key and one dialect: to all others it does not
// exist, and cannot be replaced by them (TestKeptFilesAreOfOneKey). The record lives as long as the process; a client
// sends a file again.
type Kept struct {
	Blobs *Blobs
	Now   func() time.Time // nil: time.Now

	mu     sync.Mutex
	shares map[share]*keptFiles // guarded by mu
}

// A share is whose files are kept.
type share struct{ key, dialect string }

// keptFiles are the files of one share.
type keptFiles struct {
	byID  map[string]*list.Element
	order list.List // of *keptFile, the most recently used last
}

type keptFile struct {
	File
	used time.Time
}

// A File is a file that is kept.
type File struct {
	ID, Name string
	Digest   string    // of the blob that has its content
	Size     int64     // bytes
	Since    time.Time // when its content was kept
}

const (
	maxKept   = 1000           // files of one key in one dialect; the least recently used is forgotten
	keptFor   = 24 * time.Hour // after the last use
	maxKeptID = 256            // bytes
	maxName   = 1024           // bytes of the name of a file
)

// Put keeps content under an id of the caller, in place of what it kept under it before. A long name is cut.
func (k *Kept) Put(r *http.Request, dialect, id, name string, content api.Bytes) error {
	c := core.CallerOf(r.Context())
	if len(id) > maxKeptID {
		return api.Refuse(api.CodeBadRequest, "the id of the file has %d bytes: the maximum is %d", len(id), maxKeptID)
	}
	if err := k.Blobs.mayKeep(c, int64(len(content))); err != nil {
		return err
	}

	release, err := k.Blobs.UploadSlot(r)
	if err != nil {
		return err
	}
	defer release()

	sum := sha256.Sum256(content)
	digest := hex.EncodeToString(sum[:])
	body := &core.CountingReader{Reader: bytes.NewReader(content)}
	if err := k.Blobs.Send(r.Context(), c, digest, int64(len(content)), body); err != nil {
		return err
	}
	k.record(share{c.Name, dialect},
		File{ID: id, Name: name[:min(len(name), maxName)], Digest: digest, Size: int64(len(content)), Since: k.now()})
	return nil
}

// PutBlob keeps a blob of the caller under an id that the service has made, in place of content.
func (k *Kept) PutBlob(c core.Caller, dialect string, f File) error {
	if !k.Blobs.Owners.has(c.Name, f.Digest) {
		return noBlobError(f.Digest)
	}
	f.Name, f.Since = f.Name[:min(len(f.Name), maxName)], k.now()
	k.record(share{c.Name, dialect}, f)
	return nil
}

func (k *Kept) record(of share, file File) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.shares == nil {
		k.shares = map[share]*keptFiles{}
	}

	files := k.shares[of]
	if files == nil {
		files = &keptFiles{byID: map[string]*list.Element{}}
		k.shares[of] = files
	}

	if e := files.byID[file.ID]; e != nil {
		files.forget(e)
	}
	for files.order.Len() >= maxKept {
		files.forget(files.order.Front())
	}
	files.byID[file.ID] = files.order.PushBack(&keptFile{File: file, used: k.now()})
}

// Find returns files that a caller kept, and whether all of them are there. It counts as a use of each that is there.
func (k *Kept) Find(c core.Caller, dialect string, ids []string) (found []File, all bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	files := k.current(share{c.Name, dialect})
	if files == nil {
		return nil, len(ids) == 0
	}

	all = true
	for _, id := range ids {
		e := files.byID[id]
		if e == nil || !k.Blobs.Owners.has(c.Name, e.Value.(*keptFile).Digest) {
			all = false
			continue
		}
		f := e.Value.(*keptFile)
		f.used = k.now()
		files.order.MoveToBack(e)
		found = append(found, f.File)
	}
	return found, all
}

// List returns the files that a caller kept, and that no other blobs have taken the place of. It is no use of them.
func (k *Kept) List(c core.Caller, dialect string) (all []File) {
	k.mu.Lock()
	defer k.mu.Unlock()
	files := k.current(share{c.Name, dialect})
	if files == nil {
		return nil
	}

	for e := files.order.Front(); e != nil; e = e.Next() {
		if f := e.Value.(*keptFile).File; k.Blobs.Owners.owns(c.Name, f.Digest) {
			all = append(all, f)
		}
	}
	return all
}

// Forget forgets a file of a caller. Its content stays a blob of the key until others take its place.
func (k *Kept) Forget(c core.Caller, dialect, id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if files := k.shares[share{c.Name, dialect}]; files != nil && files.byID[id] != nil {
		files.forget(files.byID[id])
	}
}

// current returns the files of a share without those that nobody used for long; nil: there were none. It needs mu.
func (k *Kept) current(of share) *keptFiles {
	files := k.shares[of]
	if files == nil {
		return nil
	}
	now := k.now()
	for e := files.order.Front(); e != nil && now.Sub(e.Value.(*keptFile).used) > keptFor; e = files.order.Front() {
		files.forget(e)
	}
	return files
}

// Stored asks the agent whether it still has the content of files: it evicts blobs that were unused for long.
func (k *Kept) Stored(ctx context.Context, files []File) (bool, error) {
	for _, f := range files {
		if has, err := k.Blobs.Config.Agent.HasBlob(ctx, f.Digest); err != nil || !has {
			return false, err
		}
	}
	return true, nil
}

// Read returns the content of a file, which has File.Size bytes. The error of one that the agent has evicted has
// CodeNoBlob.
func (k *Kept) Read(ctx context.Context, f File) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(int(f.Size))
	err := k.Blobs.Config.Agent.GetBlob(ctx, f.Digest, &b)
	return b.Bytes(), err
}

func (f *keptFiles) forget(e *list.Element) {
	delete(f.byID, f.order.Remove(e).(*keptFile).ID)
}

func (k *Kept) now() time.Time {
	if k.Now != nil {
		return k.Now()
	}
	return time.Now()
}
