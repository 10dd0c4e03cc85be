package api

// An EventName is the type of an event in the streams of the public service.
type EventName string

// The events, in the order in which they come.
const (
	EventQueued   EventName = "queued"   // a Status
	EventCompiled EventName = "compiled" // a Compilation, where there is a compiler
	EventStarted  EventName = "started"  // no data
	EventStdout   EventName = "stdout"   // output of the program, in data
	EventStderr   EventName = "stderr"   // the same
	EventUsage    EventName = "usage"    // a LiveUsage
	EventTest     EventName = "test"     // a TestResult
	EventGap      EventName = "gap"      // events_lost: the number of events that this client missed because it came too late
	EventResult   EventName = "result"   // a Result; the last one
	EventError    EventName = "error"    // a Problem; the last one

	EventProgress EventName = "progress" // a Batch
	EventDone     EventName = "done"     // a Batch that has ended; the last one

	EventOverview EventName = "overview" // an Overview, with the newest moment of the past alone
)
