/* scriptlang: runs TorchScript archives. C interface.
 *
 * Handles are opaque and owned by the caller: every function that gives one says which
 * sl_*_release ends it. Functions that can fail return a status and, when `error` is not null,
 * an error handle that explains it. No C++ exception crosses this interface.
 *
 * Threads: a module may be called by many threads at once, unless its program writes its own
 * attributes (a recurrent state); then the caller serialises the calls. Different modules are
 * independent. A value may be read by many threads; it may be changed by one at a time. Errors
 * belong to the thread that got them. sl_set_allocator and sl_set_threads act on the process.
 */
#ifndef SCRIPTLANG_H
#define SCRIPTLANG_H

#include <stddef.h>
#include <stdint.h>

#if defined(SCRIPTLANG_SHARED) && defined(_WIN32)
#define SL_API __declspec(dllimport)
#elif defined(__GNUC__)
#define SL_API __attribute__((visibility("default")))
#else
#define SL_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sl_module sl_module;
typedef struct sl_value sl_value;
typedef struct sl_error sl_error;

typedef enum sl_status {
  SL_OK = 0,
  SL_INVALID_ARGUMENT = 1, /* this interface was misused: null handle, wrong kind of value */
  SL_ARCHIVE_ERROR = 2,    /* the file is malformed, unsafe or unsupported */
  SL_RUN_ERROR = 3,        /* the program failed, or raised an exception */
  SL_MISSING_OPERATOR = 4, /* the program reached an operator that this build lacks */
  SL_LIMIT = 5,            /* a limit of the caller was reached */
  SL_OUT_OF_MEMORY = 6
} sl_status;

typedef enum sl_kind {
  SL_NONE = 0,
  SL_BOOL = 1,
  SL_INT = 2,
  SL_DOUBLE = 3,
  SL_DEVICE = 4,
  SL_COMPLEX = 5,
  SL_STRING = 6,
  SL_TENSOR = 7,
  SL_LIST = 8,
  SL_DICT = 9,
  SL_TUPLE = 10,
  SL_OBJECT = 11,
  SL_ENUM = 12,
  SL_GENERATOR = 13,
  SL_FUTURE = 14 /* what a call that was forked will give */
} sl_kind;

/* Element types of tensors, numbered as PyTorch numbers them. */
typedef enum sl_dtype {
  SL_UINT8 = 0,
  SL_INT8 = 1,
  SL_INT16 = 2,
  SL_INT32 = 3,
  SL_INT64 = 4,
  SL_FLOAT16 = 5,
  SL_FLOAT32 = 6,
  SL_FLOAT64 = 7,
  SL_COMPLEX64 = 9,
  SL_COMPLEX128 = 10,
  SL_BOOL8 = 11,
  SL_BFLOAT16 = 15
} sl_dtype;

/* What one call may use; 0 means no limit. Set size to sizeof(sl_limits), so that fields can be
 * added later. */
typedef struct sl_limits {
  size_t size;
  int64_t instructions; /* counted at loops and calls */
  int64_t memory_bytes; /* tensors, strings and containers that the call holds */
  int64_t milliseconds; /* wall time, looked at between instructions */
  int64_t depth;        /* script calls inside each other; 0: 2000 */
} sl_limits;

SL_API const char* sl_version(void);

/* ---- modules */

/* Reads the file, or maps it where it is larger than 16 MB. A mapped file must not be changed or
   truncated while the module or its tensors live: a process that touches what was cut off ends.
   Where that may happen, read the file yourself and call sl_load_memory. */
SL_API sl_status sl_load_file(const char* path, sl_module** module, sl_error** error);
SL_API sl_status sl_load_memory(const void* data, size_t size, sl_module** module,
                                sl_error** error); /* copies */
SL_API void sl_module_release(sl_module* module);

/* Methods of the root module, sorted by name. Texts live as long as the module. */
SL_API size_t sl_module_method_count(const sl_module* module);
SL_API const char* sl_module_method_name(const sl_module* module, size_t index);
/* Operators that the program names and this build lacks; a call that reaches one fails. */
SL_API size_t sl_module_missing_count(const sl_module* module);
SL_API const char* sl_module_missing_name(const sl_module* module, size_t index);
/* An attribute of the root module; release the value. SL_INVALID_ARGUMENT when absent. */
SL_API sl_status sl_module_attribute(const sl_module* module, const char* name, sl_value** value,
                                     sl_error** error);

