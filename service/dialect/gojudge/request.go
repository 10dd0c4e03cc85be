package gojudge

import (
	"encoding/json"
	"slices"
	"strings"
)

// A request is the body of POST /run. Sizes are in bytes, times in nanoseconds.
type request struct {
	RequestID   string    `json:"requestId"`
	Cmd         []command `json:"cmd"`
	PipeMapping []pipe    `json:"pipeMapping"`
}

// A command is one of a request. Its fields are those of the original, and so are their names in errors.
type command struct {
	Args  []string `json:"args"`
	Env   []string `json:"env"`
	Files []*file  `json:"files"` // of the descriptors 0, 1, 2

	CPULimit     uint64 `json:"cpuLimit"`
	ClockLimit   uint64 `json:"clockLimit"`
	RealCPULimit uint64 `json:"realCpuLimit"` // of old clients: takes the place of clockLimit
	MemoryLimit  uint64 `json:"memoryLimit"`
	StackLimit   uint64 `json:"stackLimit"`
	ProcLimit    uint64 `json:"procLimit"`
	CPURateLimit uint64 `json:"cpuRateLimit"` // ignored, as in the original unless it is configured
	CPUSetLimit  string `json:"cpuSetLimit"`  // ignored: which processors a run has is the operator's

	StrictMemoryLimit bool `json:"strictMemoryLimit"`
	DataSegmentLimit  bool `json:"dataSegmentLimit"`
	AddressSpaceLimit bool `json:"addressSpaceLimit"`

	CopyIn          map[string]file `json:"copyIn"`
	CopyOut         []string        `json:"copyOut"`
	CopyOutCached   []string        `json:"copyOutCached"`
	CopyOutMax      uint64          `json:"copyOutMax"`
	CopyOutDir      string          `json:"copyOutDir"` // the original ignores it
	CopyOutTruncate bool            `json:"copyOutTruncate"`

	TTY bool `json:"tty"`
}

// A file is where content comes from or goes to. What is not null first decides, in the order of the fields.
type file struct {
	Src     *string `json:"src"`
	Content *string `json:"content"`
	FileID  *string `json:"fileId"`
	Name    *string `json:"name"`
	Max     *int64  `json:"max"`
	Symlink *string `json:"symlink"`

	StreamIn  bool `json:"streamIn"`
	StreamOut bool `json:"streamOut"`
	Pipe      bool `json:"pipe"` // how the original collects: brig always has pipes
}

var knownFields = []string{"requestId", "cmd", "pipeMapping"}

var knownOfCommand = []string{"args", "env", "files", "cpuLimit", "clockLimit", "realCpuLimit", "memoryLimit", "stackLimit",
	"procLimit", "strictMemoryLimit", "dataSegmentLimit", "addressSpaceLimit", "copyIn", "copyOut", "copyOutCached",
	"copyOutMax", "copyOutDir", "copyOutTruncate", "tty"}

// read reads a body, and counts the fields that are ignored. bad is the error that the client gets.
func read(body []byte) (q request, ignored int, bad string) {
	if err := json.Unmarshal(body, &q); err != nil {
		return q, 0, err.Error()
	}

	var top map[string]json.RawMessage
	if err := json.Unmarshal(body, &top); err != nil {
		return q, 0, err.Error()
	}
	var commands []map[string]json.RawMessage
	_ = json.Unmarshal(top["cmd"], &commands) // commands in other letters, such as CMD, are not counted

	ignored = unknown(top, knownFields)
	for _, c := range commands {
		ignored += unknown(c, knownOfCommand)
	}
	return q, ignored, ""
}

// unknown counts the fields that brig does not read. The case of letters does not matter, as in the original.
func unknown(fields map[string]json.RawMessage, known []string) (n int) {
	for name := range fields {
		if !slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, name) }) {
			n++
		}
	}
	return n
}
