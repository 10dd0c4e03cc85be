package plan

import (
	"errors"
	"fmt"
	"slices"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/cache"
)

// checkBlobs refuses a test of which a blob is missing when its memory is planned. The test may wait long for a
// slot: a blob that is stored meanwhile would be loaded into memory that nobody has reserved (AGT-21).
func (pl *Planner) checkBlobs(t api.Test) error {
	digests := []string{t.StdinBlob, t.ExpectedBlob}
	for _, f := range t.Files {
		digests = append(digests, f.Blob)
	}

	for _, digest := range digests {
		if digest == "" {
			continue
		}
		if pl.Blobs == nil {
			return errNoBlobs()
		}
		if _, err := pl.Blobs.Size(digest); errors.Is(err, cache.ErrNotFound) {
			return errNoBlob(fmt.Sprintf("test %q", t.ID))
		} else if err != nil {
			return err
		}
	}

	return nil
}

func errNoBlobs() error {
	return api.Refuse(api.CodeUnsupported, "this agent stores no blobs: send the content")
}

// errNoBlob says what of a request has no blob: the names of blobs are not always the caller's (API-28).
func errNoBlob(what string) error {
	return api.Refuse(api.CodeNoBlob,
		"%s: its blob is not stored here, or was removed: PUT /v1/blobs/DIGEST and send the run again", what)
}

// withBlobs returns files with the content of those that name a blob.
func (pl *Planner) withBlobs(files []api.File) ([]api.File, error) {
	if !slices.ContainsFunc(files, func(f api.File) bool { return f.Blob != "" }) {
		return files, nil
	}

	files = slices.Clone(files)
	for i, f := range files {
		if f.Blob == "" {
			continue
		}
		content, err := pl.blob(fmt.Sprintf("file %q", f.Name), f.Blob)
		if err != nil {
			return nil, err
		}
		files[i].Content, files[i].Blob = content, ""
	}

	return files, nil
}

// blob returns the content of a blob that the agent holds.
func (pl *Planner) blob(what, name string) ([]byte, error) {
	if pl.Blobs == nil {
		return nil, errNoBlobs()
	}
	b, err := pl.Blobs.Get(name)
	if errors.Is(err, cache.ErrNotFound) {
		return nil, errNoBlob(what)
	}
	return b, err
}
