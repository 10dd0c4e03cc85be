package api_test

import (
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// One pipe for both outputs is refused where brig or another program reads stdout alone.
func TestMergedStderrIsRefusedWhereStdoutIsRead(t *testing.T) {
	judge := api.Program{Language: "c", Source: api.Bytes("x")}
	tests := []api.Test{{ID: "1"}}
	asserts := []api.Test{{ID: "1", Asserts: api.Bytes("assert True")}}
	for name, tt := range map[string]struct {
		run  api.Run
		want api.Code
	}{
		"a run":       {api.Run{}, ""},
		"tests":       {api.Run{Tests: tests}, ""},
		"interactor":  {api.Run{Tests: tests, Interactor: &api.Interactor{Protocol: api.ProtocolTestlib, Program: judge}}, api.CodeBadRequest},
		"functions":   {api.Run{Tests: asserts}, api.CodeBadRequest},
		"a checker's": {api.Run{Tests: tests, Check: &api.Check{Protocol: api.ProtocolExit, Program: judge}}, ""},
	} {
		tt.run.Language, tt.run.Source = "python", api.Bytes("x")
		wantCode(t, name+" as it is", tt.run.Validate(), "")
		tt.run.MergeStderr = true
		wantCode(t, name, tt.run.Validate(), tt.want)
	}
}
