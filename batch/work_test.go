package batch_test

import (
	"bytes"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch"
)

func TestMerged(t *testing.T) {
	common := api.Run{Language: "python", Limits: api.Limits{CPU: 1e9, Memory: 64 * api.MiB},
		Tests: []api.Test{{ID: "1"}}, StopAtFailure: true}
	own := api.Run{Source: api.Bytes("1"), Limits: api.Limits{CPU: 2e9}}
	got := batch.Merged(own, common)
	if got.Language != "python" || len(got.Tests) != 1 || string(got.Source) != "1" || !got.StopAtFailure || got.Limits.CPU != 2e9 ||
		got.Limits.Memory != 64*api.MiB {
		t.Errorf("merged: %+v", got)
	}
	own.Language, own.Tests = "c", []api.Test{{ID: "a"}, {ID: "b"}}
	if got := batch.Merged(own, common); got.Language != "c" || len(got.Tests) != 2 {
		t.Errorf("own fields come first: %+v", got)
	}
}

func TestDigestIsOfTheWork(t *testing.T) {
	j := api.Job{ID: "a", Run: api.Run{Source: api.Bytes("1")}}
	first := batch.Digest(j, "")
	same, other := j, j
	same.Meta, same.Labels.Task, same.Urgent = []byte("1"), "t", true
	other.Source = api.Bytes("2")
	if batch.Digest(same, "") != first {
		t.Error("meta, labels or urgency change the digest")
	}
	if batch.Digest(other, "") == first || batch.Digest(j, "common") == first {
		t.Error("another source, or another problem, has the same digest")
	}
}

func TestWithBlobs(t *testing.T) {
	large, small := bytes.Repeat([]byte("x"), batch.InlineMax+1), api.Bytes("small")
	var put int
	keep := func(content []byte) (string, error) { put++; return "d", nil }
	expected := api.Bytes(large)
	r := api.Run{Stdin: small, Files: []api.File{{Name: "a", Content: large}},
		Tests: []api.Test{{Stdin: small},
			{Stdin: large, Expected: &expected, Files: []api.File{{Name: "b", Content: large}, {Name: "c", Content: small}}}}}
	got, err := batch.WithBlobs(r, keep)
	if err != nil {
		t.Fatal(err)
	}
	if put != 4 || got.Tests[1].Files[0].Blob != "d" || got.Tests[1].Files[0].Content != nil || got.Tests[1].Files[1].Content == nil ||
		got.Files[0].Blob != "d" || got.Files[0].Content != nil || got.Tests[1].StdinBlob != "d" || got.Tests[1].Expected != nil ||
		got.Tests[1].ExpectedBlob != "d" {
		t.Errorf("%d contents moved: %+v", put, got.Tests[1])
	}
	if string(got.Stdin) != "small" || string(got.Tests[0].Stdin) != "small" || got.Tests[0].StdinBlob != "" {
		t.Errorf("small contents moved: %+v", got)
	}
	if r.Files[0].Content == nil || r.Tests[1].Expected == nil || r.Tests[1].Files[0].Content == nil {
		t.Error("the run itself has changed")
	}
	if all := got.Blobs(); len(all) != 4 {
		t.Errorf("it names the blobs %v", all)
	}

	many := api.Run{}
	for range 100 {
		many.Tests = append(many.Tests, api.Test{Stdin: large[:batch.InlineMax]})
	}

	if got, err = batch.WithBlobs(many, keep); err != nil || len(got.Blobs()) != 100-batch.InlineAll/batch.InlineMax {
		t.Errorf("of 100 contents of %d bytes %d are blobs (%v)", batch.InlineMax, len(got.Blobs()), err)
	}
}
