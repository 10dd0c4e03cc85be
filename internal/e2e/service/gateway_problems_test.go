package service

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/internal/e2e/harness"
)

// sumPackage is a package with a validator of its own, groups and an included file. The answers of its
// tests are not what a program prints.
var sumPackage = map[string]string{
	"problem.yaml": "problem_format_version: 2025-09\nname: Sum\nuuid: " +
		"0c1bd2e4-0000-4000-8000-000000000001\ntype: scoring\nlimits: {time_limit: 2}\n",
	"data/sample/1.in":              "1 2\n",
	"data/sample/1.ans":             "THE-ANSWER 3\n",
	"data/secret/a/1.in":            "5 5\n",
	"data/secret/a/1.ans":           "THE-ANSWER 10\n",
	"data/secret/b/1.in":            "-1 1\n",
	"data/secret/b/1.ans":           "THE-ANSWER 0\n",
	"data/secret/a/test_group.yaml": "max_score: 40\n",
	"data/secret/b/test_group.yaml": "max_score: 60\n",
	"output_validator/v.py": "import sys\nright = open(sys.argv[2]).read().split()[1]\ngot = " +
		"sys.stdin.read().split()\nsys.exit(42 if got == [right] else 43)\n",
	"include/python3/summing.py": "def add(a, b):\n    return a + b\n",
	"submissions/accepted/a.py":  "",
}

