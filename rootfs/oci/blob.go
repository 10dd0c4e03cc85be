package oci

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/brig-sandbox/brig/internal/flock"
)

// A blobCache is a directory of downloads: a blob that was interrupted goes on where it stopped, also in
// another process. A blob is removed when the agent has its layer.
type blobCache struct{ dir string }

// path returns the file of a blob. Its name is a digest, which checkManifest has checked.
func (c *blobCache) path(l Layer) string {
	return filepath.Join(c.dir, strings.ReplaceAll(l.Blob, ":", "-")+".partial")
}

func (c *blobCache) remove(l Layer) error {
	if err := os.Remove(c.path(l)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// keptFor is how long a download waits to be gone on with.
const keptFor = 7 * 24 * time.Hour

// expire removes the downloads that no pull has gone on with for long.
func (c *blobCache) expire(now time.Time) error {
	files, err := os.ReadDir(c.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, f := range files {
		info, ierr := f.Info()
		if ierr == nil && strings.HasSuffix(f.Name(), ".partial") && now.Sub(info.ModTime()) > keptFor {
			err = errors.Join(err, os.Remove(filepath.Join(c.dir, f.Name())))
		}
	}
	return err
}

// open downloads what is missing of a blob, checks all of it, and opens it.
func (c *blobCache) open(ctx context.Context, r *registry, l Layer) (_ io.ReadCloser, err error) {
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory for downloads: %w", err)
	}

	f, err := os.OpenFile(c.path(l), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock.Wait(ctx, f, 100*time.Millisecond); err != nil { // another process downloads the same blob
		return nil, errors.Join(err, f.Close())
	}

	d := &download{r: r, file: f, layer: l}
	if err := d.run(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("layer %.19s: %w", l.Blob, err), f.Close())
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// A download is one blob on its way to a file.
type download struct {
	r     *registry
	file  *os.File
	layer Layer

	sum     hash.Hash
	n       int64 // bytes in the file, all of them in sum
	resumed bool  // the file had bytes that this process did not write
}

func (d *download) run(ctx context.Context) error {
	if err := d.readPartial(); err != nil {
		return err
	}

	// Progress is what was never there before: a registry that sends a byte for each attempt, or sends
	// the same part again and again, would keep the pull for ever (IMG-40).
	for failures, maximum := 0, d.n; ; {
		err := d.fetch(ctx)
		if err == nil {
			if err = d.check(); err == nil {
				return nil
			}
			if !d.resumed {
				return err
			}
			d.resumed = false // the bytes of another time may be the wrong ones: once more, from the start
			if maximum, err = 0, d.restart(); err != nil {
				return err
			}
			continue
		}

		if d.n-maximum >= d.r.timing.minimum {
			failures, maximum = 0, d.n
		}

		failures++
		if err := await(ctx, d.r.timing, failures, err); err != nil {
			return err
		}
	}
}

// readPartial hashes what the file has from another time.
func (d *download) readPartial() error {
	d.sum = sha256.New()
	info, err := d.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() == 0 {
		return nil
	}
	if info.Size() > d.layer.Size {
		return d.restart()
	}

	d.n, err = io.Copy(d.sum, d.file)
	d.resumed = true
	d.r.add(d.n)
	return err
}

func (d *download) restart() error {
	d.r.add(-d.n)
	d.n = 0
	d.sum.Reset()
	if err := d.file.Truncate(0); err != nil {
		return err
	}
	_, err := d.file.Seek(0, io.SeekStart)
	return err
}

func (d *download) check() error {
	if got := "sha256:" + hex.EncodeToString(d.sum.Sum(nil)); got != d.layer.Blob {
		return errors.Join(fmt.Errorf("its bytes have the digest %s: the registry is damaged, or lies; nothing was stored",
			got), d.restart())
	}
	return nil
}

// fetch makes one attempt to get the rest of the blob.
func (d *download) fetch(ctx context.Context) error {
	if d.n == d.layer.Size {
		return nil
	}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	res, err := d.r.get(ctx, d.r.url("blobs", d.layer.Blob), d.n)
	if err != nil {
		return err
	}
	defer res.Body.Close()

	switch {
	case res.StatusCode == http.StatusOK && d.n > 0:
		if err := d.restart(); err != nil { // the registry sends all of it again
			return err
		}
	case res.StatusCode == http.StatusOK:
	case res.StatusCode == http.StatusPartialContent && continues(res.Header.Get("Content-Range"), d.n, d.layer.Size):
	case res.StatusCode == http.StatusPartialContent, res.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		err := fmt.Errorf("the registry answers %s with %q to a request for the bytes from %d on", res.Status,
			res.Header.Get("Content-Range"), d.n)
		return errors.Join(&temporary{err: err}, d.restart())
	default:
		return d.r.status(res)
	}

	return d.receive(ctx, cancel, res.Body)
}

// contentRange is "bytes FIRST-LAST/LENGTH", where LENGTH may be *.
var contentRange = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^bytes (\d{1,15})-(\d{1,15})/(\d{1,15}|\*)$`) })

// continues reports whether a part of a blob of the given size begins at offset and goes on to the end.
// A registry that sends another part would have us put a blob together from the wrong pieces.
func continues(header string, offset, size int64) bool {
	m := contentRange().FindStringSubmatch(header)
	return m != nil && m[1] == strconv.FormatInt(offset, 10) && m[2] == strconv.FormatInt(size-1, 10) &&
		(m[3] == "*" || m[3] == strconv.FormatInt(size, 10))
}

var errSlow = errors.New("the registry sends too slowly")

// receive writes the body to the file. A registry that sends next to nothing is given up.
func (d *download) receive(ctx context.Context, cancel context.CancelCauseFunc, body io.Reader) error {
	t := d.r.timing
	watch := time.AfterFunc(t.stall, func() { cancel(errSlow) })
	defer watch.Stop()

	buf, since := make([]byte, 256<<10), int64(0)
	for {
		n, err := body.Read(buf)
		if int64(n) > d.layer.Size-d.n {
			return errors.Join(fmt.Errorf("it is longer than the %d bytes that its manifest says: the registry is "+
				"damaged, or lies; nothing was stored", d.layer.Size), d.restart())
		}

		if n > 0 {
			if _, err := d.file.Write(buf[:n]); err != nil {
				return fmt.Errorf("write the download: %w", err)
			}
			d.sum.Write(buf[:n])
			d.n += int64(n)
			d.r.add(int64(n))
			if since += int64(n); since >= t.minimum {
				since = 0
				watch.Reset(t.stall)
			}
		}

		switch {
		case err == nil:
		case d.n == d.layer.Size && errors.Is(err, io.EOF):
			return nil
		case errors.Is(context.Cause(ctx), errSlow):
			return &temporary{err: errSlow}
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, io.EOF):
			return &temporary{err: fmt.Errorf("it ends after %d of %d bytes", d.n, d.layer.Size)}
		default:
			return &temporary{err: err}
		}
	}
}
