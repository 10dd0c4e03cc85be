package service

import (
	"net/http"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/blobs"
	"github.com/brig-sandbox/brig/service/core"
	"github.com/brig-sandbox/brig/service/dialect"
)

// maxHostFiles is how many files of the host one request may name: each is read before the request waits for a slot.
const maxHostFiles = 256

// withHostFiles returns the files of needs in their order: those of the host, whose contents become blobs of the key,
// and those that were kept. Each file is read anew, once for each request: the operator may change it at any time. A key
// must be allowed to name files of the host at all, since they may be the answers of tests.
func (h *dialectHandler) withHostFiles(r *http.Request, needs []dialect.Need, kept []blobs.File) ([]blobs.File, error) {
	c := core.CallerOf(r.Context())
	switch {
	case h.hostFiles == nil:
		return nil, api.Refuse(api.CodeForbidden, "src: this service reads no files of its host: have the operator name "+
			"their folder (brig serve --go-judge-src DIR)")
	case h.core.Config.Keys != nil && !c.HostFiles:
		return nil, api.Refuse(api.CodeForbidden, "src: this key may not name files of the host: send their content, or have "+
			"the operator set host_files: true on the key %s", c.Name)
	}

	all := make([]blobs.File, len(needs))
	read := map[string]blobs.File{}
	left := min(h.core.Config.MaxBlob, c.MaxBlobs())
	for i, n := range needs {
		if n.Path == "" {
			all[i], kept = kept[0], kept[1:]
			continue
		}
		if _, again := read[n.Path]; !again {
			if len(read) == maxHostFiles {
				return nil, api.Refuse(api.CodeBadRequest, "src: the request names more than %d files of the host: name fewer", maxHostFiles)
			}
			file, err := h.hostFile(r, c, n.Path, left)
			if err != nil {
				return nil, api.About("src", err)
			}
			read[n.Path] = file
			left -= api.Size(file.Size)
		}
		all[i] = read[n.Path]
	}
	return all, nil
}

// hostFile makes a blob of a file of the host. left is how much the request may still have read: a few bytes of a
// request would otherwise have the service read 256 of the largest files (TestFilesOfTheHost).
func (h *dialectHandler) hostFile(r *http.Request, c core.Caller, path string, left api.Size) (blobs.File, error) {
	most := min(h.core.Config.MaxBlob, c.MaxBlobs())
	file, size, err := h.hostFiles.Open(path, most)
	if err != nil {
		return blobs.File{}, err
	}
	defer file.Close()
	if api.Size(size) > left {
		return blobs.File{}, api.Refuse(api.CodeTooLarge, "the files of the host that the request names have more than %s together: "+
			"name fewer, or have the operator raise --max-blob, or blobs of the key", most)
	}

	digest, err := h.blobs.SendFile(r, c, file, size)
	return blobs.File{Digest: digest, Size: size}, err
}
