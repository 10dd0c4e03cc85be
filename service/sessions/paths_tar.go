package sessions

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/agent/client"
	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/core"
)

// Archives of directories. The agent holds root and reads no archive: this process, which holds no privilege, reads
// or writes it, and has the agent read and write one file after the other with the rights of the session's programs.

// maxTarEntries bounds the requests to the agent that one archive makes.
const maxTarEntries = 100_000

// getTar sends a directory as a tar in the format of GNU, which can hold names that are not UTF-8.
func (ss *Sessions) getTar(w http.ResponseWriter, r *http.Request) error {
	p, dir, err := ss.ownPaths(r, "path")
	if err != nil {
		return err
	}
	release, err := ss.TransferSlot(r)
	if err != nil {
		return err
	}
	defer release()

	// Before the header is sent, so that a directory that cannot be read is an error.
	first, err := p.List(r.Context(), dir, api.PathListing{})
	if err != nil {
		return ss.forgetIfSessionEnded(r.Context(), r.PathValue("id"), err)
	}

	h := w.Header()
	h.Set("Content-Type", "application/x-tar")
	h.Set("Content-Disposition", "attachment")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Trailer", skippedTrailer)
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}

	out := &tarWriter{ctx: r.Context(), paths: p, root: dir, tar: tar.NewWriter(deadlineWriter{w})}
	if err = out.dir(dir, first); err == nil {
		err = out.tar.Close()
	}
	if err != nil {
		ss.Log.Warn("transfer of a directory failed", "session", r.PathValue("id"), "err", err)
		panic(http.ErrAbortHandler) // the status is sent already: the broken connection tells the client
	}
	h.Set(skippedTrailer, strconv.Itoa(out.skipped))
	return nil
}

const skippedTrailer = "Brig-Skipped"

// A deadlineWriter gives each part of a response its time.
type deadlineWriter struct{ w http.ResponseWriter }

func (d deadlineWriter) Write(p []byte) (int, error) {
	core.SetWriteDeadline(d.w)
	return d.w.Write(p)
}

// A tarWriter writes what is below a directory that changes meanwhile.
type tarWriter struct {
	ctx     context.Context // of this one request
	paths   client.Paths
	root    string
	tar     *tar.Writer
	entries int
	skipped int
}

// dir writes the entries of a directory, whose first page is given.
func (t *tarWriter) dir(dir string, page api.PathList) error {
	for {
		for _, e := range page.Entries {
			if err := t.entry(e); err != nil {
				return err
			}
		}
		if page.Next == "" {
			return nil
		}
		var err error
		if page, err = t.paths.List(t.ctx, dir, api.PathListing{After: page.Next}); err != nil {
			return err
		}
	}
}

func (t *tarWriter) entry(e api.PathStatus) error {
	if t.entries++; t.entries > maxTarEntries {
		return fmt.Errorf("more than %d entries", maxTarEntries)
	}

	name := e.Raw()
	h := &tar.Header{Name: strings.TrimPrefix(strings.TrimPrefix(name, t.root), "/"), Mode: int64(e.Mode), Uid: int(e.UID),
		Gid: int(e.GID), Uname: e.Owner, Gname: e.Group, Format: tar.FormatGNU}
	if at, err := time.Parse(time.RFC3339Nano, e.Modified); err == nil {
		h.ModTime = at.Truncate(time.Second)
	}

	switch e.Kind {
	case api.RegularFile:
		return t.file(name, h)
	case api.Symlink:
		h.Typeflag, h.Linkname = tar.TypeSymlink, e.Target
		return t.tar.WriteHeader(h)
	case api.Directory:
		h.Typeflag = tar.TypeDir
		h.Name += "/"
		if err := t.tar.WriteHeader(h); err != nil {
			return err
		}
		below, err := t.paths.List(t.ctx, name, api.PathListing{})
		if err != nil {
			return t.skip(err)
		}
		return t.dir(name, below)
	}
	t.skipped++
	return nil
}

// file writes a file as large as it is when it is opened. If a program shortens it after that, the archive breaks off.
func (t *tarWriter) file(name string, h *tar.Header) error {
	begun := false
	err := t.paths.Get(t.ctx, name, 0, -1, func(part api.Part) error {
		begun = true
		h.Typeflag, h.Size = tar.TypeReg, part.Length
		return t.tar.WriteHeader(h)
	}, t.tar)
	if err != nil && !begun {
		return t.skip(err)
	}
	return err
}

// skip counts what the programs may not read, or what is gone or of another kind by now.
func (t *tarWriter) skip(err error) error {
	var e *api.Error
	if errors.As(err, &e) && (e.Code == api.CodeFileDenied || e.Code == api.CodeFileConflict || e.Code == api.CodeNotFound) {
		t.skipped++
		return nil
	}
	return err
}

