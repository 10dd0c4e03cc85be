// Package metrics provides the Prometheus metrics of the public gateway's runs.
//
// Labels are bounded: languages are those of the agent's catalogue; verdicts and codes are
// constants of package api. A client cannot create new label values.
package metrics

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/brig-sandbox/brig/api"
)

// Values of the language label that are not in the catalogue.
const (
	otherLanguage = "other" // a name the catalogue lacks
	noLanguage    = "none"  // a command of an image
)

// Metrics are the counters of one gateway, safe for use by many goroutines.
type Metrics struct {
	scrape http.Handler
	names  atomic.Pointer[map[string]string] // of each language and alias: the language

	runs      *prometheus.CounterVec
	wallTime  *prometheus.HistogramVec
	queueWait prometheus.Histogram
	errors    *prometheus.CounterVec

	jobs               *prometheus.CounterVec
	packages           *prometheus.CounterVec
	networkBytes       *prometheus.CounterVec
	networkConnections prometheus.Counter
	networkRefused     prometheus.Counter
	dialects           *prometheus.CounterVec
	unknownFields      *prometheus.CounterVec
}

// durationBuckets are the histogram buckets of durations, from a run in a warm cell to the longest runs.
var durationBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

// New returns metrics that call now at each scrape for the current state.
func New(now func(context.Context) Snapshot) *Metrics {
	m := &Metrics{
		runs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "brig_runs_total", Help: "Runs that ended with a verdict, by language and verdict."},
			[]string{"language", "verdict"}),
		wallTime: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "brig_run_wall_seconds", Help: "Time from a program's exec to its exit, by language.",
			Buckets: durationBuckets}, []string{"language"}),
		queueWait: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "brig_queue_wait_seconds", Help: "Time that runs waited for a slot.", Buckets: durationBuckets}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "brig_errors_total", Help: "Requests that brig refused or failed, by error code."}, []string{"code"}),
		jobs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "brig_batch_jobs_total", Help: "Jobs of batches that got a result, by status."}, []string{"status"}),
		packages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "brig_package_installations_total",
			Help: "Installations of packages, by language and outcome (ok, or an error code)."},
			[]string{"language", "outcome"}),
		networkBytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "brig_network_bytes_total", Help: "Bytes that runs with network received (in) and sent (out)."},
			[]string{"direction"}),
		networkConnections: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "brig_network_connections_total", Help: "Connections that runs with network opened."}),
		networkRefused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "brig_network_refused_total", Help: "Names, addresses and connections that runs with network were refused."}),
		dialects: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "brig_dialect_responses_total", Help: "Responses in foreign dialects, by dialect and HTTP status."},
			[]string{"dialect", "status"}),
		unknownFields: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "brig_dialect_unknown_fields_total",
			Help: "Fields of requests in foreign dialects that brig ignored, as the original does, by dialect."},
			[]string{"dialect"}),
	}

	m.names.Store(&map[string]string{})
	registry := prometheus.NewRegistry()
	registry.MustRegister(m.runs, m.wallTime, m.queueWait, m.errors, m.jobs, m.packages, m.networkBytes,
		m.networkConnections, m.networkRefused, m.dialects, m.unknownFields, gauges{now},
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
		return noLanguage
	}
	if name, ok := (*m.names.Load())[language]; ok {
		return name
	}
	return otherLanguage
}

// RunEnded counts a run that ended with a verdict, by verdict, running time and waiting time. language
// is the one named in the request, or empty.
func (m *Metrics) RunEnded(language string, r api.Result) {
	language = m.label(language)
	m.runs.WithLabelValues(language, string(r.Verdict)).Inc()
	m.wallTime.WithLabelValues(language).Observe(time.Duration(r.Timing.Wall).Seconds())
	m.queueWait.Observe(time.Duration(r.Timing.Queued).Seconds())
	if n := r.Network; n != nil {
		m.networkBytes.WithLabelValues("in").Add(float64(n.BytesIn))
		m.networkBytes.WithLabelValues("out").Add(float64(n.BytesOut))
		m.networkConnections.Add(float64(n.Connections))
		for _, refused := range n.Refused {
			m.networkRefused.Add(float64(refused.Count))
		}
	}
}

// RequestFailed counts a request that was refused or that failed because of brig, by the code of its
// *api.Error. An error without a code counts as internal, and a caller that disconnected as
// canceled. nil is not counted.
func (m *Metrics) RequestFailed(err error) {
	if err != nil {
		m.errors.WithLabelValues(string(codeOf(err))).Inc()
	}
}

// JobsEnded counts jobs of batches that got a result.
func (m *Metrics) JobsEnded(s api.JobStatus, n int64) {
	m.jobs.WithLabelValues(string(s)).Add(float64(n))
}

// DialectAnswered counts a response in a foreign dialect, and the fields of its request that were ignored.
func (m *Metrics) DialectAnswered(dialect string, status, unknownFields int) {
	m.dialects.WithLabelValues(dialect, strconv.Itoa(status)).Inc()
	m.unknownFields.WithLabelValues(dialect).Add(float64(unknownFields))
}

// PackagesInstalled counts an installation of packages.
func (m *Metrics) PackagesInstalled(language string, err error) {
	outcome := "ok"
	if err != nil {
		outcome = string(codeOf(err))
	}
	m.packages.WithLabelValues(m.label(language), outcome).Inc()
}

func codeOf(err error) api.Code {
	var e *api.Error
	switch {
	case errors.As(err, &e):
		return e.Code
	case errors.Is(err, context.Canceled):
		return api.Code(api.Canceled)
	}
	return api.CodeInternal
}

// ServeHTTP answers a scrape.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.scrape.ServeHTTP(w, r)
}
