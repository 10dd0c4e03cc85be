package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/brig-sandbox/brig/api"
)

// Snapshot is the current state at the time of a scrape.
type Snapshot struct {
	Queued     int         // runs waiting for a slot
	JobsLeft   int64       // jobs of batches without a result
	Batches    int         // batches that have not ended
	BatchBytes int64       // of all batches on disk
	KeysUnread time.Time   // time since which the keys file has been unreadable; zero: it is readable
	Agent      *api.Health // nil: the agent does not answer, and no metrics of cells are reported
}

// scrapeTimeout is how long a scrape waits for the current state.
const scrapeTimeout = 5 * time.Second

var (
	queued   = prometheus.NewDesc("brig_queue_depth", "Runs waiting for a slot.", nil, nil)
	jobsLeft = prometheus.NewDesc("brig_batch_jobs_left", "Jobs of batches without a result.", nil, nil)
	batches  = prometheus.NewDesc("brig_batches", "Batches that have not ended.", nil, nil)
	stored   = prometheus.NewDesc("brig_batch_bytes", "Bytes of all batches on disk.", nil, nil)
	unread   = prometheus.NewDesc("brig_keys_unread_since_seconds",
		"Unix time since which the keys file is unreadable and keys removed from it are still valid; 0 if it is readable.",
		nil, nil)
	up        = prometheus.NewDesc("brig_agent_up", "Whether the agent answers.", nil, nil)
	slots     = prometheus.NewDesc("brig_slots", "Runs that the agent can execute at once.", nil, nil)
	cells     = prometheus.NewDesc("brig_cells", "Live cells, by state.", []string{"state"}, nil)
	committed = prometheus.NewDesc("brig_memory_committed_bytes", "Memory reserved for active runs.", nil, nil)
	ceiling   = prometheus.NewDesc("brig_memory_ceiling_bytes", "Limit of the memory reserved for all runs.", nil, nil)
	images    = prometheus.NewDesc("brig_image_memory_bytes",
		"Image files: bytes held in memory, bytes needed by the images in use, and the limit.", []string{"what"}, nil)
	templates = prometheus.NewDesc("brig_template_memory_bytes",
		"Templates of started interpreters: bytes held in memory, and the limit.", []string{"what"}, nil)
	tried = prometheus.NewDesc("brig_templates",
		"Templates since the start of the agent: made, and failed, with runs that could not begin from one.",
		[]string{"outcome"}, nil)
)

// gauges calls now at each scrape, so that no old values are kept.
type gauges struct {
	now func(context.Context) Snapshot
}

func (g gauges) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{queued, jobsLeft, batches, stored, unread, up, slots, cells, committed, ceiling,
		images, templates, tried} {
		to <- d
	}
}

func (g gauges) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()

	gauge := func(d *prometheus.Desc, v int64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
	}
	now := g.now(ctx)
	gauge(queued, int64(now.Queued))
	gauge(jobsLeft, now.JobsLeft)
	gauge(batches, int64(now.Batches))
	gauge(stored, now.BatchBytes)
	if now.KeysUnread.IsZero() {
		gauge(unread, 0)
	} else {
		gauge(unread, now.KeysUnread.Unix())
	}

	h := now.Agent
	if h == nil {
		gauge(up, 0)
		return
	}

	gauge(up, 1)
	gauge(slots, int64(h.Slots))
	gauge(cells, int64(h.Leased), "leased")
	gauge(cells, int64(max(h.Cells-h.Leased, 0)), "idle") // the two are not counted at the same moment
	gauge(committed, h.Memory)
	gauge(ceiling, h.MemoryMax)
	gauge(images, h.ImagesHeld, "held")
	gauge(images, h.ImagesWanted, "wanted")
	gauge(images, h.ImagesMax, "ceiling")
	gauge(templates, h.Templates.Bytes, "held")
	gauge(templates, h.Templates.Max, "ceiling")
	gauge(tried, h.Templates.Made, "made")
	gauge(tried, h.Templates.Failed, "failed")
}
