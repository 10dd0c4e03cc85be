package history

import (
	"context"
	"crypto/sha256"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A Link is a link to a run as it is stored: without its token, of which there is the hash.
type Link struct {
	api.RunLink
	Owner string // of the run; empty: the service has no keys
	Sum   [sha256.Size]byte
}

// A linkChange adds a link, if there is one, and drops others by their ids.
type linkChange struct {
	add  *Link
	drop []string
}

// ChangeLinks stores a link, unless add is nil, and drops others by their ids; all or nothing. A link does not hold its
// run: that leaves like any other.
func (s *Store) ChangeLinks(ctx context.Context, add *Link, drop []string) error {
	return s.commit(ctx, job{links: &linkChange{add, drop}})
}

// changeLinks is ChangeLinks in a transaction.
func (w *writer) changeLinks(ctx context.Context, c *linkChange) error {
	for _, id := range c.drop {
		if _, err := w.conn.ExecContext(ctx, "DELETE FROM links WHERE id = ?", id); err != nil {
			return err
		}
	}
	if c.add == nil {
		return nil
	}

	shows := make([]string, len(c.add.Show))
	for i, s := range c.add.Show {
		shows[i] = string(s)
	}
	_, err := w.conn.ExecContext(ctx, insert("links", "id", "sum", "owner", "run", "shows", "title", "created", "expires"),
		c.add.ID, c.add.Sum[:], c.add.Owner, c.add.Run, strings.Join(shows, ","), c.add.Title, c.add.Created.UnixNano(),
		c.add.Expires.UnixNano())
	return err
}

// Links returns all stored links, in the order of their creation.
func (s *Store) Links(ctx context.Context) (all []Link, err error) {
	if err := s.open(); err != nil {
		return nil, err
	}
	rows, err := s.reads.QueryContext(ctx,
		"SELECT id, sum, owner, run, shows, title, created, expires FROM links ORDER BY created, id")
	if err != nil {
		return nil, s.toAPIError("list links", err)
	}
	defer rows.Close()

	for rows.Next() {
		var l Link
		var sum []byte
		var shows string
		var created, expires int64
		if err := rows.Scan(&l.ID, &sum, &l.Owner, &l.Run, &shows, &l.Title, &created, &expires); err != nil {
			return nil, s.toAPIError("list links", err)
		}
		l.Show = []api.LinkShow{}
		for name := range strings.SplitSeq(shows, ",") {
			if name != "" {
				l.Show = append(l.Show, api.LinkShow(name))
			}
		}
		copy(l.Sum[:], sum)
		l.Created, l.Expires = time.Unix(0, created).UTC(), time.Unix(0, expires).UTC()
		all = append(all, l)
	}

	return all, s.toAPIError("list links", rows.Err())
}
