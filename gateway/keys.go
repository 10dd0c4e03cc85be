package gateway

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
	"sync/atomic"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A Key is a caller's right to use the service, as the keys file has it. The token
// itself is nowhere kept: it is random, so its plain sha256 gives nothing away.
type Key struct {
	Name     string   // in history; unique
	SHA256   string   // of the token, in hex
	Runs     int      // at a time; zero: no bound but the slots
	Waiting  int      // in the queue; zero: no bound but the queue's
	Sessions int      // at a time; zero: what leaves room for other keys, see room
	Memory   api.Size // promised to them together, with swap and scratch; zero: likewise
	Bodies   int      // of requests, still coming, and files, still going; zero means an eighth of the service's
	Blobs    api.Size // together; zero means 1 GiB
	Volumes  api.Size // together; zero: what leaves room for other keys
	Weight   int      // most of a run or session; zero: the agent's ceiling
	CPUs     float64  // processors at a time, most of a run or session; zero: the agent's ceiling
	Mode     api.Mode // of runs that name none; empty: strict
	Admin    bool     // may name processors (cpuset), as far as the agent lets others than root; may see everyone's history, stats and alerts, and /metrics

	Profiles   Names // it may name, beside strict, default and a language's own
	ProfileLog bool  // it may ask for profile_mode log

	sum [sha256.Size]byte
}

// Keys are all keys of a service. Those of a file change with it, while it is served.
type Keys struct {
	all  atomic.Pointer[[]Key]
	lost atomic.Pointer[time.Time] // since when the file cannot be read; nil: it can
	file *keyFile                  // nil: there is none; the service's own goroutine has it
}

func (k *Keys) list() []Key { return *k.all.Load() }

// several reports whether there is anybody to leave room for.
func (k *Keys) several() bool { return k != nil && len(k.list()) > 1 }

var keyName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

// ReadKeys reads a keys file, which must be readable by its owner and group only, and
// keeps it open.
func ReadKeys(path string) (*Keys, error) {
	f, err := openKeyFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no keys file %s: brig key add NAME --file %[1]s makes it", path)
	}
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	st, err := f.Stat() // before it is read: a change meanwhile is seen
	if err == nil {
		var list []Key
		if list, err = readKeyFile(path, f); err == nil {
			k := &Keys{file: &keyFile{path: path, file: f, done: stampOf(st)}}
			k.all.Store(&list)
			return k, nil
		}
	}
	return nil, errors.Join(err, f.Close())
}

// errNoKeys is of a file whose list is there, and empty.
var errNoKeys = errors.New("it has no keys: brig key add NAME makes one")

// errNoLine is of a file without a list, such as an empty one.
var errNoLine = errors.New("it has no line keys:, and no keys below it: brig key add NAME makes them in an empty file")

// ParseKeys reads the text of a keys file: a YAML object whose keys is a list of Key.
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
		case !keyName.MatchString(k.Name):
			return nil, fmt.Errorf("key %d: name %q: use letters, digits, dot, dash, underscore and @", i+1, k.Name)
		case seen[k.Name]:
			return nil, fmt.Errorf("key %q is there twice", k.Name)
		case err != nil || len(sum) != sha256.Size:
			return nil, fmt.Errorf("key %q: sha256 must have 64 hex digits: brig key new %s makes a key and this line", k.Name, k.Name)
		case [sha256.Size]byte(sum) == sha256.Sum256(nil):
			return nil, fmt.Errorf("key %q: this is the sha256 of nothing, which anybody has: brig key new %s makes a key and this line", k.Name, k.Name)
		case k.negative():
			return nil, fmt.Errorf("key %q: bounds may not be negative", k.Name)
		case k.senseless() != nil:
			return nil, fmt.Errorf("key %q: %w", k.Name, k.senseless())
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
		return nil, errNoLine
	}
	k := new(Keys)
	k.all.Store(&list)
	return k, nil
}

// Find gives the key of a token. It looks at all keys whichever it is, and compares
// in constant time, so that time tells nothing (API-13).
func (k *Keys) Find(token string) (Key, bool) {
	sum := sha256.Sum256([]byte(token))
	all, found := k.list(), -1
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
	return k.Runs < 0 || k.Waiting < 0 || k.Sessions < 0 || k.Memory < 0 || k.Bodies < 0 || k.Blobs < 0 || k.Volumes < 0 || k.Weight < 0 || k.CPUs < 0
}

// senseless refuses bounds that no run could keep, and a mode that no run has.
func (k Key) senseless() error {
	if k.Mode != "" && !slices.Contains(api.RunModes(), k.Mode) {
		return fmt.Errorf("mode %q does not exist: use strict, fresh or exclusive", k.Mode)
	}
	return api.Limits{Weight: int64(k.Weight), CPUs: k.CPUs}.Validate()
}

// Names are several, with commas between them, so that keys can be compared.
type Names string

// NamesOf joins a list.
func NamesOf(list ...string) Names { return Names(strings.Join(list, ",")) }

// List splits them; none is nil.
func (n Names) List() []string {
	if n == "" {
		return nil
	}
	return strings.Split(string(n), ",")
}

// Set adds one, as a flag that may be repeated.
func (n *Names) Set(name string) error {
	*n = NamesOf(append(n.List(), name)...)
	return nil
}

func (n *Names) String() string { return string(*n) }

// Type is the word that help has for one.
func (*Names) Type() string { return "name" }

// badProfile tells of a name in Profiles that no profile can have.
func (k Key) badProfile() error {
	for _, p := range k.Profiles.List() {
		if !keyName.MatchString(p) {
			return fmt.Errorf("profile %q: brig profile ls has the names", p)
		}
	}
	return nil
}

// NewKey makes a token, and its line for the keys file: k with its SHA256.
func NewKey(k Key) (token, line string, err error) {
	switch {
	case !keyName.MatchString(k.Name):
		return "", "", fmt.Errorf("name %q: use letters, digits, dot, dash, underscore and @", k.Name)
	case k.negative():
		return "", "", errors.New("bounds may not be negative")
	case k.senseless() != nil:
		return "", "", k.senseless()
	case k.badProfile() != nil:
		return "", "", k.badProfile()
	}
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand, Go 1.24)
	token = "brig_" + base64.RawURLEncoding.EncodeToString(b[:])
	k.SHA256 = fmt.Sprintf("%x", sha256.Sum256([]byte(token)))
	return token, k.line(), nil
}
