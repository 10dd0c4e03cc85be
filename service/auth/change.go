package auth

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"syscall"

	"go.yaml.in/yaml/v3"

	"github.com/brig-sandbox/brig/internal/flock"
)

// ErrNoSuchKey is the error for a name that the keys file does not have.
var ErrNoSuchKey = errors.New("no such key")

// ListKeys returns the keys of the file at path, in its order. A file whose list is empty has none.
func ListKeys(path string) ([]Key, error) {
	f, err := openKeyFile(path)
	if err != nil {
		return nil, fmt.Errorf("read keys: %w", err)
	}
	defer f.Close()
	list, err := readKeyFile(path, f)
	if errors.Is(err, errNoKeys) || errors.Is(err, errNoKeysField) {
		return nil, nil
	}
	return list, err
}

// Settings returns the fields of the key that are not zero, by their names in the file, without its
// name and its digest.
func (k Key) Settings() map[string]any {
	settings := map[string]any{}
	for _, f := range k.fields() {
		if v := reflect.ValueOf(f.at).Elem(); !v.IsZero() && f.name != "name" && f.name != "sha256" {
			settings[f.name] = v.Interface()
		}
	}
	if v, ok := settings["profiles"].(Names); ok {
		settings["profiles"] = v.List()
	}
	return settings
}

// Limits returns the settings of the key as its entry in the file has them, without name and digest.
func (k Key) Limits() string {
	k.Name, k.SHA256 = "", ""
	return strings.TrimSuffix(strings.TrimPrefix(k.line(), "  - {"), "}")
}

// RemoveKey removes the entry of a key from the file at path, and nothing else: comments and other
// entries stay. It leaves the file unchanged after an error, which wraps ErrNoSuchKey if the file has
// no such key.
func RemoveKey(path, name string) error {
	return changeKey(path, name, func(lines []string, e entryLines, _ Key) ([]string, []Key) {
		return slices.Delete(lines, e.first, e.last+1), nil
	}, nil)
}

// RotateKey gives a key of the file at path a new token, which it passes to tell. Its limits stay. If
// tell returns an error, RotateKey returns it and leaves the file unchanged.
func RotateKey(path, name string, tell func(token string) error) error {
	token, sum := newToken()
	return changeKey(path, name, func(lines []string, e entryLines, k Key) ([]string, []Key) {
		for i := e.first; i <= e.last; i++ {
			lines[i] = strings.Replace(lines[i], k.SHA256, sum, 1)
		}
		k.SHA256 = sum
		k.sum = sha256.Sum256([]byte(token))
		return lines, []Key{k}
	}, func() error { return tell(token) })
}

// changeKey rewrites the lines of one entry. change returns the new lines of the file and what the key
// becomes. The result is written only if it parses as the old keys with that change.
func changeKey(path, name string, change func([]string, entryLines, Key) ([]string, []Key),
	before func() error) (err error) {
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, syscall.ELOOP):
		return fmt.Errorf("keys file %s is a symbolic link: give the path of the file itself", path)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no keys file %s: %w", path, err)
	case err != nil:
		return fmt.Errorf("change the keys file: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()

	if err := flock.Lock(f); err != nil { // against processes that add or change keys
		return err
	}

	// The file is read after the lock: what another process has just added would otherwise be overwritten.
	keys, err := readKeyFile(path, f)
	if err != nil && !errors.Is(err, errNoKeys) && !errors.Is(err, errNoKeysField) {
		return err
	}

	at := slices.IndexFunc(keys, func(k Key) bool { return k.Name == name })
	if at < 0 {
		return fmt.Errorf("%w: keys file %s has no %q: brig key ls lists them", ErrNoSuchKey, path, name)
	}

	old, err := io.ReadAll(io.NewSectionReader(f, 0, 4<<20))
	if err != nil {
		return fmt.Errorf("read keys: %w", err)
	}

	byHand := fmt.Errorf("the entry of %q in %s has not its own lines, so nothing was changed: edit the file", name, path)
	entry, ok := linesOf(old, at)
	if !ok {
		return byHand
	}

	// The change is made in lines, so that comments and other entries stay. Only the parser knows whether
	// it was right: the new text must have exactly the wanted keys.
	lines, becomes := change(strings.SplitAfter(string(old), "\n"), entry, keys[at])
	text := []byte(strings.Join(lines, ""))
	want := slices.Concat(keys[:at], becomes, keys[at+1:])
	if got, err := listOf(text); err != nil || !slices.Equal(got, want) {
		return byHand
	}

	// A new token is shown before the file is written. If that fails, nobody has the token, and the old
	// one must still work.
	if before != nil {
		if err := before(); err != nil {
			return err
		}
	}

	return overwrite(f, old, text)
}

// listOf parses a keys file that may have no keys.
func listOf(text []byte) ([]Key, error) {
	k, err := ParseKeys(text)
	if errors.Is(err, errNoKeys) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return k.List(), nil
}

// entryLines are the first and the last line of an entry, from 0.
type entryLines struct{ first, last int }

// linesOf returns the lines of the entry at a position of the list. It is false if the entry shares a
// line with something else, or refers to another place of the file.
func linesOf(text []byte, at int) (entryLines, bool) {
	var doc yaml.Node
	if yaml.Unmarshal(text, &doc) != nil || len(doc.Content) == 0 || len(doc.Content[0].Content) < 2 {
		return entryLines{}, false
	}

	list := doc.Content[0].Content[1]
	if list.Kind != yaml.SequenceNode || list.Style&yaml.FlowStyle != 0 || at >= len(list.Content) {
		return entryLines{}, false
	}

	entry := list.Content[at]
	if entry.Kind != yaml.MappingNode {
		return entryLines{}, false
	}

	lines := entryLines{first: entry.Line - 1, last: entry.Line - 1}
	for _, n := range entry.Content {
		lines.last = max(lines.last, n.Line-1)
		for _, part := range n.Content { // profiles
			lines.last = max(lines.last, part.Line-1)
		}
	}

	return lines, true
}

// overwrite replaces the content of the file itself: a service that has it open, and may not be able to
// open another in its place, reads the new content. Empty lines at the end keep the file valid until it
// is truncated.
func overwrite(f *os.File, old, text []byte) error {
	padded := append(bytes.Clone(text), bytes.Repeat([]byte("\n"), max(0, len(old)-len(text)))...)
	if _, err := f.WriteAt(padded, 0); err != nil {
		_, again := f.WriteAt(old, 0)
		return errors.Join(fmt.Errorf("change the keys file: %w", err), again)
	}
	if err := f.Truncate(int64(len(text))); err != nil {
		return fmt.Errorf("change the keys file: %w", err)
	}
	return f.Sync()
}
