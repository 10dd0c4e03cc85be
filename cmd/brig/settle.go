package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// settle fills flags that were not given from the environment, and what that leaves
// open from a file, whose keys are the flags' names.
func (c *console) settle(f *pflag.FlagSet, prefix, file string) error {
	given := map[string]bool{}
	f.Visit(func(g *pflag.Flag) { given[g.Name] = true })
	var errs []error
	set := func(name, value, source string) {
		if err := f.Set(name, value); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", source, err))
		}
		given[name] = true
	}
	f.VisitAll(func(g *pflag.Flag) {
		variable := prefix + strings.ToUpper(strings.ReplaceAll(g.Name, "-", "_"))
		if value := c.env(variable); value != "" && !given[g.Name] {
			set(g.Name, value, variable)
		}
	})
	if file == "" {
		file = f.Lookup("config").Value.String() // from the environment
	}
	if file == "" {
		return errors.Join(errs...)
	}
	settings, err := readSettings(file)
	if err != nil {
		return err
	}
	for _, s := range settings {
		where := fmt.Sprintf("%s:%d", file, s.line)
		switch g := f.Lookup(s.name); {
		case g == nil || s.name == "config" || s.name == "help":
			var names []string
			f.VisitAll(func(g *pflag.Flag) { names = append(names, g.Name) })
			errs = append(errs, fmt.Errorf("%s: there is no setting %q%s", where, s.name, nearest(s.name, names)))
		case !given[s.name]:
			for _, v := range s.values {
				set(s.name, v, where)
			}
		}
	}
	return errors.Join(errs...)
}

type setting struct {
	name   string
	values []string
	line   int
}

// readSettings reads a YAML object of plain values and lists of them.
func readSettings(file string) ([]setting, error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(raw, &doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:%d: write settings as name: value", file, top.Line)
	}
	var all []setting
	for i := 0; i+1 < len(top.Content); i += 2 {
		name, value := top.Content[i], top.Content[i+1]
		s := setting{name: name.Value, line: name.Line}
		items := []*yaml.Node{value}
		if value.Kind == yaml.SequenceNode {
			items = value.Content
		}
		for _, item := range items {
			if item.Kind != yaml.ScalarNode {
				return nil, fmt.Errorf("%s:%d: %s: write a value, or a list of values", file, item.Line, s.name)
			}
			s.values = append(s.values, item.Value)
		}
		all = append(all, s)
	}
	return all, nil
}
