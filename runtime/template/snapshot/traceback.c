// Part of the driver of Python: what the interpreter of 3.13 imports to print an exception takes most of
// the time of a short program that ends with one. The template has these modules, but programs do not
// find them: sys.modules has them only when they are needed, and a program that imports one of them
// before gets another, as with the ordinary start.
#include <dirent.h>
#include <limits.h>
#include <string.h>
#include "python.h"

static PyObject *paths;    // sys.path, to which a run adds the directory of its source
static PyObject *finders, *hooks; // sys.meta_path and sys.path_hooks
static PyObject *importer, *class_maker; // __import__ and __build_class__
static PyObject *get_trace, *get_profile;
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
	PyObject *modules = PyImport_GetModuleDict(), *cache = PySys_GetObject("path_importer_cache");
	PyObject *modules_before = PyDict_Copy(modules), *cache_before = PyDict_Copy(cache);
	if (!PyImport_ImportModule("traceback"))
		return NULL;
	PyObject *with_first = PyDict_Copy(modules);
	if (!PyImport_ImportModule("tokenize") || !PyImport_ImportModule("ast"))
		return NULL;
	of_lines = take_new(modules, with_first);
	always = take_new(modules, modules_before);
	PyObject *all = PyDict_Copy(always);
	PyDict_Update(all, of_lines);
	Py_DecRef(take_new(cache, cache_before)); // which imports fill
	Py_DecRef(cache_before);
	paths = PyObject_CallMethod(PySys_GetObject("path"), "copy", NULL);
	finders = PyObject_CallMethod(PySys_GetObject("meta_path"), "copy", NULL);
	hooks = PyObject_CallMethod(PySys_GetObject("path_hooks"), "copy", NULL);
	PyObject *builtins = PyModule_GetDict(PyImport_ImportModule("builtins"));
	importer = PyDict_GetItemString(builtins, "__import__");
	class_maker = PyDict_GetItemString(builtins, "__build_class__");
	get_trace = PySys_GetObject("gettrace");
	get_profile = PySys_GetObject("getprofile");
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

// same_end reports whether a list ends with the same objects as another one, after its first skip.
static int same_end(PyObject *list, PyObject *as, ssize_t skip)
{
	if (!list)
		return 0;
	PyObject *type = PyObject_Type(list);
	int same = (PyType_GetFlags(type) & Py_TPFLAGS_LIST_SUBCLASS) && PyList_Size(list) == PyList_Size(as) + skip;
	Py_DecRef(type);
	for (ssize_t i = 0; same && i < PyList_Size(as); i++)
		same = PyList_GetItem(list, i + skip) == PyList_GetItem(as, i);
	return same;
}

static int returns_none(PyObject *function)
{
	PyObject *result = PyObject_CallFunction(function, NULL);
	int none = result == &_Py_NoneStruct;
	Py_DecRef(result);
	return none;
}

// ordinary_imports reports whether the program sees nothing of an import that the interpreter makes: it has
// changed nothing that takes part in one, and is not traced.
static int ordinary_imports(void)
{
	PyObject *builtins = PyDict_GetItemString(PyImport_GetModuleDict(), "builtins"), *names = builtins ? PyModule_GetDict(builtins) : NULL;
	return names && PyDict_GetItemString(names, "__import__") == importer && PyDict_GetItemString(names, "__build_class__") == class_maker
		&& same_end(PySys_GetObject("path"), paths, 1) && same_end(PySys_GetObject("meta_path"), finders, 0)
		&& same_end(PySys_GetObject("path_hooks"), hooks, 0) && returns_none(get_trace) && returns_none(get_profile);
}

// own_files reports whether an import could find one of the modules in the directory of the source.
static int own_files(const char *directory)
{
	DIR *open = opendir(directory);
	if (!open)
		return 1;
	int found = 0;
	for (struct dirent *file; !found && (file = readdir(open));) {
		char name[NAME_MAX + 1] = "";
		strncat(name, file->d_name, strcspn(file->d_name, "."));
		found = PyDict_GetItemString(always, name) || PyDict_GetItemString(of_lines, name);
	}
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
	if (ordinary_imports() && has_all(modules, had) && !has_one(modules, always) && !has_one(modules, of_lines) && !own_files(directory)) {
		PyDict_Update(modules, always);
		if (traceback)
			PyDict_Update(modules, of_lines);
	}
	PyErr_Restore(type, value, traceback);
}
