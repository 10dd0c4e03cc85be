package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
)

// application marks the file as ours (PRAGMA application_id).
const application = 0x62726967 // "brig"

// migrations bring a file from one version (PRAGMA user_version) to the next. What
// has been released is never changed.
//
// The runs table is narrow, so that listings and statistics read little; what is
// long is in bodies, the part that listings need first. There is no auto_vacuum: pages
// that old runs leave are used again by new ones, so the file stays as large as it
// ever had to be.
//
// A small run is first a row of arrivals, which has no index: its commit writes one page
// where one into runs and bodies writes six, and its caller waits for it. From there
// runs move on many at a time. See arrivals.go.
var migrations = []string{`
CREATE TABLE runs (
	seq INTEGER PRIMARY KEY, -- in the order of commit, with holes: see shares.go
	id TEXT NOT NULL UNIQUE,
	owner TEXT NOT NULL, project TEXT NOT NULL, task TEXT NOT NULL,
	language TEXT NOT NULL, image TEXT NOT NULL,
	verdict TEXT NOT NULL, code TEXT NOT NULL, message TEXT NOT NULL, stage TEXT NOT NULL,
	created INTEGER NOT NULL, -- ns since 1970
	queued INTEGER NOT NULL, wall INTEGER NOT NULL, cpu INTEGER, memory INTEGER,
	exit_code INTEGER NOT NULL, signal INTEGER NOT NULL, source_size INTEGER NOT NULL,
	stdout_truncated INTEGER NOT NULL, stderr_truncated INTEGER NOT NULL, cut INTEGER NOT NULL,
	weight INTEGER NOT NULL
) STRICT;
CREATE INDEX runs_owner ON runs (owner, created); -- what a key sees
CREATE INDEX runs_created ON runs (created);      -- what an administrator sees
CREATE TABLE bodies (
	seq INTEGER PRIMARY KEY,
	diagnosis BLOB, detail BLOB, findings BLOB, stdout BLOB, stderr BLOB
) STRICT;
CREATE TABLE alerts (
	seq INTEGER PRIMARY KEY,
	created INTEGER NOT NULL,
	kind TEXT NOT NULL, owner TEXT NOT NULL, project TEXT NOT NULL, run TEXT NOT NULL, text TEXT NOT NULL
) STRICT;
CREATE INDEX alerts_owner ON alerts (owner, created);
CREATE INDEX alerts_created ON alerts (created);
`, `
CREATE TABLE arrivals (
	seq INTEGER PRIMARY KEY, -- as it will have in runs
	id TEXT NOT NULL,
	owner TEXT NOT NULL, project TEXT NOT NULL, task TEXT NOT NULL,
	language TEXT NOT NULL, image TEXT NOT NULL,
	verdict TEXT NOT NULL, code TEXT NOT NULL, message TEXT NOT NULL, stage TEXT NOT NULL,
	created INTEGER NOT NULL,
	queued INTEGER NOT NULL, wall INTEGER NOT NULL, cpu INTEGER, memory INTEGER,
	exit_code INTEGER NOT NULL, signal INTEGER NOT NULL, source_size INTEGER NOT NULL,
	stdout_truncated INTEGER NOT NULL, stderr_truncated INTEGER NOT NULL, cut INTEGER NOT NULL,
	weight INTEGER NOT NULL,
	diagnosis BLOB, detail BLOB, findings BLOB, stdout BLOB, stderr BLOB
) STRICT;
`, `
ALTER TABLE runs ADD COLUMN summary TEXT; -- JSON, of a run with tests
ALTER TABLE arrivals ADD COLUMN summary TEXT;
UPDATE runs SET summary = CAST(detail AS TEXT) ->> 'summary'
	FROM bodies WHERE bodies.seq = runs.seq AND json_valid(CAST(detail AS TEXT));
UPDATE arrivals SET summary = CAST(detail AS TEXT) ->> 'summary' WHERE json_valid(CAST(detail AS TEXT));
`}

// source names the file to the driver. The busy timeout is for another process that
// looks into the file.
func source(path string, more string) string {
	u := url.URL{Scheme: "file", OmitHost: true, Path: path}
	return u.String() + "?mode=rw&_pragma=busy_timeout(10000)&_defensive=1&_dqs=0" + more
}

// create makes the file, or takes from others the right to read it. It is closed
// again before SQLite opens it: closing a descriptor later would drop SQLite's locks.
func create(path string) error {
	f, err := os.OpenFile(filepath.Clean(path), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Close())
}

// prepare checks that the file is a sound history of a version we know, and brings
// it to ours. Before that nothing is written.
func prepare(ctx context.Context, c *sql.Conn, path string) error {
	var app, version, tables int
	for query, into := range map[string]*int{
		"PRAGMA application_id": &app, "PRAGMA user_version": &version, "SELECT count(*) FROM sqlite_schema": &tables,
	} {
		if err := c.QueryRowContext(ctx, query).Scan(into); err != nil {
			return err
		}
	}
	switch {
	case app != application && (app != 0 || version != 0 || tables != 0):
		return fmt.Errorf("%s is another program's database: name another file", path)
	case version > len(migrations):
		return fmt.Errorf("%s has version %d and this brig knows versions up to %d: use a newer brig, or name another file", path, version, len(migrations))
	case version > 0:
		if err := sound(ctx, c); err != nil {
			return err
		}
	}
	if _, err := c.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil {
		return err
	}
	for ; version < len(migrations); version++ {
		// One script, one transaction: a version is reached wholly or not at all.
		script := fmt.Sprintf("BEGIN IMMEDIATE; %s PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT", migrations[version], application, version+1)
		if _, err := c.ExecContext(ctx, script); err != nil {
			_, undo := c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
			return fmt.Errorf("to version %d: %w", version+1, errors.Join(err, undo))
		}
	}
	return nil
}

// sound looks through the runs table and its indexes, some 40 MB of a full history.
// Damage elsewhere shows when it is met.
func sound(ctx context.Context, c *sql.Conn) error {
	var said string
	if err := c.QueryRowContext(ctx, "PRAGMA quick_check(runs)").Scan(&said); err != nil {
		return err
	}
	if said != "ok" {
		return damage(said)
	}
	return nil
}

// damage is what a check found.
type damage string

func (d damage) Error() string { return string(d) }
