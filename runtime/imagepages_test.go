package runtime

import (
	"context"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/rootfs"
)

// pagesFor makes an image's pages as if they were held, by nobody.
func pagesFor(t *testing.T, i *imagePages, digest string, users int, left time.Duration, granted api.Size) {
	ctx, stop := context.WithCancel(context.Background())
	p := &heldPages{all: i, image: rootfs.Image{Digest: digest}, stop: stop, done: make(chan struct{}), users: users, left: left, settled: true, granted: granted, wanted: granted}
	go func() { // what keep does at the end
		<-ctx.Done()
		i.mu.Lock()
		i.granted -= p.granted
		p.granted = 0
		i.mu.Unlock()
		close(p.done)
	}()
	i.of[treeOf(p.image)] = p
	i.granted += granted
	t.Cleanup(p.close)
}

// Images that no cell uses make room, the one longest unused first and no more than have to;
// those in use do not, and what then does not fit is granted in part.
func TestRoomForImages(t *testing.T) {
	for _, tt := range []struct {
		name            string
		wanted, granted api.Size
		remain          []string
	}{
		{"there is room", 100, 100, []string{"old", "older", "used"}},
		{"one has to go", 200, 200, []string{"old", "used"}},
		{"both", 500, 500, []string{"used"}},
		{"more than there is", 900, 700, []string{"used"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			i := newImagePages(&Host{cfg: Config{ImageMemory: 1000}})
			pagesFor(t, i, "used", 1, 0, 300)
			pagesFor(t, i, "old", 0, 2, 300)
			pagesFor(t, i, "older", 0, 1, 300)
			asks := &heldPages{all: i, users: 1}
			got, err := asks.grant(tt.wanted)
			if err != nil || got != tt.granted {
				t.Errorf("granted %d, %v; want %d", got, err, tt.granted)
			}
			if len(i.of) != len(tt.remain) {
				t.Errorf("%d images are held on; want %v", len(i.of), tt.remain)
			}
			for _, digest := range tt.remain {
				if i.of[imageTree{image: digest}] == nil {
					t.Errorf("image %s is held no more", digest)
				}
			}
			if i.granted > i.most {
				t.Errorf("%d are granted, more than %d", i.granted, i.most)
			}
		})
	}
}

// An image whose child ends again and again is read again a few times at once, then once in a
// minute; one that was held for long is held again soon.
func TestHoldAgain(t *testing.T) {
	for _, tt := range []struct {
		name               string
		last, lasted, want time.Duration
	}{
		{"the first time", 0, time.Hour, time.Second},
		{"the first time, at once", 0, 0, time.Second},
		{"a second time", time.Second, 50 * time.Millisecond, 2 * time.Second},
		{"again and again", 32 * time.Second, 2 * time.Second, time.Minute},
		{"ever on", time.Minute, time.Minute, time.Minute},
		{"after it was held for long", time.Minute, 61 * time.Second, time.Second},
	} {
		if got := holdAgain(tt.last, tt.lasted); got != tt.want {
			t.Errorf("%s: %v; want %v", tt.name, got, tt.want)
		}
	}
}

// Pages that wait to be held again take room from nobody and give way to others; those that gave
// way begin no more.
func TestPagesThatWaitGiveWay(t *testing.T) {
	i := newImagePages(&Host{cfg: Config{ImageMemory: 1000}})
	pagesFor(t, i, "killed", 0, 0, 0)
	pagesFor(t, i, "used", 1, 0, 300)
	killed := i.of[imageTree{image: "killed"}]
	if !killed.begin() || i.oldest() != nil {
		t.Fatal("pages that are stored and wait for room do not begin, or give way")
	}
	killed.settled = true // it was killed once more
	asks := &heldPages{all: i, users: 1}
	if got, err := asks.grant(1000); err != nil || got != 700 {
		t.Errorf("granted %d, %v; want 700", got, err)
	}
	if killed.begin() {
		t.Error("pages that gave way begin again")
	}
}
