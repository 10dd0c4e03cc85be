package dialect

import (
	"bytes"
	"cmp"
	"errors"
	"mime"
	"mime/multipart"
	"path"
)

// Form reads the body of a request that is a form with files.
func (r Request) Form() (*multipart.Reader, error) {
	kind, parameters, err := mime.ParseMediaType(r.Type)
	if err != nil || kind != "multipart/form-data" {
		return nil, errors.New("the request must have the Content-Type multipart/form-data")
	}
	return multipart.NewReader(bytes.NewReader(r.Body), parameters["boundary"]), nil
}

// Download is a response with the content of a file. A browser saves it and shows nothing of it: it is that of a
// program.
func Download(f Kept, content []byte) Response {
	attachment := mime.FormatMediaType("attachment", map[string]string{"filename": path.Base(f.Name)})
	return Response{Status: 200, Body: content, Header: map[string]string{
		"Content-Type": "application/octet-stream", "Content-Disposition": cmp.Or(attachment, "attachment")}}
}
