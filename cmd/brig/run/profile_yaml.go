package run

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/brig-sandbox/brig/seccomp"
)

// profileYAML formats a complete profile for package seccomp/load. It does not extend a tier, so
// that it stays the same when the tiers change.
func profileYAML(p seccomp.Profile) ([]byte, error) {
	type answer struct {
		Action string `yaml:"action"`
		Errno  string `yaml:"errno,omitempty"`
	}

	type cond struct {
		Arg   uint `yaml:"arg"`
		Mask  *hex `yaml:"mask,omitempty"`
		Value hex  `yaml:"value"`
	}

	type rule struct {
		Names  []string `yaml:"names,flow"`
		Args   []cond   `yaml:"args,omitempty,flow"`
		answer `yaml:",inline"`
		Why    string `yaml:"why"`
	}

	say := func(a seccomp.Answer) answer {
		out := answer{Action: string(a.Action)}
		if a.Action == seccomp.ActErrno {
			out.Errno = a.Errno.String()
		}
		return out
	}

	file := struct {
		Name    string `yaml:"name"`
		Arch    string `yaml:"arch,omitempty"`
		Default answer `yaml:"default,flow"`
		Rules   []rule `yaml:"rules"`
	}{Name: p.Name, Arch: string(p.Arch), Default: say(p.Default)}

	for _, r := range p.Rules {
		out := rule{Names: r.Names, answer: say(r.Answer), Why: r.Why}
		for _, a := range r.Args {
			c := cond{Arg: a.Index, Value: hex(a.Value)}
			if a.Mask != 0 {
				m := hex(a.Mask)
				c.Mask = &m
			}
			out.Args = append(out.Args, c)
		}
		file.Rules = append(file.Rules, out)
	}

	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(file); err != nil {
		return nil, fmt.Errorf("write profile %s: %w", p.Name, err)
	}
	return b.Bytes(), e.Close()
}

// A hex is the value or mask of an argument, written in base 16.
type hex uint64

// MarshalYAML formats the number with 0x: 0x5401.
func (h hex) MarshalYAML() (any, error) {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: fmt.Sprintf("%#x", uint64(h))}, nil
}
