package gateway

import (
	"net/http"

	"github.com/brig-sandbox/brig/api"
)

// A tally is what sessions have of the agent's: how many they are, and the memory
// that is promised to them for their lives.
type tally struct {
	sessions int
	memory   api.Size
}

func (h tally) and(more tally) tally {
	return tally{h.sessions + more.sessions, h.memory + more.memory}
}

// fair lets one of several keys have more of what they share while at least as much as it
// would have then is still free for others. One that takes all it can has a half, a second a
// half of the rest, or a third each if they take by turns: whoever has nothing yet finds
// something, however many the keys and whatever they do, and has his first, if it is an
// ordinary one, though less would be left. Nothing needs to be known of keys beforehand, and
// one alone is not slowed.
func fair(own, all, more, most, ordinary int64) bool {
	return own+more <= most-all-more || own == 0 && more <= ordinary
}

// The parts of a memory that keys share: a key has its own share whatever others have, of what
// is set aside for that, and more by what is fair of the rest.
const (
	shareOfEach = 256
	setAside    = 8
)

// fits says whether one of several keys may have so many bytes more of a memory.
func fits(own, all, more, most int64) bool {
	return all+more <= most && (own+more <= most/shareOfEach || fair(own, all, more, most-most/setAside, 0))
}

// mostOfOne is what one key may have where nobody else has anything.
func mostOfOne(most int64) int64 { return max(most/shareOfEach, (most-most/setAside)/2) }

// room says what keeps a key from one more session, if anything does: its own bounds,
// or where it has none and others may come, what is fair. A session lives for hours, so
// that one key's could else keep all others out (TestSessionsLeaveRoomForOtherKeys).
func (k Key) room(own, all, more, most tally, others bool) error {
	has := own.and(more)
	much := k.Memory == 0 && others && most.memory > 0 &&
		!fair(int64(own.memory), int64(all.memory), int64(more.memory), int64(most.memory), int64(promiseOf(api.Defaults())))
	switch {
	case k.Sessions > 0 && has.sessions > k.Sessions:
		return crowded("this key has %d sessions and %d may be: end one", own.sessions, k.Sessions)
	case k.Memory > 0 && more.memory > k.Memory:
		return api.Refuse(api.CodeAboveCeiling, "the session's memory with swap and scratch is %s, and the sessions of this key may have %s: ask for less", more.memory, k.Memory)
	case k.Memory > 0 && has.memory > k.Memory:
		return crowded("the sessions of this key have %s of memory, with swap and scratch, and %s may be: end one, or ask for less", own.memory, k.Memory)
	case k.Sessions == 0 && others && most.sessions > 0 && !fair(int64(own.sessions), int64(all.sessions), 1, int64(most.sessions), 1):
		return crowded("this key has %d of the %d sessions there can be, and leaves the rest to other keys: end one, or have the operator give the key a bound of its own (sessions)", own.sessions, most.sessions)
	case much && own.memory == 0 && more.memory > most.memory/2:
		return api.Refuse(api.CodeAboveCeiling, "the session's memory with swap and scratch is %s, and of the %s there is no key gets more than half: ask for less, or have the operator give the key a bound of its own (memory)", more.memory, most.memory)
	case much:
		return crowded("the sessions of this key have %s of the %s of memory there is, and leave the rest to other keys: end one, ask for less, or have the operator give the key a bound of its own (memory)", own.memory, most.memory)
	}
	return nil
}

func crowded(format string, args ...any) error {
	return problem(http.StatusTooManyRequests, api.Fail(api.CodeSessionsFull, format, args...))
}

// roomForVolume says the same of a volume.
func (k Key) roomForVolume(own, all, more, most api.Size, others bool) error {
	switch {
	case k.Volumes > 0 && own+more > k.Volumes:
		return api.Refuse(api.CodeAboveCeiling, "this key may have %s of volumes, and with this one it would have %s: remove one, or ask for less", k.Volumes, own+more)
	case k.Volumes == 0 && others && most > 0 && !fair(int64(own), int64(all), int64(more), int64(most), int64(api.VolumeSize)):
		return api.Refuse(api.CodeAboveCeiling, "this key has %s of the %s of volumes there can be, and leaves the rest to other keys: remove one, ask for less, or have the operator give the key a bound of its own (volumes)", own, most)
	}
	return nil
}

// promised is what a session that asks for this will have promised to it. The agent has the
// last word: a language may have limits of its own.
func promised(ask api.SessionRequest) api.Size {
	preset, err := api.Preset(ask.Preset)
	if err != nil {
		return 0 // the agent refuses it
	}
	return promiseOf(ask.Limits.Over(preset).Over(api.Defaults()))
}

func promiseOf(l api.Limits) api.Size {
	const enough = 1 << 50 // more than any host has, and sums of it are still numbers
	return min(l.Memory, enough) + min(l.Swap, enough) + min(l.Scratch, enough)
}
