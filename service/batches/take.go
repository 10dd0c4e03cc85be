package batches

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"os"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
	"github.com/brig-sandbox/brig/batch"
)

// Lines are the lines of jobs that a client sends. One goroutine uses them.
type Lines struct {
	in   *batch.Input
	idle func() error // called before more is read that has not come yet; nil: nothing
	body io.Reader
	full bool // the last read returned all that was asked for
	n    int64

	peeked *batch.Line // the next line; nil: it is not read
}

// Peek returns the next line, which Next will return again.
func (l *Lines) Peek() (batch.Line, error) {
	line, err := l.Next()
	if err == nil {
		l.peeked = &line
	}
	return line, err
}

// Skip drops the line that Peek returned.
func (l *Lines) Skip() { l.peeked = nil }

// NewLines reads lines of jobs from a body.
func NewLines(body io.Reader) *Lines { return &Lines{body: body} }

// Next returns the next line that is not blank. At the end the error is io.EOF.
func (l *Lines) Next() (batch.Line, error) {
	if p := l.peeked; p != nil {
		l.peeked = nil
		return *p, nil
	}
	if l.in == nil {
		l.in = batch.NewInput(l, MaxLine)
	}
	return l.in.Next()
}

// commitBytes is how much is written before it is brought to the disk although more comes at once.
const commitBytes = 1 << 20

// Read implements io.Reader.
func (l *Lines) Read(p []byte) (int, error) {
	if l.idle != nil && (!l.full || l.n >= commitBytes) {
		l.n = 0
		if err := l.idle(); err != nil {
			return 0, err
		}
	}
	n, err := l.body.Read(p)
	l.n += int64(n)
	l.full = n == len(p)
	return n, err
}

// A taking adds the lines of one request to a batch.
type taking struct {
	*Batch
	f       *os.File
	limits  Limits
	taken   api.JobsTaken
	keep    bool  // lines that are refused become jobs that are refused
	mine    int64 // jobs that this request has written, and that are not on disk
	losses  int   // of the batch, when the first of them was written
	request api.BatchRequest
}

// maxRefusals bounds the list of lines that are refused.
const maxRefusals = 1000

// Take adds jobs. A job that it counts as taken is on disk. Jobs that the batch has already are counted, so that
// a client may send the same again. With keepRefused, a line that is no job becomes a job whose result says so.
// After an error, lines before that which it names have been taken.
func (b *Batch) Take(lines *Lines, l Limits, keepRefused bool) (api.JobsTaken, error) {
	f, err := os.OpenFile(b.file(inputName), os.O_RDWR, 0)
	if err != nil {
		return api.JobsTaken{}, err
	}
	defer f.Close() //nolint:errcheck // what was taken is on disk

	b.mu.Lock()
	t := &taking{Batch: b, f: f, limits: l, keep: keepRefused, request: b.request,
		taken: api.JobsTaken{Refused: []api.JobRefusal{}}}
	b.mu.Unlock()
	lines.idle = t.commit

	for {
		line, err := lines.Next()
		if err == nil {
			err = t.take(line)
		}

		if err != nil {
			if cerr := t.commit(); cerr != nil {
				err = cerr
			}
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return t.taken, err
		}
	}
}

// take adds the job of a line.
func (t *taking) take(line batch.Line) error {
	j, blobs, err := t.read(line)
	var refused *api.Error
	if err != nil && (!errors.As(err, &refused) || refused.RetrySafe) {
		return ofLine(line, err)
	}

	if refused != nil {
		t.taken.RefusedTotal++
		if len(t.taken.Refused) < maxRefusals {
			t.taken.Refused = append(t.taken.Refused, api.JobRefusal{Line: line.Number, ID: j.ID, Error: refused})
		}
		if !t.keep {
			return nil
		}
	}

	text := line.Text
	switch {
	case refused != nil:
		j = api.Job{ID: cmp.Or(j.ID, fmt.Sprintf("line %d", line.Number)), Meta: j.Meta}
		text, err = json.Marshal(stored{Refused: refused, ID: j.ID, Meta: j.Meta})
	case j.Problem != "": // read has changed it
		text, err = json.Marshal(j)
	}

	if err != nil {
		return err
	}
	return ofLine(line, t.write(j.ID, batch.Digest(j, ""), text, blobs))
}

