package judge

import (
	_ "embed"
	"encoding/json"
	"slices"

	"github.com/brig-sandbox/brig/api"
)

var (
	//go:embed call_values.py
	callValues []byte // how both programs encode values
	//go:embed call_loader.py
	callLoader []byte
	//go:embed call_driver.py
	callDriver []byte

	// CallLoader is the program that the sandbox of a program under test runs when tests call its
	// functions: it loads CalledSource, and answers calls on its stdin and stdout.
	CallLoader = slices.Concat(callValues, callLoader)
	// CallDriver is the interactor of such a test.
	CallDriver = slices.Concat(callValues, callDriver)
)

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
