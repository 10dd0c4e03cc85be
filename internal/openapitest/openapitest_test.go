package openapitest

import "testing"

func TestCheckStatus(t *testing.T) {
	d, err := Parse([]byte(`{"paths":{"/runs":{"post":{"responses":{"200":{},"default":{}}}},"/runs/{id}":{"get":{"responses":{"200":{},"404":{}}}},
		"/s/{id}/files":{"get":{"responses":{"200":{}}}},"/s/{id}/files/{name}":{"get":{"responses":{"200":{},"410":{}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		method, path string
		status       int
		right        bool
	}{
		{"POST", "/runs?wait=false", 200, true},
		{"POST", "/runs", 202, false},
		{"GET", "/runs", 405, true}, // path not described at all
		{"GET", "/runs/x", 404, true},
		{"GET", "/runs/x", 503, false},
		{"GET", "/runs/x/y", 503, true},
		{"GET", "/s/1/files", 410, false},
		{"GET", "/s/1/files/a/b", 410, true},
		{"GET", "/s/1/files/a/b", 404, false},
	} {
		if err := d.CheckStatus(tt.method, tt.path, tt.status); (err == nil) != tt.right {
			t.Errorf("%s %s %d: %v", tt.method, tt.path, tt.status, err)
		}
	}
}

func TestCheckBody(t *testing.T) {
	d, err := Parse([]byte(`{"paths":{"/run":{"get":{"responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Run"}},"text/plain":{"schema":{"type":"string"}}}},"204":{}}}}},
		"components":{"schemas":{"Run":{"type":"object","additionalProperties":false,"required":["state"],"properties":{
			"state":{"type":"string","enum":["queued","done"]},"of":{"type":["integer","null"]},"names":{"type":"array","items":{"type":"string"}},
			"by":{"type":"object","additionalProperties":{"type":"integer"}},"text":{"oneOf":[{"type":"string"},{"type":"object","required":["base64"],"properties":{"base64":{"type":"string"}}}]},
			"under":{"$ref":"#/components/schemas/Run"}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		kind, body string
		right      bool
	}{
		{"application/json", `{"state":"done","of":null,"names":["a"],"by":{"x":1},"text":{"base64":""},"under":{"state":"queued"}}`, true},
		{"application/json", ``, true},
		{"application/json", `{"of":1}`, false},
		{"application/json", `{"state":"lost"}`, false},
		{"application/json", `{"state":"done","of":"1"}`, false},
		{"application/json", `{"state":"done","names":[1]}`, false},
		{"application/json", `{"state":"done","by":{"x":"1"}}`, false},
		{"application/json", `{"state":"done","text":{"base32":""}}`, false},
		{"application/json", `{"state":"done","other":1}`, false},
		{"application/json", `{"state":"done","under":{}}`, false},
		{"application/json", `{`, false},
		{"application/problem+json", `{"state":"done"}`, false},
		{"text/plain; charset=utf-8", `{`, true},
	} {
		if err := d.CheckBody("GET", "/run", 200, tt.kind, []byte(tt.body)); (err == nil) != tt.right {
			t.Errorf("%s %s: %v", tt.kind, tt.body, err)
		}
	}

	if d.CheckBody("GET", "/run", 500, "application/json", nil) == nil {
		t.Error("a status that is not described was let pass")
	}
}
