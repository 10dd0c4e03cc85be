// Part of the driver of Python: the end of a program. It is that of Py_RunMain (Modules/main.c), except for
// the modules of the template and what they refer to: freeing them would copy their pages. So what a
// program has stored in them, such as an attribute of a class or an own class in a cache, would not end
// either, and a file among it would keep its last lines. end_objects ends it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>
#include "python.h"

enum { BUFFERS = 4 };
static PyObject *buffers[BUFFERS]; // the types that write to a file directly

enum { FLUSH_FAILED = 120 }; // the exit status of Python if a stream cannot be written

static PyObject *template_modules; // by name, without __main__, builtins and sys
static PyObject *run_exit_functions, *get_objects, *io_base, *text_base, *buffer_base;
static void (*print_unraisable)(const char *format, ...); // PyErr_FormatUnraisable, since 3.13
static void *python_finalizer; // the slot of a class that has __del__
static const char *const hook_of_program = "brig.unraisablehook"; // in sys
static int program_status, flush_failed, waited;

static PyObject *call(PyObject *function) { return PyObject_CallFunction(function, NULL); }

// finish_prepare is called once, when the template has imported its modules.
void finish_prepare(PyObject *modules, PyObject *gc)
{
	template_modules = modules;
	get_objects = PyObject_GetAttrString(gc, "get_objects");
	PyObject *io = PyImport_ImportModule("_io");
	io_base = PyObject_GetAttrString(io, "_IOBase");
	text_base = PyObject_GetAttrString(io, "_TextIOBase");
	buffer_base = PyObject_GetAttrString(io, "_BufferedIOBase");
	static const char *const names[] = {"BufferedReader", "BufferedWriter", "BufferedRandom", "BufferedRWPair"};
	for (int i = 0; i < BUFFERS; i++)
		buffers[i] = PyObject_GetAttrString(io, names[i]);
	PyObject *with_del = PyObject_CallFunction(&PyType_Type, "s(O){sO}", "A", &PyBaseObject_Type, "__del__", &_Py_NoneStruct);
	python_finalizer = PyType_GetSlot(with_del, Py_tp_finalize);
	Py_DecRef(with_del);
	Py_DecRef(PyObject_CallMethod(gc, "collect", NULL)); // or object.__subclasses__() would have it
	print_unraisable = dlsym(RTLD_DEFAULT, "PyErr_FormatUnraisable");
	PyObject *all = PyImport_GetModuleDict(), *had = PyDict_GetItemString(all, "atexit");
	run_exit_functions = PyObject_GetAttrString(PyImport_ImportModule("atexit"), "_run_exitfuncs");
	if (!had)
		PyDict_DelItemString(all, "atexit");
}

static __attribute__((noreturn)) void leave(void)
{
	if (program_status == INTERRUPTED) {
		fflush(NULL);
		signal(SIGINT, SIG_DFL);
		kill(getpid(), SIGINT);
		program_status = 130;
	}
	exit(flush_failed ? FLUSH_FAILED : program_status); // with the handlers of atexit(3)
}

// wait_for_threads and the functions of atexit are what Py_FinalizeEx begins with. Called before, they find
// the modules of the template; called by it again, they have nothing to do.
static void wait_for_threads(void)
{
	PyObject *threading = PyDict_GetItemString(PyImport_GetModuleDict(), "threading"), *result;
	if (!threading)
		return;
	waited = 1;
	if ((result = PyObject_CallMethod(threading, "_shutdown", NULL)))
		Py_DecRef(result);
	else if (print_unraisable)
		print_unraisable("Exception ignored on threading shutdown");
	else
		PyErr_WriteUnraisable(threading);
}

static PyObject *nothing(PyObject *self, PyObject *arguments)
{
	(void)self, (void)arguments;
	Py_IncRef(&_Py_NoneStruct);
	return &_Py_NoneStruct;
}

// wait_no_more has Py_FinalizeEx not wait for threads that a function of atexit has started with a module that it was
// the first to import: python3 has waited before.
static void wait_no_more(void)
{
	static method_definition no_wait = {"_shutdown", nothing, METH_NOARGS, NULL};
	PyObject *threading = PyDict_GetItemString(PyImport_GetModuleDict(), "threading"), *function;
	if (!threading || waited)
		return;
	PyObject_SetAttrString(threading, "_shutdown", function = PyCFunction_NewEx(&no_wait, NULL, NULL));
	Py_DecRef(function);
	PyErr_Clear();
}

// on_unraisable takes the place of sys.unraisablehook while Python ends. It learns whether stdout could be
// written: at_last ends the process before Py_FinalizeEx returns that.
static PyObject *on_unraisable(PyObject *self, PyObject *about)
{
	(void)self;
	PyObject *object = PyObject_GetAttrString(about, "object"), *text = PyObject_GetAttrString(about, "err_msg");
	if (object && object != &_Py_NoneStruct && object == PySys_GetObject("stdout")) // before 3.13
		flush_failed = 1;
	if (text && text != &_Py_NoneStruct && !PyUnicode_CompareWithASCIIString(text, "Exception ignored on flushing sys.stdout"))
		flush_failed = 1;
	PyErr_Clear();
	Py_DecRef(object);
	Py_DecRef(text);
	PyObject *hook = PySys_GetObject(hook_of_program);
	if (hook)
		return PyObject_CallFunctionObjArgs(hook, about, NULL); // about is a tuple: a format would take it apart
	Py_IncRef(&_Py_NoneStruct);
	return &_Py_NoneStruct;
}

