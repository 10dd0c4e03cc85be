package agent_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/brig-sandbox/brig/agent"
	"github.com/brig-sandbox/brig/api"
)

// TestFramesThatCancel writes the frames by hand. After each of these the run ends as canceled, and
// the client, which still reads, gets that result.
func TestFramesThatCancel(t *testing.T) {
	frame := func(ft api.FrameType, payload string) string {
		b := make([]byte, api.FrameHeader, api.FrameHeader+len(payload))
		api.PutFrameHeader(b, ft, len(payload))
		return string(append(b, payload...))
	}

	for _, tt := range []struct {
		name string
		send string
	}{
		{"a cancel", frame(api.FrameCancel, "")},
		{"a cancel behind stdin and its end", frame(api.FrameStdin, "x") + frame(api.FrameStdinEnd, "") + frame(api.FrameCancel, "")},
		{"stdin after its end", frame(api.FrameStdinEnd, "") + frame(api.FrameStdin, "x")},
		{"a frame of a type that clients do not send", frame(api.FrameStdout, "x")},
		{"a frame of no type", frame(0, "")},
		{"a frame over the size", string([]byte{byte(api.FrameStdin), 1, 0, 1, 0})},
		{"another request, as if frames had ended", "GET /v1/health HTTP/1.1\r\n\r\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWaits()
			socket, _ := serve(t, agent.Config{Runner: w})
			nc, err := net.Dial("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()

			nc.SetDeadline(time.Now().Add(time.Minute))

			// The frames are sent with the request, before the agent has accepted the upgrade.
			fmt.Fprint(nc, post(`{"image":"a","argv":["b"]}`, upgrade), tt.send)
			within(t, "start", w.started)
			within(t, "end of the run", w.ended)
			in := bufio.NewReader(nc)
			if res, err := http.ReadResponse(in, nil); err != nil || res.StatusCode != http.StatusSwitchingProtocols {
				t.Fatalf("%v, %v; want 101", res, err)
			}

			ft, payload, err := api.ReadFrame(in, make([]byte, api.FrameMax))
			if ft == api.FrameAdmitted {
				ft, payload, err = api.ReadFrame(in, make([]byte, api.FrameMax))
			}

			var res api.Result
			if err != nil || ft != api.FrameResult || json.Unmarshal(payload, &res) != nil || res.Verdict != api.Canceled {
				t.Errorf("frame %c %q, %v; want a result with verdict canceled", ft, payload, err)
			}
		})
	}
}
