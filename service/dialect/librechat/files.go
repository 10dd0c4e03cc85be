package librechat

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
)

// A fileRef is a file of a session, as clients name it. Older clients read session_id, newer ones storage_session_id.
type fileRef struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Session string `json:"session_id"`
	Storage string `json:"storage_session_id"`
}

func newRef(session string, number int, name string) fileRef {
	return fileRef{ID: session + strconv.Itoa(number), Name: name, Session: session, Storage: session}
}

// keptID is the id under which a file is kept.
func keptID(session, file string) string { return session + "/" + file }

func (f fileRef) keep(content []byte) dialect.Keep {
	return dialect.Keep{ID: keptID(f.Session, f.ID), Name: f.Name, Content: content}
}

// An upload is a form with files, which make a session.
type upload struct {
	files []fileRef
	keep  []dialect.Keep
}

// readUpload reads a form. Its error is for the client.
func readUpload(ask dialect.Request) (u upload, err error) {
	form, err := ask.Form()
	if err != nil {
		return u, err
	}

	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return u, fmt.Errorf("Error processing upload: %w", err) //nolint:staticcheck // as the original says it
		}
		given := givenName(part)
		if given == "" {
			continue // a field, such as kind
		}

		name, err := nameInBox(given)
		if err != nil {
			return u, err
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return u, fmt.Errorf("Error processing upload: %w", err) //nolint:staticcheck // as the original says it
		}
		f := newRef(ask.Nonce, len(u.files), name)
		u.files, u.keep = append(u.files, f), append(u.keep, f.keep(content))
		if len(u.files) > maxFiles {
			return u, errors.New("there are more than " + strconv.Itoa(maxFiles) + " files: send the others in another session")
		}
	}

	if len(u.files) == 0 {
		return u, errors.New("No files uploaded") //nolint:staticcheck // as the original says it
	}
	return u, nil
}

// planUpload is POST /v1/upload.
func planUpload(ask dialect.Request, _ dialect.Agent) dialect.Plan {
	u, err := readUpload(ask)
	if err != nil {
		return refuse(err.Error())
	}

	type uploaded struct {
		fileRef
		FileID   string `json:"fileId"`
		FileName string `json:"filename"`
	}
	var all []uploaded
	for _, f := range u.files {
		all = append(all, uploaded{f, f.ID, f.Name})
	}
	r := respond(200, struct {
		Message string     `json:"message"`
		Session string     `json:"session_id"`
		Storage string     `json:"storage_session_id"`
		Files   []uploaded `json:"files"`
	}{"success", ask.Nonce, ask.Nonce, all})
	r.Keep = u.keep
	return dialect.Refuse(r)
}

// planBatchUpload is POST /v1/upload/batch: the same, and the client reads how each file fared. Here all are kept, or none.
func planBatchUpload(ask dialect.Request, _ dialect.Agent) dialect.Plan {
	u, err := readUpload(ask)
	if err != nil {
		return refuse(err.Error())
	}

	type uploaded struct {
		Status   string `json:"status"`
		FileID   string `json:"fileId"`
		FileName string `json:"filename"`
	}
	var all []uploaded
	for _, f := range u.files {
		all = append(all, uploaded{"success", f.ID, f.Name})
	}
	r := respond(200, struct {
		Message   string     `json:"message"`
		Storage   string     `json:"storage_session_id"`
		Files     []uploaded `json:"files"`
		Succeeded int        `json:"succeeded"`
		Failed    int        `json:"failed"`
	}{"success", ask.Nonce, all, len(all), 0})
	r.Keep = u.keep
	return dialect.Refuse(r)
}

// givenName is the name of a file of a form, with its directories.
func givenName(part *multipart.Part) string {
	_, parameters, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	if err != nil {
		return ""
	}
	return parameters["filename"]
}

// nameInBox is the name of a file in the directory of the program, which clients know as /mnt/data.
func nameInBox(name string) (string, error) {
	clean := path.Clean(strings.TrimPrefix(name, dataDir+"/"))
	if err := api.FileName(clean); err != nil {
		return "", errors.New("the name of a file must be relative to " + dataDir + ", and stay below it")
	}
	return clean, nil
}

// An object is a kept file as lists and lookups tell it. Clients read the id in the name, and in lastModified whether they
// must send a file again: they do so if it is from 23 hours ago.
type object struct {
	Name     string            `json:"name"` // of the object
	ID       string            `json:"id"`
	Session  string            `json:"session_id"`
	Storage  string            `json:"storage_session_id"`
	Size     int64             `json:"size"`
	Modified time.Time         `json:"lastModified"`
	Type     string            `json:"contentType"`
	Original string            `json:"originalFilename"`
	Metadata map[string]string `json:"metadata"`
}

// objects are the kept files of a session.
func objects(all []dialect.Kept, session string) []object {
	found := []object{}
	for _, f := range all {
		if id, is := strings.CutPrefix(f.ID, session+"/"); is {
			found = append(found, object{Name: f.ID + path.Ext(f.Name), ID: id, Session: session, Storage: session,
				Size: f.Size, Modified: f.Since.UTC(), Type: "application/octet-stream", Original: f.Name,
				Metadata: map[string]string{"original-filename": f.Name}})
		}
	}
	return found
}

// planList is GET /v1/files/{session}.
func planList(ask dialect.Request, _ dialect.Agent) dialect.Plan {
	return dialect.Plan{List: func(all []dialect.Kept) dialect.Response {
		return respond(200, objects(all, ask.Path["session"]))
	}}
}

// planObject is GET /v1/sessions/{session}/objects/{file}: what is known of a file. Clients send it again if it is not
// kept.
func planObject(ask dialect.Request, _ dialect.Agent) dialect.Plan {
	session, file := ask.Path["session"], ask.Path["file"]
	p := dialect.Plan{Needs: []dialect.Need{{ID: keptID(session, file)}}, Missing: noFile()}
	p.List = func(all []dialect.Kept) dialect.Response {
		for _, o := range objects(all, session) {
			if o.ID == file {
				return respond(200, o)
			}
		}
		return noFile()
	}
	return p
}

// planDownload is GET /v1/download/{session}/{file}.
func planDownload(ask dialect.Request, _ dialect.Agent) dialect.Plan {
	return dialect.Plan{Needs: []dialect.Need{{ID: keptID(ask.Path["session"], ask.Path["file"])}}, Missing: noFile(),
		Read: dialect.Download}
}

// planDelete is DELETE /v1/files/{session}/{file}.
func planDelete(ask dialect.Request, _ dialect.Agent) dialect.Plan {
	id := keptID(ask.Path["session"], ask.Path["file"])
	done := respond(200, struct {
		Message string `json:"message"`
	}{"success"})
	done.Forget = []string{id}
	p := dialect.Refuse(done)
	p.Needs, p.Missing = []dialect.Need{{ID: id}}, noFile()
	return p
}
