package agent

import (
	"net/http"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// wants fails the test unless err has the code; none: it is nil.
func wants(t *testing.T, what string, err error, code api.Code) {
	t.Helper()
	if code == "" && err != nil || code != "" && !api.HasCode(err, code) {
		t.Errorf("%s: %v; want %q", what, err, code)
	}
}

// quotaOf is the quota of two slots with a share of 10, and how often memory was released.
func quotaOf() (*memoryQuota, *int) {
	freed := 0
	return &memoryQuota{limit: 100, share: 10, common: 80, freed: func() { freed++ }}, &freed
}

func TestMemoryQuotaIsBounded(t *testing.T) {
	q, freed := quotaOf()
	one, two, stage := &reservation{quota: q}, &reservation{quota: q}, &reservation{quota: q}
	wants(t, "one", one.Keep(60), "")
	wants(t, "never", two.Keep(101), api.CodeTooLarge)
	wants(t, "not now", two.Keep(21), api.CodeBusy)
	wants(t, "what fits", two.Keep(20), "")
	wants(t, "the share of a stage", stage.Begin(10, true), "")
	wants(t, "more than its share", stage.Begin(11, true), api.CodeBusy)
	wants(t, "more than there can ever be", stage.Begin(91, true), api.CodeTooLarge)
	wants(t, "one more byte", one.Keep(1), api.CodeBusy)
	wants(t, "less", one.Keep(-20), "")
	wants(t, "of common", stage.Begin(11, false), api.CodeBusy)
	wants(t, "of common, in turn", stage.Begin(11, true), "")
	stage.Cancel(11)
	wants(t, "of common, again", stage.Begin(11, true), "")
	stage.End(11, 7)
	wants(t, "more than it holds", one.Keep(-1000), "")
	if q.used != 20+10+7 || q.usedCommon != 27 || one.kept != 0 || stage.kept != 7 || *freed != 3 {
		t.Errorf("%+v, released %d times", q, *freed)
	}

	two.release()
	two.release()
	stage.release() // with a stage that did not end
	if q.used != 0 || q.usedCommon != 0 || *freed != 5 {
		t.Errorf("%d and %d bytes are reserved without a request; released %d times", q.used, q.usedCommon, *freed)
	}

	var none *reservation
	wants(t, "nobody counts", none.Keep(1<<40), "")
	wants(t, "nobody counts", none.Begin(1<<40, false), "")
	none.End(1<<40, 0)
	none.release()
}

// What requests hold without a slot never takes the share of a stage, and one body may be larger than common.
func TestBodiesLeaveSharesToStages(t *testing.T) {
	q, _ := quotaOf()
	for range 16 {
		wants(t, "a body", (&reservation{quota: q}).Keep(5), "")
	}

	wants(t, "a body more", (&reservation{quota: q}).Keep(5), api.CodeBusy)
	for range 2 {
		wants(t, "a stage", (&reservation{quota: q}).Begin(10, false), "")
	}

	q, _ = quotaOf()
	large := &reservation{quota: q}
	wants(t, "a large body", large.Keep(85), "")
	wants(t, "another", (&reservation{quota: q}).Keep(1), api.CodeBusy)
	large.release()
	wants(t, "after it", (&reservation{quota: q}).Keep(1), "")
}

func TestWaitOfARequest(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"": 0, "wait=7": 7 * time.Second, `respond-async, Wait="3"`: 3 * time.Second, "wait=600": api.MaxSlotWait,
		"wait=-1": 0, "wait=x": 0, "wait": 0, "wait=99999999999999999999": 0, "handling=lenient": 0,
	} {
		r := &http.Request{Header: http.Header{"Prefer": {header}}}
		if got := waitOf(r); got != want {
			t.Errorf("%q: %v; want %v", header, got, want)
		}
	}
}
