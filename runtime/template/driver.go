package template

import _ "embed"

// PythonDriver is the shared object that makes a template of the python3 that loads it.
//
//go:embed snapshot/python.so
var PythonDriver []byte
