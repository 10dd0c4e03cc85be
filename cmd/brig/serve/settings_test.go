package serve

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/brig-sandbox/brig/api"
	"github.com/brig-sandbox/brig/cmd/brig/cli"
)

type testSettings struct {
	Listen string
	Queue  int
	Wait   time.Duration
	Body   api.Size
	Images []string
	Args   []string
	Loud   bool
}

// applyTestSettings returns the settings that result from args, an environment and a file.
func applyTestSettings(t *testing.T, args []string, env map[string]string, file string) (testSettings, string, error) {
	t.Helper()
	s := testSettings{Body: api.MiB}
	f := pflag.NewFlagSet("x", pflag.ContinueOnError)
	f.StringVar(&s.Listen, "listen", "here", "")
	f.IntVar(&s.Queue, "queue", 1, "")
	f.DurationVar(&s.Wait, "wait", time.Second, "")
	f.Var(&s.Body, "max-body", "")
	f.StringSliceVar(&s.Images, "images", []string{"python"}, "")
	f.StringArrayVar(&s.Args, "agent-arg", nil, "")
	f.BoolVar(&s.Loud, "verbose", false, "")
	f.String("config", "", "")
	if err := f.Parse(args); err != nil {
		t.Fatal(err)
	}

	path := ""
	if file != "" {
		path = filepath.Join(t.TempDir(), "f.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	c := &cli.CLI{Env: func(name string) string { return env[name] }}
	environ := []string{"PATH=/bin"}
	for name, value := range env {
		environ = append(environ, name+"="+value)
	}

	err := applySettings(c, f, "B_", environ, path)
	return s, path, err
}

func TestApplySettings(t *testing.T) {
	plain := testSettings{Listen: "here", Queue: 1, Wait: time.Second, Body: api.MiB, Images: []string{"python"}}
	with := func(change func(s *testSettings)) testSettings {
		s := plain
		s.Images = slices.Clone(s.Images)
		change(&s)
		return s
	}

	for _, tt := range []struct {
		name string
		args []string
		env  map[string]string
		file string
		want testSettings
	}{
		{"nothing said: the defaults", nil, nil, "", plain},
		{"a file of comments says nothing", nil, nil, "# queue: 7\n", plain},
		{"the file wins over the default", nil, nil, "queue: 7\n", with(func(s *testSettings) { s.Queue = 7 })},
		{"the environment wins over the file", nil, map[string]string{"B_QUEUE": "8"}, "queue: 7\n", with(func(s *testSettings) { s.Queue = 8 })},
		{"a flag wins over both", []string{"--queue=9"}, map[string]string{"B_QUEUE": "8"}, "queue: 7\n",
			with(func(s *testSettings) { s.Queue = 9 })},
		{"a flag with its default's value wins too", []string{"--queue=1"}, map[string]string{"B_QUEUE": "8"}, "queue: 7\n", plain},
		{"each setting for itself", []string{"--queue=9"}, map[string]string{"B_MAX_BODY": "2M"}, "wait: 3s\nverbose: true\n",
			with(func(s *testSettings) { s.Queue, s.Body, s.Wait, s.Loud = 9, 2*api.MiB, 3*time.Second, true })},
		{"an empty variable is none", nil, map[string]string{"B_QUEUE": ""}, "queue: 7\n", with(func(s *testSettings) { s.Queue = 7 })},
		{"an empty text is one", nil, nil, "listen: ''\n", with(func(s *testSettings) { s.Listen = "" })},
		{"a list replaces the default", nil, nil, "images: [c, cpp]\n", with(func(s *testSettings) { s.Images = []string{"c", "cpp"} })},
		{"an empty list is one", nil, nil, "images: []\nagent-arg: []\n",
			with(func(s *testSettings) { s.Images, s.Args = []string{}, []string{} })},
		{"a list as in the environment", nil, map[string]string{"B_IMAGES": "java,go"}, "images: [c]\n",
			with(func(s *testSettings) { s.Images = []string{"java", "go"} })},
		{"a list written as one value", nil, nil, "images: c,cpp\n", with(func(s *testSettings) { s.Images = []string{"c", "cpp"} })},
		{"members of a list keep their commas", nil, nil, "agent-arg:\n  - --slots=4\n  - --a=b,c\n",
			with(func(s *testSettings) { s.Args = []string{"--slots=4", "--a=b,c"} })},
		{"a list that a flag has is not added to", []string{"--images=c"}, map[string]string{"B_IMAGES": "go"}, "images: [java]\n",
			with(func(s *testSettings) { s.Images = []string{"c"} })},
		{"the file may be named in the environment", nil, map[string]string{"B_CONFIG": "testdata/queue.yaml"}, "",
			with(func(s *testSettings) { s.Queue = 7 })},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _, err := applyTestSettings(t, tt.args, tt.env, tt.file)
			if err != nil {
				t.Fatal(err)
			}
			if g, w := string(cli.Marshal(got)), string(cli.Marshal(tt.want)); g != w {
				t.Errorf("%s; want %s", g, w)
			}
		})
	}
}

