package metrics

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/brig-sandbox/brig/api"
)

// scraped returns the result of a scrape: each series as name{label=value,...}, histograms as their
// name with _count and _sum.
func scraped(t *testing.T, m *Metrics) map[string]float64 {
	t.Helper()
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}

	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(w.Body)
	if err != nil {
		t.Fatal(err)
	}

	series := map[string]float64{}
	for name, f := range families {
		for _, s := range f.Metric {
			var labels []string
			for _, l := range s.Label {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}

			id := "{" + strings.Join(labels, ",") + "}"
			switch f.GetType() {
			case dto.MetricType_COUNTER:
				series[name+id] = s.Counter.GetValue()
			case dto.MetricType_GAUGE:
				series[name+id] = s.Gauge.GetValue()
			case dto.MetricType_HISTOGRAM:
				series[name+"_count"+id] = float64(s.Histogram.GetSampleCount())
				series[name+"_sum"+id] = s.Histogram.GetSampleSum()
			}
		}
	}

	return series
}

func idle(context.Context) Snapshot { return Snapshot{} }

var catalogue = []api.Language{{Name: "python", Aliases: []string{"py", "python3"}}, {Name: "c"}}

func TestScrapeSaysWhatWasCounted(t *testing.T) {
	m := New(func(context.Context) Snapshot {
		return Snapshot{Queued: 3, Batches: 2, JobsLeft: 70, BatchBytes: 4096, KeysUnread: time.Unix(1700000000, 5),
			Agent: &api.Health{Slots: 2, Leased: 1, Cells: 4, Memory: 1 << 20, MemoryMax: 1 << 30}}
	})
	m.Languages(catalogue)
	run := func(v api.Verdict, wall, queued int64) api.Result {
		return api.Result{Verdict: v, Timing: api.Timing{Wall: wall, Queued: queued}}
	}
	m.RunEnded("python", run(api.OK, 5e8, 0))
	m.RunEnded("py", run(api.OK, 25e7, 1e9))
	m.RunEnded("python", run(api.WallLimit, 1e9, 0))
	m.RunEnded("c", run(api.CompileError, 0, 0))
	m.RunEnded("", run(api.Nonzero, 0, 0))
	m.RunEnded("python\n\"} 1", run(api.OK, 0, 0))
	m.RequestFailed(api.Refuse(api.CodeBusy, "full"))
	m.RequestFailed(fmt.Errorf("wrapped: %w", api.Fail(api.CodeAgentGone, "gone")))
	m.RequestFailed(fmt.Errorf("reading: %w", context.Canceled))
	m.RequestFailed(errors.New("anything"))
	m.RequestFailed(nil)
	m.JobsEnded(api.JobDone, 5)
	got := scraped(t, m)
	for id, want := range map[string]float64{
		"brig_runs_total{language=python,verdict=ok}":         2,
		"brig_runs_total{language=python,verdict=wall-limit}": 1,
		"brig_runs_total{language=c,verdict=compile-error}":   1,
		"brig_runs_total{language=none,verdict=nonzero}":      1,
		"brig_runs_total{language=other,verdict=ok}":          1,
		"brig_run_wall_seconds_count{language=python}":        3,
		"brig_run_wall_seconds_sum{language=python}":          1.75,
		"brig_queue_wait_seconds_count{}":                     6,
		"brig_queue_wait_seconds_sum{}":                       1,
		"brig_errors_total{code=busy}":                        1,
		"brig_errors_total{code=agent-gone}":                  1,
		"brig_errors_total{code=canceled}":                    1,
		"brig_errors_total{code=internal}":                    1,
		"brig_queue_depth{}":                                  3,
		"brig_batches{}":                                      2,
		"brig_batch_jobs_left{}":                              70,
		"brig_batch_bytes{}":                                  4096,
		"brig_batch_jobs_total{status=done}":                  5,
		"brig_keys_unread_since_seconds{}":                    1700000000,
		"brig_agent_up{}":                                     1,
		"brig_slots{}":                                        2,
		"brig_cells{state=leased}":                            1,
		"brig_cells{state=idle}":                              3,
		"brig_memory_committed_bytes{}":                       1 << 20,
		"brig_memory_ceiling_bytes{}":                         1 << 30,
	} {
		if v, ok := got[id]; !ok || v != want {
			t.Errorf("%s is %v (there: %v); want %v", id, v, ok, want)
		}
	}

	if got["process_resident_memory_bytes{}"] == 0 || got["go_goroutines{}"] == 0 {
		t.Error("nothing is said of the process itself")
	}
}

func TestUnreachableAgentHasNoMetrics(t *testing.T) {
	got := scraped(t, New(idle))
	if v, ok := got["brig_agent_up{}"]; !ok || v != 0 {
		t.Errorf("brig_agent_up %v, %v; want 0", v, ok)
	}
	for id := range got {
		if strings.HasPrefix(id, "brig_cells") || strings.HasPrefix(id, "brig_memory") || strings.HasPrefix(id, "brig_slots") {
			t.Errorf("%s without an agent", id)
		}
	}
}

// A client cannot create series: whatever languages it names, their number stays the same.
func TestSeriesAreBounded(t *testing.T) {
	m := New(idle)
	m.Languages(catalogue)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 1000 {
				m.RunEnded(fmt.Sprintf("invented \xff%d-%d", g, i), api.Result{Verdict: api.OK})
				if i%250 == 0 {
					m.Languages(catalogue)
				}
			}
		})
	}

	wg.Wait()
	n := 0
	for id, v := range scraped(t, m) {
		if strings.HasPrefix(id, "brig_runs_total") {
			if n++; id != "brig_runs_total{language=other,verdict=ok}" || v != 8000 {
				t.Errorf("%s is %v", id, v)
			}
		}
	}

	if n != 1 {
		t.Errorf("%d series; want 1", n)
	}
}
