package session

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/runtime/linux"
	"github.com/brig-sandbox/brig/runtime/plan"
	"github.com/brig-sandbox/brig/runtime/run"
	"github.com/brig-sandbox/brig/runtime/snapshot"
)

// Snapshots of the files of a session: what /box and /tmp have (package snapshot; adr 0063).

// Bounds of the work on snapshots that is done at once. Each has a descriptor for each level of directories, and the
// memory of snapshot.Memory.
const (
	MaxSnapshotWork       = 2
	maxWaitingSnapshots   = 64
	freezeBound           = time.Second
	snapshotBound         = 2 * time.Minute
	snapshotStandingStill = 30 * time.Second // the longest time that programs of the session stand still
)

// onSnapshot does one operation with snapshots on a session. hold is called before memory is used, like api.Memory.Keep.
func (r *Registry) onSnapshot(ctx context.Context, id string, hold func(bytes int64) error, c api.Caller,
	f func(context.Context, *session) error) error {
	s, err := r.find(id, c)
	if err != nil {
		return err
	}
	if err := r.Snapshots.Check(); err != nil {
		return err
	}
	if err := s.enter(); err != nil {
		return err
	}
	defer s.leave()

	ctx, cancel := context.WithTimeout(ctx, snapshotBound)
	defer cancel()
	defer context.AfterFunc(s.over, cancel)()
	release, err := r.snapshotWork.acquire(ctx)
	if err != nil {
		return s.sessionEndedError(err)
	}
	defer release()
	if err := hold(snapshot.Memory); err != nil {
		return err
	}
	defer func() { _ = hold(-snapshot.Memory) }() // giving back does not fail

	return s.snapshotError(ctx, f(ctx, s))
}

// snapshotError returns the error that the caller gets.
func (s *session) snapshotError(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = api.Fail(api.CodeBusy, "canceled, or not done within %v: nothing was kept; name fewer paths", snapshotBound)
	}
	if err == nil {
		return nil
	}
	return run.ToAPIError(s.registry.log, s.sessionEndedError(snapshot.NoRoom(err)), s.id)
}

// MakeSnapshot makes a snapshot of a session's files.
func (r *Registry) MakeSnapshot(ctx context.Context, id string, req api.SnapshotRequest, hold func(bytes int64) error,
	c api.Caller) (made api.SnapshotMade, err error) {
	if err := req.Validate(); err != nil {
		return made, err
	}
	err = r.onSnapshot(ctx, id, hold, c, func(ctx context.Context, s *session) error {
		draft, err := r.Snapshots.Begin(snapshot.Owner{UID: s.owner.UID, Space: req.Space})
		if err != nil {
			return err
		}
		walk := s.walk(req.Paths)
		snapshotID, counts, frozen, err := s.write(ctx, draft, walk)
		if err != nil {
			return errors.Join(err, draft.Discard())
		}
		made.Frozen, made.LeftOut, made.Omitted = frozen, walk.LeftOut, walk.Omitted
		made.Snapshot, err = draft.Commit(req, s.plan.Image.Digest, s.plan.Language.Name, snapshotID, counts)
		return err
	})
	return made, err
}

// walk is a walk through the files of the session.
func (s *session) walk(paths []string) *snapshot.Walk {
	return &snapshot.Walk{Root: s.scratch.Root, Paths: paths, UID: plan.SlotIDs(s.cell.Slot) + plan.UID}
}

// write writes what a walk finds, while the programs of the session stand still.
func (s *session) write(ctx context.Context, draft *snapshot.Draft, walk *snapshot.Walk) (id string, c snapshot.Counts,
	frozen bool, err error) {
	to, err := draft.Writer()
	if err != nil {
		return "", c, false, err
	}
	frozen, err = s.standingStill(ctx, func(ctx context.Context) error {
		return s.withProgramsRights(func() error { return walk.Write(ctx, to) })
	})
	if err != nil {
		return "", c, frozen, err
	}
	id, c, err = to.Finish()
	return id, c, frozen, err
}

// withProgramsRights calls do with the rights of the session's programs.
func (s *session) withProgramsRights(do func() error) error {
	base := plan.SlotIDs(s.cell.Slot)
	return linux.WithRightsOf(base+plan.UID, base+plan.GID, do)
}

// standingStill calls do while the programs of the session stand still, and no exec begins. A program that cannot be
// stopped does not keep it from that: the answer then is that not all stood still (SNP-08). do must wait for nothing but
// the disk.
func (s *session) standingStill(ctx context.Context, do func(context.Context) error) (frozen bool, err error) {
	s.spawnMu.Lock()
	defer s.spawnMu.Unlock()
	release, err := s.holdHandles() // so the group is not closed meanwhile
	if err != nil {
		return false, err
	}
	defer release()

	ctx, cancel := context.WithTimeout(ctx, snapshotStandingStill)
	defer cancel()
	defer func() { err = errors.Join(err, s.group.Thaw()) }()
	if frozen, err = s.group.Freeze(freezeBound); err != nil {
		return false, err
	}
	return frozen, do(ctx)
}

// restore puts the files of a snapshot into the session, with the rights of its programs. If it fails, some may be there.
func (s *session) restore(ctx context.Context, from *os.File, among bool) error {
	release, err := s.holdHandles()
	if err != nil {
		return err
	}
	defer release()
	to := &snapshot.Restore{Root: s.scratch.Root, Among: among}
	err = s.withProgramsRights(func() error { return to.Read(ctx, from) })
	return errors.Join(err, s.chargeScratch())
}

