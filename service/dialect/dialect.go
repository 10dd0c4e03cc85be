// Package dialect is the contract between the service and the APIs of other programs that it answers: a dialect plans
// which runs a request asks for, and tells their results in the words of the other program.
//
// A dialect is made of pure functions. It knows nothing of HTTP, clocks, ids, keys or queues: service/dialects.go
// carries out what it plans, over the same gates as POST /v1/runs.
package dialect

import (
	"slices"
	"strconv"
	"time"

	"github.com/brig-sandbox/brig/api"
)

// A Dialect is the API of another program.
type Dialect struct {
	Name    string // in --dialect, in the prefix of paths and in the history: lower-case letters, digits and -
	Of      string // the program, and the version whose answers are imitated
	Address string // where clients of the program expect it, as an example for --dialect NAME=ADDRESS

	// Key makes brig's key of what a client sent in one of KeyHeaders; nil: it is the key.
	Key func(sent string) string

	// Headers are those that Request.Header has, if the client sent them.
	Headers []string

	// Token reads which session a request is for, and how the client proves that it may use this session although it sends
	// no key: it has its token. nil: every client needs a key. It is asked for routes with OfSession alone.
	Token func(Request) (session string, proves func(token string) bool)

	KeyHeaders []string // headers in which its clients send keys, in addition to Authorization: Bearer
	TokenKeys  bool     // they also send keys as Authorization: token KEY, or in the parameter token
	Routes     []Route

	// Fail tells a failure or refusal of brig. word is that of the table Failures. No failure may look like an answer to
	// a program (TestNoFailureIsAnAnswer).
	Fail func(p *api.Problem, word Word) Response
}

// A Route is one operation of a dialect.
type Route struct {
	Method, Path string // as in patterns of http.ServeMux, from the root
	Open         bool   // needs no key; it then reads no body, and plans no run
	Form         bool   // its body is a form with files (multipart/form-data), and no JSON
	Type         string // another type of a body than application/json; no form, which a browser sends for foreign pages
	Upload       bool   // its body is passed on while it arrives, see Plan.Upload
	OfSession    bool   // all that it asks for is of one session, so that a client with its token needs no key
	NoBody       bool   // its body is not read, as that of GET and HEAD
	AnyType      bool   // its body is JSON, or empty, and clients do not say so in Content-Type

	// Plan decides what a request asks for. Its errors are answers: it refuses in the words of the other program.
	Plan func(Request, Agent) Plan

	// Fail tells a failure or refusal of brig to clients of this operation; nil: that of the dialect does.
	Fail func(p *api.Problem, word Word) Response
}

// A Request is what a client sent.
type Request struct {
	Method string
	Path   map[string]string           // the wildcards of Route.Path
	Query  map[string][]string         // the parameters of the URL
	Type   string                      // Content-Type
	Accept string                      // the types of answers that the client reads
	Body   []byte                      // at most as large as a body of brig's API; never compressed
	Header map[string]string           // those of Dialect.Headers; the others are not known
	Now    time.Time                   // when it came
	Token  func(session string) string // of a session of the caller: what a client may have instead of a key
	Nonce  string                      // letters and digits that nobody can guess, others for each request: for new ids
}