static void watch_stdout(void)
{
	static method_definition hook = {"unraisablehook", on_unraisable, METH_O, NULL};
	PyObject *had = PySys_GetObject("unraisablehook");
	if (!had || had == &_Py_NoneStruct)
		had = PySys_GetObject("__unraisablehook__");
	PySys_SetObject(hook_of_program, had); // it is to live as long as in its own place
	PyObject *function = PyCFunction_NewEx(&hook, NULL, NULL);
	PySys_SetObject("unraisablehook", function);
	Py_DecRef(function);
}

// check_stderr finds out whether stderr can be written. Py_FinalizeEx does not say it anywhere else.
static void check_stderr(void)
{
	PyObject *to = PySys_GetObject("stderr");
	if (!to || to == &_Py_NoneStruct)
		return;
	PyObject *closed = PyObject_GetAttrString(to, "closed"), *done = NULL;
	PyErr_Clear();
	if ((!closed || PyObject_IsTrue(closed) == 0) && !(done = PyObject_CallMethod(to, "flush", NULL)))
		flush_failed = 1;
	PyErr_Clear();
	Py_DecRef(done);
	Py_DecRef(closed);
}

// A kind of object is its turn in the order in which objects end: one comes before those that it may use. Classes of
// the program may use all others; a stream writes to the next kinds of streams. STAYS: it has no finalizer, or
// one of a library, which could wait for a thread or a lock that is no more.
enum kind { OWN, TEXT, BUFFER_OF_OWN, BUFFER, RAW, STAYS };

static int is_of_program(PyObject *type)
{
	PyObject *module = PyObject_GetAttrString(type, "__module__"), *of_text = module ? PyObject_Type(module) : NULL;
	int is = of_text == &PyUnicode_Type && !PyUnicode_CompareWithASCIIString(module, "__main__");
	PyErr_Clear();
	Py_DecRef(of_text);
	Py_DecRef(module);
	return is;
}

static enum kind kind_of(PyObject *o)
{
	PyObject *type = PyObject_Type(o);
	void *finalizer = PyType_GetSlot(type, Py_tp_finalize);
	enum kind kind = STAYS;
	if (finalizer && !PyObject_GC_IsFinalized(o)) {
		if (PyType_IsSubtype(type, io_base))
			kind = PyType_IsSubtype(type, text_base) ? TEXT : PyType_IsSubtype(type, buffer_base) ? BUFFER_OF_OWN : RAW;
		else if (finalizer == python_finalizer && is_of_program(type))
			kind = OWN;
		for (int i = 0; i < BUFFERS; i++)
			if (type == buffers[i])
				kind = BUFFER;
	}
	Py_DecRef(type);
	return kind;
}

// end_some calls the finalizers of the objects of the run that are there now, and returns how many it called.
static ssize_t end_some(void)
{
	PyObject *all = call(get_objects);
	ssize_t n = all ? PyList_Size(all) : 0, count = 0;
	struct { PyObject *it; enum kind kind; } *objects = malloc((size_t)(n + 1) * sizeof *objects);
	for (ssize_t i = 0; objects && i < n; i++) {
		PyObject *o = PyList_GetItem(all, i);
		if (o == template_modules) { // the program has called gc.unfreeze: the objects of the template are among them
			count = 0;
			break;
		}
		enum kind kind = kind_of(o);
		if (kind != STAYS)
			objects[count].it = o, objects[count++].kind = kind;
	}
	for (enum kind now = OWN; now < STAYS; now++)
		for (ssize_t i = 0; i < count; i++)
			if (objects[i].kind == now)
				PyObject_CallFinalizer(objects[i].it);
	free(objects);
	PyErr_Clear();
	Py_DecRef(all); // it refers to the interpreter's dictionary, whose end ends the process
	return count;
}

// end_objects calls the finalizers of the program's objects and streams that are left when its garbage has been collected:
// the template refers to them, or sys, or a module that ends next. They may make others.
static void end_objects(PyObject *capsule)
{
	(void)capsule;
	enum { ROUNDS = 8 };
	PyObject *type, *value, *traceback;
	PyErr_Fetch(&type, &value, &traceback);
	for (int i = 0; i < ROUNDS && end_some(); i++) { }
	PyErr_Restore(type, value, traceback);
}

// at_last ends the process when the interpreter's dictionary is emptied. The program's modules are gone
// then, and the streams have been flushed for the last time. What would follow only gives memory back.
static void at_last(PyObject *capsule)
{
	(void)capsule;
	leave();
}

// forget_template takes the template's modules out of sys.modules: no program sees their end. After the
// program's is one whose end calls end_objects: Python first collects what is garbage without modules, then
// clears those that are left, the last one first.
static void forget_template(void)
{
	PyObject *modules = PyImport_GetModuleDict(), *name, *module;
	for (ssize_t at = 0; PyDict_Next(template_modules, &at, &name, &module);)
		if (PyDict_GetItem(modules, name) == module)
			PyDict_DelItem(modules, name);
	PyObject *last = PyModule_New("brig.last"), *end = PyCapsule_New(&program_status, NULL, end_objects);
	PyDict_SetItemString(PyModule_GetDict(last), "end", end);
	Py_DecRef(end);
	PyDict_SetItemString(modules, "brig.last", last); // our own reference to it stays, so it is no garbage
}

// finish ends the process as Py_RunMain does after the program.
void finish(int status)
{
	program_status = status;
	wait_for_threads();
	Py_DecRef(call(run_exit_functions));
	PyErr_Clear();
	wait_no_more();
	void *interpreter = PyInterpreterState_Get();
	check_stderr();
	watch_stdout();
	forget_template();
	PyObject *capsule = PyCapsule_New(&program_status, NULL, at_last);
	PyDict_SetItemString(PyInterpreterState_GetDict(interpreter), "brig.end", capsule);
	Py_DecRef(capsule);
	if (Py_FinalizeEx() < 0)
		flush_failed = 1;
	leave();
}
