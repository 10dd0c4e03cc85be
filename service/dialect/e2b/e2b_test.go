package e2b

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/dialect/dialecttest"
	"github.com/brig-sandbox/brig/service/dialect/e2b/wire"
)

// The requests are those of npm e2b 2.45.0 and 2.51.0 and of @e2b/code-interpreter 2.8.0.
func TestExchanges(t *testing.T) { dialecttest.Golden(t, Dialect, 48) }

// A key may have the form that clients before 2.46 demand.
func TestKeys(t *testing.T) {
	for sent, want := range map[string]string{
		"brig_abc": "brig_abc", "e2b_627269675f616263": "brig_abc", "e2b_0": "e2b_0", "e2b_xyz": "e2b_xyz",
	} {
		if got := keyOf(sent); got != want {
			t.Errorf("%s: %s, want %s", sent, got, want)
		}
	}
}

// Whatever a client sends as a message, there is an answer, and what is read is written and read again the same.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{
		`{"process":{"cmd":"a","args":["b"],"envs":{"c":"d"},"cwd":"/"},"pty":{"size":{"cols":1,"rows":2}},"tag":"t","stdin":false}`,
		`{"process":{"pid":1},"input":{"stdin":"aGk="}}`, `{"process":{"tag":"x"},"signal":"SIGNAL_SIGTERM"}`,
		`{"path":"a/../b","depth":4294967295}`, `{"source":"a","destination":""}`, `{}`, `[]`, `{"path":"\ud800"}`,
	} {
		f.Add([]byte(seed))
		f.Add(frame(0, []byte(seed)))
		f.Add(frame(flagPacked, []byte(seed)))
	}

	f.Fuzz(func(t *testing.T, raw []byte) {
		ask := dialect.Request{Method: "POST", Header: map[string]string{headerSandbox: "s"}, Body: raw}
		for _, route := range Dialect.Routes {
			if route.Method != "POST" || route.Upload || route.Path[1] != 'p' && route.Path[1] != 'f' {
				continue
			}
			if plan := route.Plan(ask, dialect.Agent{}); plan.Answer == nil && plan.Call == nil {
				t.Fatalf("%s: neither an answer nor a call", route.Path)
			}
		}

		for _, m := range []proto.Message{&wire.StartRequest{}, &wire.SendInputRequest{}, &wire.SendSignalRequest{}, &wire.ListDirRequest{}} {
			if read(raw, m) != nil {
				continue
			}
			again := m.ProtoReflect().New().Interface()
			if err := read(written(m), again); err != nil || !proto.Equal(m, again) {
				t.Fatalf("%v became %v, %v", m, again, err)
			}
		}

	})
}
