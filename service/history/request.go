package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

	"github.com/brig-sandbox/brig/api"
)

// The most that is kept of a request.
const (
	maxRequestSource = 256 * api.KiB
	maxRequestStdin  = 64 * api.KiB
	maxRequestWords  = 16 * api.KiB // of argv, and of flags
	maxRequestFiles  = 64
	maxRequestName   = 256     // bytes of the name of a file
	maxRequest       = api.MiB // as JSON, in which a byte may take four
)

// KeptRequest returns what is kept of the request of a run, as JSON. It counts for the bounds of the history like the
// rest of the record, and leaves with it.
//
// asked is the request as it was sent: a problem that it names has not added its tests and limits to it.
func KeptRequest(asked api.RunRequest, tests int) json.RawMessage {
	r := asked.Run
	k := api.KeptRequest{Language: r.Language, SourceName: r.SourceName, StdinBlob: r.StdinBlob, Tests: tests,
		Problem: asked.Problem}
	k.Settings, k.Missing = settingsOf(r)
	missing := func(name string, is bool) {
		if is && !slices.Contains(k.Missing, name) {
			k.Missing = append(k.Missing, name)
		}
	}

	k.Source, k.Cut = cut(r.Source, int(maxRequestSource), k.Cut)
	missing("source", len(k.Source) < len(r.Source))
	k.Stdin, k.Cut = cut(r.Stdin, int(maxRequestStdin), k.Cut)
	missing("stdin", len(k.Stdin) < len(r.Stdin))
	k.Argv, k.Cut = fewWords(r.Argv, k.Cut)
	missing("argv", len(k.Argv) < len(r.Argv))
	k.Flags, k.Cut = fewWords(r.Flags, k.Cut)
	missing("flags", len(k.Flags) < len(r.Flags))

	for i, f := range r.Files {
		missing("files", f.Blob == "" || f.Executable || i == maxRequestFiles || len(f.Name) > maxRequestName)
		if i == maxRequestFiles {
			k.Cut = true
			break
		}
		name, short := cut(api.Bytes(f.Name), maxRequestName, false)
		k.Cut = k.Cut || short
		k.Files = append(k.Files, api.KeptFile{Name: string(name), Size: int64(len(f.Content)), Blob: f.Blob})
	}

	text, err := json.Marshal(k)
	if err != nil || len(text) > int(maxRequest) {
		return json.RawMessage(`{"cut":true}`)
	}
	return text
}

// settingsOf returns the small fields of a request that are not kept by themselves, and the names of those that are not
// kept at all. Environment variables and the addresses of indexes may have secrets.
func settingsOf(r api.Run) (settings *api.Run, missing []string) {
	for _, f := range []struct {
		name string
		has  bool
	}{
		{"env", len(r.Env) > 0}, {"index", r.Index != ""}, {"tests", len(r.Tests) > 0}, {"check", r.Check != nil},
		{"interactor", r.Interactor != nil}, {"suite", r.Suite != nil}, {"call", r.Call != nil},
		{"profile_rules", r.ProfileRules != nil}, {"tty", r.TTY != nil},
	} {
		if f.has {
			missing = append(missing, f.name)
		}
	}

	r.Env, r.Index, r.Tests, r.Check, r.Interactor, r.Suite, r.Call, r.ProfileRules, r.TTY =
		nil, "", nil, nil, nil, nil, nil, nil, nil
	r.Language, r.Source, r.SourceName, r.Argv, r.Flags = "", nil, "", nil, nil
	r.Stdin, r.StdinBlob, r.Files = nil, "", nil
	if text, err := json.Marshal(r); err != nil || len(text) > int(maxRequestWords) {
		return nil, missing
	}
	return &r, missing
}

// fewWords returns words, or none if they are too long together.
func fewWords(words []string, already bool) ([]string, bool) {
	n := 0
	for _, w := range words {
		if n += len(w) + 1; n > int(maxRequestWords) {
			return nil, true
		}
	}
	return words, already
}

// Request returns what was kept of the request of a run; nil: nothing was. A run of another key is not found.
func (s *Store) Request(ctx context.Context, scope Scope, id string) (*api.KeptRequest, error) {
	from, err := s.flushJournal(ctx)
	if err != nil {
		return nil, err
	}
	where, args, err := Filter{Scope: scope, Replaced: true}.where()
	if err != nil {
		return nil, err
	}

	var text []byte
	err = s.reads.QueryRowContext(ctx, "SELECT request FROM "+from+" WHERE id = ? AND "+where, append([]any{id}, args...)...).Scan(&text)
	switch {
	case errors.Is(err, sql.ErrNoRows): // it was evicted since the caller has read it
		return nil, api.Refuse(api.CodeNotFound, "no run %.80q in the history: it was so old that it was removed", id)
	case err != nil:
		return nil, s.toAPIError("read a request", err)
	case text == nil:
		return nil, nil
	}

	k := new(api.KeptRequest)
	return k, s.toAPIError("read a request", json.Unmarshal(text, k))
}
