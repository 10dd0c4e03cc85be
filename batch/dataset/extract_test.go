package dataset

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/base64"
	"strings"
	"testing"
)

func TestExtract(t *testing.T) {
	for _, tt := range []struct{ name, answer, want, code, language string }{
		{"no block", "print(1)", "", "print(1)", ""},
		{"last block", "```python\na\n```\ntext\n```python\nb\n```", "", "b\n", "python"},
		{"what it prints", "```cpp\na\n```\nIt prints\n```\n1\n```", "", "a\n", "cpp"},
		{"no tag", "```\na\n```\n```\nb\n```", "", "b\n", ""},
		{"the wanted language", "```python\na\n```\nRun it:\n```bash\npython3 a.py\n```", "python", "a\n", "python"},
		{"another language", "```cpp\na\n```", "python", "a\n", "cpp"},
		{"thoughts", "<think>```python\nx\n```</think>\n```py\na\n```", "", "a\n", "python"},
		{"thoughts without a beginning", "```python\nx\n```</think>```\na\n```", "", "a\n", ""},
		{"thoughts without an end", "so <think>```python\nx\n```", "", "so ", ""},
		{"no end", "```python\na\nb", "", "a\nb", "python"},
		{"tildes around backticks", "~~~~python title=\"x\"\n```\na\n```\n~~~~\n", "", "```\na\n```\n", "python"},
		{"a longer fence", "````c++\n```\na\n````", "", "```\na\n", "cpp"},
		{"in a list", "1. Code:\n    ```Python\n    if a:\n        b\n    ```\n", "", "if a:\n    b\n", "python"},
		{"a fence in a text of the program", "```python\ndoc = '''\n    ```\n'''\n```", "", "doc = '''\n    ```\n'''\n", "python"},
		{"inline", "use ```x``` here", "", "use ```x``` here", ""},
		{"braces", "``` {.python}\na\n```", "", "a\n", "python"},
		{"carriage returns", "```js\r\na\r\n```\r\n", "", "a\r\n", "javascript"},
	} {
		if code, language := Extract(tt.answer, tt.want); code != tt.code || language != tt.language {
			t.Errorf("%s: %q, %s; want %q, %s", tt.name, code, language, tt.code, tt.language)
		}
	}
}

// What is extracted is in the answer: nothing is made up.
func FuzzExtract(f *testing.F) {
	for _, s := range []string{"```python\na\n```", "<think>x</think> ~~~\nb", "1. x\n   ```c\n   y\n"} {
		f.Add(s, "")
	}

	f.Fuzz(func(t *testing.T, answer, want string) {
		code, language := Extract(answer, want)
		for l := range strings.Lines(code) {
			if !strings.Contains(answer, l) {
				t.Errorf("%q is not in the answer", l)
			}
		}
		if language != "" {
			if name, ok := languageOfTag(language); !ok || name != language {
				t.Errorf("%q is no language", language)
			}
		}
	})
}

// The pickles of one text that Python 3.11 writes are read; others are refused.
func TestPickledText(t *testing.T) {
	long := strings.Repeat("a", 300)
	for p, want := range map[string]string{
		"X\x05\x00\x00\x00aaaaaq\x00.":                                             "aaaaa",
		"\x80\x02X\x05\x00\x00\x00aaaaaq\x00.":                                     "aaaaa",
		"\x80\x03X\x02\x00\x00\x00\xc3\xa4q\x00.":                                  "ä",
		"\x80\x04\x95\t\x00\x00\x00\x00\x00\x00\x00\x8c\x05aaaaa\x94.":             "aaaaa",
		"\x80\x05\x953\x01\x00\x00\x00\x00\x00\x00X,\x01\x00\x00" + long + "\x94.": long,
		"\x80\x04\x8d\x01\x00\x00\x00\x00\x00\x00\x00a\x94.":                       "a",
		"\x80\x04\x8c\x00\x94.":                                                    "",
	} {
		if got, err := pickledText([]byte(p)); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", p, got, err, want)
		}
	}

	for _, p := range []string{
		"", ".", "\x80\x04", "\x80\x04N.", "Vaaaaa\np0\n.", "\x80\x04\x8c\x05aaaa.", "\x80\x04\x8c\x01\xff\x94.", "\x80\x04\x8c\x01a\x94.x",
		"\x80\x04\x8c\x01a\x94\x8c\x01a\x94.", "cos\nsystem\n(S'true'\ntR.", "\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xffa\x94.",
		"\x80\x06\x8c\x01a\x94.",
		"\x80\x04]\x8c\x01a\x94a.",
	} {
		if got, err := pickledText([]byte(p)); err == nil {
			t.Errorf("%q is read as %q", p, got)
		}
	}
}

// The text of a pickle is a part of it.
func FuzzPickledText(f *testing.F) {
	f.Add([]byte("\x80\x04\x95\t\x00\x00\x00\x00\x00\x00\x00\x8c\x05aaaaa\x94."))
	f.Add([]byte("X\x05\x00\x00\x00aaaaaq\x00."))
	f.Fuzz(func(t *testing.T, p []byte) {
		if text, err := pickledText(p); err == nil && !bytes.Contains(p, []byte(text)) {
			t.Errorf("%q of %q", text, p)
		}
	})
}

// What becomes too large is refused before it is kept.
func TestUnpackIsBounded(t *testing.T) {
	var packed bytes.Buffer
	b := base64.NewEncoder(base64.StdEncoding, &packed)
	z := zlib.NewWriter(b)
	if _, err := z.Write(make([]byte, 1<<20+1)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := unpack(packed.String(), 1<<20); err == nil || !strings.Contains(err.Error(), "more than 1 MiB") {
		t.Errorf("%v", err)
	}
}

func compressed(t *testing.T, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
