package oci

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/types"
)

// startChild starts a child, and returns its other side, and a function that ends and joins it.
func startChild(t testing.TB) (c *Receiver, stop func() error) {
	t.Helper()
	toChild, fromUs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}

	toUs, fromChild, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}

	child := &child{in: json.NewDecoder(toChild), out: &sender{w: bufio.NewWriter(fromChild)}, keys: noKeys, timing: hasty}
	done := make(chan error, 1)
	go func() {
		err := child.out.send(frameReady, nil)
		if err == nil {
			err = child.run(t.Context())
		}
		if err != nil {
			_ = child.out.send(frameError, []byte(err.Error()))
		}
		fromChild.Close()
		done <- err
	}()

	return NewReceiver(toUs, fromUs), func() error {
		fromUs.Close()
		toUs.Close()
		return <-done
	}
}

// IMG-45: of an image that the agent refuses no download stays, also of the layers that were not sent yet;
// nor one that cannot be decompressed. The control is an image that is interrupted.
func TestDownloadsOfRefusedImages(t *testing.T) {
	img, _ := threeLayers(t)
	bad := append([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0}, make([]byte, 1000)...)
	damaged := imageOf(t, "linux/amd64", packedLayer{[]byte("x"), bad, types.OCILayer}, zstdLayer(t, layerTar(t, "a", 1000)))
	r := startRegistry(t)
	r.push(t, "i", img)
	r.push(t, "damaged", damaged)

	for _, tt := range []struct {
		name, tag string
		begun     int // downloads, before the end; of a damaged layer it ends by itself
		end       func(c *Receiver) error
		left      int
	}{
		{"interrupted", "i", 3, func(c *Receiver) error { _, _, err := c.Layer(); return err }, 3},
		{"the agent refuses a layer", "i", 3, func(c *Receiver) error {
			_, body, err := c.Layer()
			if err == nil {
				_, err = body.Read(make([]byte, 1)) // the rest is never read
			}
			c.Refused()
			return err
		}, 0},
		{"a layer cannot be decompressed", "damaged", 1, func(c *Receiver) error {
			_, body, err := c.Layer()
			if err == nil {
				_, err = io.ReadAll(body)
			}
			if err == nil || !strings.Contains(err.Error(), "decompress") {
				t.Errorf("%v; want an error that says so", err)
			}
			return nil
		}, 1},
	} {
		cache := t.TempDir()
		c, stop := startChild(t)
		if err := c.Send(Request{Reference: r.host() + "/" + tt.tag, Cache: cache, Platform: "linux/amd64"}); err != nil {
			t.Fatal(err)
		}

		got, _, err := c.Image()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Need(diffIDs(got)); err != nil {
			t.Fatal(err)
		}

		for end := time.Now().Add(time.Minute); len(partials(t, cache)) < tt.begun; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s: %v are begun; want %d", tt.name, partials(t, cache), tt.begun)
			}
		}

		if err := tt.end(c); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}

		stop()
		if left := partials(t, cache); len(left) != tt.left {
			t.Errorf("%s: %v are left; want %d", tt.name, left, tt.left)
		}
	}
}

func partials(t testing.TB, cache string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(cache, "*.partial"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Layers that another command removed meanwhile are sent once more.
func TestLayersAreSentAgain(t *testing.T) {
	img, plain := threeLayers(t)
	r := startRegistry(t)
	r.push(t, "i", img)
	cache := t.TempDir()
	c, stop := startChild(t)
	if err := c.Send(Request{Reference: r.host() + "/i", Cache: cache, Platform: "linux/amd64"}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Image(); err != nil {
		t.Fatal(err)
	}

	for range 3 {
		if err := c.Need([]string{digestOf(plain[1])}); err != nil {
			t.Fatal(err)
		}

		_, body, err := c.Layer()
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(body); err != nil || digestOf(text) != digestOf(plain[1]) {
			t.Fatal(len(text), err)
		}
		if err := c.Stored(); err != nil {
			t.Fatal(err)
		}
	}

	if err := stop(); err != nil {
		t.Errorf("%v; want no error at the end of the requests", err)
	}
}

// A download that no pull goes on with is removed after a week.
func TestOldDownloadsAreRemoved(t *testing.T) {
	cache := &blobCache{t.TempDir()}
	now := time.Now()
	for name, age := range map[string]time.Duration{"old.partial": 8 * 24 * time.Hour, "new.partial": 6 * 24 * time.Hour,
		"other": 30 * 24 * time.Hour} {
		path := filepath.Join(cache.dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now, now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}

	if err := cache.expire(now); err != nil {
		t.Fatal(err)
	}
	if left := partials(t, cache.dir); len(left) != 1 || filepath.Base(left[0]) != "new.partial" {
		t.Errorf("%v are left", left)
	}
	if err := (&blobCache{filepath.Join(cache.dir, "missing")}).expire(now); err != nil {
		t.Error(err)
	}
}
