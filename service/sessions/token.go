package sessions

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"

	"github.com/brig-sandbox/brig/service/core"
)

// newTokenKey makes the secret of the tokens of sessions. Another process has another one: it ends the sessions.
func newTokenKey() (key [sha256.Size]byte) {
	_, _ = rand.Read(key[:]) // never fails (crypto/rand, Go 1.24)
	return key
}

// Token is what a client may have instead of a key to use one session: whoever has it can use this session and nothing
// else of its key. It is of no use when the session has ended, or the service.
func (ss *Sessions) Token(id string) string {
	mac := hmac.New(sha256.New, ss.tokenKey[:])
	mac.Write([]byte(id))
	return hex.EncodeToString(mac.Sum(nil))
}

// CallerOfToken returns the caller as whom a client with the token of a session acts. Whether it has that token, the
// client proves by it. proves must take the same time for each token. A session that there is not has a token as well, so
// that a client without it learns nothing (TestSessionTokens).
func (ss *Sessions) CallerOfToken(id string, proves func(token string) bool) (c core.Caller, ok bool) {
	proven := proves(ss.Token(id))
	owner, known := ss.registry.ownerOf(id)
	if !proven || !known {
		return core.Caller{}, false
	}
	c, err := ss.CallerNamed(owner)
	return c, err == nil
}

// ownerOf is the key of a session, also of one that ended a while ago.
func (r *sessionRegistry) ownerOf(id string) (owner string, known bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s, ok := r.all[id]; ok && !isReservation(id) {
		return s.owner, true
	}
	for owner, gone := range r.tombstones {
		for _, t := range gone {
			if t.id == id {
				return owner, true
			}
		}
	}
	return "", false
}
