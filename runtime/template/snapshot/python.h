// The part of CPython's C API that python.c uses, by its stable names and with opaque structures, so
// that no header of one version is needed (3.8 and newer; docs.python.org/3/c-api).
#ifndef BRIG_PYTHON_H
#define BRIG_PYTHON_H

#include <stdio.h>
#include <sys/types.h>

typedef struct object PyObject;
typedef struct { int type; const char *func, *err_msg; int exitcode; } PyStatus; // c-api/init_config.html

// Room for a PyConfig or a PyPreConfig of any version: they take some 400 bytes.
typedef union { char bytes[8192]; long align; } config;

typedef struct { const char *name; PyObject *(*function)(PyObject *self, PyObject *arguments); int flags; const char *doc; } method_definition; // PyMethodDef

extern const unsigned long Py_Version;

void PyConfig_InitPythonConfig(config *c);
PyStatus PyConfig_SetBytesArgv(config *c, ssize_t argc, char *const *argv);
void PyConfig_Clear(config *c);
void PyPreConfig_InitPythonConfig(config *c);
PyStatus Py_PreInitializeFromBytesArgs(const config *c, ssize_t argc, char **argv);
PyStatus Py_InitializeFromConfig(const config *c);
int PyStatus_Exception(PyStatus s);
__attribute__((noreturn)) void Py_ExitStatusException(PyStatus s);
int Py_FinalizeEx(void);
void PyOS_BeforeFork(void);
void PyOS_AfterFork_Child(void);

void Py_IncRef(PyObject *o);
void Py_DecRef(PyObject *o);
PyObject *PyDict_New(void);
PyObject *PyDict_Copy(PyObject *d);
void PyDict_Clear(PyObject *d);
int PyDict_Update(PyObject *d, PyObject *of);
int PyDict_Next(PyObject *d, ssize_t *at, PyObject **key, PyObject **value);
int PyDict_SetItem(PyObject *d, PyObject *key, PyObject *value);
PyObject *PyDict_SetDefault(PyObject *d, PyObject *key, PyObject *value);
int PyDict_SetItemString(PyObject *d, const char *key, PyObject *value);
PyObject *PyDict_GetItem(PyObject *d, PyObject *key);
PyObject *PyDict_GetItemString(PyObject *d, const char *key);
int PyDict_DelItem(PyObject *d, PyObject *key);
int PyDict_DelItemString(PyObject *d, const char *key);
PyObject *PyList_New(ssize_t n);
ssize_t PyList_Size(PyObject *l);
PyObject *PyList_GetItem(PyObject *l, ssize_t i);
int PyList_SetItem(PyObject *l, ssize_t i, PyObject *o);
int PyList_Insert(PyObject *l, ssize_t i, PyObject *o);
PyObject *PyBytes_FromString(const char *s);
PyObject *PyBytes_FromStringAndSize(const char *s, ssize_t n);
PyObject *PyUnicode_DecodeFSDefault(const char *s);
long PyLong_AsLong(PyObject *o);
PyObject *PyObject_GetAttrString(PyObject *o, const char *name);
PyObject *PyObject_CallMethod(PyObject *o, const char *name, const char *format, ...);
PyObject *PyObject_CallFunction(PyObject *o, const char *format, ...);
PyObject *PyObject_CallFunctionObjArgs(PyObject *o, ...);
int PyObject_Print(PyObject *o, FILE *to, int flags);
int PyObject_IsTrue(PyObject *o);
void PyObject_CallFinalizer(PyObject *o);
int PyObject_GC_IsFinalized(PyObject *o);
int PyObject_SetAttrString(PyObject *o, const char *name, PyObject *value);
int PyUnicode_CompareWithASCIIString(PyObject *o, const char *s);
int PyObject_IsInstance(PyObject *o, PyObject *type);
PyObject *PyImport_ImportModule(const char *name);
PyObject *PyImport_GetModuleDict(void);
PyObject *PyModule_New(const char *name);
PyObject *PyModule_GetDict(PyObject *m);
PyObject *PySys_GetObject(const char *name);
int PySys_SetObject(const char *name, PyObject *o);
void PySys_WriteStderr(const char *format, ...);
int PyFile_WriteObject(PyObject *o, PyObject *file, int flags);
PyObject *PyErr_Occurred(void);
int PyErr_ExceptionMatches(PyObject *type);
void PyErr_Clear(void);
void PyErr_Print(void);
void PyErr_Fetch(PyObject **type, PyObject **value, PyObject **traceback);
void PyErr_Restore(PyObject *type, PyObject *value, PyObject *traceback);
void PyErr_WriteUnraisable(PyObject *about);
void PyErr_NormalizeException(PyObject **type, PyObject **value, PyObject **traceback);
PyObject *PyRun_FileExFlags(FILE *f, const char *name, int start, PyObject *globals, PyObject *locals, int close, void *flags);
int PyRun_SimpleStringFlags(const char *code, void *flags);
PyObject *PyCFunction_NewEx(method_definition *m, PyObject *self, PyObject *module);
PyObject *PyCapsule_New(void *pointer, const char *name, void (*destroy)(PyObject *));
void *PyInterpreterState_Get(void);
PyObject *PyInterpreterState_GetDict(void *interpreter);
unsigned long PyType_GetFlags(PyObject *type);
int PyType_IsSubtype(PyObject *type, PyObject *of);
void *PyType_GetSlot(PyObject *type, int slot);
PyObject *PyObject_Type(PyObject *o);
extern PyObject *PyExc_SystemExit, *PyExc_KeyboardInterrupt, *PyExc_OSError, _Py_NoneStruct, PyLong_Type, PyType_Type, PyBaseObject_Type, PyUnicode_Type;

enum { Py_file_input = 257, Py_PRINT_RAW = 1, Py_tp_traverse = 71, Py_tp_finalize = 80, METH_NOARGS = 4, METH_O = 8, Py_TPFLAGS_LIST_SUBCLASS = 1 << 25 };

// traceback.c
PyObject *traceback_prepare(void);
void traceback_offer(const char *directory);

// finish.c
enum { INTERRUPTED = -2 }; // in place of an exit status: KeyboardInterrupt ended the program, so python3 ends itself by SIGINT
void finish_prepare(PyObject *modules, PyObject *gc);
__attribute__((noreturn)) void finish(int status);

#endif
