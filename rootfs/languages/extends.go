package languages

import (
	"io/fs"
	"strings"

	"github.com/brig-sandbox/brig/internal/strictyaml"
)

// decode reads a manifest and, below it, the built-in one that it extends: a field of its own
// replaces that field, except that variables are added to those of the base. Names and extensions
// belong to one language: they are not taken over, unless the manifest replaces its base.
func decode(file string, text []byte) (yamlManifest, error) {
	var own yamlManifest
	if err := strictyaml.Decode(file, text, &own); err != nil || own.Extends == "" {
		return own, err
	}

	var base yamlManifest
	known, err := fs.ReadFile(builtinFiles, own.Extends+".yaml")
	if err == nil {
		err = strictyaml.Decode("built-in "+own.Extends+".yaml", known, &base)
	}
	if err != nil || base.Extends != "" {
		return own, inFile(file, text,
			fieldErrorf("extends", "extends %q: name one of brig's own languages that extends none: %s", own.Extends,
				strings.Join(extensible(), ", ")))
	}
	if own.Name != base.Name {
		base.Aliases, base.Extensions = nil, nil
	}

	if own.Compile != nil { // the template is one of the other command
		base.CompileTemplate = nil
	}

	err = strictyaml.Decode(file, text, &base)
	return base, err
}

// extensible lists the built-in manifests that extend none.
func extensible() (names []string) {
	files, err := fs.ReadDir(builtinFiles, ".")
	if err != nil {
		return nil
	}
	for _, f := range files {
		var m yamlManifest
		text, err := fs.ReadFile(builtinFiles, f.Name())
		if err == nil && strictyaml.Decode(f.Name(), text, &m) == nil && m.Extends == "" {
			names = append(names, m.Name)
		}
	}
	return names
}
