package api

import "time"

// ServiceHealth is the status report of the public service. If the service has keys, a caller
// without a key gets only the status.
type ServiceHealth struct {
	Status    ServiceStatus `json:"status" doc:"ok, degraded (the agent does not answer, or the history cannot be written), or stopping"`
	Version   string        `json:"version" doc:"version of the service" required:"false"`
	Capacity  int           `json:"capacity" doc:"maximum of concurrent runs" required:"false"`
	Load      int           `json:"load" doc:"active runs of this service" required:"false"`
	Queued    int           `json:"queued" doc:"waiting runs" required:"false"`
	QueueMax  int           `json:"queue_places" doc:"maximum of waiting runs" required:"false"`
	MemoryMax int64         `json:"service_memory_ceiling_bytes" doc:"maximum memory of the service itself, in bytes, whatever its callers do" required:"false"`
	UptimeNS  int64         `json:"uptime_ns" doc:"nanoseconds since the service started" required:"false"`
	Agent     AgentHealth   `json:"agent" doc:"health of the agent, the process that runs the programs, at the last poll" required:"false"`

	HistoryError string `json:"history_error,omitempty" doc:"why no run can be recorded now, so that runs are refused"`

	KeysUnread *time.Time `json:"keys_unread_since,omitempty" doc:"since when the keys file cannot be read, so that the active keys may differ from the file; only for keys with admin"`
}

// AgentHealth is the service's report on the process that runs the programs.
type AgentHealth struct {
	Reachable  bool   `json:"reachable" doc:"whether the agent answers"`
	Version    string `json:"version,omitempty" doc:"version of the agent"`
	Leased     int    `json:"leased" doc:"slots in use, also by other clients of the agent"`
	Cells      int    `json:"cells" doc:"sandboxes alive, leased or idle"`
	Memory     int64  `json:"memory_committed_bytes" doc:"bytes reserved for active runs and for sessions"`
	MemoryMax  int64  `json:"memory_ceiling_bytes" doc:"maximum of reserved bytes in total"`
	Kernel     string `json:"kernel,omitempty" doc:"kernel release, as in uname -r"`
	CgroupMode string `json:"cgroup_mode,omitempty" doc:"which control groups the host has" enum:"v2,v1,hybrid"`
}

// A ServiceStatus is the overall status of the service.
type ServiceStatus string

// The statuses of a service.
const (
	ServiceOK       ServiceStatus = "ok"
	ServiceDegraded ServiceStatus = "degraded" // the agent does not answer, or the history cannot be written
	ServiceStopping ServiceStatus = "stopping"
)
