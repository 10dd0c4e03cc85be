// Package auth has the keys of a service: which callers may use it, what each key allows, and the
// file of the keys.
package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A Key is a caller's right to use the service, as in the keys file. The token itself is not stored
// anywhere: it is random, so its plain sha256 reveals nothing.
type Key struct {
	Name     string   // in the history; unique
	SHA256   string   // of the token, in hex
	Runs     int      // concurrent runs; zero: limited only by the slots
	Waiting  int      // requests in the queue; zero: limited only by the queue
	Sessions int      // concurrent sessions; zero: as many as are fair to other keys
	Memory   api.Size // reserved for all sessions together, with swap and scratch; zero: likewise
	Bodies   int      // concurrent uploads and downloads of files; zero means an eighth of the service's
	Blobs    api.Size // all blobs together; zero means 1 GiB
	Volumes  api.Size // all volumes together; zero: as much as is fair to other keys
	Problems int      // stored problems; zero means 1,000
	Batches  int      // that have not ended; zero: as many as are fair to other keys
	Weight   int      // maximum for a run or session; zero: the agent's ceiling
	CPUs     float64  // processors used concurrently, maximum for a run or session; zero: the agent's ceiling
	Mode     api.Mode // mode of runs that name none; empty: the agent's
	// may set cpuset, as far as the agent allows that to users other than root; may see every key's history, stats and
	// alerts, and /metrics
	Admin bool

	ProblemBytes api.Size // of all stored problems; zero: as much as is fair to other keys
	BatchBytes   api.Size // all batches on disk; zero: as much as is fair to other keys

	Profiles   Names // profiles that it may name, in addition to strict, default and a language's own
	ProfileLog bool  // may set profile_mode log
	OwnImage   bool  // may have sessions that own their image

	Packages bool // may have packages installed
	// may name files of the service's host, below the folder that the operator named (brig serve --go-judge-src)
	HostFiles bool
	Network   string // most that its runs may request, see api.Networks; empty: none

	sum [sha256.Size]byte
}

// Keys are all keys of a service. If they come from a file, changes of the file take effect while
// the service runs.
type Keys struct {
	all         atomic.Pointer[[]Key]
	unreadSince atomic.Pointer[time.Time] // since when the file is unreadable; nil: it is readable
	file        *keyFile                  // nil: no file; only the service's own goroutine uses it
}

// List returns all keys.
func (k *Keys) List() []Key { return *k.all.Load() }

// Multiple reports whether there is more than one key, so that quotas must be fair.
func (k *Keys) Multiple() bool { return k != nil && len(k.List()) > 1 }

