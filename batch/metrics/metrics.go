// Package metrics exports figures of a batch or a worker for Prometheus.
package metrics

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// A Figure is one value.
type Figure struct {
	Name, Help string
	Status     string // label status; empty: it has none
	Value      float64
	Counter    bool // it only grows; otherwise a gauge
}

// collector makes figures when they are asked for.
type collector struct{ figures func() []Figure }

// Describe sends nothing: the figures are not known before.
func (collector) Describe(chan<- *prometheus.Desc) {}

func (c collector) Collect(out chan<- prometheus.Metric) {
	for _, f := range c.figures() {
		kind := prometheus.GaugeValue
		if f.Counter {
			kind = prometheus.CounterValue
		}
		if f.Status == "" {
			out <- prometheus.MustNewConstMetric(prometheus.NewDesc(f.Name, f.Help, nil, nil), kind, f.Value)
			continue
		}
		out <- prometheus.MustNewConstMetric(prometheus.NewDesc(f.Name, f.Help, []string{"status"}, nil),
			kind, f.Value, f.Status)
	}
}

// Serve serves the figures at /metrics of an address. figures is called by several goroutines. stop ends it and
// waits.
func Serve(address string, figures func() []Figure) (at net.Addr, stop func(), err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, nil, err
	}

	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{figures})
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second,
		IdleTimeout: time.Minute}
	var served sync.WaitGroup
	served.Go(func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			_ = l.Close() // a batch goes on without
		}
	})

	return l.Addr(), func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close() // a reader that is slow is cut off
		}
		served.Wait()
	}, nil
}
