package batch

import "github.com/brig-sandbox/brig/api"

// InlineMax is the most bytes of one content in the message of a job, and InlineAll of all its contents. What
// is larger travels as a blob.
const (
	InlineMax = 64 << 10
	InlineAll = 2 << 20
)

// MaxWork is the most bytes of the message of a job, and of a result: queues take no larger ones.
const MaxWork = 7 << 20

// WithBlobs is a run whose large contents are blobs that put keeps. A program's source stays as it is.
func WithBlobs(r api.Run, put func(content []byte) (digest string, err error)) (api.Run, error) {
	left := InlineAll
	move := func(content *api.Bytes, blob *string) (err error) {
		n := len(*content)
		if n <= InlineMax && n <= left {
			left -= n
			return nil
		}
		*blob, err = put(*content)
		*content = nil
		return err
	}

	files := func(files []api.File) ([]api.File, error) {
		// move clears contents. The slices are copied, so that the caller's run keeps its own.
		out := append([]api.File(nil), files...)
		for i := range out {
			if err := move(&out[i].Content, &out[i].Blob); err != nil {
				return nil, err
			}
		}
		return out, nil
	}

	if err := move(&r.Stdin, &r.StdinBlob); err != nil {
		return r, err
	}

	var err error
	if r.Files, err = files(r.Files); err != nil {
		return r, err
	}

	r.Tests = append([]api.Test(nil), r.Tests...)

	for i := range r.Tests {
		t := &r.Tests[i]
		if err := move(&t.Stdin, &t.StdinBlob); err != nil {
			return r, err
		}
		if t.Files, err = files(t.Files); err != nil {
			return r, err
		}

		if t.Expected != nil {
			// Expected points into the caller's run, so move gets a copy. If the content becomes a blob,
			// Expected must be nil: an empty one says that the program writes nothing.
			expected := *t.Expected
			if err := move(&expected, &t.ExpectedBlob); err != nil {
				return r, err
			}
			if t.ExpectedBlob != "" {
				t.Expected = nil
			}
		}
	}

	return r, nil
}
