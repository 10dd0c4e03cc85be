package main

import "github.com/brig-sandbox/brig/api"

// A spoken is one request in the words of a dialect, and the run of brig's own API that it asks for: the same program
// with the same profile and the same files of interest.
type spoken struct {
	name, path string
	body       any
	header     []string // names and values
	says       string   // what the answer of a success contains
	same       api.Run
}

// program writes one character, so that an answer can be told from an empty one.
const program = "print(7)"

// spokenOf returns a request of each dialect. Most prefer the Python with libraries, if that is stored; Judge0's clients
// ask for the plain one.
func spokenOf(fullStored bool) []spoken {
	python := "python"
	if fullStored {
		python = "python-full"
	}

	foreign := api.Run{Language: python, Profile: "default", Source: api.Bytes(program), Collect: api.Collect{None: true}}
	// Jobe reads the source as a whole first, so that the program is a test. Its limit of addresses has no use for a
	// template, which a program with such a limit cannot begin from.
	checked := foreign
	checked.Tests, checked.KeepOutput = []api.Test{{ID: "1"}}, api.MiB
	checked.Limits.AddressSpace = api.GiB
	plain := foreign
	plain.Language = "python"

	call := map[string]any{"name": "run_code", "arguments": map[string]any{"language": "python", "code": program},
		"_meta": map[string]any{"io.modelcontextprotocol/protocolVersion": mcpVersion,
			"io.modelcontextprotocol/clientCapabilities": map[string]any{}}}

	return []spoken{
		{"piston", "/piston/api/v2/execute", map[string]any{"language": "python", "version": "*",
			"files": []any{map[string]any{"content": program}}}, nil, `"code":0`, foreign},
		{"judge0", "/judge0/submissions?wait=true", map[string]any{"language_id": 71, "source_code": program}, nil,
			`"id":3`, plain},
		{"jobe", "/jobe/index.php/restapi/runs", map[string]any{"run_spec": map[string]any{"language_id": "python3",
			"sourcecode": program}}, nil, `"outcome":15`, checked},
		{"sandboxfusion", "/sandboxfusion/run_code", map[string]any{"language": "python", "code": program}, nil,
			`"return_code":0`, foreign},
		{"go-judge", "/go-judge/run", map[string]any{"cmd": []any{map[string]any{"args": []string{"/bin/echo", "7"},
			"env": []string{"PATH=/usr/bin:/bin"}, "cpuLimit": 10e9, "memoryLimit": 256 << 20, "procLimit": 50,
			"files": []any{map[string]any{"content": ""}, map[string]any{"name": "stdout", "max": 10240},
				map[string]any{"name": "stderr", "max": 10240}}}}}, nil, `"status":"Accepted"`,
			api.Run{Image: "go-judge", Argv: []string{"/bin/echo", "7"}, Limits: api.Limits{Memory: 256 * api.MiB, Pids: 50}}},
		{"mcp", "/mcp", map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call},
			[]string{"Accept", "application/json, text/event-stream", "Mcp-Method", "tools/call", "Mcp-Name", "run_code",
				"MCP-Protocol-Version", mcpVersion}, `"verdict":"ok"`,
			api.Run{Language: "python", Source: api.Bytes(program), Collect: api.Collect{Files: 16, Bytes: api.MiB}}},
	}
}

const mcpVersion = "2026-07-28"