// ofLine says which line an error is about.
func ofLine(line batch.Line, err error) error {
	var e *api.Error
	if !errors.As(err, &e) || e.Code == api.CodeBatchClosed {
		return err
	}
	named := *e
	named.Message = fmt.Sprintf("line %d: %s", line.Number, e.Message)
	return &named
}

// read reads a line. An *api.Error that is not retry-safe refuses it.
func (t *taking) read(line batch.Line) (j api.Job, blobs []string, err error) {
	switch {
	case line.TooLong:
		return j, nil, api.Refuse(api.CodeTooLarge, "the job has more than %s: send large inputs as blobs", api.Size(MaxLine))
	case line.Defaults != nil:
		return j, nil, api.Refuse(api.CodeBadRequest, "defaults belong to the batch: send them when it is opened")
	}

	if j, err = decode.Job(line.Text); err != nil {
		return j, nil, err
	}
	if err := batch.CheckHead(&j); err != nil {
		return j, nil, err
	}
	if j.SourceFile != "" {
		return j, nil, api.Refuse(api.CodeBadRequest, "source_file is a file next to the input of brig batch: send source")
	}

	if err := checkRun(j.Labels, t.request); err != nil {
		return j, nil, err
	}
	r := merged(j.Run, t.request)
	if j.Problem != "" {
		if err := (api.RunRequest{Run: r, Problem: j.Problem}).ValidateProblem(); err != nil {
			return j, nil, err
		}
		p, err := t.store.cfg.Problem(t.owner, j.Problem)
		if err != nil {
			return j, nil, err
		}
		j.Problem = p.Digest // a name may get another package before the job is judged
	}

	if err := cmp.Or(r.Validate(), r.TTY.RefuseUnstreamed(), r.Collect.RefuseBlobs()); err != nil {
		return j, nil, err
	}

	blobs, err = t.store.cfg.Permit(t.owner, r)
	return j, blobs, err
}

// merged is the run of a job in a batch.
func merged(own api.Run, r api.BatchRequest) api.Run { return batch.Merged(own, common(r)) }

// common is what the jobs of a batch have in common.
func common(r api.BatchRequest) api.Run {
	c := r.Defaults
	if c.Labels == (api.Labels{}) {
		c.Labels = r.Labels
	}
	c.Labels.Run = r.Labels.Run
	return c
}

// checkRun refuses a job, or defaults, with another run than the batch: the batch is ended with its run, and all
// its jobs with it.
func checkRun(own api.Labels, r api.BatchRequest) error {
	if own.Run != "" && own.Run != r.Labels.Run {
		return api.Refuse(api.CodeBadRequest, "labels.run is %.80q, and that of the batch is %.80q: set it in the labels of "+
			"the batch", own.Run, r.Labels.Run)
	}
	return nil
}

// write writes a job behind the others. Only commit brings it to the disk, and has it judged.
func (t *taking) write(id, digest string, text []byte, blobs []string) error {
	t.writing.Lock()
	defer t.writing.Unlock()

	t.mu.Lock()
	closed := t.closed
	t.mu.Unlock()
	if closed {
		return api.Refuse(api.CodeBatchClosed, "the batch takes no more jobs: open another one")
	}
	if err := t.readIDs(); err != nil {
		return err
	}

	name, start := hashOf(id), digestStart(digest)
	if old, has := t.ids[name]; has {
		if old != start {
			return api.Refuse(api.CodeConflict, "the batch has another job with the id %.80q: each needs its own", id)
		}
		t.taken.Repeated++
		return nil
	}
	if err := t.store.reserve(t.owner, int64(len(text))+1, 1, t.limits); err != nil {
		return err
	}

	err := t.pin(blobs)
	if err == nil {
		if _, err = t.f.WriteAt(append(text, '\n'), t.written); err != nil {
			err = api.Fail(api.CodeHostExhausted, "the job cannot be stored: %w", err)
		}
	}
	if err != nil {
		t.store.release(t.owner, int64(len(text))+1, 1)
		return err
	}
	if t.mine == 0 {
		t.losses = t.lost
	}

	t.written += int64(len(text)) + 1
	t.ids[name] = start
	t.ahead = append(t.ahead, name)
	t.mine++
	return nil
}

