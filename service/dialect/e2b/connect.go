package e2b

import (
	"encoding/binary"
	"encoding/json"
	"errors"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/brig-sandbox/brig/service/dialect"
)

// The protocol of envd is Connect with JSON. A message of a stream begins with its flags, and its length in four bytes.
const (
	unaryType  = "application/json"
	streamType = "application/connect+json"

	frameHead  = 5
	flagPacked = 1 // the message is compressed, which no client of E2B does
	flagEnd    = 2 // it is the last one, and says how the stream ended
)

// A connectError is an error of envd.
type connectError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// statuses are those that the protocol has for its codes. That of unavailable is E2B's proxy's, for a sandbox that is gone.
var statuses = map[string]int{
	"invalid_argument": 400, "failed_precondition": 400, "unauthenticated": 401, "permission_denied": 403, "not_found": 404,
	"already_exists": 409, "resource_exhausted": 429, "unimplemented": 501, "unavailable": statusGone, "internal": 500,
}

func unaryError(code, message string) dialect.Response {
	return dialect.JSON(statuses[code], unaryType, connectError{code, message})
}

func refuseUnary(code, message string) dialect.Plan { return dialect.Refuse(unaryError(code, message)) }

func streamError(code, message string) dialect.Response {
	return dialect.Response{Status: 200, Header: map[string]string{"Content-Type": streamType}, Body: endOf(code, message)}
}

func refuseStream(code, message string) dialect.Plan {
	return dialect.Refuse(streamError(code, message))
}

// endOf is the last message of a stream; without a code, of one that went well.
func endOf(code, message string) []byte {
	var end struct {
		Error *connectError `json:"error,omitempty"`
	}
	if code != "" {
		end.Error = &connectError{code, message}
	}
	return frame(flagEnd, dialect.Encode(end))
}

func frame(flags byte, message []byte) []byte {
	head := make([]byte, frameHead, frameHead+len(message))
	head[0] = flags
	binary.BigEndian.PutUint32(head[1:], uint32(len(message))) // a message is far below 4 GiB
	return append(head, message...)
}

// written writes a message as JSON.
func written(m proto.Message) []byte {
	b, err := protojson.MarshalOptions{}.Marshal(m)
	if err != nil { // a text that is no UTF-8, of which there is none: see text
		return []byte("{}")
	}
	var compact json.RawMessage = b
	out, err := json.Marshal(compact) // protojson varies its blanks
	if err != nil {
		return b
	}
	return out
}

// read reads a message. Fields that brig does not know are ignored.
func read(raw []byte, into proto.Message) error {
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(raw, into)
}

// readFrame reads the one message that a client sends of a stream of answers.
func readFrame(raw []byte, into proto.Message) error {
	if len(raw) < frameHead {
		return errors.New("the message is shorter than its head of 5 bytes")
	}
	if raw[0]&flagPacked != 0 {
		return errors.New("the message is compressed: send it as it is")
	}
	n := binary.BigEndian.Uint32(raw[1:])
	if uint64(n) != uint64(len(raw)-frameHead) {
		return errors.New("there is not one message, as long as its head says")
	}
	return read(raw[frameHead:], into)
}

// parse reads JSON of brig's own API, whose fields are known.
func parse(raw []byte, into any) { _ = json.Unmarshal(raw, into) }