var keyName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]*$`) })

const maxKeyName = 64 // bytes

func isKeyName(name string) bool { return len(name) <= maxKeyName && keyName().MatchString(name) }

// ReadKeys reads a keys file, which must be readable by its owner and group only, and
// keeps it open.
func ReadKeys(path string) (*Keys, error) {
	f, err := openKeyFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no keys file %s: brig key add NAME --file %[1]s creates it", path)
	}
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}

	st, err := f.Stat() // before it is read, so that a change meanwhile is noticed
	if err == nil {
		var list []Key
		if list, err = readKeyFile(path, f); err == nil {
			k := &Keys{file: &keyFile{path: path, file: f, loaded: stampOf(st)}}
			k.all.Store(&list)
			return k, nil
		}
	}

	return nil, errors.Join(err, f.Close())
}

// errNoKeys is the error for a file with an empty list.
var errNoKeys = errors.New("it has no keys: brig key add NAME adds one")

// errNoKeysField is the error for a file without a list, such as an empty one.
var errNoKeysField = errors.New("it has no line keys: with keys below it: brig key add NAME writes both into an empty file")

// ParseKeys parses a keys file: a YAML object with a list of Key in the field keys.
func ParseKeys(raw []byte) (*Keys, error) {
	list, named, err := readKeyList(raw)
	if err != nil {
		return nil, err
	}

	seen := map[string]bool{}
	for i := range list {
		k := &list[i]
		sum, err := hex.DecodeString(k.SHA256)
		switch {
		case !isKeyName(k.Name):
			return nil, fmt.Errorf("key %d: name %q: use letters, digits, dot, dash, underscore and @", i+1, k.Name)
		case seen[k.Name]:
			return nil, fmt.Errorf("key %q is given twice", k.Name)
		case err != nil || len(sum) != sha256.Size:
			return nil, fmt.Errorf("key %q: sha256 must have 64 hex digits: brig key new %s creates a key and this line", k.Name,
				k.Name)
		case [sha256.Size]byte(sum) == sha256.Sum256(nil):
			return nil, fmt.Errorf("key %q: this is the sha256 of an empty key, which anybody can send: brig key new "+
				"%s creates a key and this line", k.Name, k.Name)
		case k.negative():
			return nil, fmt.Errorf("key %q: limits may not be negative", k.Name)
		case k.invalidLimits() != nil:
			return nil, fmt.Errorf("key %q: %w", k.Name, k.invalidLimits())
		case k.badProfile() != nil:
			return nil, fmt.Errorf("key %q: %w", k.Name, k.badProfile())
		}

		seen[k.Name] = true
		k.sum = [sha256.Size]byte(sum)
		if k.Blobs == 0 {
			k.Blobs = api.GiB
		}
	}

	switch {
	case len(list) == 0 && named:
		return nil, errNoKeys
	case len(list) == 0:
		return nil, errNoKeysField
	}

	k := new(Keys)
	k.all.Store(&list)
	return k, nil
}

// Find returns the key of a token. It compares with all keys, each in constant time, so that its
// duration reveals nothing (API-13).
func (k *Keys) Find(token string) (Key, bool) {
	sum := sha256.Sum256([]byte(token))
	all, found := k.List(), -1
	for i := range all {
		if subtle.ConstantTimeCompare(sum[:], all[i].sum[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return Key{}, false
	}
	return all[found], true
}

func (k Key) negative() bool {
	return k.Runs < 0 || k.Waiting < 0 || k.Sessions < 0 || k.Memory < 0 || k.Bodies < 0 || k.Blobs < 0 || k.Volumes < 0 ||
		k.Problems < 0 || k.ProblemBytes < 0 || k.Batches < 0 || k.BatchBytes < 0 || k.Weight < 0 || k.CPUs < 0
}

// invalidLimits returns an error for limits that no run could have, and for a mode or network that does
// not exist.
func (k Key) invalidLimits() error {
	if k.Mode != "" && !slices.Contains(api.RunModes(), k.Mode) {
		return fmt.Errorf("mode %q does not exist: use strict, fresh or exclusive", k.Mode)
	}
	if k.Network != "" && !slices.Contains(api.Networks(), k.Network) {
		return fmt.Errorf("network %q does not exist: use %s", k.Network, strings.Join(api.Networks(), ", "))
	}
	return api.Limits{Weight: int64(k.Weight), CPUs: k.CPUs}.Validate()
}

// Names is a comma-separated list of names, so that a Key is comparable.
type Names string

// NamesOf joins names.
func NamesOf(list ...string) Names { return Names(strings.Join(list, ",")) }

// List returns the names; nil if there are none.
func (n Names) List() []string {
	if n == "" {
		return nil
	}
	return strings.Split(string(n), ",")
}

// Set adds a name, for a flag that may be repeated.
func (n *Names) Set(name string) error {
	*n = NamesOf(append(n.List(), name)...)
	return nil
}

func (n *Names) String() string { return string(*n) }

// Type is the placeholder for a name in help texts.
func (*Names) Type() string { return "name" }

// badProfile returns an error for a name in Profiles that no profile can have.
func (k Key) badProfile() error {
	for _, p := range k.Profiles.List() {
		if !isKeyName(p) {
			return fmt.Errorf("profile %q cannot exist: brig profile ls lists the names", p)
		}
	}
	return nil
}

// NewKey creates a token, and its line for the keys file, which is k with the SHA256 of the token.
func NewKey(k Key) (token, line string, err error) {
	switch {
	case !isKeyName(k.Name):
		return "", "", fmt.Errorf("name %q: use letters, digits, dot, dash, underscore and @", k.Name)
	case k.negative():
		return "", "", errors.New("limits may not be negative")
	case k.invalidLimits() != nil:
		return "", "", k.invalidLimits()
	case k.badProfile() != nil:
		return "", "", k.badProfile()
	}
	token, k.SHA256 = newToken()
	return token, k.line(), nil
}

// newToken returns a random token and its digest in hexadecimal.
func newToken() (token, sum string) {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand, Go 1.24)
	token = "brig_" + base64.RawURLEncoding.EncodeToString(b[:])
	return token, fmt.Sprintf("%x", sha256.Sum256([]byte(token)))
}
