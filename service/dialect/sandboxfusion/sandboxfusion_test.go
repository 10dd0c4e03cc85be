package sandboxfusion

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/brig-sandbox/brig/api"
	manifests "github.com/brig-sandbox/brig/rootfs/languages"
	"github.com/brig-sandbox/brig/service/dialect"
	"github.com/brig-sandbox/brig/service/dialect/dialecttest"
)

func TestExchanges(t *testing.T) { dialecttest.Golden(t, Dialect, 30) }

// Every language of the table is one of brig's, which accepts its flags and the name of its source.
func TestLanguagesAreThoseOfBrig(t *testing.T) {
	known, err := manifests.Load("", nil)
	if err != nil {
		t.Fatal(err)
	}

	seen := 0
	for _, l := range languages {
		for _, name := range l.brig {
			seen++
			m, err := known.ByName(name)
			if err != nil {
				t.Errorf("%s: %v", l.id, err)
				continue
			}
			if _, err := m.ChooseFlags(l.flags); err != nil {
				t.Errorf("%s: %v", l.id, err)
			}
			if !m.IsSource(l.file) {
				t.Errorf("%s: %s is no source of %s", l.id, l.file, name)
			}
		}
	}
	if seen < 20 {
		t.Errorf("%d languages", seen)
	}
}

// What is planned is a run that brig accepts as valid, unless its files or limits are out of bounds, and every request
// gets a plan that is a run or an answer. The names that come back are those that were asked for.
func FuzzRunCode(f *testing.F) {
	for _, body := range []string{
		`{"code":"x","language":"python","files":{"a":"eA=="},"fetch_files":["[a]*","./b"],"stdin":null,"run_timeout":1e-9}`,
		`{"code":"\ud800","language":"java","files":{"Main.java":"eA","a/../b":null},"memory_limit_MB":"7","compile_timeout":true}`,
		`{"language":1,"code":[],"files":[],"fetch_files":{},"x":{"y":[]}}`, `[]`, ` {}`, `null`, "\xff", `{"code":1,"code":""`,
	} {
		f.Add([]byte(body))
	}

	on := dialecttest.StandardAgent()
	f.Fuzz(func(t *testing.T, body []byte) {
		p := planRunCode(dialect.Request{Body: body}, on)
		if p.Answer != nil {
			if !json.Valid(p.Answer.Body) || p.Answer.Status == 200 && !bytes.Contains(p.Answer.Body, []byte(sandboxError)) {
				t.Fatalf("%q is answered with %d %s", body, p.Answer.Status, p.Answer.Body)
			}
			return
		}

		run := p.Runs[0]
		if err := run.Validate(); err != nil && !api.HasCode(err, api.CodeBadFile, api.CodeTooLarge) {
			t.Fatalf("%q is not valid: %v", body, err)
		}
		if _, stored := on.Find(run.Language); !stored || run.Limits.Wall <= 0 || run.Limits.Memory <= 0 {
			t.Fatalf("%q: %+v", body, run)
		}

		told := p.Tell([]api.Result{{Verdict: api.OK, Stage: api.StageRun, Stdout: api.Bytes("\xff<")}})
		if told.Status != 200 || !json.Valid(told.Body) {
			t.Fatalf("%q is told as %d %s", body, told.Status, told.Body)
		}
	})
}

// Base64 is read as Python's b64decode reads it.
func TestBase64(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "aGk=": "hi", "aGk=\n": "hi", "a G k =": "hi", "aGk=aGk=": "hi", "aGkh": "hi!", "YQ==": "a", "Y*Q=-=": "a",
		"-_": "", "YWI=": "ab", "////": "\xff\xff\xff",
	} {
		if got, err := decodeBase64(text); err != nil || string(got) != want {
			t.Errorf("%q is %q, %v; want %q", text, got, err, want)
		}
	}

	for _, text := range []string{"a", "ab", "abc", "abcde", "YQ="} {
		if got, err := decodeBase64(text); err == nil {
			t.Errorf("%q is %q", text, got)
		}
	}
}

// As much of a stream is told as the original reads, without half a character at its end.
func TestStreamsAreCut(t *testing.T) {
	long := strings.Repeat("x", int(maxStream)-1) + "é"
	if got := *text(api.Bytes(long)); len(got) != int(maxStream)-1 {
		t.Errorf("%d bytes", len(got))
	}
	if got := *text(api.Bytes(long[1:])); got != long[1:] {
		t.Errorf("%d bytes", len(got))
	}
	if got := base64.StdEncoding.EncodeToString([]byte(*text(api.Bytes("a\xffb")))); got != "Ye+/vWI=" {
		t.Errorf("%s", got)
	}
}

// offered are the languages that are stored, in the order of the original.
func TestOffered(t *testing.T) {
	if got := offered(dialecttest.StandardAgent()); !slices.Equal(got, []string{"python", "cpp", "nodejs", "java", "php", "bash",
		"typescript", "pytest"}) {
		t.Errorf("%q", got)
	}
}
