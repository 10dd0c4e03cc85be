package dialect

import "github.com/brig-sandbox/brig/api"

// A Call is a request of brig's own API, as the caller of the dialect could send it. Where the caller has the token of a
// session alone, it is below /v1/sessions/ID of that session.
type Call struct {
	Method string
	Path   string // with the query
	Body   []byte `json:",omitempty"` // JSON, unless Type says something else
	Type   string `json:",omitempty"` // Content-Type; empty: application/json
}

// A Reply is what brig answered to a Call.
type Reply struct {
	Body    []byte       // of a success; nil: none
	Problem *api.Problem // a refusal or failure, instead
}

// A Stream passes a reply on while it arrives. If brig refuses the Call, Refused tells that, or nil: Fail of the route.
type Stream struct {
	Head Response // status and headers, and what comes before the rest

	// Line makes what the client gets of each line of JSON, without its end. Last: nothing follows. Broken: the connection
	// is closed, so that the client sees that its answer is not complete. nil: the reply is passed on as it is.
	Line func(line []byte) Piece

	Refused func(*api.Problem) Response
}

// A Piece is a part of a stream.
type Piece struct {
	Out          []byte
	Last, Broken bool
	IfAlive      bool // only if the session that it is of has not ended: otherwise as Broken
}

// An Upload is files that the body of a request has: one, or those of a form. They are not in memory.
type Upload struct {
	One     *Call // writes the body; nil: it is a form
	Gzip    bool  // the body is compressed
	Refused func(*api.Problem) Response

	// Each makes the call that writes a part of the form; nil: the part is left out. A response refuses the request.
	Each func(field, file string) (*Call, *Response)

	// Done tells of the calls that were carried out.
	Done func([]Call) Response
}