// pin keeps the blobs that a job names until the batch has ended; b.writing is held.
func (b *Batch) pin(blobs []string) error {
	for _, digest := range blobs {
		if b.pins[digest] != nil {
			continue
		}
		unpin, err := b.store.cfg.Pin(b.owner, []string{digest})
		if err != nil {
			return err
		}
		b.pins[digest] = unpin
	}
	return nil
}

// commit brings to the disk what has been written, by whichever request, and has it judged.
func (t *taking) commit() error {
	t.writing.Lock()
	defer t.writing.Unlock()

	if t.mine == 0 {
		return nil
	}

	mine := t.mine
	t.mine = 0
	if t.losses != t.lost {
		return errNotStored(errors.New("another request could not bring them to the disk"))
	}

	if len(t.ahead) > 0 {
		if err := t.f.Sync(); err != nil {
			t.undo()
			return errNotStored(err)
		}
		t.mu.Lock()
		t.size, t.jobs, t.used = t.written, t.jobs+int64(len(t.ahead)), time.Now()
		t.notify()
		t.mu.Unlock()
		t.ahead = t.ahead[:0]
	}

	t.taken.Taken += mine
	return nil
}

func errNotStored(err error) error {
	return api.Fail(api.CodeHostExhausted, "the last jobs could not be stored: send them again: %w", err)
}

// undo removes what is written and not on disk; b.writing is held. Nothing has read it.
func (t *taking) undo() {
	t.mu.Lock()
	size := t.size
	t.mu.Unlock()
	t.store.release(t.owner, t.written-size, int64(len(t.ahead)))
	for _, name := range t.ahead {
		delete(t.ids, name)
	}
	t.ahead, t.written = t.ahead[:0], size
	t.lost++
	if err := t.f.Truncate(size); err != nil { // the next job is written over it
		t.store.cfg.Log.Error("batch: cut off jobs that are not on disk", "batch", t.id, "err", err)
	}
}

// readIDs reads which jobs the batch has, after a restart; b.writing is held.
func (t *taking) readIDs() error {
	if t.ids != nil {
		return nil
	}

	ids := map[uint64]uint64{}
	in := batch.NewInput(io.NewSectionReader(t.f, 0, t.written), 2*MaxLine)
	for {
		line, err := in.Next()
		if errors.Is(err, io.EOF) {
			t.ids = ids
			return nil
		}
		if err != nil {
			return err
		}

		j, err := decodeStored(line.Text)
		if j.ID == "" {
			return fmt.Errorf("%s: line %d: %w", inputName, line.Number, err)
		}

		ids[hashOf(j.ID)] = digestStart(batch.Digest(j, ""))
	}
}

// seed is that of hashes of ids.
var seed = maphash.MakeSeed()

func hashOf(id string) uint64 { return maphash.String(seed, id) }

func digestStart(digest string) uint64 {
	raw, _ := hex.DecodeString(strings.TrimPrefix(digest, "sha256:")) // batch.Digest writes hex
	return binary.BigEndian.Uint64(raw)
}

// stored is a line of the input for a line of the client that is no job.
type stored struct {
	Refused *api.Error      `json:"refused"`
	ID      string          `json:"id"`
	Meta    json.RawMessage `json:"meta,omitempty"`
}

// decodeStored reads a line of the input. For one that was refused, it returns that error. No job begins like
// such a line: it has no field of that name.
func decodeStored(text []byte) (api.Job, error) {
	if bytes.HasPrefix(text, []byte(`{"refused":`)) {
		var s stored
		if err := json.Unmarshal(text, &s); err == nil && s.Refused != nil {
			return api.Job{ID: s.ID, Meta: s.Meta}, s.Refused
		}
	}
	return decode.Job(text)
}
