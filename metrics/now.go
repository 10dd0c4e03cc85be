package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/brig-sandbox/brig/api"
)

// Now is what stands at the moment of a scrape.
type Now struct {
	Queued     int         // runs that wait for their turn
	KeysUnread time.Time   // since when the keys file cannot be read; zero: it can
	Agent      *api.Health // nil: the agent does not answer, and nothing is said of cells
}

// askFor is how long a scrape waits for it.
const askFor = 5 * time.Second

var (
	queued    = prometheus.NewDesc("brig_queue_depth", "Runs that wait for their turn.", nil, nil)
	unread    = prometheus.NewDesc("brig_keys_unread_since_seconds", "Unix time since when the keys file cannot be read, and keys taken away from it are valid still; 0: it can.", nil, nil)
	up        = prometheus.NewDesc("brig_agent_up", "Whether the agent answers.", nil, nil)
	slots     = prometheus.NewDesc("brig_slots", "Runs that the agent takes at a time.", nil, nil)
	cells     = prometheus.NewDesc("brig_cells", "Cells alive, by state.", []string{"state"}, nil)
	committed = prometheus.NewDesc("brig_memory_committed_bytes", "Memory promised to runs under way.", nil, nil)
	ceiling   = prometheus.NewDesc("brig_memory_ceiling_bytes", "The most memory promised to runs together.", nil, nil)
	images    = prometheus.NewDesc("brig_image_memory_bytes", "Files of images: held in memory, wanted by the images in use, and the most that is held.", []string{"what"}, nil)
)

// gauges asks when it is scraped, so that nothing keeps old figures.
type gauges struct{ now func(context.Context) Now }

func (g gauges) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{queued, unread, up, slots, cells, committed, ceiling, images} {
		to <- d
	}
}

func (g gauges) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), askFor)
	defer cancel()
	gauge := func(d *prometheus.Desc, v int64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(v), labels...)
	}
	now := g.now(ctx)
	gauge(queued, int64(now.Queued))
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
	gauge(cells, int64(max(h.Cells-h.Leased, 0)), "idle") // the two were not counted at one moment
	gauge(committed, h.Memory)
	gauge(ceiling, h.MemoryMax)
	gauge(images, h.ImagesHeld, "held")
	gauge(images, h.ImagesWanted, "wanted")
	gauge(images, h.ImagesMax, "ceiling")
}
