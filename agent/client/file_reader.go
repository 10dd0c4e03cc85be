package client

import (
	"net"
	"os"
	"syscall"
)

// maxReceivedFiles bounds the descriptors of one message: the kernel's own bound (SCM_MAX_FD).
const maxReceivedFiles = 253

// A fileReader reads from a unix socket and keeps the descriptors that arrive with the bytes.
type fileReader struct {
	conn  *net.UnixConn
	files []*os.File
	oob   [4*maxReceivedFiles + 64]byte
}

func (r *fileReader) Read(b []byte) (int, error) {
	n, oobn, _, _, err := r.conn.ReadMsgUnix(b, r.oob[:])
	n, oobn = max(n, 0), max(oobn, 0) // with an error they are -1
	messages, perr := syscall.ParseSocketControlMessage(r.oob[:oobn])
	if perr != nil {
		return n, err
	}

	for _, m := range messages {
		fds, perr := syscall.ParseUnixRights(&m)
		if perr != nil {
			continue
		}
		for _, fd := range fds {
			r.files = append(r.files, os.NewFile(uintptr(fd), "received"))
		}
	}

	return n, err
}

// take returns what has arrived since the last call. The caller closes it.
func (r *fileReader) take() []*os.File {
	files := r.files
	r.files = nil
	return files
}

// Close closes what nobody has taken. It leaves the connection open.
func (r *fileReader) Close() {
	for _, f := range r.take() {
		f.Close()
	}
}
