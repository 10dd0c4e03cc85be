// Part of the driver of Python: what the interpreter of 3.13 imports to print an exception takes most of
// the time of a short program that ends with one. The template has these modules, but programs do not
// find them: sys.modules has them only when they are needed, and a program that imports one of them
// before gets another, as with the ordinary start.
#include <dirent.h>
#include <limits.h>
#include <string.h>
#include "python.h"

static PyObject *paths;    // sys.path, to which a run adds the directory of its source
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
	paths = PyObject_CallMethod(PySys_GetObject("path"), "copy", NULL);
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

// own_files reports whether an import could find one of the modules in the program's own files: in the directory
// of its source, or because it has changed sys.path.
static int own_files(const char *directory)
{
	PyObject *now = PySys_GetObject("path"), *added = PyObject_CallMethod(paths, "copy", NULL), *first = PyUnicode_DecodeFSDefault(directory);
	PyList_Insert(added, 0, first);
	int found = !now || PyObject_RichCompareBool(now, added, Py_EQ) != 1;
	PyErr_Clear();
	Py_DecRef(first);
	Py_DecRef(added);
	DIR *open = found ? NULL : opendir(directory);
	for (struct dirent *file; open && !found && (file = readdir(open));) {
		char name[NAME_MAX + 1] = "";
		strncat(name, file->d_name, strcspn(file->d_name, "."));
		found = PyDict_GetItemString(always, name) || PyDict_GetItemString(of_lines, name);
	}
	if (!open)
		return 1;
	closedir(open);
	return found;
}

// traceback_offer has the interpreter find them for the exception that is set. If the program has imported
// one of them, or replaced another module, it finds none: those of the template know only modules of the
// template, and not the program's. directory: that of the source.
void traceback_offer(const char *directory)
{
	PyObject *modules = PyImport_GetModuleDict(), *type, *value, *traceback;
	if (PySys_GetObject("excepthook") != PySys_GetObject("__excepthook__"))
		return; // it is the program that prints
	PyErr_Fetch(&type, &value, &traceback);
	if (has_all(modules, had) && !has_one(modules, always) && !has_one(modules, of_lines) && !own_files(directory)) {
		PyDict_Update(modules, always);
		if (traceback)
			PyDict_Update(modules, of_lines);
	}
	PyErr_Restore(type, value, traceback);
}
