package api

// An EventName says what an event of the public service's streams tells.
type EventName string

// The events, in the order in which they come.
const (
	EventQueued   EventName = "queued"   // a Status
	EventCompiled EventName = "compiled" // a Compilation, where there is a compiler
	EventStarted  EventName = "started"  // nothing more
	EventStdout   EventName = "stdout"   // what the program wrote, in data
	EventStderr   EventName = "stderr"   // the same
	EventUsage    EventName = "usage"    // a LiveUsage
	EventTest     EventName = "test"     // a TestResult
	EventGap      EventName = "gap"      // how many events_lost there are: this client comes too late for them
	EventResult   EventName = "result"   // a Result; the last one
	EventError    EventName = "error"    // a Problem; the last one
)
