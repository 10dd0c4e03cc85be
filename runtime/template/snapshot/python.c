// Loaded before libc by LD_PRELOAD into the python3 of an image: it starts the interpreter, imports the
// modules of BRIG_TEMPLATE_IMPORT, writes a snapshot to BRIG_TEMPLATE, and exits. BRIG_TEMPLATE_AFTER
// has statements for each run: they give a new seed to a module that drew random numbers when it was
// imported. A process that executes the snapshot goes on in resume, as python3 does after its start: it
// runs the file argv[1].
//
// resume does again those parts of Python's start that depend on the run: the environment, sys.argv,
// sys.orig_argv, sys.path[0], a new __main__. If another part of the start depends on the run, the run
// cannot begin from a template (runtime/plan/template.go).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "python.h"
#include "start.h"

static const char *after;          // statements to execute in each process that begins from the snapshot
static PyObject *environment;      // the dictionary behind os.environ
static PyObject *builtins, *importer, *file_loader;
static int making; // this process makes the template

static __attribute__((noreturn)) void die(const char *why)
{
	fprintf(stderr, "template: %s\n", why);
	_exit(1);
}

static PyObject *need(PyObject *o, const char *what)
{
	if (!o)
		die(what);
	return o;
}

static PyObject *attribute(const char *module, const char *name)
{
	return need(PyObject_GetAttrString(need(PyImport_ImportModule(module), module), name), name);
}

// make_immortal sets the reference count of an object to the value of immortal objects (PEP 683, in 3.12
// and 3.13). Python never writes such a count, so a run needs no copy of the object's page. Streams stay
// mortal, because their end writes what they hold. The interpreter's dictionary stays mortal, too,
// because its end is the end of a run: see finish.
static int make_immortal(PyObject *o, void *none)
{
	(void)none;
	enum { IMMORTAL = -1 };
	static PyObject *io_base, *interpreter_dict;
	if (!io_base) {
		io_base = attribute("_io", "_IOBase");
		interpreter_dict = PyInterpreterState_GetDict(PyInterpreterState_Get());
	}
	if (o && o != interpreter_dict && *(int *)o >= 0 && PyObject_IsInstance(o, io_base) == 0)
		*(long *)o = (long)(unsigned)IMMORTAL;
	return 0;
}

static void make_all_immortal(void)
{
	if (Py_Version < 0x030c0000 || Py_Version >= 0x030e0000)
		return;
	PyObject *all = need(PyObject_CallMethod(PyImport_ImportModule("gc"), "get_objects", NULL), "gc.get_objects");
	for (ssize_t i = 0; i < PyList_Size(all); i++) {
		PyObject *o = PyList_GetItem(all, i), *type = PyObject_Type(o);
		if (o == all)
			continue;
		make_immortal(o, NULL);
		int (*traverse)(PyObject *, int (*)(PyObject *, void *), void *) = PyType_GetSlot(type, Py_tp_traverse);
		if (traverse)
			traverse(o, make_immortal, NULL);
	}
	Py_DecRef(all);
}

// new_main replaces __main__, as add_main_module of pylifecycle.c makes it: an object of the template
// would be frozen, and its contents would not be deleted at the end of the program.
static PyObject *new_main(void)
{
	PyObject *module = PyModule_New("__main__"), *names = PyModule_GetDict(module), *annotations = PyDict_New();
	PyDict_SetItemString(names, "__annotations__", annotations);
	Py_DecRef(annotations);
	PyDict_SetItemString(names, "__builtins__", builtins);
	PyDict_SetItemString(names, "__loader__", importer);
	PyDict_SetItemString(PyImport_GetModuleDict(), "__main__", module);
	Py_DecRef(module);
	return names;
}

