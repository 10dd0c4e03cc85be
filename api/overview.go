package api

import "time"

// An Overview is what the service does now. A key sees the numbers of the whole service that
// GET /health shows it, and of the rest its own part.
type Overview struct {
	Time     time.Time     `json:"time" doc:"when it was taken, in UTC"`
	Health   ServiceHealth `json:"health" doc:"as of GET /health"`
	Queue    []QueueShare  `json:"queue" doc:"who holds slots or waits for one, by key: this key alone, or all for a key with admin"`
	Sessions int           `json:"sessions" doc:"sessions alive: of this key, or of all keys for a key with admin"`
	Past     []Moment      `json:"past,omitempty" doc:"the last 15 minutes, the oldest first; in events the newest moment alone"`
}

// A QueueShare is the part that one key has of the queue.
type QueueShare struct {
	Key        string `json:"key,omitempty" doc:"name of the key; absent if the service has no keys"`
	Running    int    `json:"running" doc:"slots that it holds"`
	Waiting    int    `json:"waiting" doc:"requests that wait for a slot"`
	Background int    `json:"waiting_in_background" doc:"jobs of batches that wait for a slot"`
	OldestNS   int64  `json:"oldest_wait_ns" doc:"nanoseconds that its first waiting request has waited; 0: none waits"`
}

// A Moment is what the service did at one time.
type Moment struct {
	Time    time.Time `json:"time" doc:"in UTC"`
	Running int       `json:"running" doc:"active runs of this service"`
	Waiting int       `json:"waiting" doc:"waiting requests"`
	Memory  int64     `json:"memory_committed_bytes" doc:"bytes that the agent had reserved for runs and sessions"`

	// nil: the caller may not know
	Judged    *int64 `json:"judged,omitempty" doc:"runs of all keys that ended with a verdict since the moment before; for keys with admin"`
	NotJudged *int64 `json:"not_judged,omitempty" doc:"runs of all keys that brig failed since the moment before; for keys with admin"`
}

// A Series is the statistics of runs over time.
type Series struct {
	Since   time.Time `json:"since" doc:"start of the first bucket, in UTC"`
	Until   time.Time `json:"until" doc:"end of the last one"`
	StepNS  int64     `json:"step_ns" doc:"nanoseconds of a bucket"`
	Buckets []Bucket  `json:"buckets" doc:"the oldest first; buckets without a run are left out"`
}

// A Bucket has the statistics of the runs that were requested in one step of time.
type Bucket struct {
	Start time.Time `json:"start" doc:"its first moment, in UTC"`
	Figures
	WaitP50 int64          `json:"wait_p50_ns" doc:"median time that a run waited for a slot, in nanoseconds"`
	WaitP99 int64          `json:"wait_p99_ns" doc:"99th percentile of the time that a run waited for a slot, in nanoseconds"`
	Codes   map[Code]int64 `json:"codes,omitempty" doc:"failures of the service, by their code"`
}

// A LanguageImage is a language, or an image without one, and what is needed to have it.
type LanguageImage struct {
	Language string    `json:"language,omitempty" doc:"name of the language; absent: an image that no language names (for keys with admin)"`
	Version  string    `json:"version,omitempty" doc:"version of the compiler or interpreter"`
	Image    string    `json:"image" doc:"name of the image, or its digest if it has no name"`
	Stored   bool      `json:"stored" doc:"whether the image is stored"`
	Lacks    []string  `json:"lacks,omitempty" doc:"what the language needs and the image lacks, because it is older"`
	Damaged  bool      `json:"damaged,omitempty" doc:"files of the image are not as they were imported: its runs are refused"`
	Digest   string    `json:"digest,omitempty" doc:"sha256 of the image"`
	Size     int64     `json:"size_bytes,omitempty" doc:"bytes of the unpacked image, which languages may share"`
	Created  time.Time `json:"created,omitzero" doc:"when it was stored, in UTC"`
	Tier     string    `json:"tier,omitempty" doc:"seccomp tiers of compiler and program"`
	Command  string    `json:"command,omitempty" doc:"the command for root on the machine that stores what is missing; absent: nothing is"`
}

// Images are the languages with their images.
type Images struct {
	Items []LanguageImage `json:"items" doc:"by language, then images without a language"`
	Room  *int64          `json:"room_bytes,omitempty" doc:"free bytes on the file system of the images; absent: not known"`
}

