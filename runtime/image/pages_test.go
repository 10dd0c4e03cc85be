package image

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/plan"
)

// grantedPages makes an image's pages as if they were locked, without a child.
func grantedPages(t *testing.T, i *imagePages, digest string, users int, left time.Duration, granted api.Size) {
	ctx, stop := context.WithCancel(context.Background())
	p := &LockedPages{pages: i, tree: tree{key: plan.ImageTree{Image: digest}}, stop: stop, done: make(chan struct{}), users: users,
		lastUsed: left, decided: true, granted: granted, wanted: granted}
	go func() { // as keep does at its end
		<-ctx.Done()
		i.mu.Lock()
		i.granted -= p.granted
		p.granted = 0
		i.mu.Unlock()
		close(p.done)
	}()

	i.byTree[p.tree.key] = p
	i.granted += granted
	t.Cleanup(p.close)
}

// Images that no cell uses give up memory, the least recently used one first and no more than
// necessary. Images in use do not, and an image that then does not fit gets a partial grant.
func TestImageMemoryGrants(t *testing.T) {
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
			i := newImagePages(&Images{}, 1000, false)
			grantedPages(t, i, "used", 1, 0, 300)
			grantedPages(t, i, "old", 0, 2, 300)
			grantedPages(t, i, "older", 0, 1, 300)
			asks := &LockedPages{pages: i, users: 1}
			got, err := asks.grant(tt.wanted)
			if err != nil || got != tt.granted {
				t.Errorf("granted %d, %v; want %d", got, err, tt.granted)
			}
			if len(i.byTree) != len(tt.remain) {
				t.Errorf("%d images are held on; want %v", len(i.byTree), tt.remain)
			}

			for _, digest := range tt.remain {
				if i.byTree[plan.ImageTree{Image: digest}] == nil {
					t.Errorf("image %s is held no more", digest)
				}
			}

			if i.granted > i.Max {
				t.Errorf("%d are granted, more than %d", i.granted, i.Max)
			}
		})
	}
}

// An image whose child ends again and again is read again a few times in quick succession, then
// once a minute. An image that was locked for long is locked again soon.
func TestRelockPause(t *testing.T) {
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
		if got := relockPause(tt.last, tt.lasted); got != tt.want {
			t.Errorf("%s: %v; want %v", tt.name, got, tt.want)
		}
	}
}

// Pages that wait to be locked again take no memory from others and give up their own. Pages that
// were given up do not begin again.
func TestPagesThatWaitGiveWay(t *testing.T) {
	i := newImagePages(&Images{}, 1000, false)
	grantedPages(t, i, "killed", 0, 0, 0)
	grantedPages(t, i, "used", 1, 0, 300)
	killed := i.byTree[plan.ImageTree{Image: "killed"}]
	if !killed.begin() || i.leastRecentlyUsed() != nil {
		t.Fatal("pages that are stored and wait for room do not begin, or give way")
	}

	killed.decided = true // it was killed once more
	asks := &LockedPages{pages: i, users: 1}
	if got, err := asks.grant(1000); err != nil || got != 700 {
		t.Errorf("granted %d, %v; want 700", got, err)
	}
	if killed.begin() {
		t.Error("pages that gave way begin again")
	}
}

// However many trees had cells of late, such as sets of packages, a bounded number of those without one has a
// child: the ones that were used last.
func TestUnusedTreesAreBounded(t *testing.T) {
	i := newImagePages(&Images{}, 1000, false)
	for n := range MaxUnusedTrees + 10 {
		grantedPages(t, i, fmt.Sprint(n), 0, time.Duration(n), 1)
	}
	grantedPages(t, i, "used", 1, 0, 1)
	i.closeSurplus()
	if len(i.byTree) != MaxUnusedTrees+1 || i.byTree[plan.ImageTree{Image: "9"}] != nil || i.byTree[plan.ImageTree{Image: "10"}] == nil ||
		i.byTree[plan.ImageTree{Image: "used"}] == nil {
		t.Errorf("%d trees are kept: %v", len(i.byTree), i.byTree)
	}
}
