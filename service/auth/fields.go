package auth

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/brig-sandbox/brig/api"
)

// A keyField is one field of a key, by its name in the keys file.
type keyField struct {
	name string
	at   any // *string, *int, *float64, *api.Size, *api.Mode, *bool or *Names
}

func (k *Key) fields() []keyField {
	return []keyField{{"name", &k.Name}, {"sha256", &k.SHA256}, {"runs", &k.Runs}, {"waiting", &k.Waiting},
		{"sessions", &k.Sessions}, {"memory", &k.Memory},
		{"bodies", &k.Bodies}, {"blobs", &k.Blobs}, {"volumes", &k.Volumes}, {"problems", &k.Problems}, {"problem_bytes", &k.ProblemBytes},
		{"batches", &k.Batches}, {"batch_bytes", &k.BatchBytes}, {"weight", &k.Weight}, {"cpus", &k.CPUs}, {"mode", &k.Mode}, {"admin", &k.Admin},
		{"profiles", &k.Profiles}, {"profile_log", &k.ProfileLog}, {"own_image", &k.OwnImage}, {"network", &k.Network}, {"packages", &k.Packages},
		{"host_files", &k.HostFiles}}
}

// line formats a key as in the keys file, without zero fields.
func (k Key) line() string {
	var fields []string
	for _, f := range k.fields() {
		switch v := f.at.(type) {
		case *string:
			if *v != "" {
				fields = append(fields, f.name+": "+*v)
			}
		case *int:
			if *v != 0 {
				fields = append(fields, fmt.Sprintf("%s: %d", f.name, *v))
			}
		case *float64:
			if *v != 0 {
				fields = append(fields, fmt.Sprintf("%s: %v", f.name, *v))
			}
		case *api.Size:
			if *v != 0 {
				fields = append(fields, fmt.Sprintf("%s: %v", f.name, *v))
			}
		case *api.Mode:
			if *v != "" {
				fields = append(fields, f.name+": "+string(*v))
			}
		case *bool:
			if *v {
				fields = append(fields, f.name+": true")
			}
		case *Names:
			if *v != "" {
				fields = append(fields, f.name+": ["+strings.Join(v.List(), ", ")+"]")
			}
		}
	}

	return "  - {" + strings.Join(fields, ", ") + "}"
}

// set parses the value from the file.
func (f keyField) set(value *yaml.Node) error {
	if names, ok := f.at.(*Names); ok {
		var list []string
		if value.Kind != yaml.SequenceNode || value.Decode(&list) != nil {
			return fmt.Errorf("%s: write a list, such as [managed]", f.name)
		}
		if slices.Contains(list, "") {
			return fmt.Errorf("%s: a name is empty", f.name)
		}
		*names = NamesOf(list...)
		return nil
	}

	// A list or an object has no Value: a field that is a string would silently become empty.
	if value.Kind != yaml.ScalarNode {
		return fmt.Errorf("%s: write one value", f.name)
	}

	switch v := f.at.(type) {
	case *string:
		*v = value.Value
	case *api.Mode:
		*v = api.Mode(value.Value)
	case *int:
		if value.Decode(v) != nil {
			return fmt.Errorf("%s %q: write a whole number", f.name, value.Value)
		}
	case *float64:
		if value.Decode(v) != nil {
			return fmt.Errorf("%s %q: write a number, such as 0.5", f.name, value.Value)
		}
	case *api.Size:
		var bytes int64
		if value.Decode(&bytes) == nil { // including zero, which Size.Set refuses
			*v = api.Size(bytes)
			return nil
		}
		if err := v.Set(value.Value); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}

	case *bool:
		if value.Decode(v) != nil {
			return fmt.Errorf("%s %q: write true or false", f.name, value.Value)
		}
	}

	return nil
}

// readKeyList reads the list in the field keys of a keys file. named is false if the field does not
// exist.
func readKeyList(raw []byte) (list []Key, named bool, err error) {
	var doc yaml.Node
	if err := yaml.NewDecoder(bytes.NewReader(raw)).Decode(&doc); errors.Is(err, io.EOF) {
		return nil, false, nil // only comments
	} else if err != nil {
		return nil, false, err
	}

	top := resolveAlias(doc.Content[0])
	switch {
	case top.Kind == yaml.SequenceNode:
		return nil, false, errors.New("its first line must be keys: with the keys below it")
	case top.Kind != yaml.MappingNode:
		return nil, false, nil
	}

	for i := 0; i+1 < len(top.Content); i += 2 {
		name, value := top.Content[i], resolveAlias(top.Content[i+1])
		switch {
		case name.Value != "keys":
			return nil, false, fmt.Errorf("line %d: unknown field %q: the file has only keys: and the lines below it", name.Line,
				name.Value)
		case named:
			return nil, false, fmt.Errorf("line %d: keys: is given twice", name.Line)
		case value.Kind != yaml.SequenceNode && value.Tag != "!!null":
			return nil, false, fmt.Errorf("line %d: write each key as a separate line below keys:, as brig key new "+
				"NAME prints it", value.Line)
		}

		named = true
		for _, n := range value.Content {
			k, err := readKey(resolveAlias(n))
			if err != nil {
				return nil, true, err
			}
			list = append(list, k)
		}
	}

	return list, named, nil
}

// readKey reads one key of the list.
func readKey(n *yaml.Node) (k Key, err error) {
	if n.Kind != yaml.MappingNode {
		return k, fmt.Errorf("line %d: write a key as brig key new NAME prints it", n.Line)
	}

	fields, seen := k.fields(), map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := n.Content[i]
		at := slices.IndexFunc(fields, func(f keyField) bool { return f.name == name.Value })
		switch {
		case at < 0:
			var known []string
			for _, f := range fields {
				known = append(known, f.name)
			}
			return k, fmt.Errorf("line %d: unknown field %q: a key has %s", name.Line, name.Value, strings.Join(known, ", "))
		case seen[name.Value]:
			return k, fmt.Errorf("line %d: %s is given twice", name.Line, name.Value)
		}

		seen[name.Value] = true
		if err := fields[at].set(resolveAlias(n.Content[i+1])); err != nil {
			return k, fmt.Errorf("line %d: %w", name.Line, err)
		}
	}

	return k, nil
}

// resolveAlias resolves an alias.
func resolveAlias(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}