// A KeyUse is what a key may do, and what it does. It has neither the key nor its digest.
type KeyUse struct {
	Name   string   `json:"name" doc:"name of the key"`
	Limits KeyQuota `json:"limits" doc:"what it may do, as in the keys file; what is absent is not limited by the key"`

	Running   int       `json:"running" doc:"slots that it holds"`
	Waiting   int       `json:"waiting" doc:"requests that wait for a slot"`
	Sessions  int       `json:"sessions" doc:"sessions alive"`
	Runs      int64     `json:"runs_24h" doc:"runs that it requested in the last 24 hours and the history has"`
	NotJudged int64     `json:"not_judged_24h" doc:"those of them that brig failed"`
	Seen      time.Time `json:"seen,omitzero" doc:"its last request since the service started, in UTC; absent: none"`
}

// A KeyQuota is what a key may do. Zero fields are not limited by the key.
type KeyQuota struct {
	Admin        bool     `json:"admin,omitempty" doc:"may see what belongs to all keys"`
	Runs         int      `json:"runs,omitempty" doc:"concurrent runs"`
	Waiting      int      `json:"waiting,omitempty" doc:"requests in the queue"`
	Sessions     int      `json:"sessions,omitempty" doc:"concurrent sessions"`
	Memory       int64    `json:"memory_bytes,omitempty" doc:"reserved for all sessions together"`
	Blobs        int64    `json:"blobs_bytes,omitempty" doc:"all blobs together"`
	Volumes      int64    `json:"volumes_bytes,omitempty" doc:"all volumes together"`
	Problems     int      `json:"problems,omitempty" doc:"stored problems"`
	ProblemBytes int64    `json:"problems_bytes,omitempty" doc:"all stored problems together"`
	Batches      int      `json:"batches,omitempty" doc:"batches that have not ended"`
	BatchBytes   int64    `json:"batches_bytes,omitempty" doc:"all batches on disk"`
	Weight       int      `json:"weight,omitempty" doc:"most weight of a run or session"`
	CPUs         float64  `json:"cpus,omitempty" doc:"most processors of a run or session"`
	Mode         Mode     `json:"mode,omitempty" doc:"mode of runs that name none"`
	Network      string   `json:"network,omitempty" doc:"most that a run may request of the network; absent: none"`
	Packages     bool     `json:"packages,omitempty" doc:"may have packages installed"`
	Profiles     []string `json:"profiles,omitempty" doc:"profiles that it may name, in addition to those that all may name"`
	ProfileLog   bool     `json:"profile_log,omitempty" doc:"may set profile_mode log"`
	OwnImage     bool     `json:"own_image,omitempty" doc:"may have sessions that own their image"`
	HostFiles    bool     `json:"host_files,omitempty" doc:"may name files of the service's host"`
}

// A Machine is a host that runs programs, as the service knows it.
type Machine struct {
	Name      string       `json:"name" doc:"host name of the service's own machine, or name of the worker"`
	This      bool         `json:"this,omitempty" doc:"the agent of this service, which judges all of its runs"`
	Pool      string       `json:"pool,omitempty" doc:"pool of the worker; absent: it is no worker"`
	State     MachineState `json:"state" doc:"whether it takes work"`
	Version   string       `json:"version,omitempty" doc:"version of brig there"`
	Slots     int          `json:"slots" doc:"runs that it can execute at once"`
	Running   int          `json:"running" doc:"runs that it executes"`
	Cells     int          `json:"cells,omitempty" doc:"sandboxes alive"`
	Memory    int64        `json:"memory_committed_bytes,omitempty" doc:"bytes reserved for runs and sessions"`
	MemoryMax int64        `json:"memory_ceiling_bytes,omitempty" doc:"the most that it reserves"`
	Load      *float64     `json:"load,omitempty" doc:"mean number of runnable threads of the last minute; absent: not known"`
	CPUs      int          `json:"processors,omitempty" doc:"processors of the machine; absent: not known"`
	Judged    *int64       `json:"judged,omitempty" doc:"runs that ended with a verdict since the service started; absent: not known"`
	NotJudged *int64       `json:"not_judged,omitempty" doc:"runs that brig failed since the service started; absent: not known"`
	Kernel    string       `json:"kernel,omitempty" doc:"kernel release"`
	Cgroups   string       `json:"cgroup_mode,omitempty" doc:"which control groups it has" enum:"v2,v1,hybrid"`
	Languages []string     `json:"languages,omitempty" doc:"languages that can run there"`
	Differs   []string     `json:"differs,omitempty" doc:"languages whose image is another one than that of most machines of the pool"`
	Seen      time.Time    `json:"seen,omitzero" doc:"when it was last heard of, in UTC"`
	Problem   string       `json:"problem,omitempty" doc:"why it cannot be used"`
}

// A MachineState says whether a machine takes work.
type MachineState string

