package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/brig-sandbox/brig/api"
)

// An answer of go-judge counts only if its program succeeded and wrote the expected text.
func TestGoJudgeAnswersAreChecked(t *testing.T) {
	status, stdout := "Accepted", "5050\n"
	mux := http.NewServeMux()
	mux.HandleFunc("POST /file", func(w http.ResponseWriter, r *http.Request) {
		f, _, err := r.FormFile("file")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if content, err := io.ReadAll(f); err != nil || string(content) != "ELF" {
			http.Error(w, "another file", http.StatusBadRequest)
			return
		}
		fmt.Fprint(w, `"ID"`)
	})

	mux.HandleFunc("POST /run", func(w http.ResponseWriter, r *http.Request) {
		var ask struct {
			Cmd []struct {
				Args   []string
				CopyIn map[string]struct{ FileID string }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&ask); err != nil || len(ask.Cmd) != 1 || ask.Cmd[0].CopyIn["sum"].FileID != "ID" ||
			ask.Cmd[0].Args[1] != "100" {
			http.Error(w, fmt.Sprintf("%+v, %v", ask, err), http.StatusBadRequest)
			return
		}
		fmt.Fprintf(w, `[{"status":%q,"exitStatus":0,"files":{"stdout":%q}}]`, status, stdout)
	})

	server := httptest.NewServer(mux)
	defer server.Close()

	g := newGoJudge(server.URL)
	id, err := g.upload(t.Context(), "sum", []byte("ELF"))
	if err != nil {
		t.Fatal(err)
	}

	run, err := g.runner(map[string]string{"sum": id}, "/w/sum", "100")
	if err != nil {
		t.Fatal(err)
	}

	run = comparison{wantStdout: "5050\n"}.checked(run)
	if res, err := run(t.Context(), api.Run{}); err != nil || res.Verdict != api.OK {
		t.Errorf("%+v, %v", res, err)
	}

	stdout = "5051\n"
	if _, err := run(t.Context(), api.Run{}); err == nil {
		t.Error("a wrong answer counts")
	}

	status, stdout = "Time Limit Exceeded", "5050\n"
	if _, err := run(t.Context(), api.Run{}); err == nil {
		t.Error("a run that was killed counts")
	}
}
