package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"sync"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// Bounds of logins. The oldest login of a key ends when the key has one more than its share.
const (
	LoginLife       = 12 * time.Hour
	maxLogins       = 4096
	maxLoginsPerKey = 32
)

// Logins are the browsers that have sent a key once and now send a cookie. They are in memory alone: after a restart of
// the service everybody logs in again. The zero value is ready. It is safe for use by many goroutines.
type Logins struct {
	mu   sync.Mutex
	byID map[[sha256.Size]byte]login // guarded by mu; by the hash of the cookie, so that a lookup takes no time that tells a cookie
}

type login struct {
	key  string            // name
	sum  [sha256.Size]byte // of the token: a key that was rotated or removed ends its logins
	ends time.Time
}

// Start begins a login of a key, and returns its cookie.
func (l *Logins) Start(k Key, now time.Time) (cookie string, err error) {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails (crypto/rand, Go 1.24)
	cookie = base64.RawURLEncoding.EncodeToString(random[:])

	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byID == nil {
		l.byID = map[[sha256.Size]byte]login{}
	}

	own, oldest := 0, [sha256.Size]byte{}
	for id, one := range l.byID {
		if now.After(one.ends) {
			delete(l.byID, id)
			continue
		}
		if one.key == k.Name {
			if own++; own == 1 || one.ends.Before(l.byID[oldest].ends) {
				oldest = id
			}
		}
	}

	if own >= maxLoginsPerKey {
		delete(l.byID, oldest)
	}
	if len(l.byID) >= maxLogins {
		return "", api.Refuse(api.CodeBusy, "there are %d logins, and that is the maximum: log out elsewhere, or come back later",
			maxLogins)
	}
	l.byID[sha256.Sum256([]byte(cookie))] = login{key: k.Name, sum: k.sum, ends: now.Add(LoginLife)}
	return cookie, nil
}

// Find returns the key of a cookie, as the key is now. A key that has gone, or that has another token, has no logins.
func (l *Logins) Find(cookie string, now time.Time, keys *Keys) (Key, bool) {
	l.mu.Lock()
	one, ok := l.byID[sha256.Sum256([]byte(cookie))]
	l.mu.Unlock()
	if !ok || now.After(one.ends) {
		return Key{}, false
	}

	for _, k := range keys.List() {
		if k.Name == one.key && k.sum == one.sum {
			return k, true
		}
	}
	return Key{}, false
}

// End ends the login of a cookie.
func (l *Logins) End(cookie string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byID, sha256.Sum256([]byte(cookie)))
}