// A template has no module gc, no name in __main__, and no garbage that each run would collect again.
static void settle(void)
{
	PyObject *traceback_modules = need(traceback_prepare(), "the modules of a traceback");
	PyObject *os_environ = attribute("os", "environ");
	environment = need(PyObject_GetAttrString(os_environ, "_data"), "os.environ._data");
	builtins = need(PyImport_ImportModule("builtins"), "builtins");
	importer = attribute("_frozen_importlib", "BuiltinImporter");
	file_loader = attribute("_frozen_importlib_external", "SourceFileLoader");
	new_main();
	PyObject *had_gc = PyDict_GetItemString(PyImport_GetModuleDict(), "gc"), *gc = need(PyImport_ImportModule("gc"), "gc");
	Py_DecRef(need(PyObject_CallMethod(gc, "collect", NULL), "gc.collect"));
	PyObject *template_modules = need(PyDict_Copy(PyImport_GetModuleDict()), "sys.modules");
	PyDict_DelItemString(template_modules, "__main__");
	PyDict_DelItemString(template_modules, "builtins");
	PyDict_DelItemString(template_modules, "sys");
	if (!had_gc)
		PyDict_DelItemString(template_modules, "gc");
	finish_prepare(template_modules, gc);
	make_all_immortal();
	Py_DecRef(need(PyObject_CallMethod(gc, "freeze", NULL), "gc.freeze"));
	if (!had_gc)
		PyDict_DelItemString(PyImport_GetModuleDict(), "gc");
	PyDict_Update(template_modules, traceback_modules);
	Py_DecRef(traceback_modules);
	// The end of Python takes these from sys. They stay alive here: freeing them would copy their pages.
	// The streams do not: their end writes what they hold.
	PyObject *kept = need(PyDict_Copy(PyModule_GetDict(PyImport_ImportModule("sys"))), "sys");
	static const char *streams[] = {"stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__"};
	for (unsigned i = 0; i < sizeof streams / sizeof *streams; i++)
		PyDict_DelItemString(kept, streams[i]);
	PyDict_SetItemString(template_modules, "brig.kept", kept);
}

static void set_environment(char **envp)
{
	PyDict_Clear(environment);
	for (; *envp; envp++) {
		char *equals = strchr(*envp, '=');
		if (!equals)
			continue;
		PyObject *key = PyBytes_FromStringAndSize(*envp, equals - *envp), *value = PyBytes_FromString(equals + 1);
		PyDict_SetDefault(environment, key, value); // the first of two values counts, as at the start
		Py_DecRef(key);
		Py_DecRef(value);
	}
}

static void set_words(const char *name, int argc, char **argv)
{
	PyObject *list = PyList_New(argc);
	for (int i = 0; i < argc; i++)
		PyList_SetItem(list, i, PyUnicode_DecodeFSDefault(argv[i]));
	PySys_SetObject(name, list);
	Py_DecRef(list);
}

// system_exit returns the status of a SystemExit that nothing caught, as handle_system_exit of
// pythonrun.c.
static int system_exit(void)
{
	PyObject *type, *value, *traceback;
	PyErr_Fetch(&type, &value, &traceback);
	PyErr_NormalizeException(&type, &value, &traceback);
	fflush(stdout);
	PyObject *code = PyObject_GetAttrString(value, "code");
	if (!code) {
		PyErr_Clear();
		Py_IncRef(code = value);
	}
	int status = 1;
	if (code == &_Py_NoneStruct) {
		status = 0;
	} else if (PyObject_IsInstance(code, &PyLong_Type)) {
		status = (int)PyLong_AsLong(code);
	} else {
		PyObject *to = PySys_GetObject("stderr");
		if (to && to != &_Py_NoneStruct)
			PyFile_WriteObject(code, to, Py_PRINT_RAW);
		else
			PyObject_Print(code, stderr, Py_PRINT_RAW);
		PySys_WriteStderr("\n");
	}
	PyErr_Clear();
	Py_DecRef(code);
	Py_DecRef(value);
	Py_DecRef(type);
	if (traceback)
		Py_DecRef(traceback);
	return status;
}

// flush_io writes what the streams hold, before anything is printed of an exception, as pythonrun.c does.
static void flush_io(void)
{
	static const char *const streams[] = {"stderr", "stdout"};
	PyObject *type, *value, *traceback, *stream, *result;
	PyErr_Fetch(&type, &value, &traceback);
	for (int i = 0; i < 2; i++) {
		if (!(stream = PySys_GetObject(streams[i])))
			continue;
		Py_IncRef(stream);
		if ((result = PyObject_CallMethod(stream, "flush", NULL)))
			Py_DecRef(result);
		else
			PyErr_Clear();
		Py_DecRef(stream);
	}
	PyErr_Restore(type, value, traceback);
}

