package template

import _ "embed"

var (
	//go:embed snapshot/python.so
	python []byte
	//go:embed snapshot/loader.so
	loader []byte
	//go:embed snapshot/ruby.so
	ruby []byte
	//go:embed snapshot/php.so
	php []byte
	//go:embed snapshot/node.so
	node []byte
	//go:embed snapshot/java.so
	java []byte
	//go:embed snapshot/compiler.so
	compiler []byte
)

// Drivers returns the shared objects that make a template of the program that loads them, by the kind
// of template.
func Drivers() map[string][]byte {
	return map[string][]byte{"python": python, "loader": loader, "ruby": ruby, "php": php, "node": node, "java": java,
		"compiler": compiler}
}
