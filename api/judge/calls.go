package judge

import (
	_ "embed"
	"encoding/json"

	"github.com/brig-sandbox/brig/api"
)

// CallLoader is the program that the sandbox of a program under test runs when tests call its functions: it
// loads CalledSource, and answers calls on its stdin and stdout.
//
//go:embed call_loader.py
var CallLoader []byte

// CallDriver is the interactor of such a test.
//
//go:embed call_driver.py
var CallDriver []byte

// ProtocolCalls is the protocol of CallDriver: kattis, but for a limit that CallDriver meets. Its work is to
// read values of the program, so that the program chose this.
const ProtocolCalls api.Protocol = "calls"

// The files of tests that call functions.
const (
	CalledSource = "solution.py"               // the program under test
	CallValue    = FeedbackDir + "/value.json" // what the function returned
)

// CallInput is the input of CallDriver for a test.
func CallInput(r api.Run, t api.Test) (api.Bytes, error) {
	if len(t.Asserts) > 0 {
		task := map[string]string{"asserts": string(t.Asserts)}
		if r.Call != nil {
			task["fn"] = r.Call.Fn
		}
		return json.Marshal(task)
	}
	return json.Marshal(map[string]any{"fn": r.Call.Fn, "args": t.CallArgs})
}
