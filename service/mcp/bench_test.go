package mcp

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkCall is what a call costs without its run.
func BenchmarkCall(b *testing.B) {
	h := Handler("test", func(*http.Request) Live { return &fakeLive{} })
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_code","arguments":{"language":"python",` +
		`"code":"print(7)"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequestWithContext(b.Context(), "POST", "/mcp", strings.NewReader(body))
		for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "run_code"} {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 200 || !strings.Contains(w.Body.String(), `"verdict":"ok"`) {
			b.Fatalf("%d, %s", w.Code, w.Body)
		}
	}
}
