// What Python's stable interface (abi3) has for the macros that it lacks: one wheel runs on several
// versions of Python, and asks functions where a wheel of one version reads memory.
#pragma once

#include <Python.h>

#if defined(Py_LIMITED_API)
#define PyDict_GET_SIZE PyDict_Size
#define PyFloat_AS_DOUBLE PyFloat_AsDouble
#define PyList_GET_ITEM PyList_GetItem
#define PyList_GET_SIZE PyList_Size
#define PyTuple_GET_ITEM PyTuple_GetItem
#define PyTuple_GET_SIZE PyTuple_Size
#define PyTuple_SET_ITEM PyTuple_SetItem
#define PyUnicode_READ_CHAR PyUnicode_ReadChar
#define PyObject_CallOneArg(callable, argument) \
  PyObject_CallFunctionObjArgs(callable, argument, nullptr)
#define PyObject_CallMethodNoArgs(object, name) PyObject_CallMethodObjArgs(object, name, nullptr)
#define PyObject_CallMethodOneArg(object, name, argument) \
  PyObject_CallMethodObjArgs(object, name, argument, nullptr)
#endif
