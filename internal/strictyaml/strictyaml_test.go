package strictyaml

import (
	"strings"
	"testing"
)

type file struct {
	Name  string            `yaml:"name"`
	Epoch int64             `yaml:"epoch"`
	Size  uint64            `yaml:"size"`
	Part  *float64          `yaml:"part"`
	Fresh bool              `yaml:"fresh"`
	List  []string          `yaml:"list"`
	Env   map[string]string `yaml:"env"`
	Rules []rule            `yaml:"rules"`
}

type rule struct {
	Names []string `yaml:"names"`
}

// An error says what the file has and what is needed there, without a type of Go or a tag of YAML.
func TestErrorsAreInTheWordsOfTheFile(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "read f.yaml: it is empty",
		"just text":                    "read f.yaml: line 1: `just text` where a mapping (name: value) is needed",
		"- a\n":                        "read f.yaml: line 1: a list where a mapping (name: value) is needed",
		"name: [a]\n":                  "read f.yaml: line 1: a list where text is needed",
		"epoch: soon\n":                "read f.yaml: line 1: `soon` where a whole number is needed",
		"size: -1\n":                   "read f.yaml: line 1: `-1` where a whole number, not negative, is needed",
		"part: half\n":                 "read f.yaml: line 1: `half` where a number is needed",
		"fresh: 3\n":                   "read f.yaml: line 1: `3` where true or false is needed",
		"list: {a: b}\n":               "read f.yaml: line 1: a mapping (name: value) where a list is needed",
		"list: b\n":                    "read f.yaml: line 1: `b` where a list is needed",
		"env: 'a: b'\n":                "read f.yaml: line 1: `a: b` where a mapping (name: value) is needed",
		"rules: [x]\n":                 "read f.yaml: line 1: `x` where a mapping (name: value) is needed",
		"rules: x\n":                   "read f.yaml: line 1: `x` where a list is needed",
		"nmae: x\n":                    "read f.yaml: line 1: field nmae not found",
		"rules: [{nmaes: [x]}]\n":      "read f.yaml: line 1: field nmaes not found",
		"name: [a]\nepoch: b\n":        "read f.yaml: line 1: a list where text is needed; line 2: `b` where a whole number is needed",
		"name: a\n---\nname: b\n":      "read f.yaml: it contains more than one document",
		"name: a\nname: b\n":           `read f.yaml: line 2: mapping key "name" already defined at line 1`,
		"name: a\nlist: [a, b]\nenv: ": "",
	} {
		err := Decode("f.yaml", []byte(text), new(file))
		switch {
		case want == "" && err != nil, want != "" && (err == nil || err.Error() != want):
			t.Errorf("%q: %v; want %q", text, err, want)
		case err != nil && strings.Contains(err.Error(), "strictyaml"):
			t.Errorf("%q: %v names a type of Go", text, err)
		}
	}
}
