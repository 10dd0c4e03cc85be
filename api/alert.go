package api

import "time"

// An AlertKind says what an alert is about.
type AlertKind string

// The kinds of alert.
const (
	Segfault    AlertKind = "segfault"     // a program died of SIGSEGV
	OOMKill     AlertKind = "oom-kill"     // the kernel killed a program for its memory limit
	DeniedCall  AlertKind = "denied-call"  // a program made a system call of the profile's kill set
	FailureRate AlertKind = "failure-rate" // unusually many runs of a project failed
	ImageDamage AlertKind = "image-damage" // files of a stored image are not as they were imported; the service's own alert, like the next
	KeysUnread  AlertKind = "keys-unread"  // the keys file cannot be read; the service's own alert, it belongs to no key's runs
)

// An Alert is something an operator should see.
type Alert struct {
	Time    time.Time `json:"time" doc:"when it was raised, in UTC"`
	Kind    AlertKind `json:"kind" doc:"the kind of the alert"`
	Owner   string    `json:"owner,omitempty" doc:"name of the key that owns the run; absent if the service has no keys"`
	Project string    `json:"project,omitempty" doc:"project of the run, or of the runs that failed"`
	Run     string    `json:"run_id,omitempty" doc:"the run that caused it"`
	Text    string    `json:"text" doc:"the message for the operator, in one sentence; at most 1 KiB is stored"`
}
