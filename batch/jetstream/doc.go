// Package jetstream moves the jobs of batches through NATS JetStream: embedded in this process, or a server
// or cluster elsewhere.
package jetstream

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// A pool has streams and buckets of its own: the rights of a worker are by their names.
const (
	jobsPrefix    = "BRIG_JOBS_"
	resultsPrefix = "BRIG_RESULTS_"
	workersPrefix = "BRIG_WORKERS_"
	blobsPrefix   = "brig-blobs-"
)

// controlSubject, and the worker, is what an operator asks of it. The messages are not stored.
const controlSubject = "brig.control"

var nameRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`) })

// CheckName is an error if a name of a pool, worker or batch cannot be a part of a subject.
func CheckName(what, name string) error {
	if !nameRule().MatchString(name) {
		return fmt.Errorf("the name %q of the %s: use 1 to 63 lower-case letters, digits and hyphens", name, what)
	}
	return nil
}

// poolSubject is the subject of something of a pool.
func poolSubject(pool, what string) string { return "brig.pool." + pool + "." + what }

func jobSubject(pool string, urgent bool, batch string, index int64) string {
	return poolSubject(pool, "jobs."+class(urgent)+"."+batch+"."+strconv.FormatInt(index, 10))
}

// class is the part of a subject for jobs that are urgent or not, and the name of the durable consumer from which
// workers take them.
func class(urgent bool) string {
	if urgent {
		return "u"
	}
	return "n"
}

func resultSubject(pool, batch string, index int64) string {
	return poolSubject(pool, "results."+batch+"."+strconv.FormatInt(index, 10))
}

// cancelSubject is where workers hear that they are to end the jobs of a batch. The messages are not stored.
func cancelSubject(pool, batch string) string { return poolSubject(pool, "cancel."+batch) }

// splitSubject returns the batch and the index at the end of the subject of a job or a result. A worker may send to every
// subject of its pool's results: any other form than that of jobSubject and resultSubject is an error.
func splitSubject(subject string) (batch string, index int64, err error) {
	parts := strings.Split(subject, ".")
	if n := len(parts); n == 6 && parts[3] == "results" || n == 7 && parts[3] == "jobs" {
		batch = parts[n-2]
		index, err = strconv.ParseInt(parts[n-1], 10, 64)
		if err == nil && index >= 0 && strconv.FormatInt(index, 10) == parts[n-1] {
			return batch, index, nil
		}
	}
	return "", 0, fmt.Errorf("the subject %.200q is of no job and no result", subject)
}
