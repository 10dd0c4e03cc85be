package metrics

import (
	"sync/atomic"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/batch"
	"github.com/brig-sandbox/brig/batch/worker"
)

// OfBatch are the figures of a batch. A figure that a pool is scaled by is jobs_left: the queue has at most
// a window of them.
func OfBatch(progress *atomic.Pointer[batch.Progress], total func() int64,
	slots func() int) func() []Figure {
	return func() []Figure {
		p := progress.Load()
		if p == nil {
			p = new(batch.Progress)
		}

		all := []Figure{
			{Name: "brig_batch_jobs_released", Help: "Jobs that workers have or can take.", Value: float64(p.Released)},
			{Name: "brig_batch_jobs_released_again_total", Help: "Jobs that were released again, because the engine lost them.",
				Value: float64(p.Again), Counter: true},
			{Name: "brig_batch_results_dropped_total", Help: "Results that came twice.", Value: float64(p.Dropped), Counter: true},
			{Name: "brig_pool_slots", Help: "Slots of the workers of the pool.", Value: float64(slots())},
		}

		if n := max(total(), p.Read); n > 0 {
			all = append(all, Figure{Name: "brig_batch_jobs_left", Help: "Jobs of the input without a result.",
				Value: float64(n - p.Recorded)})
		}

		for _, s := range api.JobDone.Values() {
			all = append(all, Figure{Name: "brig_batch_jobs_total", Help: "Jobs with a result.", Status: string(s),
				Value: float64(p.Statuses[s]), Counter: true})
		}
		return all
	}
}

// OfWorker are the figures of a worker.
func OfWorker(w *worker.Worker) func() []Figure {
	return func() []Figure {
		all := []Figure{
			{Name: "brig_worker_jobs_in_flight", Help: "Jobs that the worker has.", Value: float64(w.InFlight())},
			{Name: "brig_worker_slots", Help: "Jobs that run at once.", Value: float64(w.Slots)},
		}
		for outcome, n := range w.Outcomes() {
			all = append(all, Figure{Name: "brig_worker_jobs_total",
				Help: "Jobs that the worker took, by what became of them.", Status: outcome, Value: float64(n), Counter: true})
		}
		return all
	}
}
