package librechat

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/dialect/dialecttest"
)

func TestExchanges(t *testing.T) { dialecttest.Golden(t, Dialect, 12) }

// Every request gets an answer that is no success, or a run that brig accepts as valid.
func FuzzExec(f *testing.F) {
	for _, body := range []string{
		`{"lang":"py","code":"x","args":["a"],"files":[{"id":"1","session_id":"s","name":"a/b"}],"x":1}`,
		`{"lang":"f90","code":""}`, `{"lang":1}`, `{"files":[{"name":"../x"}],"lang":"c","code":"\ud800"}`, `[]`, `null`, "\xff", ``,
	} {
		f.Add([]byte(body))
	}

	on := dialecttest.StandardAgent()
	f.Fuzz(func(t *testing.T, body []byte) {
		p := planExec(dialect.Request{Body: body, Nonce: "n"}, on)
		if p.Answer != nil {
			if !json.Valid(p.Answer.Body) || p.Answer.Status < 400 && !bytes.Contains(p.Answer.Body, []byte("was not run")) {
				t.Fatalf("%q is answered with %d %s", body, p.Answer.Status, p.Answer.Body)
			}
			return
		}
		if err := p.Runs[0].Validate(); err != nil && !api.HasCode(err, api.CodeBadRequest, api.CodeTooLarge) {
			t.Fatalf("%q is not valid: %v", body, err)
		}
		told := p.TellInOrder([]api.Result{{Stdout: api.Bytes("\xff")}}, make([]dialect.Order, 1))
		if told.Status != 200 || !json.Valid(told.Body) {
			t.Fatalf("%q is told as %d %s", body, told.Status, told.Body)
		}
	})
}

// A form of whatever content keeps files under names that stay in /box, or keeps nothing.
func FuzzUpload(f *testing.F) {
	f.Add([]byte("--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"../a\"\r\n\r\nx\r\n--B--\r\n"))
	f.Add([]byte("--B\r\nContent-Disposition: form-data; name=\"entity_id\"\r\n\r\nx\r\n--B--\r\n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		r := planUpload(dialect.Request{Body: body, Nonce: "n", Type: "multipart/form-data; boundary=B"}, dialect.Agent{}).Answer
		if (r.Status == 200) != (len(r.Keep) > 0) || !json.Valid(r.Body) {
			t.Fatalf("%q: %d %s", body, r.Status, r.Body)
		}
		for _, k := range r.Keep {
			if api.FileName(k.Name) != nil {
				t.Fatalf("%q keeps %q", body, k.Name)
			}
		}
	})
}
