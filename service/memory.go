package service

import (
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/batches"
	"github.com/brig-sandbox/brig/service/connlimit"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/links"
	"github.com/brig-sandbox/brig/service/runs"
	"github.com/brig-sandbox/brig/service/submissions"
)

// Memory of the service that no quota counts.
const (
	memoryBase = 96 * api.MiB // the program, the caches and pages of the history, and the agent's status
	// a connection's buffers and stacks, and a response that needs no quota, or the piece of one that is being written
	memoryOfConn = 72 * api.KiB
	memoryOfRun  = 128 * api.KiB // a body that needs no quota, as bytes and as parsed values
	memoryOfFile = 320 * api.KiB // a file or blob that is being forwarded

	// The batches: jobs that are released; of each batch one more, as text and as its message, and what its jobs
	// have in common; results on their way to the disk; and which jobs there are.
	memoryOfBatches = 32*api.MiB + batches.MaxBatches*(2*batches.MaxLine+2*batches.MaxRequest) + 32*api.MiB + batches.MaxJobs*72

	memoryOfRelay = 10 * api.MiB // the network of a run: 64 connections with their stacks and first messages, 32 queries, 4,096 names
)

// maxMemory is the most memory that the process uses, whatever its callers do: each part is
// limited, and reserved before it is used. It is the sum of all limits, which no load reaches at
// the same time. It includes garbage, provided that the collector knows the value
// (debug.SetMemoryLimit).
func maxMemory(c core.Config) api.Size {
	c = c.WithDefaults()
	requests := api.Size(c.MaxBodies + c.QueuePlaces + 128) // being uploaded, waiting, and under way
	sum := memoryBase + api.Size(c.MaxConns+connlimit.Overflow)*memoryOfConn + requests*memoryOfRun + api.Size(c.MaxBodies)*memoryOfFile
	sum += core.MaxLargeBodies * c.MaxBody / 4 * 5 // large bodies; the buffer of a body grows while it is read
	sum += 4 * c.MaxBody                           // the body that is being parsed
	sum += c.MaxAnswers                            // large responses
	sum += c.MaxAnswers / core.WaitingDivisor      // large responses that wait for quota
	sum += c.MaxAnswers / 4 * 2                    // the response that is being read, from the agent or by a tool
	if c.Batches != "" {
		sum += memoryOfBatches
	}
	sum += runs.MaxDoneBytes + submissions.MaxMemory + links.MaxMemory
	return (sum + api.MiB - 1) / api.MiB * api.MiB
}

// MaxMemory is the most memory that the process uses: maxMemory, and relays for as many runs as
// the agent has slots, if the service offers a network with hosts.
func (g *Gateway) MaxMemory() api.Size {
	maximum := maxMemory(g.core.Config)
	if api.NetworkWithin(g.core.Config.Network, api.NetworkLoopback) && !g.core.Config.OffersPackages() {
		return maximum
	}
	return maximum + api.Size(g.core.Queue.Stats().Slots)*memoryOfRelay
}
