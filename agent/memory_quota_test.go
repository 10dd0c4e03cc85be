package agent

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brig-sandbox/brig/api"
)

func TestMemoryQuotaIsBounded(t *testing.T) {
	quota := memoryQuota{limit: 100, share: 100}
	one, two := &reservation{quota: &quota}, &reservation{quota: &quota}
	wants := func(err error, code api.Code) {
		t.Helper()
		var e *api.Error
		if code == "" && err != nil || code != "" && (!errors.As(err, &e) || e.Code != code) {
			t.Errorf("%v; want %q", err, code)
		}
	}
	wants(one.resize(60), "")
	wants(two.resize(101), api.CodeTooLarge) // never
	wants(two.resize(41), api.CodeBusy)      // not now
	wants(two.resize(40), "")
	wants(one.resize(1), api.CodeBusy)
	wants(one.resize(-20), "")
	wants(two.resize(20), "")
	wants(one.resize(-1000), "") // more than it holds
	if quota.used != 60 || one.bytes != 0 || two.bytes != 60 {
		t.Errorf("%d of %d and %d", quota.used, one.bytes, two.bytes)
	}
	two.release()
	two.release()
	if quota.used != 0 {
		t.Errorf("%d bytes are reserved without a request", quota.used)
	}
	var none *reservation
	wants(none.resize(1<<40), "")
	none.release()
}

// A request has its share whatever large requests hold. Large requests get the rest in the order in
// which they arrived, although each is refused and retried. The next test of a request that was
// served is behind the other requests.
func TestLargeReservationsAreServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quota := &memoryQuota{limit: 100, share: 10, common: 80} // of two slots
		fits := func(what string, h *reservation, n int64, code api.Code) {
			t.Helper()
			err := h.resize(n)
			h.finish(err)
			var e *api.Error
			if code == "" && err != nil || code != "" && (!errors.As(err, &e) || e.Code != code) {
				t.Errorf("%s: %v; want %q", what, err, code)
			}
		}
		// once is a request that is refused and retried as a new request.
		once := func(what string, n int64, code api.Code) *reservation {
			t.Helper()
			h := &reservation{quota: quota}
			fits(what, h, n, code)
			if code != "" {
				h.release()
			}
			return h
		}
		once("more than share and common", 91, api.CodeTooLarge)
		job := once("a job's test", 60, "")
		small := once("a small one next to it", 10, "")
		once("a large one", 90, api.CodeBusy)
		once("one that would fit, and came later", 35, api.CodeBusy)
		fits("what the job has grows", job, 5, api.CodeBusy)
		fits("it is not in the way of small ones", small, -10, "")
		fits("the small one's next", small, 10, "")
		fits("the test ends", job, -60, "")
		fits("the job's next test, behind the others", job, 60, api.CodeBusy)
		time.Sleep(time.Second)
		fits("it waits", job, 0, "")
		once("the other, as the first does not come yet", 35, api.CodeBusy)
		large := once("the large one comes again", 90, "")
		time.Sleep(time.Second)
		fits("it waits", job, 0, "")
		once("the other does not fit", 35, api.CodeBusy)
		large.finish(api.Fail(api.CodeBusy, "no slot"))
		large.release()
		once("the other is not first: the large one had no slot and keeps its place", 35, api.CodeBusy)
		time.Sleep(time.Second)
		fits("it waits", job, 0, "")
		once("the other comes again, the large one does not yet", 35, api.CodeBusy)
		time.Sleep(time.Second)
		fits("it waits", job, 0, "")
		other := once("the large one does not come again", 35, "")
		other.release()
		fits("the job's next test", job, 60, "")
		job.release()
		small.release()
		if quota.used != 0 || quota.usedAboveShares != 0 || len(quota.queue) != 0 {
			t.Errorf("left: %d, %d, %d in the queue", quota.used, quota.usedAboveShares, len(quota.queue))
		}
	})
}
