package compatibility

import (
	"bytes"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// ranGoJudge is the result of one command of go-judge's /run.
type ranGoJudge struct {
	Status     string
	ExitStatus int
	Error      string
	Time       int64
	Memory     int64
	RunTime    int64
	ProcPeak   int64
	Files      map[string]string
	FileIDs    map[string]string
	FileError  []struct{ Name, Type, Message string }
}

// A client of go-judge that is pointed at brig gets what it expects.
func TestGoJudge(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	harness.Images.Load(t, a, "go-judge")
	file, keys := harness.KeysFile(t, a.Dir, "ann")
	s := harness.StartService(t, a, "--keys", file, "--dialect", "go-judge")

	send := func(method, path, kind string, body io.Reader) (status int, answer []byte) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, s.Url+"/go-judge"+path, body)
		if err != nil {
			t.Fatal(err)
		}

		req.Header.Set("Content-Type", kind)
		req.Header.Set("Authorization", "Bearer "+keys["ann"])
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		answer, err = io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, answer
	}

	type fields = map[string]any
	type list = []any
	collect := func(name string, most int) fields { return fields{"name": name, "max": most} }
	run := func(commands ...fields) (results []ranGoJudge) {
		t.Helper()
		usual := fields{
			"env": list{"PATH=/usr/bin:/bin"}, "files": list{fields{"content": "1 2\n"}, collect("stdout", 10240), collect("stderr", 10240)},
			"cpuLimit": 10e9, "clockLimit": 30e9, "memoryLimit": 256 << 20, "procLimit": 50,
		}
		for _, c := range commands {
			for name, standard := range usual {
				if _, given := c[name]; !given {
					c[name] = standard
				}
			}
		}
		text, err := json.Marshal(fields{"cmd": commands})
		if err != nil {
			t.Fatal(err)
		}
		status, answer := send("POST", "/run", "application/json", bytes.NewReader(text))
		if status != 200 || json.Unmarshal(answer, &results) != nil || len(results) != len(commands) {
			t.Fatalf("%s: %d %.1000s", text, status, answer)
		}
		return results
	}
	sh := func(script string, more fields) fields {
		c := fields{"args": list{"/bin/sh", "-c", script}}
		for name, v := range more {
			c[name] = v
		}
		return c
	}

	for _, tt := range []struct {
		name    string
		command fields
		status  string
		exit    int
		out     string // the whole of stdout
		fault   string // the type of the first fileError
	}{
		{"right", sh("cat; echo $A; pwd; cd /w; pwd -P", fields{"env": list{"PATH=/bin", "A=b c"}}),
			"Accepted", 0, "1 2\nb c\n/box\n/box\n", ""},
		{"an exit code", sh("exit 3", nil), "Nonzero Exit Status", 3, "", ""},
		{"the signal of a system call", sh("kill -SYS $$", nil), "Dangerous Syscall", 31, "", ""},
		{"a terminal", sh("test -t 0 && test -t 1 && test -t 2 && read line && echo \"got $line\" >&2", fields{"tty": true}),
			"Accepted", 0, "1 2\r\ngot 1 2\r\n", ""},
		{"the size of a terminal", sh("read line; stty size", fields{"tty": true}), "Accepted", 0, "1 2\r\n24 80\r\n", ""},
		{"too much at a terminal", sh("read line; while :; do echo xxxxxxxxx; done",
			fields{"tty": true, "files": list{fields{"content": "\n"}, collect("stdout", 4), nil}}),
			"Output Limit Exceeded", 9, "\r\nxx", "CollectSizeExceeded"},
		{"a signal", sh("kill -SEGV $$", nil), "Signalled", 11, "", ""},
		{"processor time", sh("while :; do :; done", fields{"cpuLimit": 3e8}), "Time Limit Exceeded", 9, "", ""},
		{"a sleep", sh("sleep 100", fields{"clockLimit": 1e9}), "Time Limit Exceeded", 9, "", ""},
		{"memory", fields{"args": list{"/usr/bin/python3", "-c", "bytearray(1 << 30)"}}, "Memory Limit Exceeded", 9, "", ""},
		{"output", sh("while :; do echo xxxxxxxxx; done",
			fields{"files": list{nil, collect("stdout", 4), collect("stderr", 4)}}),
			"Output Limit Exceeded", 9, "xxxx", "CollectSizeExceeded"},
		{"one file of two streams", sh("echo a; echo b >&2; echo c",
			fields{"files": list{nil, collect("stdout", 9), collect("stdout", 9)}}),
			"Accepted", 0, "a\nb\nc\n", ""},
		{"the stack", fields{"args": list{"/bin/bash", "-c", "ulimit -s"}, "stackLimit": 102400000}, "Accepted", 0, "100000\n", ""},
		{"an address space", fields{"args": list{"/usr/bin/python3", "-c", "try: bytearray(1 << 29)\nexcept MemoryError: print('caught')"},
			"addressSpaceLimit": true}, "Accepted", 0, "caught\n", ""},
		{"files of a directory", sh("cat d/in.txt; test -x d/in.txt && echo 1; cat /w/e",
			fields{"copyIn": fields{"d/in.txt": fields{"content": "x\n"}, "/w/e": fields{"src": "/dev/null"}}}), "Accepted", 0, "x\n1\n", ""},
		{"files of /tmp", sh("cat /tmp/x /tmp/d/y; ls /tmp; echo 1 >/tmp/z", fields{"copyIn": fields{"/tmp/x": fields{"content": "x\n"},
			"/tmp/d/y": fields{"content": "y\n"}}}), "Accepted", 0, "x\ny\nd\nx\n", ""},
		{"links", sh("cat in.txt >out.txt; cat /tmp/l; readlink /tmp/l", fields{"copyIn": fields{"in.txt": fields{"symlink": "/dev/stdin"},
			"out.txt": fields{"symlink": "/dev/stdout"}, "f": fields{"content": "f\n"}, "/tmp/l": fields{"symlink": "/w/f"}}}),
			"Accepted", 0, "1 2\nf\n/box/f\n", ""},
		{"a link of the client is no file that is left", sh("echo x >out.txt",
			fields{"copyIn": fields{"out.txt": fields{"symlink": "/tmp/real"}}, "copyOut": list{"out.txt"}}), "File Error", 0, "", "CopyOutOpen"},
		{"a file that is left", sh("echo y >out", fields{"copyOut": list{"out", "none?"}}), "Accepted", 0, "", ""},
		{"no file", sh("true", fields{"copyOut": list{"out"}}), "File Error", 0, "", "CopyOutOpen"},
		{"a link", sh("ln -s /etc/passwd out", fields{"copyOut": list{"out"}}), "File Error", 0, "", "CopyOutOpen"},
		{"a FIFO", sh("mkfifo out", fields{"copyOut": list{"out"}}), "File Error", 0, "", "CopyOutOpen"},
		{"a large file", sh("echo 1234567890 >out", fields{"copyOut": list{"out"}, "copyOutMax": 5}),
			"File Error", 0, "", "CopyOutSizeExceeded"},
	} {
		got := run(tt.command)[0]
		fault := ""
		if len(got.FileError) > 0 {
			fault = got.FileError[0].Type
		}
		if got.Status != tt.status || got.ExitStatus != tt.exit || got.Files["stdout"] != tt.out || fault != tt.fault ||
			got.RunTime <= 0 || got.Memory <= 0 {
			t.Errorf("%s: %+v; want %s, %d, %q", tt.name, got, tt.status, tt.exit, tt.out)
		}
		if tt.name == "a file that is left" && got.Files["out"] != "y\n" {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}

	// A program is compiled once. Its file is named in two commands, and then deleted.
	source := "#include <bits/stdc++.h>\nint main() { int a, b; std::cin >> a >> b; std::cout << a + b; }"
	compiled := run(fields{"args": list{"/usr/bin/g++", "-O2", "a.cc", "-o", "a"}, "copyIn": fields{"a.cc": fields{"content": source}},
		"memoryLimit": 1 << 30, "cpuLimit": 20e9, "copyOut": list{"log?"}, "copyOutCached": list{"a", "stdout"}})[0]
	id := compiled.FileIDs["a"]
	if compiled.Status != "Accepted" || id == "" || compiled.FileIDs["stdout"] == "" || compiled.Time <= 0 {
		t.Fatalf("%+v", compiled)
	}
	program := fields{"a": fields{"fileId": id}}
	two := run(fields{"args": list{"/w/a"}, "copyIn": program}, fields{"args": list{"./a"}, "copyIn": program,
		"files": list{fields{"content": "20 22"}, collect("stdout", 99)}})
	if two[0].Files["stdout"] != "3" || two[1].Files["stdout"] != "42" {
		t.Errorf("%+v", two)
	}

	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	part, err := w.CreateFormFile("file", "in.txt")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := part.Write([]byte("7 8")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var uploaded string
	if status, text := send("POST", "/file", w.FormDataContentType(), &form); status != 200 || json.Unmarshal(text, &uploaded) != nil {
		t.Fatalf("%d %s", status, text)
	}
	sum := run(fields{"args": list{"a"}, "env": list{"PATH=/box"}, "copyIn": program,
		"files": list{fields{"fileId": uploaded}, collect("stdout", 99)}})
	if sum[0].Files["stdout"] != "15" {
		t.Errorf("%+v", sum)
	}

	if status, text := send("GET", "/file", "", nil); status != 200 || !strings.Contains(string(text), `"`+uploaded+`":"in.txt"`) ||
		!strings.Contains(string(text), `"`+id+`":"a"`) {
		t.Errorf("%d %s", status, text)
	}
	if status, text := send("GET", "/file/"+id, "", nil); status != 200 || !bytes.HasPrefix(text, []byte("\x7fELF")) {
		t.Errorf("%d, %d bytes", status, len(text))
	}
	for _, want := range []int{200, 404} {
		if status, text := send("DELETE", "/file/"+id, "", nil); status != want || len(text) > 0 {
			t.Errorf("%d %s", status, text)
		}
	}

	var page api.Page[api.Record]
	s.WithKey(keys["ann"]).Call("GET", "/v1/history", nil, 200, &page)
	if len(page.Items) == 0 {
		t.Error("the history has no runs")
	}
	for _, r := range page.Items {
		if r.Dialect != "go-judge" {
			t.Errorf("%+v", r)
		}
	}
}
