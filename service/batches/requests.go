package batches

import (
	"mime"
	"net/http"
	"strconv"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
	"github.com/brig-sandbox/brig/service/core"
)

// requireLines refuses other content types than lines of JSON.
func requireLines(r *http.Request) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err != nil || kind != core.JSONLines:
		return core.Problem(http.StatusUnsupportedMediaType,
			api.Refuse(api.CodeBadRequest, "content type %.80q: send %s", r.Header.Get("Content-Type"), core.JSONLines))
	case core.Compressed(r):
		return core.Problem(http.StatusUnsupportedMediaType,
			api.Refuse(api.CodeBadRequest, "a compressed body is not accepted: send plain lines"))
	}
	return nil
}

// maxIdempotencyKey is the most bytes of an idempotency key.
const maxIdempotencyKey = 256

func idempotencyKey(r *http.Request) (string, error) {
	key := r.Header.Get("Idempotency-Key")
	if len(key) > maxIdempotencyKey {
		return "", api.Refuse(api.CodeBadRequest, "Idempotency-Key has %d bytes: the maximum is %d", len(key), maxIdempotencyKey)
	}
	return key, nil
}

// postBatch opens a batch. With wait=true it is opened, filled and followed in one exchange.
func (bs *Batches) postBatch(w http.ResponseWriter, r *http.Request) error {
	s, err := bs.opened()
	if err != nil {
		return err
	}

	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}

	wait, err := core.Flag(r.URL.Query(), "wait")
	if err != nil {
		return err
	}
	if wait {
		return bs.exchangeBatch(w, r, s, key)
	}
	if err := core.RequireJSON(r); err != nil {
		return err
	}

	raw, release, err := bs.ReadBody(w, r)
	if err != nil {
		return err
	}
	defer release()

	ask, err := core.ParseBody(bs.Core, r.Context(), raw,
		func(raw []byte) (api.BatchRequest, error) { return decode.Batch(raw, "request") })
	if err != nil {
		return err
	}

	b, err := bs.createBatch(s, core.CallerOf(r.Context()), key, ask)
	if err != nil {
		return err
	}

	w.Header().Set("Location", "/v1/batches/"+b.ID())
	bs.Reply(w, r, http.StatusCreated, b.Status())
	return nil
}

// createBatch opens a batch whose request makes sense.
func (bs *Batches) createBatch(s *Store, c core.Caller, key string, ask api.BatchRequest) (*Batch, error) {
	switch ask.Keep {
	case "", api.KeepResult, api.KeepSummary:
	default:
		return nil, api.Refuse(api.CodeBadRequest, "keep %.40q: write %s or %s", ask.Keep, api.KeepResult, api.KeepSummary)
	}
	if ask.KeepOutput < 0 {
		return nil, api.Refuse(api.CodeBadRequest, "keep_output is negative")
	}
	if err := ask.Labels.Validate(); err != nil {
		return nil, err
	}
	if err := checkRun(ask.Defaults.Labels, ask); err != nil {
		return nil, err
	}
	return s.Create(c.Name, key, ask, limitsOf(c))
}

// batchOf returns the batch that a request names.
func (bs *Batches) batchOf(r *http.Request) (*Batch, error) {
	s, err := bs.opened()
	if err != nil {
		return nil, err
	}
	return s.Get(core.CallerOf(r.Context()).Name, r.PathValue("id"))
}

// postJobs adds jobs to a batch.
func (bs *Batches) postJobs(w http.ResponseWriter, r *http.Request) error {
	if err := requireLines(r); err != nil {
		return err
	}

	b, err := bs.batchOf(r)
	if err != nil {
		return err
	}

	body, err := bs.openLines(w, r)
	if err != nil {
		return err
	}
	defer body.close()

	taken, err := b.Take(NewLines(body), limitsOf(core.CallerOf(r.Context())), false)
	if err != nil {
		return body.reason(err)
	}

	bs.Reply(w, r, http.StatusOK, taken)
	return nil
}

// closeBatch ends the input of a batch.
func (bs *Batches) closeBatch(w http.ResponseWriter, r *http.Request) error {
	b, err := bs.batchOf(r)
	if err == nil {
		err = b.Close()
	}
	if err != nil {
		return err
	}
	bs.Reply(w, r, http.StatusOK, b.Status())
	return nil
}

func (bs *Batches) getBatch(w http.ResponseWriter, r *http.Request) error {
	b, err := bs.batchOf(r)
	if err != nil {
		return err
	}
	bs.Reply(w, r, http.StatusOK, b.Status())
	return nil
}

// deleteBatch cancels a batch, or removes one that has ended.
func (bs *Batches) deleteBatch(w http.ResponseWriter, r *http.Request) error {
	b, err := bs.batchOf(r)
	if err != nil {
		return err
	}
	if b.Status().Ended != nil {
		if err := b.Remove(); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if err := b.Cancel(); err != nil {
		return err
	}

	bs.Reply(w, r, http.StatusOK, b.Status())
	return nil
}

const (
	defaultPage = 1000
	maxPage     = 10_000
)

// count parses a parameter that is a number; zero if it is absent.
func count(r *http.Request, name string, minimum, maximum int64) (int64, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < minimum || n > maximum {
		return 0, api.Refuse(api.CodeBadRequest, "%s=%.20q: write a number from %d to %d", name, v, minimum, maximum)
	}
	return n, nil
}

// getBatches lists the batches of the key, the newest first.
func (bs *Batches) getBatches(w http.ResponseWriter, r *http.Request) error {
	s, err := bs.opened()
	if err != nil {
		return err
	}

	limit, err := count(r, "limit", 1, maxPage)
	if err != nil {
		return err
	}
	if limit == 0 {
		limit = defaultPage
	}

	page, after := api.Page[api.Batch]{Items: []api.Batch{}}, r.URL.Query().Get("after")
	for _, b := range s.List(core.CallerOf(r.Context()).Name) {
		if after != "" { // ids begin with the time
			if b.ID() >= after {
				continue
			}
		}
		if int64(len(page.Items)) == limit {
			page.Next = page.Items[limit-1].ID
			break
		}
		page.Items = append(page.Items, b.Status())
	}

	bs.Reply(w, r, http.StatusOK, page)
	return nil
}
