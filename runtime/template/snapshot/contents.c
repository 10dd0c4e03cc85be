// Part of the driver of Python: what a program stores in modules of the template, such as an attribute of
// one, a function in copyreg's table, or an own class in a cache of typing. These modules do not end with
// the interpreter, as they do with the ordinary start: see forget_template of python.c. What they hold
// would not end either, nor what that refers to, such as a file whose last lines are not written.
#include <stdlib.h>
#include "python.h"

// A container is the dictionary of a module, or a dictionary or list that is one of its values.
struct container {
	PyObject *it, *copy;
};

static struct container *containers;
static unsigned count;
static PyObject *caches; // of functools.lru_cache

enum { LIST = 1 << 25, DICT = 1 << 29 }; // Py_TPFLAGS_LIST_SUBCLASS and the other one: c-api/typeobj.html

static unsigned long kind_of(PyObject *o)
{
	PyObject *type = PyObject_Type(o);
	unsigned long flags = PyType_GetFlags(type);
	Py_DecRef(type);
	return flags & (LIST | DICT);
}

static void note(PyObject *it)
{
	if (!(count & (count + 1)))
		containers = realloc(containers, (2 * count + 2) * sizeof *containers);
	containers[count++] = (struct container){it, kind_of(it) == DICT ? PyDict_Copy(it) : PyList_GetSlice(it, 0, PyList_Size(it))};
}

// contents_note notes what modules, by name, hold now, except one dictionary: each module holds that of
// the built-in functions. It is called once, before the template is made.
void contents_note(PyObject *modules, PyObject *except)
{
	PyObject *name, *module, *key, *value;
	for (ssize_t at = 0; PyDict_Next(modules, &at, &name, &module);) {
		PyObject *names = PyModule_GetDict(module);
		if (!names) { // sys.modules may have what is no module
			PyErr_Clear();
			continue;
		}
		note(names);
		for (ssize_t i = 0; PyDict_Next(names, &i, &key, &value);)
			if (value != except && kind_of(value))
				note(value);
	}
	caches = PyList_New(0);
	PyObject *functools = PyDict_GetItemString(modules, "functools"), *wrapper;
	if (!functools || !(wrapper = PyObject_GetAttrString(functools, "_lru_cache_wrapper")))
		return;
	PyObject *all = PyObject_CallMethod(PyImport_ImportModule("gc"), "get_objects", NULL);
	for (ssize_t i = 0; i < PyList_Size(all); i++)
		if (PyObject_IsInstance(PyList_GetItem(all, i), wrapper) == 1)
			PyList_Append(caches, PyList_GetItem(all, i));
	Py_DecRef(all);
	Py_DecRef(wrapper);
}

static int is_as_before(const struct container *c)
{
	if (kind_of(c->it) == LIST) {
		ssize_t n = PyList_Size(c->it);
		if (n != PyList_Size(c->copy))
			return 0;
		for (ssize_t i = 0; i < n; i++)
			if (PyList_GetItem(c->it, i) != PyList_GetItem(c->copy, i))
				return 0;
		return 1;
	}
	PyObject *key[2], *value[2];
	for (ssize_t at[2] = {0, 0};;) {
		int more = PyDict_Next(c->it, &at[0], &key[0], &value[0]);
		if (more != PyDict_Next(c->copy, &at[1], &key[1], &value[1]))
			return 0;
		if (!more)
			return 1;
		if (key[0] != key[1] || value[0] != value[1])
			return 0;
	}
}

// contents_restore has the modules hold what they held before. What the program stored in them is then
// garbage, as after the end of the modules: the interpreter collects it with the program's own.
void contents_restore(void)
{
	PyObject *stored = PyList_New(0);
	PyList_Append(stored, stored); // so that it ends as garbage: no object ends before all modules are as before
	for (unsigned i = 0; i < count; i++) {
		struct container *c = &containers[i];
		if (is_as_before(c))
			continue;
		if (kind_of(c->it) == LIST) {
			PyObject *old = PyList_GetSlice(c->it, 0, PyList_Size(c->it));
			PyList_Append(stored, old);
			Py_DecRef(old);
			PyList_SetSlice(c->it, 0, PyList_Size(c->it), c->copy);
			continue;
		}
		PyObject *old = PyDict_Copy(c->it);
		PyList_Append(stored, old);
		Py_DecRef(old);
		PyDict_Clear(c->it);
		PyDict_Update(c->it, c->copy);
	}
	for (ssize_t i = 0; i < PyList_Size(caches); i++)
		Py_DecRef(PyObject_CallMethod(PyList_GetItem(caches, i), "cache_clear", NULL));
	Py_DecRef(stored);
	PyErr_Clear();
}
