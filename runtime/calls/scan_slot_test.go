package calls

import (
	"errors"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/runtime/linux"
)

// CPU-45. One scan at once, and a tenth of the time for all together.
func TestScanSlot(t *testing.T) {
	var turns ScanSlot
	if later := turns.Begin(); later != 0 {
		t.Fatalf("the first waits until %v", later)
	}

	begun := linux.Monotonic()
	if later := turns.Begin(); later <= begun {
		t.Errorf("two at a time: %v", later)
	}

	time.Sleep(5 * time.Millisecond)
	turns.End(begun)
	later := turns.Begin()
	if later < begun+50*time.Millisecond {
		t.Fatalf("the next may look %v after one that took 5 ms began", later-begun)
	}

	time.Sleep(later - linux.Monotonic())
	if later := turns.Begin(); later != 0 {
		t.Errorf("in its time it waits until %v", later)
	}
}

// CPU-45. Scans that cannot count become rare; one that can count ends that.
func TestScansThatCannotCountAreRare(t *testing.T) {
	r := LockQuota{}
	var last time.Duration
	for i := range 8 {
		begun := linux.Monotonic()
		may, _, err := r.take(false, func(int, int) (LockCount, error) { return LockCount{}, errNotCounted }, own)
		if err != nil || may {
			t.Fatal(may, err)
		}
		want, ended := min(time.Second<<i, maxScanPause), linux.Monotonic()
		if wait := r.blockedUntil - begun; wait < want || wait > want+ended-begun {
			t.Errorf("look %d: the next after %v; want %v", i, wait, want)
		}
		last, r.blockedUntil = r.blockedUntil, 1 // the time is over
	}

	if last == 0 || !r.Due() {
		t.Error("no look is due")
	}
	if may, _, err := r.take(false, func(int, int) (LockCount, error) { return LockCount{}, nil }, own); !may || err != nil || r.pause != 0 {
		t.Errorf("after a look that counts: %v, %v, pause %v", may, err, r.pause)
	}
	if _, _, err := (&LockQuota{}).take(false, func(int, int) (LockCount, error) { return LockCount{}, errors.New("x") }, own); err == nil {
		t.Error("an error is none")
	}
}
