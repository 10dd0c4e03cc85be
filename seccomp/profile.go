package seccomp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// A Profile is a set of rules with a default: our data, from which filters are
// made. It is an allow-list. The zero Arch is the native architecture, and no other
// architecture can be allowed in addition.
//
// Several rules may name one call. The answer to a call is, in this order:
//  1. allow, if a conditional allow rule matches;
//  2. the first conditional rule with another answer that matches;
//  3. the call's unconditional rule (at most one);
//  4. the default.
//
// If no rule can name a call, because its number is above the tables, the answer
// is ENOSYS, whatever the default.
type Profile struct {
	Name    string `json:"name"`
	Arch    Arch   `json:"arch,omitempty"`
	Default Answer `json:"default"`
	Rules   []Rule `json:"rules"`

	// These two are set only in profiles derived from another. Log: made by LogMode, so
	// calls newer than the tables get the answer kill. Setup, in the parts of Split: the
	// calls that get another answer if cellinit's own code makes them. The wide part
	// allows them then; the last part answers only these calls, and only then.
	Log   bool     `json:"-"`
	Setup []string `json:"-"`

	// Set by OwnImage: cellinit's own code may make OwnImageCalls, too.
	OwnsImage bool `json:"-"`
}

// A Rule answers the named calls when all its conditions hold.
type Rule struct {
	Names []string  `json:"names"`
	Args  []ArgCond `json:"args,omitempty"`
	Answer
	Why string `json:"why"` // never empty: without its reason a rule cannot be removed safely
}

// An ArgCond compares one 64-bit argument register: (arg & Mask) == Value. A
// zero Mask compares all 64 bits. There is no less-than and no not-equal: range
// comparisons of halves have been wrong before (CVE-2019-9893), and allow rules
// must be exact. Package load turns the ranges of a file into aligned blocks of values.
type ArgCond struct {
	Index uint   `json:"arg"` // 0 to 5
	Value uint64 `json:"value"`
	Mask  uint64 `json:"mask,omitempty"`
}

// mask returns the bits compared.
func (c ArgCond) mask() uint64 {
	if c.Mask == 0 {
		return ^uint64(0)
	}
	return c.Mask
}

// An Answer is what happens to a call.
type Answer struct {
	Action Action `json:"action"`
	Errno  Errno  `json:"errno,omitempty"` // with ActErrno only
}

func (a Answer) String() string {
	if a == Pretend() {
		return "pretend"
	}
	if a.Action == ActErrno {
		return "errno " + a.Errno.String()
	}
	return string(a.Action)
}

// An Action is the kind of an answer, as named in our profile files.
type Action string

const (
	ActAllow Action = "allow"
	ActErrno Action = "errno" // the call fails; the program continues
	ActLog   Action = "log"   // the call runs and is recorded in the kernel's audit log
	ActKill  Action = "kill"  // the call reaches the agent through the notify listener, which records it and kills

	// ActCount is for calls that make kernel memory which is charged to no group: file
	// locks, lists of names, queues of listeners, sockets of netlink. The call runs, and the agent counts
	// it. It is refused while the run holds its maximum number of locks, or has made the
	// other calls as often as a run may.
	ActCount Action = "count"

	// ActKillProcess is the kernel's own kill (SIGSYS). Only Split and mode
	// changes produce it; a profile that contains it is refused, because
	// the agent would not learn which call it was.
	ActKillProcess Action = "kill-process"
)

// Allow, Kill, Count and Fail build answers.
func Allow() Answer       { return Answer{Action: ActAllow} }
func Kill() Answer        { return Answer{Action: ActKill} }
func Count() Answer       { return Answer{Action: ActCount} }
func Fail(e Errno) Answer { return Answer{Action: ActErrno, Errno: e} }

// Pretend is the answer that the call has succeeded, although it is not made: no error, and zero. No file
// of a profile can have it (Lint); OwnImage does.
func Pretend() Answer { return Answer{Action: ActErrno} }

// Notified reports whether the agent gives the answer, and not the kernel: then the
// agent can name the call in the result. Refusals that mean "this kernel has no such
// feature" are given by the kernel: libraries try such calls first, often in every
// iteration of a loop, and work as well without them. So is Pretend, which refuses nothing.
func (a Answer) Notified() bool {
	switch a.Action {
	case ActKill, ActCount:
		return true
	case ActErrno:
		return a != Pretend() && a.Errno != ENOSYS && a.Errno != EINVAL && a.Errno != ENOTTY && a.Errno != EOPNOTSUPP
	}
	return false
}

// inWidePart returns a as it is in the wide part, where kill stands for every notification.
func (a Answer) inWidePart() Answer {
	if a.Notified() {
		return Kill()
	}
	return a
}

// Open reports whether the call runs.
func (a Action) Open() bool { return a == ActAllow || a == ActLog || a == ActCount }

// An Errno is an error number, written by name. amd64 and arm64 share them.
type Errno uint16

// The error numbers the tiers use.
const (
	EPERM        Errno = 1
	EINVAL       Errno = 22
	ENOTTY       Errno = 25
	ENOSYS       Errno = 38
	ENOLCK       Errno = 37
	ENOMEM       Errno = 12
	ENOBUFS      Errno = 105
	EOPNOTSUPP   Errno = 95 // also spelled ENOTSUP
	EAFNOSUPPORT Errno = 97
)

// maxErrno is the kernel's MAX_ERRNO, to which it clamps larger values.
const maxErrno = 4095

func (e Errno) String() string {
	if int(e) < len(errnoNames) && errnoNames[e] != "" {
		return errnoNames[e]
	}
	return strconv.Itoa(int(e))
}

// MarshalText writes the name, or the number if there is no name.
func (e Errno) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads a name such as ENOSYS, or a number from 1 to 4095.
func (e *Errno) UnmarshalText(text []byte) error {
	s := string(text)
	switch s {
	case "ENOTSUP":
		s = "EOPNOTSUPP"
	case "EWOULDBLOCK":
		s = "EAGAIN"
	}

	if i := slices.Index(errnoNames[:], s); i > 0 {
		*e = Errno(i)
		return nil
	}

	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 || n > maxErrno {
		return fmt.Errorf("read errno %q: want a name such as EPERM or a number from 1 to %d", s, maxErrno)
	}

	*e = Errno(n)
	return nil
}

// Decode reads the JSON form of a profile, strictly, and validates it. The agent
// calls it on profiles that callers send.
func Decode(data []byte) (Profile, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var p Profile
	if err := dec.Decode(&p); err != nil {
		return Profile{}, fmt.Errorf("decode profile: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return Profile{}, errors.New("decode profile: something follows the JSON object; send one object only")
	}
	return p, Validate(p)
}

// Hash identifies the effect of p, as SHA-256 in hexadecimal: the same rules for the
// same architecture have the same hash, whatever the profile's name and the reasons.
func Hash(p Profile) string {
	bare := struct {
		Profile
		Newest int32 // numbers above get a separate answer
	}{Profile{Arch: p.Arch.OrNative(), Default: p.Default}, Newest(p.Arch)}
	for _, r := range p.Rules {
		bare.Rules = append(bare.Rules, Rule{Names: r.Names, Args: r.Args, Answer: r.Answer})
	}

	data, err := json.Marshal(bare)
	if err != nil {
		panic("BUG: a profile always has a JSON form: " + err.Error())
	}

	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