// The states of machines.
const (
	MachineUp       MachineState = "up"       // it takes work
	MachineDraining MachineState = "draining" // it ends what it has, and takes no more
	MachineGone     MachineState = "gone"     // it does not answer
)

// A FailureGroup is the failures of brig with one code: programs that were not judged.
type FailureGroup struct {
	Code      Code             `json:"code" doc:"code of the failure"`
	Count     int64            `json:"count" doc:"runs that failed with it"`
	Open      int64            `json:"open" doc:"those that came after the last acknowledgement"`
	First     time.Time        `json:"first" doc:"when the first of them was requested, in UTC"`
	Last      time.Time        `json:"last" doc:"when the last of them was requested, in UTC"`
	Message   string           `json:"message" doc:"message of the last one"`
	Keys      map[string]int64 `json:"keys,omitempty" doc:"runs by key, of at most 100 keys; only with all=true"`
	Runs      []string         `json:"run_ids" doc:"ids of the last ones, at most 20, the newest first"`
	RetrySafe bool             `json:"retry_safe" doc:"whether the same requests may be sent again"`
	Cause     string           `json:"cause" doc:"what the code means"`
	Cure      string           `json:"cure" doc:"what the operator can do"`
	Acked     *time.Time       `json:"acknowledged,omitempty" doc:"when it was last acknowledged, in UTC"`
	AckedBy   string           `json:"acknowledged_by,omitempty" doc:"name of the key that acknowledged it"`
}

// Failures are brig's own failures, by code. They are no verdicts, and no average has them.
type Failures struct {
	Total    int64          `json:"total" doc:"runs that were not judged"`
	Runs     int64          `json:"runs" doc:"all runs of the same time and filter, judged or not"`
	Failures []FailureGroup `json:"failures" doc:"by code, the most frequent first"`
}

// An AuditAction is a change that the audit log has.
type AuditAction string

// The changes.
const (
	AuditServiceStarted AuditAction = "service-started"
	AuditKeyAdded       AuditAction = "key-added"   // to the keys file
	AuditKeyRemoved     AuditAction = "key-removed" // from the keys file
	AuditKeyChanged     AuditAction = "key-changed" // in the keys file
	AuditProblemStored  AuditAction = "problem-stored"
	AuditProblemRemoved AuditAction = "problem-removed"
	AuditBatchCanceled  AuditAction = "batch-canceled" // or removed, if it had ended
	AuditVolumeRemoved  AuditAction = "volume-removed"
	AuditLabelEnded     AuditAction = "label-ended" // all that has a label
	AuditFailuresAcked  AuditAction = "failures-acknowledged"
	AuditMachineDrained AuditAction = "machine-drained"
	AuditLinkMade       AuditAction = "link-made" // to a run, for somebody without a key
	AuditLinkRevoked    AuditAction = "link-revoked"
)

// An AuditEntry says who changed what, and when.
type AuditEntry struct {
	Time    time.Time   `json:"time" doc:"when, in UTC"`
	By      string      `json:"by,omitempty" doc:"name of the key; absent: the operator by a file or a command, or a service without keys"`
	Action  AuditAction `json:"action" doc:"what was done"`
	Subject string      `json:"subject" doc:"to what; at most 1 KiB is stored"`
}

// A Setting is a setting of the service that is in force.
type Setting struct {
	Name  string `json:"name" doc:"name of the flag, without dashes"`
	Value string `json:"value" doc:"its value; passwords in addresses are left out"`
	From  string `json:"from" doc:"where it is set" enum:"flag,environment,file,default"`
}

// A HostCheck is one property of the machine, as brig doctor reports it.
type HostCheck struct {
	Name   string `json:"name" doc:"the property"`
	Status string `json:"status" doc:"ok; warn: something is refused, or less exact; fail: no run could be trusted" enum:"ok,warn,fail"`
	Found  string `json:"found" doc:"what there is"`
	Why    string `json:"why,omitempty" doc:"why it matters; absent if the status is ok"`
	Cure   string `json:"cure,omitempty" doc:"what to do about it"`
}

// Installation is how the service was set up, and what its machine has.
type Installation struct {
	Settings []Setting   `json:"settings" doc:"settings in force, by name"`
	Trusted  bool        `json:"trusted" doc:"no check failed, and none is unknown"`
	Unknown  []string    `json:"unasked,omitempty" doc:"checks that only root can make: sudo brig doctor"`
	Checks   []HostCheck `json:"checks" doc:"what brig doctor finds as the user of the service; none if it could not be asked"`
	Problem  string      `json:"problem,omitempty" doc:"why brig doctor could not be asked"`
}
