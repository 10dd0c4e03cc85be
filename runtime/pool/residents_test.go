package pool

import (
	"testing"
	"time"
)

// A reader who gets a chunk now and then never waits. Those who write without end get the allowance of all residents
// together, and no more (TTY-02).
func TestPace(t *testing.T) {
	var next, pause, now time.Duration
	for range 1000 {
		now += time.Millisecond
		if next, pause = pace(next, now); pause > 0 {
			t.Fatalf("one chunk in a millisecond: paused for %v", pause)
		}
	}

	const chunks = 10_000
	begun := now
	for range chunks {
		next, pause = pace(next, now)
		now += pause
	}
	if took, least := now-begun, chunks*readTime-readAhead; took < least {
		t.Errorf("%d chunks took %v: less than %v", chunks, took, least)
	}
}

// The slot of a resident bounds nothing by processors, and closes with what it opened. There are no more than the
// agent has files for.
func TestOpenResident(t *testing.T) {
	slot, err := NewSlot(0, []int{0}, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := slot.Close(); err != nil {
			t.Error(err)
		}
	})
	p := &Pool{slots: []*slotState{{slot: slot}}, capacity: Capacity{Residents: 2}}

	var open []*Slot
	for range 2 {
		s, err := p.OpenResident()
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, s)
	}
	if _, err := p.OpenResident(); err == nil {
		t.Error("a third resident is there, where two are the maximum")
	}
	if _, leased, _, _ := p.Stats(); leased != 0 || p.residents.open != 2 {
		t.Errorf("%d slots are leased and %d residents are there; want 0 and 2", leased, p.residents.open)
	}

	for _, s := range open {
		if err := p.CloseResident(s); err != nil {
			t.Error(err)
		}
	}
	if s, err := p.OpenResident(); err != nil {
		t.Errorf("after the others have ended: %v", err)
	} else if err := p.CloseResident(s); err != nil {
		t.Error(err)
	}
}
