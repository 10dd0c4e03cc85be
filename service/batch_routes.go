package service

import (
	"mime"
	"net/http"
	"strconv"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/api/decode"
	"github.com/brig-sandbox/brig/service/batches"
)

// requireLines refuses other content types than lines of JSON.
func requireLines(r *http.Request) error {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err != nil || kind != jsonLines:
		return problem(http.StatusUnsupportedMediaType,
			api.Refuse(api.CodeBadRequest, "content type %.80q: send %s", r.Header.Get("Content-Type"), jsonLines))
	case r.Header.Get("Content-Encoding") != "":
		return problem(http.StatusUnsupportedMediaType,
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
func (bs *batchRoutes) postBatch(w http.ResponseWriter, r *http.Request) error {
	s, err := bs.opened()
	if err != nil {
		return err
	}

	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}

	wait, err := flag(r.URL.Query(), "wait")
	if err != nil {
		return err
	}
	if wait {
		return bs.exchangeBatch(w, r, s, key)
	}
	if err := requireJSON(r); err != nil {
		return err
	}

	raw, release, err := bs.readBody(w, r)
	if err != nil {
		return err
	}
	defer release()

	ask, err := parseBody(bs.core, r.Context(), raw,
		func(raw []byte) (api.BatchRequest, error) { return decode.Batch(raw, "request") })
	if err != nil {
		return err
	}

	b, err := bs.createBatch(s, callerOf(r.Context()), key, ask)
	if err != nil {
		return err
	}

	w.Header().Set("Location", "/v1/batches/"+b.ID())
	bs.reply(w, r, http.StatusCreated, b.Status())
	return nil
}

// createBatch opens a batch whose request makes sense.
func (bs *batchRoutes) createBatch(s *batches.Store, c caller, key string, ask api.BatchRequest) (*batches.Batch, error) {
	switch ask.Keep {
	case "", api.KeepResult, api.KeepSummary:
	default:
		return nil, api.Refuse(api.CodeBadRequest, "keep %.40q: write %s or %s", ask.Keep, api.KeepResult, api.KeepSummary)
	}
	if ask.KeepOutput < 0 {
		return nil, api.Refuse(api.CodeBadRequest, "keep_output is negative")
	}
	return s.Create(c.Name, key, ask, limitsOf(c))
}

// batchOf returns the batch that a request names.
func (bs *batchRoutes) batchOf(r *http.Request) (*batches.Batch, error) {
	s, err := bs.opened()
	if err != nil {
		return nil, err
	}
	return s.Get(callerOf(r.Context()).Name, r.PathValue("id"))
}

// postJobs adds jobs to a batch.
func (bs *batchRoutes) postJobs(w http.ResponseWriter, r *http.Request) error {
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

	taken, err := b.Take(batches.NewLines(body), limitsOf(callerOf(r.Context())), false)
	if err != nil {
		return body.reason(err)
	}

	bs.reply(w, r, http.StatusOK, taken)
	return nil
}

// closeBatch ends the input of a batch.
func (bs *batchRoutes) closeBatch(w http.ResponseWriter, r *http.Request) error {
	b, err := bs.batchOf(r)
	if err == nil {
		err = b.Close()
	}
	if err != nil {
		return err
	}
	bs.reply(w, r, http.StatusOK, b.Status())
	return nil
}

func (bs *batchRoutes) getBatch(w http.ResponseWriter, r *http.Request) error {
	b, err := bs.batchOf(r)
	if err != nil {
		return err
	}
	bs.reply(w, r, http.StatusOK, b.Status())
	return nil
}

// deleteBatch cancels a batch, or removes one that has ended.
func (bs *batchRoutes) deleteBatch(w http.ResponseWriter, r *http.Request) error {
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

	bs.reply(w, r, http.StatusOK, b.Status())
	return nil
}

const (
	defaultPage = 1000
	maxPage     = 10_000
)

// count parses a parameter that is a number; zero if it is absent.
func count(r *http.Request, name string, least, most int64) (int64, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < least || n > most {
		return 0, api.Refuse(api.CodeBadRequest, "%s=%.20q: write a number from %d to %d", name, v, least, most)
	}
	return n, nil
}

// getBatches lists the batches of the key, the newest first.
func (bs *batchRoutes) getBatches(w http.ResponseWriter, r *http.Request) error {
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
	for _, b := range s.List(callerOf(r.Context()).Name) {
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

	bs.reply(w, r, http.StatusOK, page)
	return nil
}
