package jetstream

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
)

// failureInterval is the shortest time between two warnings of a worker that has no connection.
const failureInterval = time.Minute

// failures logs why a worker has no connection: it tries for ever, also at an engine that refuses its key. That nothing
// listens is no failure, because mostly no batch runs; it is said once. The library calls the function from one
// goroutine.
func failures(log *slog.Logger) nats.ConnErrHandler {
	var waits bool
	var last time.Time
	return func(_ *nats.Conn, err error) {
		nobody := errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, nats.ErrNoServers)
		why := "is its address right?"
		if errors.Is(err, nats.ErrAuthorization) {
			why = "it refuses the key of this worker, which was removed or made again there: use a new one (brig worker-key)"
		} else if errors.As(err, new(*tls.CertificateVerificationError)) {
			why = "its certificate is not that of the key: is the key for another engine?"
		}

		switch {
		case nobody && !waits:
			waits = true
			log.Info("nothing listens at the engine's address; waiting for a batch", "err", err)
		case !nobody && time.Since(last) >= failureInterval:
			last = time.Now()
			log.Warn("no connection to the engine; trying again: "+why, "err", err)
		default:
			log.Debug("no connection to the engine", "err", err)
		}
	}
}
