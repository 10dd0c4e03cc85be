package blobs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// SendFile has the agent store a file of size bytes for a caller, unless it has it already, and returns its digest. The
// file must not change meanwhile: then it is refused.
func (b *Blobs) SendFile(r *http.Request, c core.Caller, file io.ReadSeeker, size int64) (digest string, err error) {
	release, err := b.UploadSlot(r)
	if err != nil {
		return "", err
	}
	defer release()

	sum := sha256.New()
	n, err := io.Copy(sum, io.LimitReader(untilDone{r.Context(), file}, size+1))
	switch {
	case err != nil:
		return "", err
	case n != size:
		return "", api.Refuse(api.CodeBadFile, "the file changed while it was read: send the request again")
	}

	digest = hex.EncodeToString(sum.Sum(nil))
	if b.Owners.has(c.Name, digest) {
		if has, err := b.Config.Agent.HasBlob(r.Context(), digest); err != nil || has {
			return digest, err
		}
	}

	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	body := &core.CountingReader{Reader: io.LimitReader(file, size)}
	return digest, b.Send(r.Context(), c, digest, size, body)
}

// untilDone reads until its context is done.
type untilDone struct {
	ctx context.Context //nolint:containedctx // of one call, whose reader it is
	io.Reader
}

func (u untilDone) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.Reader.Read(p)
}
