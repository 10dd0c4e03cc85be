package oci

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// documentsOf returns what a child sends of an image that a reference leads to.
func documentsOf(t testing.TB, img v1.Image) documents {
	t.Helper()
	manifest, err := img.RawManifest()
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.RawConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	return documents{firstDocument: manifest, digestOf(config): config}
}

// concludes returns what a parent concludes from documents.
func concludes(t testing.TB, r Request, d documents) (Image, error) {
	t.Helper()
	var b bytes.Buffer
	s := &sender{w: bufio.NewWriter(&b)}
	if err := s.send(frameReady, nil); err != nil {
		t.Fatal(err)
	}
	if err := d.send(s); err != nil {
		t.Fatal(err)
	}
	if err := s.send(frameImage, nil); err != nil {
		t.Fatal(err)
	}

	c := NewReceiver(&b, io.Discard)
	if err := c.Send(r); err != nil {
		t.Fatal(err)
	}

	img, ok, err := c.Image()
	if ok != (err == nil) {
		t.Errorf("%v, %v", ok, err)
	}
	return img, err
}

// IMG-42: a child that was taken over passes no other image for one that is pinned by its digest. The
// controls are honest children.
func TestThePinIsCheckedByTheParent(t *testing.T) {
	layer := func(text string) packedLayer { return zstdLayer(t, layerTar(t, text, 1000)) }
	good, bad := imageOf(t, "linux/amd64", layer("good")), imageOf(t, "linux/amd64", layer("bad"))
	index := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: good, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}}})
	indexText, err := index.RawManifest()
	if err != nil {
		t.Fatal(err)
	}

	goodDocs, badDocs := documentsOf(t, good), documentsOf(t, bad)
	goodDigest := digestOf(goodDocs[firstDocument])
	with := func(d documents, more documents) documents {
		d = maps.Clone(d)
		maps.Copy(d, more)
		return d
	}

	indexed := func(d documents) documents {
		return with(d, documents{firstDocument: indexText, goodDigest: d[firstDocument]})
	}
	var goodConfig, badConfig string
	for name := range goodDocs {
		goodConfig = max(goodConfig, name)
	}

	for name := range badDocs {
		badConfig = max(badConfig, name)
	}

	pinned, byIndex := "example.com/i@"+goodDigest, "example.com/i@"+digestOf(indexText)
	for _, tt := range []struct {
		name, reference string
		docs            documents
		fails           string
	}{
		{"honest", pinned, goodDocs, ""},
		{"honest, with an index", byIndex, indexed(goodDocs), ""},
		{"no pin", "example.com/i:1", badDocs, ""},
		{"another manifest", pinned, badDocs, "lies"},
		{"another configuration", pinned, with(goodDocs, documents{goodConfig: badDocs[badConfig]}), "lies"},
		{"another index", byIndex, badDocs, "lies"},
		{"another manifest below the index", byIndex, indexed(badDocs), "lies"},
		{"no configuration", pinned, documents{firstDocument: goodDocs[firstDocument]}, "missing"},
		{"nothing", pinned, nil, "lies"},
		{"an archive of docker save", pinned,
			documents{savedManifest: []byte(`[{"Config":"c","Layers":[]}]`), savedConfig: badDocs[badConfig]}, "lies"},
		{"too many documents", pinned, with(goodDocs, documents{"a": nil, "b": nil}), "a document too many"},
		{"a name without end", pinned, with(goodDocs, documents{strings.Repeat("x", 101): nil}), "a document too many"},
		{"a document without end", pinned, with(goodDocs, documents{"x": make([]byte, maxManifest+1)}), "larger than"},
	} {
		img, err := concludes(t, Request{Reference: tt.reference, Platform: "linux/amd64"}, tt.docs)
		want := goodDocs
		if tt.name == "no pin" {
			want = badDocs
		}
		switch {
		case tt.fails == "" &&
			(err != nil || img.Manifest != digestOf(want[firstDocument]) || len(img.Layers) != 1 || img.Reference != tt.reference):
			t.Errorf("%s: %+v, %v", tt.name, img, err)
		case tt.fails != "" && (err == nil || !strings.Contains(err.Error(), tt.fails)):
			t.Errorf("%s: %v; want an error with %q", tt.name, err, tt.fails)
		}
	}
}

// IMG-42: the configuration of an archive of docker save has the digest that its name says.
func TestConfigurationsOfSavedImagesHaveTheirDigest(t *testing.T) {
	config := []byte(`{"os":"linux","architecture":"amd64","rootfs":{"type":"layers","diff_ids":[]}}`)
	hex := strings.TrimPrefix(digestOf(config), "sha256:")
	for _, tt := range []struct {
		name string
		ok   bool
	}{
		{hex + ".json", true}, {"blobs/sha256/" + hex, true}, {"sha256:" + hex, true}, {"config.json", true},
		{strings.Repeat("0", 64) + ".json", false}, {"blobs/sha256/" + strings.Repeat("0", 64), false},
	} {
		text := fmt.Appendf(nil, `[{"Config":%q,"Layers":[]}]`, tt.name)
		if _, err := concludes(t, Request{Platform: "linux/amd64"}, documents{savedManifest: text, savedConfig: config}); (err == nil) != tt.ok {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// IMG-41: documents whose values would take a hundred times their bytes are refused before they are
// built, also where a member comes twice, or is spelled differently.
func TestDocumentsOfMillionsOfValues(t *testing.T) {
	many := strings.Repeat("{},", 1_300_000)
	for name, text := range map[string]string{
		"layers":                `{"schemaVersion":2,"layers":[` + many + `{}],"config":{}}`,
		"layers, twice":         `{"layers":[` + many + `{}],"layers":[]}`,
		"layers, also Layers":   `{"Layers":[` + many + `{}],"layers":[]}`,
		"manifests":             `{"manifests":[` + many + `{}]}`,
		"annotations":           `{"layers":[{"annotations":{` + strings.Repeat(`"":"",`, 600_000) + `"":""}}]}`,
		"layers, after a quote": `{"a":"\"","layers":[` + many + `{}]}`,
	} {
		var before, after runtime.MemStats
		debug.FreeOSMemory()
		runtime.ReadMemStats(&before)
		_, err := concludes(t, Request{Platform: "linux/amd64"}, documents{firstDocument: []byte(text)})
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; err == nil || !strings.Contains(err.Error(), "values: the maximum is") || took > 64<<20 {
			t.Errorf("%s: %v, %d MiB; want a refusal and at most 64 MiB", name, err, took>>20)
		}
	}

	if err := checkValues([]byte(`{"a":"`+strings.Repeat(",", 100_000)+`"}`), "it"); err != nil {
		t.Errorf("commas in a string: %v", err)
	}
}
