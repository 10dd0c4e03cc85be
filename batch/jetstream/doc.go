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

// The streams and buckets of an engine.
const (
	jobsStream    = "BRIG_JOBS"
	resultsStream = "BRIG_RESULTS"
	workersBucket = "BRIG_WORKERS"
	blobsBucket   = "brig-blobs"
)

// Subjects of messages that are not stored.
const (
	cancelSubject  = "brig.cancel"  // and the batch: workers end its jobs
	controlSubject = "brig.control" // and the worker: what an operator asks of it
)

var nameRule = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`) })

// CheckName is an error if a name of a pool, worker or batch cannot be a part of a subject.
func CheckName(what, name string) error {
	if !nameRule().MatchString(name) {
		return fmt.Errorf("the name %q of the %s: use 1 to 63 lower-case letters, digits and hyphens", name, what)
	}
	return nil
}

func jobSubject(pool string, urgent bool, batch string, index int64) string {
	return "brig.jobs." + pool + "." + class(urgent) + "." + batch + "." + strconv.FormatInt(index, 10)
}

// class is the part of a subject for jobs that are urgent or not.
func class(urgent bool) string {
	if urgent {
		return "u"
	}
	return "n"
}

// resultSubject has the pool, so that a worker can have the right to send results of its pool only.
func resultSubject(pool, batch string, index int64) string {
	return "brig.results." + pool + "." + batch + "." + strconv.FormatInt(index, 10)
}

// consumerName is the durable consumer from which workers of a pool take jobs.
func consumerName(pool string, urgent bool) string { return pool + "-" + class(urgent) }

// splitSubject returns the batch and the index at the end of a subject.
func splitSubject(subject string) (batch string, index int64, err error) {
	parts := strings.Split(subject, ".")
	if len(parts) < 5 {
		return "", 0, fmt.Errorf("unexpected subject %q", subject)
	}
	index, err = strconv.ParseInt(parts[len(parts)-1], 10, 64)
	return parts[len(parts)-2], index, err
}
