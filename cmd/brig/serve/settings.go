package serve

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/brig-sandbox/brig/cmd/brig/cli"
	"github.com/brig-sandbox/brig/internal/inputfile"
	"github.com/brig-sandbox/brig/internal/remedies"
	"github.com/brig-sandbox/brig/internal/usage"
)

// applySettings sets the flags that the command line did not set: from the environment, then from a file
// whose keys are the flags' names. It returns all errors together, those in the file with their
// lines. environ is the whole environment: a variable with the prefix must be that of a flag.
func applySettings(c *cli.CLI, f *pflag.FlagSet, prefix string, environ []string, file string) error {
	given := map[string]bool{}
	f.Visit(func(g *pflag.Flag) { given[g.Name] = true })
	var errs []error
	var known []string
	f.VisitAll(func(g *pflag.Flag) {
		if g.Hidden { // help is no setting
			return
		}

		known = append(known, g.Name)
		variable := prefix + strings.ToUpper(strings.ReplaceAll(g.Name, "-", "_"))
		value := c.Env(variable)
		if value == "" || given[g.Name] {
			return
		}

		given[g.Name] = true
		if err := f.Set(g.Name, value); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", variable, usage.FlagError(err)))
		}
	})

	for _, entry := range environ {
		variable, _, _ := strings.Cut(entry, "=")
		name, ours := strings.CutPrefix(variable, prefix)
		name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
		if ours && !slices.Contains(known, name) {
			errs = append(errs, fmt.Errorf("%s: unknown setting %q%s", variable, name, remedies.Setting(f, name)))
		}
	}

	if file == "" {
		file = f.Lookup("config").Value.String() // from the environment
	}
	if file == "" {
		return errors.Join(errs...)
	}

	settings, err := readSettings(file)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}

	seen := map[string]int{}
	for _, s := range settings {
		g, err := f.Lookup(s.name), error(nil)
		switch first := seen[s.name]; {
		case g == nil || g.Hidden || s.name == "config":
			err = fmt.Errorf("unknown setting %q%s", s.name, remedies.Setting(f, s.name))
		case first != 0:
			err = fmt.Errorf("%s is already set in line %d", s.name, first)
		case !given[s.name]:
			err = s.apply(f, g)
		}

		seen[s.name] = s.line
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", file, s.line, usage.FlagError(err)))
		}
	}

	return errors.Join(errs...)
}

// apply sets the flag g of f. A list in the file, even an empty one, replaces the flag's list.
func (s setting) apply(f *pflag.FlagSet, g *pflag.Flag) error {
	if !s.list {
		return f.Set(g.Name, s.values[0])
	}
	several, ok := g.Value.(pflag.SliceValue)
	if !ok {
		return fmt.Errorf("%s takes one value, not a list", s.name)
	}
	return several.Replace(s.values)
}

// A setting is one key of the file with its value, or the values of its list.
type setting struct {
	name   string
	values []string
	list   bool
	line   int
}

// yamlLine matches the position in the parser's errors.
var yamlLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^yaml: line (\d+): `) })

// readSettings reads a file of settings.
func readSettings(file string) ([]setting, error) {
	raw, err := inputfile.Read(file, cli.MaxTextFile)
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	return parseSettings(file, raw)
}

// parseSettings reads a YAML object of plain values and lists of them, the text of file.
func parseSettings(file string, raw []byte) ([]setting, error) {
	var doc, more yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(raw))
	if err := d.Decode(&doc); errors.Is(err, io.EOF) {
		return nil, nil // nothing but comments
	} else if err != nil {
		if at := yamlLine().FindStringSubmatch(err.Error()); at != nil {
			message := strings.TrimPrefix(err.Error(), at[0])
			if message == "found character that cannot start any token" {
				message += ": indent with spaces, not with tabs, and put texts in quotes"
			}
			return nil, fmt.Errorf("%s:%s: %s", file, at[1], message)
		}
		return nil, fmt.Errorf("%s: %w", file, err)
	}

	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: the file has two documents: remove the second one, and the --- before it", file)
	}

	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:%d: write settings as name: value", file, top.Line)
	}

	var all []setting
	for i := 0; i+1 < len(top.Content); i += 2 {
		name, value := top.Content[i], top.Content[i+1]
		s := setting{name: name.Value, line: name.Line, list: value.Kind == yaml.SequenceNode, values: []string{}}
		items := []*yaml.Node{value}
		if s.list {
			items = value.Content
		}

		for _, item := range items {
			if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
				return nil, fmt.Errorf("%s:%d: %s: write a value or a list of values, or leave the line out",
					file, item.Line, s.name)
			}
			s.values = append(s.values, item.Value)
		}

		all = append(all, s)
	}

	return all, nil
}
