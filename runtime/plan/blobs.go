package plan

import (
	"errors"
	"slices"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cache"
)

// TestContent returns a test's stdin and its expected output. It loads those that are blobs, so it
// is called when the test has a slot and a reservation for them.
func (pl *Planner) TestContent(t api.Test) (stdin, expected []byte, err error) {
	stdin = t.Stdin
	if t.StdinBlob != "" {
		if stdin, err = pl.blob(t.StdinBlob); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case t.ExpectedBlob != "":
		expected, err = pl.blob(t.ExpectedBlob)
	case t.Expected != nil:
		expected = *t.Expected
	}
	return stdin, expected, err
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
		content, err := pl.blob(f.Blob)
		if err != nil {
			return nil, err
		}
		files[i].Content, files[i].Blob = content, ""
	}
	return files, nil
}

// blob returns the content of a blob that the agent holds.
func (pl *Planner) blob(digest string) ([]byte, error) {
	if pl.Blobs == nil {
		return nil, api.Refuse(api.CodeUnsupported, "this agent stores no blobs: send the content")
	}
	b, err := pl.Blobs.Get(digest)
	if errors.Is(err, cache.ErrNotFound) {
		return nil, api.Refuse(api.CodeNoBlob, "blob %s is not stored here, or was removed: PUT /v1/blobs/%s and send the run again", digest, digest)
	}
	return b, err
}
