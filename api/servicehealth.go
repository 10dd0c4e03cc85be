package api

import "time"

// ServiceHealth tells how the public service is. Who has no key, where there are keys,
// is told the status alone.
type ServiceHealth struct {
	Status    ServiceStatus `json:"status" doc:"ok, degraded (the agent does not answer), or stopping"`
	Version   string        `json:"version" doc:"of the service" required:"false"`
	Capacity  int           `json:"capacity" doc:"runs at a time" required:"false"`
	Load      int           `json:"load" doc:"of them under way for this service" required:"false"`
	Queued    int           `json:"queued" doc:"runs that wait" required:"false"`
	Places    int           `json:"queue_places" doc:"the most that may wait" required:"false"`
	MemoryMax int64         `json:"service_memory_ceiling_bytes" doc:"the most bytes that the service itself takes, whatever its callers do" required:"false"`
	UptimeNS  int64         `json:"uptime_ns" doc:"nanoseconds since the service began" required:"false"`
	Agent     AgentHealth   `json:"agent" doc:"of the process that runs the programs, as last asked" required:"false"`

	KeysUnread *time.Time `json:"keys_unread_since,omitempty" doc:"since when the keys file cannot be read, so that the keys in force may not be those of the file; told to keys with admin"`
}

// AgentHealth is what a service tells of the process that runs the programs.
type AgentHealth struct {
	Reachable  bool   `json:"reachable" doc:"whether the agent answers"`
	Version    string `json:"version,omitempty" doc:"of the agent"`
	Leased     int    `json:"leased" doc:"slots taken, by others too"`
	Cells      int    `json:"cells" doc:"sandboxes alive, leased or idle"`
	Memory     int64  `json:"memory_committed_bytes" doc:"bytes promised to runs under way, and to sessions"`
	MemoryMax  int64  `json:"memory_ceiling_bytes" doc:"the most bytes that it promises together"`
	Kernel     string `json:"kernel,omitempty" doc:"as uname -r has it"`
	CgroupMode string `json:"cgroup_mode,omitempty" doc:"which control groups the host has" enum:"v2,v1,hybrid"`
}

// A ServiceStatus says in a word how the service is.
type ServiceStatus string

// The statuses of a service.
const (
	ServiceOK       ServiceStatus = "ok"
	ServiceDegraded ServiceStatus = "degraded" // the agent does not answer
	ServiceStopping ServiceStatus = "stopping"
)