// A Plan is what a request asks for: an answer at once, or runs and what to make of their results, or submissions.
type Plan struct {
	Answer  *Response         // nil: the runs have to be executed
	Runs    []api.Run         // executed in this order, each with the gates of a run of its own
	Typed   map[int]api.Bytes // of a run with a terminal: what is typed at it
	Feeds   map[int]int       // of a run: the earlier one whose stdout is its stdin; a writer of more than a result carries is an error
	MaxWait time.Duration     // the longest that each waits for a slot, before its client gives up; zero: the service's

	Needs   []Need   // files that were kept, for the runs or to ask whether they are there
	Missing Response // the answer if one of Needs is not kept, or no longer

	Batch  *Batch  // runs at the same time, instead of Runs; nil: none
	Submit *Submit // work that goes on after the answer; nil: none
	Recall *Recall // work of earlier requests; nil: none

	Call   *Call            // a request of brig's own API, instead of runs; nil: none
	Then   func(Reply) Plan // what follows of the reply to Call, or to the last one of Upload
	Stream *Stream          // instead of Then: the reply is passed on while it arrives
	Upload *Upload          // files that the body of the request has, instead of Call; nil: none

	Sessions *Sessions // sessions of the key, instead of runs; nil: not asked
	Kernels  *Kernels  // kernels of the key, instead of runs; nil: not asked

	List func([]Kept) Response              // instead of an answer and runs: tells which files are kept; nil: not asked
	Read func(file Kept, b []byte) Response // instead of an answer and runs: tells the first of Needs; nil: not asked

	UnknownFields int // fields that were ignored because the other program ignores them; they are counted

	// Tell tells the results, one for each of Runs. It is not called if one of them failed because of brig.
	Tell func([]api.Result) Response

	// TellInOrder is Tell of a plan that asks in which order each of Runs wrote to stdout and stderr; nil: it does not ask.
	TellInOrder func([]api.Result, []Order) Response
}

// A Keep is a file that a client sends once and names later. It is kept for its key and dialect alone, and only for a
// while: a client must be able to send it again.
type Keep struct {
	ID      string // the client's own, or made of Request.Nonce; content that was kept under it is replaced
	Name    string `json:",omitempty"` // what the client calls it, for lists; at most 1024 bytes of it are kept
	Content api.Bytes
	Blob    string   `json:",omitempty"` // instead of content: the digest of a blob that a run of the plan collected
	Size    api.Size `json:",omitempty"` // of the blob
}

// KeepFile is a Keep of a file that a run collected.
func KeepFile(id, name string, f api.File) Keep {
	return Keep{ID: id, Name: name, Content: f.Content, Blob: f.Blob, Size: f.Size}
}

// Kept is a file that is kept.
type Kept struct {
	ID, Name string
	Size     int64     // bytes
	Since    time.Time // when its content was sent
}

// A Need is a file that was kept, or one of the service's host.
type Need struct {
	ID         string
	Path       string `json:",omitempty"` // absolute, of a file of the host, below the folder that the operator named; it has no ID
	Run        int    `json:",omitempty"` // index of the run that needs it
	Name       string // in /box; empty: only asks whether it is kept, unless it is Stdin
	Executable bool   `json:",omitempty"` // sets the x bits
	Stdin      bool   `json:",omitempty"` // it is the stdin of the run, and has no name
	Interactor bool   `json:",omitempty"` // it is a file of the interactor of the run
}

// A Response is what the client gets.
type Response struct {
	Status int
	Header map[string]string
	Body   []byte

	Keep   []Keep   // files to keep before it is sent
	Forget []string // ids of kept files that are forgotten before it is sent; one that is not kept is no error
}

// Refuse is a plan that has an answer at once.
func Refuse(r Response) Plan { return Plan{Answer: &r} }

// SetRetryAfter tells the client after how many seconds it may send a request again that a problem refused.
func (r Response) SetRetryAfter(p *api.Problem) {
	r.Header["Retry-After"] = strconv.Itoa(max(p.RetryAfter, 1))
}

// An Agent is what can be asked for where the runs are executed.
type Agent struct {
	Languages []api.Language
	Ceiling   api.Limits // most that a run may ask for; a zero field does not bound
	Slots     int        // how many runs it executes at once
	Waiting   int        // runs in the queue of the service
	HostFiles bool       // the operator named a folder of the service's host, whose files a request may name by their paths
}

// Find returns the first language of names that can run here: its image is stored and has what the language needs.
func (a Agent) Find(names ...string) (api.Language, bool) {
	for _, name := range names {
		for _, l := range a.Languages {
			if (l.Name == name || slices.Contains(l.Aliases, name)) && l.Stored && len(l.Lacks) == 0 {
				return l, true
			}
		}
	}
	return api.Language{}, false
}

// Profile is the profile of a dialect's runs: at least default, because the other programs let programs fork.
func Profile(l api.Language) string {
	if l.Tier == "strict" {
		return "default"
	}
	return "" // the language's own, which permits more
}