// putTar unpacks a tar into a directory, which is made if it is missing.
func (ss *Sessions) putTar(w http.ResponseWriter, r *http.Request) error {
	p, dir, err := ss.ownPaths(r, "path")
	if err != nil {
		return err
	}
	body, err := ss.LimitedBody(w, r, ss.Config.MaxBlob)
	if err != nil {
		return err
	}
	defer body.Release()

	in := &tarReader{ctx: r.Context(), paths: p, root: dir, tar: tar.NewReader(body), most: int64(ss.Config.MaxBlob)}
	if err := in.unpack(); err != nil {
		return ss.forgetIfSessionEnded(r.Context(), r.PathValue("id"), body.Reason(err))
	}
	ss.Reply(w, r, http.StatusOK, in.done)
	return nil
}

// A tarReader unpacks an archive.
type tarReader struct {
	ctx   context.Context // of this one request
	paths client.Paths
	root  string
	tar   *tar.Reader
	most  int64 // bytes that may be written: holes, and copies of hard links, are not in the archive (PTH-10)
	done  api.Unpacked
}

func (t *tarReader) unpack() error {
	if _, err := t.paths.MakeDir(t.ctx, t.root, ""); err != nil {
		return err
	}
	for {
		h, err := t.tar.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return t.refuse("it is not a tar, or breaks off: send it uncompressed: %v", err)
		}
		if t.done.Entries == maxTarEntries {
			return t.refuse("it has more than %d entries", maxTarEntries)
		}
		if err := t.entry(h); err != nil {
			return err
		}
		t.done.Entries++
	}
}

// refuse is the error for an archive that cannot be unpacked.
func (t *tarReader) refuse(why string, more ...any) error {
	return api.Refuse(api.CodeBadFile, "archive: %s; %d entries before were unpacked", fmt.Sprintf(why, more...), t.done.Entries)
}

// entry unpacks one entry. Its name leads nowhere but below the directory: parts .. are resolved as in a root, so a
// name can only be another name there (PTH-10). Links on the way are followed with the rights of the programs.
func (t *tarReader) entry(h *tar.Header) error {
	name := path.Join(t.root, path.Clean("/"+h.Name))
	mode := fmt.Sprintf("%03o", h.Mode&0o777)
	if _, err := api.CleanPath(name); err != nil {
		return err
	}

	switch h.Typeflag {
	case tar.TypeDir:
		if name == t.root {
			return nil
		}
		_, err := t.paths.MakeDir(t.ctx, name, mode)
		return err
	case tar.TypeReg:
		return t.write(name, mode, t.tar)
	case tar.TypeSymlink:
		target, err := api.LinkTarget(h.Linkname)
		if err != nil {
			return err
		}
		err = t.paths.Link(t.ctx, name, target)
		var e *api.Error
		if errors.As(err, &e) && e.Code == api.CodeFileConflict { // as tar does, it takes the place of a file
			if err = t.paths.Remove(t.ctx, name, false); err == nil {
				err = t.paths.Link(t.ctx, name, target)
			}
		}
		return err
	case tar.TypeLink:
		return t.copy(path.Join(t.root, path.Clean("/"+h.Linkname)), name, mode)
	case tar.TypeXGlobalHeader:
		return nil
	}
	return t.refuse("entry %q is no file, directory or link", h.Name)
}

// write writes a file, unless that is more than may be written in total.
func (t *tarReader) write(name, mode string, content io.Reader) error {
	left := t.most - t.done.Bytes
	bounded := &core.CountingReader{Reader: io.LimitReader(content, left+1)}
	if err := t.paths.Put(t.ctx, name, mode, boundedReader{bounded, left}); err != nil {
		if bounded.N > left {
			return t.refuse("its files have more than %s in total: have the operator raise --max-blob, or send it in parts", api.Size(t.most))
		}
		return err
	}
	t.done.Bytes += bounded.N
	return nil
}

// A boundedReader fails instead of returning more than left bytes.
type boundedReader struct {
	*core.CountingReader
	left int64
}

func (b boundedReader) Read(p []byte) (int, error) {
	n, err := b.CountingReader.Read(p)
	if b.N > b.left {
		return 0, errors.New("too large")
	}
	return n, err
}

// copy writes a copy in place of a hard link. It is read with the rights of the programs, so a link to what they may
// not read is refused (PTH-10).
func (t *tarReader) copy(from, to, mode string) error {
	if from == to {
		return nil
	}
	out, in := io.Pipe()
	read := make(chan error, 1)
	go func() {
		err := t.paths.Get(t.ctx, from, 0, -1, nil, in)
		in.CloseWithError(err)
		read <- err
	}()
	err := t.write(to, mode, out)
	out.CloseWithError(errors.New("not written")) // ends the reader if the writer failed
	if rerr := <-read; rerr != nil && isOfCaller(rerr) {
		return rerr
	}
	return err
}

// isOfCaller reports whether an error says what the agent refused.
func isOfCaller(err error) bool {
	var e *api.Error
	return errors.As(err, &e)
}
