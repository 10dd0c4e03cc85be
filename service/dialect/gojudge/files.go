package gojudge

import (
	"errors"
	"io"
	"strconv"

	"github.com/brig-sandbox/brig/service/dialect"
)

// noFile begins the original's error for a file that it does not have.
const noFile = "file does not exists with id: "

// planList is GET /file: the names of the files by their ids.
func planList(dialect.Request, dialect.Agent) dialect.Plan {
	return dialect.Plan{List: func(all []dialect.Kept) dialect.Response {
		names := map[string]string{}
		for _, f := range all {
			names[f.ID] = f.Name
		}
		return respond(200, names)
	}}
}

// planUpload is POST /file: a form with a file of the name file.
func planUpload(ask dialect.Request, _ dialect.Agent) dialect.Plan {
	name, content, err := formFile(ask)
	if err != nil {
		return dialect.Refuse(respond(400, "no file could be read of the form: "+err.Error()))
	}
	id := fileID(ask.Nonce, 0)
	r := respond(200, id)
	r.Keep = []dialect.Keep{{ID: id, Name: name, Content: content}}
	return dialect.Refuse(r)
}

// formFile finds the file of a form.
func formFile(ask dialect.Request) (name string, content []byte, err error) {
	form, err := ask.Form()
	if err != nil {
		return "", nil, err
	}

	for {
		part, err := form.NextPart()
		if err == io.EOF {
			return "", nil, errors.New("the form has no file in a field of the name file")
		}
		if err != nil {
			return "", nil, err
		}
		if part.FormName() == "file" && part.FileName() != "" {
			content, err := io.ReadAll(part)
			return part.FileName(), content, err
		}
	}
}

// planRead is GET /file/{id}.
func planRead(ask dialect.Request, _ dialect.Agent) dialect.Plan {
	return dialect.Plan{Needs: []dialect.Need{{ID: ask.Path["id"]}}, Missing: empty(404), Read: dialect.Download}
}

// planDelete is DELETE /file/{id}.
func planDelete(ask dialect.Request, _ dialect.Agent) dialect.Plan {
	done := empty(200)
	done.Forget = []string{ask.Path["id"]}
	p := dialect.Refuse(done)
	p.Needs, p.Missing = []dialect.Need{{ID: ask.Path["id"]}}, empty(404)
	return p
}

// fileID is the id of a file that a request makes. Each is another: a client deletes its files one by one, and two of
// them may have one content.
func fileID(nonce string, number int) string { return nonce + strconv.Itoa(number) }
