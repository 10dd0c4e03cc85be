package processes

import (
	"testing"
	"time"
)

// A process that is not detached ends with its last connection, or when none comes.
func TestLife(t *testing.T) {
	for _, tt := range []struct {
		name      string
		detached  bool
		events    string // a: attach, l: leave
		ends      bool   // after the last event
		other     bool   // the last attach found another
		unclaimed bool
	}{
		{name: "just created", unclaimed: true},
		{name: "just created, detached", detached: true},
		{name: "attached", events: "a"},
		{name: "left", events: "al", ends: true},
		{name: "left, detached", detached: true, events: "al"},
		{name: "taken over", events: "aal", other: true},
		{name: "taken over and left", events: "aall", other: true, ends: true},
		{name: "attached anew, detached", detached: true, events: "ala"},
		{name: "left anew, detached", detached: true, events: "alal"},
	} {
		l := Life{Detached: tt.detached}
		ends, other := false, false
		for _, e := range tt.events {
			if e == 'a' {
				other, ends = l.Attach(), false
			} else {
				ends = l.Leave()
			}
		}
		if ends != tt.ends || other != tt.other || l.Unclaimed() != tt.unclaimed {
			t.Errorf("%s: ends %v, other %v, unclaimed %v", tt.name, ends, other, l.Unclaimed())
		}
	}
}

// The one that ended first is forgotten, and none while there is room.
func TestEvict(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	for _, tt := range []struct {
		ended map[int]time.Time
		max   int
		want  int
	}{
		{nil, 1, 0},
		{map[int]time.Time{5: at(1)}, 2, 0},
		{map[int]time.Time{5: at(1)}, 1, 5},
		{map[int]time.Time{5: at(3), 6: at(1), 7: at(2)}, 3, 6},
		{map[int]time.Time{9: at(1), 6: at(1), 7: at(1)}, 3, 6},
	} {
		if got := Evict(tt.ended, tt.max); got != tt.want {
			t.Errorf("%v of at most %d: %d; want %d", tt.ended, tt.max, got, tt.want)
		}
	}
}
