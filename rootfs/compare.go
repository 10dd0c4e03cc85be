package rootfs

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
)

// A comparison compares a tree with its record, line by line: both have the order of a directory walk.
// It holds what differs, and nothing else (PKG-11).
type comparison struct {
	comparing
	record  *recordReader
	changed []string
	missing map[string]string // in the record alone: descriptions by name
	extra   map[string]string // in the tree alone
}

// comparing says how a tree is compared.
type comparing struct {
	first    bool             // stop at the first difference
	metadata bool             // compare what lstat(2) says, and read no file
	seen     func(size int64) // called for each member of the tree, with zero if it is not read; may be nil
}

// compareTree compares the tree in dir with its record, whose sha256 is sum.
func compareTree(ctx context.Context, dir, sum string, how comparing) (_ *comparison, err error) {
	record, err := openRecord(dir, sum)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, record.close()) }()

	c := &comparison{comparing: how, record: record, missing: map[string]string{}, extra: map[string]string{}}
	describe := func(path string) (string, int64, error) {
		if how.metadata {
			what, _, err := describeMetadata(path)
			return what, 0, err
		}
		return describeMember(path, nil)
	}

	err = walkRecord(ctx, filepath.Join(dir, "root"), describe, func(m recorded, size int64) error {
		if how.seen != nil {
			how.seen(size)
		}
		return c.member(m)
	})

	for err == nil && record.left && !c.enough() {
		c.missing[record.line.name] = record.line.what
		err = record.next()
	}

	c.reconcile()
	return c, err
}

func (c *comparison) enough() bool { return c.first && c.differs() }

func (c *comparison) differs() bool { return len(c.changed)+len(c.missing)+len(c.extra) > 0 }

// same compares the description in the record with that of the tree, which has no sum of a file that was not read.
func (c *comparison) same(recorded, now string) bool {
	if c.metadata && strings.HasSuffix(now, " ") {
		return strings.HasPrefix(recorded, now)
	}
	return recorded == now
}

// member compares the next member of the tree with the next lines of the record.
func (c *comparison) member(m recorded) error {
	for c.record.left && walkOrder(c.record.line.name, m.name) < 0 {
		c.missing[c.record.line.name] = c.record.line.what
		if err := c.record.next(); err != nil {
			return err
		}
	}

	if c.record.left && c.record.line.name == m.name {
		if !c.same(c.record.line.what, m.what) {
			c.changed = append(c.changed, m.name)
		}
		if err := c.record.next(); err != nil {
			return err
		}
	} else {
		c.extra[m.name] = m.what
	}

	if c.enough() {
		return fs.SkipAll
	}
	return nil
}

// reconcile finds the lines that are not in their place: EnsureWorkspace adds one at the end.
func (c *comparison) reconcile() {
	for name, what := range c.missing {
		now, ok := c.extra[name]
		if !ok {
			continue
		}
		if !c.same(what, now) {
			c.changed = append(c.changed, name)
		}
		delete(c.missing, name)
		delete(c.extra, name)
	}
}

// walkOrder compares names by their order in a directory walk: of the names in one directory, and a
// directory before what is below it. The root is ".".
func walkOrder(a, b string) int {
	if a == "." || b == "." {
		return cmp.Compare(len(strings.TrimPrefix(a, ".")), len(strings.TrimPrefix(b, ".")))
	}
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return cmp.Compare(walkByte(a[i]), walkByte(b[i]))
		}
	}
	return cmp.Compare(len(a), len(b))
}

// walkByte orders the end of a part of a name before everything that may follow in a longer part.
func walkByte(c byte) int {
	if c == '/' {
		return -1
	}
	return int(c)
}