// zipOf is a zip archive of files.
func zipOf(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// The service judges by a package that it keeps, as brig grade does, also after it was killed; and a
// result does not tell the answers.
func TestGatewayProblems(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	a.NeedPython(t)
	data := filepath.Join(a.Dir, "gateway")
	s := harness.LaunchService(t, a, data)
	var stored, again api.StoredProblem
	s.Call("PUT", "/v1/problems/sum", bytes.NewReader(zipOf(t, sumPackage)), 200, &stored)
	if stored.Tests != 3 || !stored.Scoring || stored.Title != "Sum" || stored.Time != 2e9 {
		t.Errorf("stored %+v", stored)
	}

	const right = "from summing import add\nprint(add(*map(int, input().split())))\n"
	judge := func(ref, source string, limits ...api.Limits) (res api.Result) {
		t.Helper()
		run := harness.Py(source)
		if len(limits) > 0 {
			run.Limits = limits[0]
		}

		s.Call("POST", "/v1/runs", api.RunRequest{Problem: ref, Run: run}, 200, &res)
		if res.Summary == nil || res.Summary.Score == nil {
			t.Fatalf("%s: %+v", ref, res)
		}
		if text, err := json.Marshal(res); err != nil || strings.Contains(string(text), "THE-ANSWER") {
			t.Errorf("the result tells the answer, %v: %s", err, text)
		}
		return res
	}
	if res := judge("sum", right); *res.Summary.Score != 1 || *res.Summary.Points != 100 || res.Summary.Answer != api.Accepted ||
		res.Limits.CPU != 2e9 {
		t.Errorf("a right program: %+v, limits %+v", *res.Summary, res.Limits)
	}
	if res := judge(stored.Digest, right+"# again\n"); *res.Summary.Score != 1 {
		t.Errorf("another right program: %+v", *res.Summary)
	}
	if res := judge("sum", "a, b = map(int, input().split())\nprint(abs(a) + b)\n"); *res.Summary.Score != 0.4 || *res.Summary.Points != 40 ||
		res.Summary.Answer != api.WrongAnswer {
		t.Errorf("a program that is right in one group: %+v", *res.Summary)
	}
	if res := judge("sum", "while True: pass\n",
		api.Limits{Wall: harness.Slowly(29)}); *res.Summary.Score != 0 || res.Verdict != api.CPULimit {
		t.Errorf("a slow program: %s, %+v", res.Verdict, *res.Summary)
	}

	var slow api.Result
	run := harness.Py("while True: pass\n")
	run.Limits = api.Limits{CPU: 5e8, Wall: harness.Slowly(20)}
	s.Call("POST", "/v1/runs", api.RunRequest{Problem: "sum", Run: run}, 200, &slow)
	if slow.Verdict != api.CPULimit || slow.Limits.CPU != 5e8 {
		t.Errorf("with a limit of the request: %s, %+v", slow.Verdict, slow.Limits)
	}

	judgeBatchBy(s, stored.Digest, right)
	var p api.Problem
	res, err := s.Send(t.Context(), "PUT", "/v1/problems/sum", bytes.NewReader(zipOf(t, map[string]string{"problem.yaml": "x: 1"})))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()

	if err := json.NewDecoder(res.Body).Decode(&p); err != nil || res.StatusCode != 422 || p.Code != api.CodeBadProblem {
		t.Errorf("a wrong package: %d %+v, %v", res.StatusCode, p, err)
	}

	_ = s.Cmd.Process.Kill()
	<-s.Done
	s = harness.LaunchService(t, a, data)
	s.Call("GET", "/v1/problems/sum", nil, 200, &again)
	if again.Digest != stored.Digest || string(again.Manifest) != string(stored.Manifest) {
		t.Errorf("after a kill: %+v", again)
	}
	if res := judge("sum", right); *res.Summary.Score != 1 {
		t.Errorf("after a kill: %+v", *res.Summary)
	}

	s.Call("PUT", "/v1/problems/again", bytes.NewReader(tarPackage(t, sumPackage)), 200, &again)
	if again.Digest != stored.Digest {
		t.Errorf("a tar of the same files has the digest %s, the zip %s", again.Digest, stored.Digest)
	}

	s.Call("DELETE", "/v1/problems/again", nil, 204, nil)
	s.Refused("POST", "/v1/runs", api.RunRequest{Problem: "again", Run: harness.Py(right)}, 404, api.CodeNoProblem)
}

// tarPackage is a compressed tar archive of files.
func tarPackage(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	archive := tar.NewWriter(z)
	for name, text := range files {
		err := archive.WriteHeader(&tar.Header{Name: "sum/" + name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg})
		if err == nil {
			_, err = archive.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// judgeBatchBy judges a batch of two programs by the stored problem sum, which has a digest.
func judgeBatchBy(s *harness.Service, digest, right string) {
	s.T.Helper()
	var lines []byte
	for _, j := range []api.Job{{ID: "right", Problem: "sum", Run: harness.Py(right)},
		{ID: "half", Problem: digest, Run: harness.Py("a, b = map(int, input().split())\nprint(abs(a) + b)\n")}} {
		text, err := json.Marshal(j)
		if err != nil {
			s.T.Fatal(err)
		}
		lines = append(append(lines, text...), '\n')
	}

	path := openBatch(s, "{}")
	if taken := addJobs(s, path, string(lines)); taken.Taken != 2 {
		s.T.Errorf("%+v", taken)
	}

	s.Call("POST", path+"/close", nil, 200, nil)
	all, _ := resultsOf(s, path, "follow=true")
	scores := map[string]float64{}
	for _, one := range all {
		if one.Score == nil || one.Result == nil {
			s.T.Fatalf("%+v, %v", one, one.Error)
		}
		scores[one.ID] = *one.Score
		if text, err := json.Marshal(one); err != nil || strings.Contains(string(text), "THE-ANSWER") {
			s.T.Errorf("the result tells the answer, %v: %s", err, text)
		}
	}

	if scores["right"] != 1 || scores["half"] != 0.4 {
		s.T.Errorf("scores %v", scores)
	}
}

// The service verifies a package as brig problem verify does: with the agent's languages, the package's
// own validator, and a submission that ends otherwise than its directory says.
func TestGatewayVerifiesProblems(t *testing.T) {
	a := harness.StartAgent(t, harness.SharedFlags...)
	a.NeedPython(t)
	s := harness.LaunchService(t, a, filepath.Join(a.Dir, "gateway"))
	files := maps.Clone(sumPackage)
	files["submissions/accepted/a.py"] = "from summing import add\nprint(add(*map(int, input().split())))\n"
	files["submissions/wrong_answer/w.py"] = "print(3)\n"
	files["output_validator/v.py"] = strings.Replace(files["output_validator/v.py"], "got ==", "got[-1:] ==", 1) // accepts the jury's answers

	for _, tt := range []struct {
		accepted string // a second submission there
		ok       bool
	}{{"", true}, {"print(3)\n", false}} {
		if tt.accepted != "" {
			files["submissions/accepted/b.py"] = tt.accepted
		}

		s.Call("PUT", "/v1/problems/sum", bytes.NewReader(zipOf(t, files)), 200, nil)
		var v api.Verification
		s.Call("POST", "/v1/problems/sum/verify", api.VerifyRequest{}, 200, &v)
		if v.OK != tt.ok || v.OK == (len(v.Mistakes) > 0) || len(v.Submissions) < 2 || v.TimeLimit == nil || v.TimeLimit.Limit != 2e9 {
			t.Errorf("%+v", v)
		}

		for _, one := range v.Submissions {
			if one.Path == "accepted/a.py" && (one.Got != "3 AC" || one.Slowest <= 0 || len(one.Unexpected) > 0) ||
				one.Path == "accepted/b.py" && len(one.Unexpected) == 0 {
				t.Errorf("%+v", one)
			}
		}
	}
}