func TestSettingsErrorsNameTheirLine(t *testing.T) {
	for _, tt := range []struct {
		name string
		env  map[string]string
		file string
		want []string // FILE is the file's path
	}{
		{"an unknown key", nil, "queue: 1\nqeue: 2\n", []string{`FILE:2: unknown setting "qeue": did you mean queue?`}},
		{"a variable that is no setting's", map[string]string{"B_QEUE": "2"}, "",
			[]string{`B_QEUE: unknown setting "qeue": did you mean queue?`}},
		{"a file names no file", nil, "config: x\n", []string{`FILE:1: unknown setting "config"`}},
		{"a number that is none", nil, "\nqueue: many\n", []string{`FILE:2: invalid argument "many" for "--queue" flag: write a whole number`}},
		{"a duration without its unit", nil, "wait: 10\n",
			[]string{`FILE:1: invalid argument "10" for "--wait" flag: write a time with its unit`}},
		{"a size that is none", nil, "max-body: 1X\n", []string{`FILE:1: invalid argument "1X" for "--max-body" flag`}},
		{"a yes that is none", nil, "verbose: maybe\n", []string{`FILE:1: invalid argument "maybe" for`}},
		{"a list for one value", nil, "queue: [1, 2]\n", []string{`FILE:1: queue takes one value, not a list`}},
		{"an object for a value", nil, "queue:\n  deep: 1\n", []string{`FILE:2: queue: write a value or a list of values`}},
		{"no value", nil, "queue: 1\nlisten:\n", []string{`FILE:2: listen: write a value or a list of values, or leave the line out`}},
		{"a tab", nil, "# comment\n\tqueue: 1\n",
			[]string{`FILE:2: found character that cannot start any token: indent with spaces, not with tabs`}},
		{"the same key twice", nil, "queue: 1\nwait: 1s\nqueue: 2\n", []string{`FILE:3: queue is already set in line 1`}},
		{"several at once", map[string]string{"B_WAIT": "long"}, "queue: x\nqeue: 2\n",
			[]string{`B_WAIT: invalid argument "long"`, `FILE:1: invalid argument "x"`, `FILE:2: unknown setting`}},
		{"a list as the whole", nil, "- queue\n", []string{`FILE:1: write settings as name: value`}},
		{"no YAML", nil, "queue: 1\n\twait: 2s\n", []string{`FILE:2: found a tab`}},
		{"a second document", nil, "queue: 1\n---\nqueue: 2\n", []string{`FILE: the file has two documents`}},
		{"an anchor", nil, "queue: &a 1\nimages: *a\n", []string{`FILE:2: images: write a value`}},
		{"no file", map[string]string{"B_CONFIG": "testdata/none.yaml"}, "", []string{"read settings: testdata/none.yaml: no such file"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, path, err := applyTestSettings(t, nil, tt.env, tt.file)
			if err == nil {
				t.Fatal("no mistake was found")
			}
			for _, want := range tt.want {
				if want = strings.ReplaceAll(want, "FILE", path); !strings.Contains(err.Error(), want) {
					t.Errorf("said %q; want %q", err, want)
				}
			}
			if n := len(strings.Split(err.Error(), "\n")); n != len(tt.want) {
				t.Errorf("%d mistakes in %q; want %d", n, err, len(tt.want))
			}
		})
	}
}

// A file of settings is refused with its name, or has one meaning: written out in plain YAML and
// read again it gives the same settings.
func FuzzSettings(f *testing.F) {
	for _, text := range []string{"", "queue: 7\nimages: [c, 'c,pp', \"\"]\nverbose: yes # often\n", "a: &a 1\nb: *a\n", "<<: {queue: 1}\n",
		"---\n", "? [a]\n: b\n", "a: !!binary eA==\n"} {
		f.Add([]byte(text))
	}

	f.Fuzz(func(t *testing.T, raw []byte) {
		all, err := parseSettings("f.yaml", raw)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f.yaml:") {
				t.Fatalf("%q is refused without the file's name: %v", raw, err)
			}
			return
		}

		lines, plain := bytes.Count(raw, []byte("\n"))+bytes.Count(raw, []byte("\r"))+1, yaml.Node{Kind: yaml.MappingNode}
		text := func(s string) *yaml.Node {
			return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.DoubleQuotedStyle}
		}
		for _, s := range all {
			if s.line < 1 || s.line > lines || !s.list && len(s.values) != 1 {
				t.Fatalf("%q has %+v", raw, s)
			}
			value := &yaml.Node{Kind: yaml.SequenceNode}
			for _, v := range s.values {
				value.Content = append(value.Content, text(v))
			}
			if !s.list {
				value = value.Content[0]
			}
			plain.Content = append(plain.Content, text(s.name), value)
		}

		if len(all) == 0 {
			return
		}

		written, err := yaml.Marshal(&plain)
		if err != nil {
			t.Fatal(err)
		}

		again, err := parseSettings("f.yaml", written)
		same := slices.EqualFunc(all, again, func(a, b setting) bool {
			return a.name == b.name && a.list == b.list && slices.Equal(a.values, b.values)
		})
		if err != nil || !same {
			t.Fatalf("%q is %+v; written out, %q, it is %+v, %v", raw, all, written, again, err)
		}
	})
}