// chargeScratch charges files that the agent has written to the session's memory, as chargeFile does for one.
func (s *session) chargeScratch() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	held, err := s.filesHeld()
	if err != nil {
		return err
	}
	left := s.groupMemory(held)
	if left < int64(api.MinMemory) {
		return api.Refuse(api.CodeTooLarge, "the files take %s of the session's %s of memory, and too little is left for programs: "+
			"ask for more memory (--memory)", api.Size(held), s.plan.Limits.Memory)
	}
	if err := s.group.SetMemory(left); err != nil {
		return err
	}
	s.placed = held
	return nil
}

// withSnapshot completes a request that names a snapshot, and opens it; nil: the request names none.
func (r *Registry) withSnapshot(ask *api.SessionRequest, c api.Caller) (*os.File, error) {
	if ask.Snapshot == "" {
		return nil, nil //nolint:nilnil // as documented
	}
	space, ref := api.CutSpace(ask.Snapshot)
	f, about, err := r.Snapshots.Open(snapshot.Owner{UID: c.UID, Space: space}, ref)
	if err != nil {
		return nil, err
	}
	ask.Snapshot = api.InSpace(space, about.ID)
	switch {
	case ask.Language != "" || ask.Image != "":
	case about.Language != "":
		ask.Language = about.Language
	default:
		ask.Image = about.Base
	}
	return f, nil
}

// Diff returns what differs between a session's files and a snapshot, one JSON object a line: since is the snapshot, or empty
// for that with which the session began, if it did. The caller closes the file.
func (r *Registry) Diff(ctx context.Context, id, since string, hold func(bytes int64) error, c api.Caller) (lines *os.File, err error) {
	err = r.onSnapshot(ctx, id, hold, c, func(ctx context.Context, s *session) error {
		lines, err = s.diff(ctx, since)
		return err
	})
	return lines, err
}

func (s *session) diff(ctx context.Context, since string) (lines *os.File, err error) {
	store := s.registry.Snapshots
	if since == "" {
		since = s.plan.Ask.Snapshot
	}
	var older *os.File
	if since != "" {
		space, ref := api.CutSpace(since)
		if older, _, err = store.Open(snapshot.Owner{UID: s.owner.UID, Space: space}, ref); err != nil {
			return nil, err
		}
		defer older.Close()
	}

	now, err := store.Temporary()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, now.Discard()) }()
	if _, _, _, err := s.write(ctx, now, s.walk(nil)); err != nil {
		return nil, err
	}

	if lines, err = store.Scratch(); err != nil {
		return nil, err
	}
	out := newLines(lines)
	err = snapshot.Diff(ctx, older, now.File, func(change api.PathChange) error { return out.add(change) })
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		_, err = lines.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, lines.Close())
	}
	return lines, nil
}

// Take copies regular files and directories of another session of the same caller into a session.
func (r *Registry) Take(ctx context.Context, id string, req api.TakeRequest, hold func(bytes int64) error,
	c api.Caller) (taken api.TakenFiles, err error) {
	if err := req.Validate(); err != nil {
		return taken, err
	}
	if req.From == id {
		return taken, api.Refuse(api.CodeBadRequest, "session %s cannot take files from itself: have a program copy them (cp)", id)
	}
	to, err := r.find(id, c)
	if err != nil {
		return taken, err
	}
	if err := to.enter(); err != nil {
		return taken, err
	}
	defer to.leave()

	err = r.onSnapshot(ctx, req.From, hold, c, func(ctx context.Context, s *session) error {
		if s.owner.UID != to.owner.UID { // root sees the sessions of all
			return api.Refuse(api.CodeForbidden, "session %s belongs to another user than session %s", s.id, to.id)
		}
		draft, err := r.Snapshots.Temporary()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, draft.Discard()) }()
		walk := s.walk(req.Paths)
		walk.Strict = true
		_, counts, frozen, err := s.write(ctx, draft, walk)
		if err != nil {
			return err
		}

		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(to.over, cancel)()
		taken = api.TakenFiles{Files: counts.Files - int64(len(placesOf(req.Paths))), Bytes: counts.Bytes, Frozen: frozen}
		return to.sessionEndedError(to.restore(ctx, draft.File, true))
	})
	return taken, err
}

// placesOf returns the places that paths are in.
func placesOf(paths []string) map[string]bool {
	of := map[string]bool{}
	for _, p := range paths {
		for _, place := range snapshot.Places() {
			if p == "/"+place || len(p) > len(place)+1 && p[1:len(place)+2] == place+"/" {
				of[place] = true
			}
		}
	}
	return of
}

// lineWriter writes JSON objects, one a line.
type lineWriter struct {
	to     *os.File
	buffer []byte
}

func newLines(f *os.File) *lineWriter { return &lineWriter{to: f} }

func (l *lineWriter) add(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	l.buffer = append(append(l.buffer, text...), '\n')
	if len(l.buffer) < 64<<10 {
		return nil
	}
	return l.Flush()
}

// Flush writes what is left.
func (l *lineWriter) Flush() error {
	_, err := l.to.Write(l.buffer)
	l.buffer = l.buffer[:0]
	return err
}
