package api

import "time"

// An AlertKind says what an alert is about.
type AlertKind string

// The kinds of alert.
const (
	Segfault    AlertKind = "segfault"     // a program died of SIGSEGV
	OOMKill     AlertKind = "oom-kill"     // the kernel killed one for its memory limit
	DeniedCall  AlertKind = "denied-call"  // one made a system call that is a reason to stop it
	FailureRate AlertKind = "failure-rate" // unusually many runs of a project failed
	KeysUnread  AlertKind = "keys-unread"  // the keys file cannot be read; an alert of the service's own, of no key's runs
)

// An Alert is something an operator should see.
type Alert struct {
	Time    time.Time `json:"time" doc:"when it came about, in UTC"`
	Kind    AlertKind `json:"kind" doc:"what it is about"`
	Owner   string    `json:"owner,omitempty" doc:"name of the key whose run it was; absent where there are no keys"`
	Project string    `json:"project,omitempty" doc:"of the run, or of the runs that failed"`
	Run     string    `json:"run_id,omitempty" doc:"the run that gave rise to it"`
	Text    string    `json:"text" doc:"what an operator should see, in a sentence; at most 1 KiB of it is kept"`
}
