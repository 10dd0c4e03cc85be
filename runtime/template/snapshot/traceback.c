// Part of the driver of Python: what the interpreter of 3.13 imports to print an exception takes most of
// the time of a short program that ends with one. The template has these modules, but programs do not
// find them: sys.modules has them only when they are needed, and a program that imports one of them
// before gets another, as with the ordinary start.
#include "python.h"

static PyObject *had;      // modules that programs find, by name
static PyObject *always;   // those that each printed exception needs in addition
static PyObject *of_lines; // those that it needs if it has lines of source, too

// take_new takes out of a dictionary what it has more than before, and returns it.
static PyObject *take_new(PyObject *of, PyObject *before)
{
	PyObject *taken = PyDict_New(), *key, *value;
	for (ssize_t at = 0; PyDict_Next(of, &at, &key, &value);)
		if (!PyDict_GetItem(before, key))
			PyDict_SetItem(taken, key, value);
	for (ssize_t at = 0; PyDict_Next(taken, &at, &key, &value);)
		PyDict_DelItem(of, key);
	return taken;
}

// traceback_prepare imports the modules and returns them by name; NULL: one cannot be imported.
PyObject *traceback_prepare(void)
{
	PyObject *modules = PyImport_GetModuleDict(), *finders = PySys_GetObject("path_importer_cache");
	PyObject *modules_before = PyDict_Copy(modules), *finders_before = PyDict_Copy(finders);
	if (!PyImport_ImportModule("traceback"))
		return NULL;
	PyObject *with_first = PyDict_Copy(modules);
	if (!PyImport_ImportModule("tokenize") || !PyImport_ImportModule("ast"))
		return NULL;
	of_lines = take_new(modules, with_first);
	always = take_new(modules, modules_before);
	PyObject *all = PyDict_Copy(always);
	PyDict_Update(all, of_lines);
	Py_DecRef(take_new(finders, finders_before)); // sys.path_importer_cache, which imports fill
	Py_DecRef(finders_before);
	had = modules_before;
	PyDict_DelItemString(had, "__main__"); // each run has its own
	Py_DecRef(with_first);
	return all;
}

static int has_one(PyObject *modules, PyObject *of)
{
	PyObject *name, *module;
	for (ssize_t at = 0; PyDict_Next(of, &at, &name, &module);)
		if (PyDict_GetItem(modules, name))
			return 1;
	return 0;
}

static int has_all(PyObject *modules, PyObject *of)
{
	PyObject *name, *module;
	for (ssize_t at = 0; PyDict_Next(of, &at, &name, &module);)
		if (PyDict_GetItem(modules, name) != module)
			return 0;
	return 1;
}

// traceback_offer has the interpreter find them for the exception that is set. If the program has imported
// one of them, or replaced another module, it finds none: those of the template know only modules of the
// template, and not the program's.
void traceback_offer(void)
{
	PyObject *modules = PyImport_GetModuleDict(), *type, *value, *traceback;
	if (PySys_GetObject("excepthook") != PySys_GetObject("__excepthook__"))
		return; // it is the program that prints
	PyErr_Fetch(&type, &value, &traceback);
	if (has_all(modules, had) && !has_one(modules, always) && !has_one(modules, of_lines)) {
		PyDict_Update(modules, always);
		if (traceback)
			PyDict_Update(modules, of_lines);
	}
	PyErr_Restore(type, value, traceback);
}
