package jupyter

import (
	"encoding/json"
	"testing"

	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/dialect/dialecttest"
)

// The requests are those of jupyter_server 2.15, @jupyterlab/services 7.3 and the clients that docs/compatibility.md names.
func TestExchanges(t *testing.T) { dialecttest.Golden(t, Dialect, 24) }

// FuzzStart feeds bodies: one that is understood asks for a kernel, and any other has an answer.
func FuzzStart(f *testing.F) {
	f.Add([]byte(`{"name": "python3", "env": {"KERNEL_A": "b"}}`))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, body []byte) {
		p := planStart(dialect.Request{Body: body}, dialecttest.StandardAgent())
		switch {
		case p.Answer == nil && p.Kernels == nil:
			t.Fatal("neither an answer nor a plan")
		case p.Answer != nil && (p.Answer.Status < 400 || !json.Valid(p.Answer.Body)):
			t.Fatalf("%d %s", p.Answer.Status, p.Answer.Body)
		}
	})
}
