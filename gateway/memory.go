package gateway

import "github.com/brig-sandbox/brig/api"

// What of the service's memory no room counts.
const (
	memoryBase   = 96 * api.MiB  // the program, the history's caches and pages, and what the agent says of itself
	memoryOfConn = 72 * api.KiB  // a connection's buffers and stacks, and an answer that needs no room, or the piece of one that is being written
	memoryOfRun  = 128 * api.KiB // a body that needs no room, as it came and as what it says
	memoryOfFile = 320 * api.KiB // a file or blob that passes through
)

// MaxMemory is the most that the process takes, whatever its callers do: each of these is
// bounded, and counted before it comes. It is the sum of all bounds, which no load reaches
// together. Garbage is in it as long as the collector is told of it (debug.SetMemoryLimit).
func (c Config) MaxMemory() api.Size {
	c = c.orDefault()
	runs := api.Size(c.MaxBodies + c.Places + 128) // coming, waiting, and under way
	sum := memoryBase + api.Size(c.MaxConns+spareDoors)*memoryOfConn + runs*memoryOfRun + api.Size(c.MaxBodies)*memoryOfFile
	sum += bodies * c.MaxBody / 4 * 5    // large bodies; while one is read, its buffer grows
	sum += 4 * c.MaxBody                 // of the one that is being parsed
	sum += c.MaxAnswers                  // large answers
	sum += c.MaxAnswers / answersWaiting // those that wait for room
	sum += c.MaxAnswers / 4 * 2          // of the one that is being read from the agent
	return (sum + doneBytes + api.MiB - 1) / api.MiB * api.MiB
}
