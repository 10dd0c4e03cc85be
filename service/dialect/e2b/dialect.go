// Package e2b answers as E2B does: its API of sandboxes, the envd of a sandbox, and the server of its code interpreter.
// A sandbox is a session, a command a process of it, and a context of the interpreter a kernel.
package e2b

import (
	"crypto/subtle"
	"encoding/hex"
	"net/url"
	"strings"

	"github.com/brig-sandbox/brig/service/dialect"
)

// The headers that clients send.
const (
	headerSandbox  = "E2b-Sandbox-Id"
	headerToken    = "X-Access-Token"
	headerTraffic  = "E2b-Traffic-Access-Token"
	headerUser     = "Authorization" // Basic, with the name of a user and no password
	headerDeadline = "Connect-Timeout-Ms"
	headerEncoding = "Content-Encoding"
)

// Dialect is the dialect.
var Dialect = dialect.Dialect{
	Name:       dialect.E2B,
	Of:         "E2B of September 2026",
	Address:    "127.0.0.1:3000",
	KeyHeaders: []string{"X-API-KEY"},
	Headers:    []string{headerSandbox, headerToken, headerTraffic, headerUser, headerDeadline, headerEncoding},
	Key:        keyOf,
	Token:      tokenOf,
	Fail:       fail,
	Routes: []dialect.Route{
		// Clients from 2.51.0 on create and connect below /v2, and those before it do not.
		{Method: "POST", Path: "/sandboxes", Plan: planCreate},
		{Method: "POST", Path: "/v2/sandboxes", Plan: planCreate},
		{Method: "GET", Path: "/sandboxes", Plan: planList},
		{Method: "GET", Path: "/v2/sandboxes", Plan: planList},
		{Method: "GET", Path: "/sandboxes/{id}", Plan: planInfo},
		{Method: "DELETE", Path: "/sandboxes/{id}", NoBody: true, Plan: planKill},
		{Method: "POST", Path: "/sandboxes/{id}/timeout", Plan: planTimeout},
		{Method: "POST", Path: "/sandboxes/{id}/refreshes", Plan: planRefresh},
		{Method: "POST", Path: "/sandboxes/{id}/connect", Plan: planConnect},
		{Method: "POST", Path: "/v2/sandboxes/{id}/connect", Plan: planConnect},
		{Method: "POST", Path: "/sandboxes/{id}/resume", Plan: planConnect},
		{Method: "GET", Path: "/sandboxes/{id}/metrics", Plan: planMetrics},
		{Method: "POST", Path: "/sandboxes/{id}/pause", NoBody: true, Plan: planMissing("pauses no sandbox")},
		{Method: "POST", Path: "/sandboxes/{id}/snapshots", NoBody: true, Plan: planMissing("makes no snapshot of a sandbox here")},
		{Method: "POST", Path: "/sandboxes/{id}/fork", NoBody: true, Plan: planMissing("forks no sandbox here")},
		{Method: "PUT", Path: "/sandboxes/{id}/network", NoBody: true, Plan: planMissing("changes no network of a sandbox")},

		{Method: "GET", Path: "/health", OfSession: true, Fail: failContent, Plan: planHealth},
		{Method: "GET", Path: "/files", OfSession: true, Fail: failContent, Plan: planRead},
		{Method: "POST", Path: "/files", OfSession: true, Upload: true, Fail: failContent, Plan: planWrite},

		{Method: "POST", Path: "/process.Process/Start", OfSession: true, Type: streamType, Fail: failStream, Plan: planStart},
		{Method: "POST", Path: "/process.Process/Connect", OfSession: true, Type: streamType, Fail: failStream, Plan: planAttach},
		{Method: "POST", Path: "/process.Process/List", OfSession: true, Fail: failUnary, Plan: planProcesses},
		{Method: "POST", Path: "/process.Process/SendInput", OfSession: true, Fail: failUnary, Plan: planInput},
		{Method: "POST", Path: "/process.Process/CloseStdin", OfSession: true, Fail: failUnary, Plan: planCloseStdin},
		{Method: "POST", Path: "/process.Process/SendSignal", OfSession: true, Fail: failUnary, Plan: planSignal},
		{Method: "POST", Path: "/process.Process/Update", OfSession: true, Fail: failUnary, Plan: planResize},

		{Method: "POST", Path: "/filesystem.Filesystem/Stat", OfSession: true, Fail: failUnary, Plan: planStat},
		{Method: "POST", Path: "/filesystem.Filesystem/MakeDir", OfSession: true, Fail: failUnary, Plan: planMakeDir},
		{Method: "POST", Path: "/filesystem.Filesystem/Move", OfSession: true, Fail: failUnary, Plan: planMove},
		{Method: "POST", Path: "/filesystem.Filesystem/ListDir", OfSession: true, Fail: failUnary, Plan: planListDir},
		{Method: "POST", Path: "/filesystem.Filesystem/Remove", OfSession: true, Fail: failUnary, Plan: planRemove},
		{Method: "POST", Path: "/filesystem.Filesystem/WatchDir", OfSession: true, Type: streamType, Fail: failStream, Plan: planWatch},
		{Method: "POST", Path: "/filesystem.Filesystem/CreateWatcher", OfSession: true, Fail: failUnary, Plan: planWatcher},

		{Method: "POST", Path: "/execute", OfSession: true, Fail: failContent, Plan: planExecute},
		{Method: "GET", Path: "/contexts", OfSession: true, Fail: failContent, Plan: planContexts},
		{Method: "POST", Path: "/contexts", OfSession: true, Fail: failContent, Plan: planMakeContext},
		{Method: "DELETE", Path: "/contexts/{id}", OfSession: true, NoBody: true, Fail: failContent, Plan: planRemoveContext},
		{Method: "POST", Path: "/contexts/{id}/restart", OfSession: true, NoBody: true, Fail: failContent, Plan: planRestartContext},
	},
}

// keyOf is the key that a client sends. Clients before 2.46 take no key that is not e2b_ and hexadecimal digits: so they
// may have the bytes of brig's key in this form.
func keyOf(sent string) string {
	if digits, is := strings.CutPrefix(sent, "e2b_"); is {
		if key, err := hex.DecodeString(digits); err == nil {
			return string(key)
		}
	}
	return sent
}

// tokenOf reads the token that a client has got with its sandbox, and sends to it instead of the key.
func tokenOf(r dialect.Request) (session string, proves func(string) bool) {
	sent := r.Header[headerToken]
	if sent == "" {
		sent = r.Header[headerTraffic]
	}
	if sent == "" {
		return "", nil
	}
	return r.Header[headerSandbox], func(token string) bool {
		return subtle.ConstantTimeCompare([]byte(sent), []byte(token)) == 1
	}
}

// below is a path of brig's API below a session, with a query.
func below(session, path string, q url.Values) string {
	p := "/v1/sessions/" + url.PathEscape(session) + path
	if len(q) > 0 {
		p += "?" + q.Encode()
	}
	return p
}

// sandboxOf is the sandbox to whose envd a request is sent.
func sandboxOf(r dialect.Request) string { return r.Header[headerSandbox] }
