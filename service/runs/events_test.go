package runs

import (
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// An idle stream sends keepalives often enough for a proxy, and stays open.
func TestIdleEventStreamSendsKeepalives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rs := &Runs{Core: new(core.Core), Active: newActiveRuns()}
		a := &activeRun{id: "r", Log: newLog(), state: api.Running}
		rs.Active.add(a)
		r, w := httptest.NewRequest("GET", "/v1/runs/r/events", nil), httptest.NewRecorder()
		r.SetPathValue("id", a.id)
		time.AfterFunc(155*time.Second, func() { // in the bubble's time
			a.Log.Put(t.Context(), "stdout", StreamEvent{api.Bytes("late")})
			rs.Active.finished(a)
		})
		err := rs.events(w, r)
		text, rest := w.Body.String(), "id: 1\nevent: stdout\ndata: {\"data\":\"late\"}\n\n"
		if n := strings.Count(text, ":\n\n"); n < 5 { // proxies close streams that are silent for a minute
			t.Errorf("%d signs of life in two and a half minutes", n)
		}
		if err != nil || !w.Flushed || !strings.HasSuffix(text, "\n\n"+rest) {
			t.Errorf("at its end: %v, %q", err, text)
		}
	})
}