// run_file runs a script as pymain_run_file of main.c.
static int run_file(const char *name)
{
	char full[2 * PATH_MAX], real[PATH_MAX], *slash;
	if (!realpath(name, real))
		snprintf(real, sizeof real, "%s", name);
	slash = strrchr(real, '/');
	real[slash ? (slash == real ? 1 : slash - real) : 0] = '\0';
	PyObject *directory = PyUnicode_DecodeFSDefault(real);
	PyList_Insert(PySys_GetObject("path"), 0, directory);
	Py_DecRef(directory);

	if (name[0] == '/' || !getcwd(full, PATH_MAX))
		snprintf(full, sizeof full, "%s", name);
	else
		snprintf(full + strlen(full), sizeof full - strlen(full), "/%s", name);
	FILE *file = fopen(name, "rbe");
	if (!file) {
		fprintf(stderr, "python3: can't open file '%s': [Errno %d] %s\n", full, errno, strerror(errno));
		return 2;
	}
	PyObject *names = new_main(), *path = PyUnicode_DecodeFSDefault(full);
	PyDict_SetItemString(names, "__file__", path);
	PyDict_SetItemString(names, "__cached__", &_Py_NoneStruct);
	PyObject *loader = PyObject_CallFunction(file_loader, "sO", "__main__", path);
	PyDict_SetItemString(names, "__loader__", loader);
	PyDict_SetItem(PySys_GetObject("path_importer_cache"), path, &_Py_NoneStruct); // the file was found to be no archive
	Py_DecRef(loader);
	Py_DecRef(path);
	struct { int flags, feature_version; } compiler = {0, (int)(Py_Version >> 16 & 0xff)}; // PyCompilerFlags
	PyObject *result = PyRun_FileExFlags(file, full, Py_file_input, names, names, 1, &compiler);
	flush_io();
	int status = 0;
	if (result) {
		Py_DecRef(result);
	} else if (PyErr_ExceptionMatches(PyExc_SystemExit)) {
		return system_exit();
	} else {
		status = PyErr_Occurred() == PyExc_KeyboardInterrupt ? INTERRUPTED : 1;
		traceback_offer(real);
		PyErr_Print();
	}
	PyDict_DelItemString(names, "__file__"); // as the interpreter does after a file
	PyDict_DelItemString(names, "__cached__");
	PyErr_Clear();
	return status;
}

static void resume(int argc, char **argv, char **envp)
{
	start_again(argv, envp, argv - 1);
	PyOS_AfterFork_Child(); // locks, thread numbers, and what os.register_at_fork asks for, such as numpy's seed
	set_environment(envp);
	if (*after && PyRun_SimpleStringFlags(after, NULL) < 0)
		_exit(EXIT_RESTORE);
	set_words("orig_argv", argc, argv);
	set_words("argv", argc - 1, argv + 1);
	finish(run_file(argv[1]));
}

static void must_succeed(PyStatus s)
{
	if (PyStatus_Exception(s))
		Py_ExitStatusException(s);
}

// In place of the C library's. OpenSSL, which the import of numpy loads, has all its memory freed at the
// end of the process. No program sees that, and each page of it would be copied in each run.
EXPORTED int __cxa_atexit(void (*at_end)(void *), void *argument, void *library)
{
	int (*real)(void (*)(void *), void *, void *) = dlsym(RTLD_NEXT, "__cxa_atexit");
	Dl_info of;
	if (making && dladdr(at_end, &of) && of.dli_fname && strstr(of.dli_fname, "/libcrypto.so"))
		return 0;
	return real(at_end, argument, library);
}

static int make_template(int argc, char **argv, char **envp)
{
	(void)envp;
	making = 1;
	char *path = strdup(getenv("BRIG_TEMPLATE")), *import = strdup(getenv("BRIG_TEMPLATE_IMPORT") ?: "");
	after = strdup(getenv("BRIG_TEMPLATE_AFTER") ?: "");
	unsetenv("BRIG_TEMPLATE");
	unsetenv("BRIG_TEMPLATE_IMPORT");
	unsetenv("BRIG_TEMPLATE_AFTER");
	unsetenv("LD_PRELOAD");
	config pre, c;
	PyPreConfig_InitPythonConfig(&pre);
	must_succeed(Py_PreInitializeFromBytesArgs(&pre, argc, argv));
	PyConfig_InitPythonConfig(&c);
	must_succeed(PyConfig_SetBytesArgv(&c, argc, argv));
	must_succeed(Py_InitializeFromConfig(&c));
	PyConfig_Clear(&c);
	if (*import && PyRun_SimpleStringFlags(import, NULL) < 0)
		die("the imports fail");
	settle();
	PyOS_BeforeFork();
	making = 0;
	const char *missing = start_write(path, argv, resume, 0, 0);
	if (missing)
		die(missing);
	_exit(0);
}

// python3's main is not called: its start is above.
EXPORTED int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
	int (*real)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *) = dlsym(RTLD_NEXT, "__libc_start_main");
	return real(getenv("BRIG_TEMPLATE") ? make_template : main, argc, argv, init, fini, rtld_fini, stack_end);
}
