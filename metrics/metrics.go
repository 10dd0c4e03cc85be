// Package metrics counts, for Prometheus, what the public gateway's runs come to.
//
// Labels are bounded: languages are those of the agent's catalogue, verdicts and codes
// are constants of package api. Nothing a client may invent becomes one.
package metrics

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/brig-sandbox/brig/api"
)

// The values of the language label that no catalogue has.
const (
	other = "other" // a name the catalogue lacks
	none  = "none"  // a command of an image
)

// Metrics are the counters of one gateway, safe for use by many goroutines.
type Metrics struct {
	scrape http.Handler
	names  atomic.Pointer[map[string]string] // of each language and alias: the language

	runs   *prometheus.CounterVec
	wall   *prometheus.HistogramVec
	waited prometheus.Histogram
	errors *prometheus.CounterVec
}

// seconds are the bounds of durations, from what a warm cell takes to the longest runs.
var seconds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

// New makes metrics that ask now at each scrape for what stands at the moment.
func New(now func(context.Context) Now) *Metrics {
	m := &Metrics{
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "brig_runs_total", Help: "Runs that ended with a verdict, by language and verdict."}, []string{"language", "verdict"}),
		wall: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "brig_run_wall_seconds", Help: "Time from a program's exec to its exit, by language.", Buckets: seconds}, []string{"language"}),
		waited: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "brig_queue_wait_seconds", Help: "Time that runs waited for their turn.", Buckets: seconds}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "brig_errors_total", Help: "Requests refused or failed by brig, by the error's code."}, []string{"code"}),
	}
	m.names.Store(&map[string]string{})
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.runs, m.wall, m.waited, m.errors, gauges{now},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.scrape = promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
	return m
}

// Languages sets the catalogue. Until then every language is "other".
func (m *Metrics) Languages(catalogue []api.Language) {
	names := map[string]string{}
	for _, l := range catalogue {
		for _, alias := range l.Aliases {
			names[alias] = l.Name
		}
	}
	for _, l := range catalogue {
		names[l.Name] = l.Name
	}
	m.names.Store(&names)
}

func (m *Metrics) label(language string) string {
	if language == "" {
		return none
	}
	if name, ok := (*m.names.Load())[language]; ok {
		return name
	}
	return other
}

// Ran counts a run that ended with a verdict: how, how long it ran and how long it
// waited. language is what the request named, or empty.
func (m *Metrics) Ran(language string, r api.Result) {
	language = m.label(language)
	m.runs.WithLabelValues(language, string(r.Verdict)).Inc()
	m.wall.WithLabelValues(language).Observe(time.Duration(r.Timing.Wall).Seconds())
	m.waited.Observe(time.Duration(r.Timing.Queued).Seconds())
}

// Failed counts a request that was refused or that brig failed, by its *api.Error's
// code; what has none is internal, and a caller who left is canceled. nil counts
// nothing.
func (m *Metrics) Failed(err error) {
	var e *api.Error
	code := api.CodeInternal
	switch {
	case err == nil:
		return
	case errors.As(err, &e):
		code = e.Code
	case errors.Is(err, context.Canceled):
		code = api.Code(api.Canceled)
	}
	m.errors.WithLabelValues(string(code)).Inc()
}

// ServeHTTP answers a scrape.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.scrape.ServeHTTP(w, r)
}