/* Calls a method. Arguments that are left out take their defaults. `limits` may be null. The
 * result is released by sl_value_release. */
SL_API sl_status sl_call(sl_module* module, const char* method, sl_value* const* arguments,
                         size_t count, const sl_limits* limits, sl_value** result,
                         sl_error** error);

/* ---- values: each function that makes one returns null when memory is out or a pointer that it
 * needs is null */

SL_API void sl_value_release(sl_value* value);
SL_API sl_value* sl_value_none(void);
SL_API sl_value* sl_value_bool(int v);
SL_API sl_value* sl_value_int(int64_t v);
SL_API sl_value* sl_value_double(double v);
SL_API sl_value* sl_value_string(const char* utf8, size_t size);
/* Containers take copies of the handles: the caller still releases the items. Null handles are
 * None; keys of dicts are numbers, strings and tensors. */
SL_API sl_value* sl_value_list(sl_value* const* items, size_t count);
SL_API sl_value* sl_value_tuple(sl_value* const* items, size_t count);
SL_API sl_value* sl_value_dict(sl_value* const* keys, sl_value* const* values, size_t count);
/* A tensor over the caller's memory: contiguous, aligned for its type, and alive until
 * `release` (which may be null) is called with `user`, from any thread. Null for a bad shape. */
SL_API sl_value* sl_tensor_view(void* data, sl_dtype dtype, const int64_t* sizes, size_t ndim,
                                void (*release)(void* user), void* user);
SL_API sl_value* sl_tensor_copy(const void* data, sl_dtype dtype, const int64_t* sizes,
                                size_t ndim);

SL_API sl_kind sl_value_kind(const sl_value* value);
/* SL_INVALID_ARGUMENT when the value is of another kind. */
SL_API sl_status sl_value_get_bool(const sl_value* value, int* out);
SL_API sl_status sl_value_get_int(const sl_value* value, int64_t* out);
SL_API sl_status sl_value_get_double(const sl_value* value, double* out); /* also of an int */
SL_API sl_status sl_value_get_string(const sl_value* value, const char** utf8, size_t* size);
/* Of lists, tuples and dicts; 0 of anything else. */
SL_API size_t sl_value_length(const sl_value* value);
/* Element of a list or tuple; of a dict its index-th value, in insertion order. Release it. */
SL_API sl_value* sl_value_item(const sl_value* value, size_t index);
SL_API sl_value* sl_value_key(const sl_value* dict, size_t index);
/* The value as the language prints it. *text is freed by sl_text_release. */
SL_API sl_status sl_value_text(const sl_value* value, char** text, size_t* size);
SL_API void sl_text_release(char* text);

/* Of tensors; sizes and strides (in elements) point into the value and live as long as it. */
SL_API sl_status sl_tensor_info(const sl_value* tensor, sl_dtype* dtype, size_t* ndim,
                                const int64_t** sizes, const int64_t** strides);
/* First element. With sl_tensor_contiguous first, elements lie in row-major order. */
SL_API void* sl_tensor_data(const sl_value* tensor);
/* The same tensor when it is contiguous, else a contiguous copy. Null for a bad kind. */
SL_API sl_value* sl_tensor_contiguous(const sl_value* tensor);

/* ---- errors */

SL_API void sl_error_release(sl_error* error);
SL_API sl_status sl_error_status(const sl_error* error);
/* The exception's class: "RuntimeError", "IndexError"; for one raised by the program the class
 * that it names, "builtins.ValueError". */
SL_API const char* sl_error_class(const sl_error* error);
SL_API const char* sl_error_message(const sl_error* error);
/* The script stack, innermost first: "function at instruction n", one a line; may be empty. */
SL_API const char* sl_error_stack(const sl_error* error);

/* ---- the process */

/* Where tensor memory comes from, from now on; null restores the default. Both functions are
 * called from any thread; blocks must be aligned to 64 bytes. */
typedef struct sl_allocator {
  void* (*allocate)(size_t bytes, void* user);
  void (*release)(void* block, size_t bytes, void* user);
  void* user;
} sl_allocator;
SL_API void sl_set_allocator(const sl_allocator* allocator);

/* Threads that one operator may use; 1 at least. */
SL_API void sl_set_threads(int threads);
SL_API int sl_get_threads(void);

#ifdef __cplusplus
}
#endif
#endif
