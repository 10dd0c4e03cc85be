package gateway

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"sync/atomic"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/brig-sandbox/brig/api"
)

// A Key is a caller's right to use the service, as the keys file has it. The token
// itself is nowhere kept: it is random, so its plain sha256 gives nothing away.
type Key struct {
	Name     string   `yaml:"name"`     // in history; unique
	SHA256   string   `yaml:"sha256"`   // of the token, in hex
	Runs     int      `yaml:"runs"`     // at a time; zero: no bound but the slots
	Waiting  int      `yaml:"waiting"`  // in the queue; zero: no bound but the queue's
	Sessions int      `yaml:"sessions"` // at a time; zero: no bound but the agent's
	Bodies   int      `yaml:"bodies"`   // of requests, still coming; zero means an eighth of the service's
	Blobs    api.Size `yaml:"blobs"`    // together; zero means 1 GiB
	Volumes  api.Size `yaml:"volumes"`  // together; zero: no bound but the agent's
	Admin    bool     `yaml:"admin"`    // may see everyone's history, stats and alerts, and /metrics

	sum [sha256.Size]byte
}

// Keys are all keys of a service. Those of a file change with it, while it is served.
type Keys struct {
	all  atomic.Pointer[[]Key]
	lost atomic.Pointer[time.Time] // since when the file cannot be read; nil: it can
	file *keyFile                  // nil: there is none; the service's own goroutine has it
}

func (k *Keys) list() []Key { return *k.all.Load() }

var keyName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

// ReadKeys reads a keys file, which must be readable by its owner and group only, and
// keeps it open.
func ReadKeys(path string) (*Keys, error) {
	f, err := openKeyFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no keys file %s: write the line keys: into it, and below it what brig key new NAME prints", path)
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
var errNoKeys = errors.New("it has no keys: brig key new NAME makes one")

// ParseKeys reads the text of a keys file: a YAML object whose keys is a list of Key.
func ParseKeys(raw []byte) (*Keys, error) {
	var file struct {
		Keys []Key `yaml:"keys"`
	}
	d := yaml.NewDecoder(bytes.NewReader(raw))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		var list []Key
		if yaml.Unmarshal(raw, &list) == nil {
			return nil, errors.New("its first line must be keys: with the keys below it")
		}
		return nil, err
	}
	seen := map[string]bool{}
	for i := range file.Keys {
		k := &file.Keys[i]
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
		case k.Runs < 0 || k.Waiting < 0 || k.Sessions < 0 || k.Bodies < 0 || k.Blobs < 0 || k.Volumes < 0:
			return nil, fmt.Errorf("key %q: bounds may not be negative", k.Name)
		}
		seen[k.Name] = true
		k.sum = [sha256.Size]byte(sum)
		if k.Blobs == 0 {
			k.Blobs = api.GiB
		}
	}
	if len(file.Keys) == 0 {
		var named map[string]any
		if err := yaml.Unmarshal(raw, &named); err == nil {
			if _, is := named["keys"]; is {
				return nil, errNoKeys
			}
		}
		return nil, errors.New("it has no line keys:, and no keys below it: brig key new NAME makes one")
	}
	k := new(Keys)
	k.all.Store(&file.Keys)
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

// NewKey makes a token, and its line for the keys file.
func NewKey(name string) (token, line string, err error) {
	if !keyName.MatchString(name) {
		return "", "", fmt.Errorf("name %q: use letters, digits, dot, dash, underscore and @", name)
	}
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand, Go 1.24)
	token = "brig_" + base64.RawURLEncoding.EncodeToString(b[:])
	sum := sha256.Sum256([]byte(token))
	return token, fmt.Sprintf("  - {name: %s, sha256: %x}", name, sum), nil
}
