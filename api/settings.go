package api

import "time"

// Defaults of settings that the agent and the service both have.
const (
	MaxBody     = 64 * MiB         // largest request with a run
	MaxBlob     = 256 * MiB        // largest blob
	GracePeriod = 10 * time.Second // how long runs may continue when a server stops
)
