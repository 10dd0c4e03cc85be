package api

import "encoding/json"

// LanguageOfCalls is the language of programs whose functions tests call.
const LanguageOfCalls = "python"

// A Call names the function that tests call.
type Call struct {
	Fn string `json:"fn" doc:"name of a function of the source, or of a method of its class Solution"`
}

// calls reports whether the test calls functions of the source.
func (t Test) calls() bool { return len(t.Asserts) > 0 || t.CallArgs != nil }

// CallsFunctions reports whether the tests of r call functions of its source.
func (r Run) CallsFunctions() bool { return len(r.Tests) > 0 && r.Tests[0].calls() }

// validateCalls refuses tests that call functions next to others, and what such tests cannot have.
func (r Run) validateCalls() error {
	for _, t := range r.Tests {
		switch {
		case t.calls() != r.CallsFunctions():
			return Refuse(CodeBadRequest,
				"test %q: some tests call functions (asserts, call_args) and others do not: send them in separate runs", t.ID)
		case !t.calls() && t.Returns == nil:
			continue
		case !t.calls():
			return Refuse(CodeBadRequest, "test %q: returns is set without call_args: add the arguments of the call", t.ID)
		case len(t.Asserts) > 0 && (t.CallArgs != nil || t.Returns != nil):
			return Refuse(CodeBadRequest, "test %q: asserts, and call_args or returns, are set: use one of the two", t.ID)
		case len(t.Stdin) > 0 || t.StdinBlob != "" || t.Compares() || len(t.Args) > 0 || len(t.CheckArgs) > 0:
			return Refuse(CodeBadRequest,
				"test %q: a test that calls functions has no stdin, expected, args or check_args", t.ID)
		case t.CallArgs != nil && (r.Call == nil || r.Call.Fn == ""):
			return Refuse(CodeBadRequest, "test %q: call_args need call of the run, which names the function", t.ID)
		}

		var args []json.RawMessage
		if t.CallArgs != nil && json.Unmarshal(t.CallArgs, &args) != nil {
			return Refuse(CodeBadRequest, "test %q: call_args must be a JSON array, one element for each argument", t.ID)
		}
	}

	switch {
	case r.Call != nil && !r.CallsFunctions():
		return Refuse(CodeBadRequest, "call is set, and no test has call_args")
	case !r.CallsFunctions():
		return nil
	case r.Source == nil:
		return Refuse(CodeBadRequest, "asserts and call_args need source: the program whose functions are called")
	case r.Check != nil || r.Interactor != nil || r.Passes > 1:
		return Refuse(CodeBadRequest, "asserts and call_args exclude check, interactor and passes")
	case r.Compare.How != "" && r.Compare.How != CompareJSON:
		return Refuse(CodeBadRequest, "values that functions return are compared by json: leave compare.how out")
	}

	return nil
}
