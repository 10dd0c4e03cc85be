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

// application marks the file as brig's (PRAGMA application_id).
const application = 0x62726967 // "brig"

// migrations bring a file from one version (PRAGMA user_version) to the next. A released migration
// is never changed.
//
// The table runs is narrow, so that listings and statistics read little. Long fields are in bodies,
// where the fields that listings need come first. There is no auto_vacuum: new runs reuse the pages
// of dropped ones, so the file never shrinks.
//
// A small run is first a row in arrivals, which has no index: its commit, for which a caller waits,
// writes one page, while a commit into runs and bodies writes six. Runs move on from there many at
// a time. See journal.go.
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
`, `
ALTER TABLE runs ADD COLUMN dialect TEXT NOT NULL DEFAULT ''; -- by which a run came
ALTER TABLE arrivals ADD COLUMN dialect TEXT NOT NULL DEFAULT '';
`, `
ALTER TABLE runs ADD COLUMN run TEXT NOT NULL DEFAULT ''; -- the label; id is the run's own
ALTER TABLE arrivals ADD COLUMN run TEXT NOT NULL DEFAULT '';
`, `
ALTER TABLE bodies ADD COLUMN request BLOB; -- JSON: what is kept of the request
ALTER TABLE arrivals ADD COLUMN request BLOB;
`, `
CREATE TABLE audit (
	seq INTEGER PRIMARY KEY,
	created INTEGER NOT NULL,
	owner TEXT NOT NULL, -- the key that did it
	action TEXT NOT NULL, subject TEXT NOT NULL
) STRICT;
CREATE INDEX audit_created ON audit (created);
`, rejudgeColumns("runs") + rejudgeColumns("arrivals"), `
CREATE TABLE links ( -- to runs, for those without a key
	id TEXT PRIMARY KEY,
	sum BLOB NOT NULL, -- SHA-256 of the token, which nobody keeps
	owner TEXT NOT NULL, run TEXT NOT NULL,
	shows TEXT NOT NULL, title TEXT NOT NULL, -- shows: names with commas
	created INTEGER NOT NULL, expires INTEGER NOT NULL
) STRICT;
`}

// rejudgeColumns adds to a table what a submission is, and whether it counts.
func rejudgeColumns(table string) string {
	text := ""
	for _, column := range []string{
		"problem TEXT NOT NULL DEFAULT ''",     // by which it was judged
		"batch TEXT NOT NULL DEFAULT ''",       // of which it was a job
		"job TEXT NOT NULL DEFAULT ''",         // in the batch
		"trial INTEGER NOT NULL DEFAULT 0",     // made by a rejudge that is not applied
		"replaced_by TEXT NOT NULL DEFAULT ''", // the id of the run that counts instead
	} {
		text += "ALTER TABLE " + table + " ADD COLUMN " + column + ";\n"
	}
	return text
}

// source makes the file's name for the driver. The busy timeout is for other processes that read
// the file.
func source(path string, more string) string {
	u := url.URL{Scheme: "file", OmitHost: true, Path: path}
	return u.String() + "?mode=rw&_pragma=busy_timeout(10000)&_defensive=1&_dqs=0" + more
}

// create makes the file, or removes the permissions of other users. It closes the file before
// SQLite opens it: closing a descriptor later would drop SQLite's locks.
func create(path string) error {
	f, err := os.OpenFile(filepath.Clean(path), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Chmod(0o600), f.Close())
}

// prepare checks that the file is an undamaged history of a known version, and migrates it to the
// current one. It writes nothing before the checks.
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
		return fmt.Errorf("%s is another program's database: use another file", path)
	case version > len(migrations):
		return fmt.Errorf("%s has version %d and this brig supports versions up to %d: use a newer brig, or another file",
			path, version, len(migrations))
	case version > 0:
		if err := integrityCheck(ctx, c); err != nil {
			return err
		}
	}

	if _, err := c.ExecContext(ctx, "PRAGMA journal_mode = WAL"); err != nil {
		return err
	}

	for ; version < len(migrations); version++ {
		// One script, one transaction: a migration happens completely or not at all.
		script := fmt.Sprintf("BEGIN IMMEDIATE; %s PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
			migrations[version], application, version+1)
		if _, err := c.ExecContext(ctx, script); err != nil {
			_, undo := c.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
			return fmt.Errorf("to version %d: %w", version+1, errors.Join(err, undo))
		}
	}

	return nil
}

// integrityCheck checks the table runs and its indexes, about 40 MB in a full history. Damage elsewhere is
// found when the damaged part is read.
func integrityCheck(ctx context.Context, c *sql.Conn) error {
	var report string
	if err := c.QueryRowContext(ctx, "PRAGMA quick_check(runs)").Scan(&report); err != nil {
		return err
	}
	if report != "ok" {
		return damage(report)
	}
	return nil
}

// damage is the damage that a check found.
type damage string

func (d damage) Error() string { return string(d) }
