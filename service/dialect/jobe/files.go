package jobe

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/brig-sandbox/brig/service/dialect"
)

var (
	// The original's may be longer; its clients use MD5.
	fileID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z]{1,64}$`) })

	contentID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Fa-f]{32}$`) })
	spaces    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[ \t\r\n]`) })
)

// planPut is PUT /files/{id}.
func planPut(ask dialect.Request, _ dialect.Agent) dialect.Plan {
	id := ask.Path["id"]
	if !fileID().MatchString(id) {
		return dialect.Refuse(respond(404, badFileID))
	}

	fields, isObject := readObject(ask.Body)
	content, isText := readText(fields["file_contents"])
	if !isObject || !isText {
		return dialect.Refuse(respond(400, "put: missing file_contents parameter"))
	}

	b, err := base64.StdEncoding.DecodeString(padded(spaces().ReplaceAllString(content, "")))
	if err != nil {
		return dialect.Refuse(respond(400, fmt.Sprintf("put: contents of file %s are not valid base-64", id)))
	}

	// Clients take the MD5 of a content for its id. Without this check one client of a key could put other content under
	// an id that all of them rely on (TestAnIDOfAContentIsItsMD5).
	if sum := md5.Sum(b); contentID().MatchString(id) && !strings.EqualFold(id, hex.EncodeToString(sum[:])) {
		return dialect.Refuse(respond(400, fmt.Sprintf("put: contents of file %s have the MD5 %x: an id of 32 hexadecimal "+
			"digits must be the MD5 of the contents", id, sum)))
	}

	kept := empty(204)
	kept.Keep = []dialect.Keep{{ID: id, Content: b}}
	p := dialect.Refuse(kept)
	p.UnknownFields = len(fields) - 1
	return p
}

const badFileID = "a file id has 1 to 64 letters and digits"

// planHead is HEAD /files/{id}.
func planHead(ask dialect.Request, _ dialect.Agent) dialect.Plan {
	id := ask.Path["id"]
	if !fileID().MatchString(id) {
		return dialect.Refuse(empty(404))
	}
	p := dialect.Refuse(empty(204))
	p.Needs, p.Missing = []dialect.Need{{ID: id}}, empty(404)
	return p
}

// padded adds the padding that base64 of the original may lack.
func padded(text string) string {
	if strings.Contains(text, "=") {
		return text
	}
	return text + strings.Repeat("=", (4-len(text)%4)%4)
}

func readObject(raw json.RawMessage) (m map[string]json.RawMessage, ok bool) {
	return m, json.Unmarshal(raw, &m) == nil && m != nil
}

// readText reads a text, or a number, which is taken for its text as in the original.
func readText(raw json.RawMessage) (s string, ok bool) {
	if len(raw) == 0 {
		return "", false
	}
	if raw[0] == '"' {
		return s, json.Unmarshal(raw, &s) == nil
	}
	if raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9' {
		return string(raw), true
	}
	return "", false
}
