/* scriptlang: runs TorchScript archives. C interface.
 *
 * Ownership: handles are opaque and the caller's. Every function that gives one says which
 * sl_*_release ends it; each handle is released once, in any order and on any thread, and releasing
 * null does nothing. What a handle stands for lives as long as anything needs it: results outlive
 * their module, items the list they were taken from. Texts and arrays that functions point to
 * belong to the handle they were asked of, and live as long as it.
 *
 * Errors: functions that can fail return a status; when `error` is not null, *error becomes a
 * handle that explains it, or null where there is no error (or no memory for the explanation).
 * Whatever fails leaves null or 0 in the places of its results. Functions that make values return
 * null: when memory is out, a pointer that they need is null, or what they say of themselves. No
 * C++ exception crosses this interface. A null handle of a value that is read is None; other null
 * handles give SL_INVALID_ARGUMENT, null or 0. A handle that was released must not be used.
 *
 * Threads: every function may be called by any thread at any time, as long as no other one
 * releases the same handle. Calls of a module whose program only reads go side by side; those that
 * may write attributes (a recurrent state) go one after the other, in the order in which they
 * come, and what looks into an attribute of the module waits for them. Different modules go side
 * by side, until one is given a list, dict or object that the other gave; programs that give
 * tensors another shape (resize_) go alone. The elements of tensors are not guarded: a tensor that
 * one thread writes is no index for another. Errors belong to the thread that got them.
 * sl_set_allocator and sl_set_threads act on the process.
 *
 * Units: sizes of memory are bytes; sizes, strides and offsets of tensors are elements. Texts are
 * UTF-8, a 0 follows them, which their size does not count.
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
typedef struct sl_canceller sl_canceller;

typedef enum sl_status {
  SL_OK = 0,
  SL_INVALID_ARGUMENT = 1, /* this interface was misused: null handle, wrong kind of value */
  SL_ARCHIVE_ERROR = 2,    /* the file is malformed, unsafe or unsupported */
  SL_RUN_ERROR = 3,        /* the program failed, or raised an exception */
  SL_MISSING_OPERATOR = 4, /* the program reached an operator that this build lacks */
  SL_LIMIT = 5,            /* a limit of the caller was reached */
  SL_OUT_OF_MEMORY = 6,
  SL_CANCELLED = 7 /* sl_cancel ended the call */
} sl_status;

/* What a value is. Lists of numbers, Optional, Union and Any are seen as what they hold; a dtype,
 * layout or memory format is an int, a range a list. */
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
  SL_COMPLEX32 = 8, /* kept and moved, not computed with */
  SL_COMPLEX64 = 9,
  SL_COMPLEX128 = 10,
  SL_BOOL8 = 11, /* each byte 0 or 1 */
  SL_QINT8 = 12, /* codes of quantized tensors: programs make them, sl_tensor_* do not */
  SL_QUINT8 = 13,
  SL_QINT32 = 14,
  SL_BFLOAT16 = 15,
  SL_UINT16 = 27,
  SL_UINT32 = 28,
  SL_UINT64 = 29
} sl_dtype;

/* What one call may use; 0 means no limit, a negative number is an error. Set size to
 * sizeof(sl_limits), so that fields can be added later. */
typedef struct sl_limits {
  size_t size;
  int64_t instructions; /* counted at loops and calls */
  int64_t memory_bytes; /* tensors, strings and containers that the call holds */
  int64_t milliseconds; /* wall time; a long operator ends within a tenth of a second, too */
  int64_t depth;        /* script calls inside each other; 0: 2000 */
  const sl_canceller* canceller; /* ends the call from elsewhere; null: nobody does */
} sl_limits;

SL_API const char* sl_version(void); /* "0.1.0"; of the process */

/* ---- modules */

/* Read an archive and run nothing of it: one of torch.jit.save, whose code is compiled here, one
 * that holds bytecode (`.ptl` files), or one that `scriptlang compile` made, which starts quickest.
 * SL_ARCHIVE_ERROR says what is wrong with a file. A method whose code is not sound says so when it
 * is called. *module is ended by sl_module_release; values that came from it live on.
 *
 * sl_load_file reads the file, or maps it where it is larger than 16 MB. A mapped file must not be
 * changed or truncated while the module or its tensors live: a process that touches what was cut
 * off ends. Where that may happen, read the file yourself and call sl_load_memory. */
SL_API sl_status sl_load_file(const char* path, sl_module** module, sl_error** error);
SL_API sl_status sl_load_memory(const void* data, size_t size, sl_module** module,
                                sl_error** error); /* copies */
SL_API void sl_module_release(sl_module* module);

/* Methods of the root module, sorted by name; null beyond the last. */
SL_API size_t sl_module_method_count(const sl_module* module);
SL_API const char* sl_module_method_name(const sl_module* module, size_t index);
/* Operators that the program names and this build lacks; a call that reaches one fails. */
SL_API size_t sl_module_missing_count(const sl_module* module);
SL_API const char* sl_module_missing_name(const sl_module* module, size_t index);
/* An attribute of the root module; release the value. It is the module's own, not a copy: what the
 * program writes to it is seen, and what is written to a tensor of it the program sees. Of objects
 * that restore themselves (__setstate__) nothing is there before the first call.
 * SL_INVALID_ARGUMENT when absent. */
SL_API sl_status sl_module_attribute(const sl_module* module, const char* name, sl_value** value,
                                     sl_error** error);

/* Calls a method. Arguments count without self; null ones are None. Those that are left out take
 * their defaults. What is given is made what the schema says, as in Python: ints become floats,
 * tuples lists, tensors of no dimensions numbers, names devices; lists and dicts are copied, so
 * that the caller's stay as they are; tensors and objects are not. `limits` may be null. *result is
 * released by sl_value_release.
 *
 * SL_INVALID_ARGUMENT: a null pointer, bad limits, or a call from within an allocator or a tensor's
 * release function. SL_RUN_ERROR: no such method, arguments that do not fit, or what the program
 * raised. SL_MISSING_OPERATOR, SL_LIMIT, SL_OUT_OF_MEMORY as they say. After any of them the module
 * may be called again; what its program has written stays written. */
SL_API sl_status sl_call(sl_module* module, const char* method, sl_value* const* arguments,
                         size_t count, const sl_limits* limits, sl_value** result,
                         sl_error** error);
/* The same, with arguments by name after those by place: names[k] is given named[k]. */
SL_API sl_status sl_call_named(sl_module* module, const char* method, sl_value* const* arguments,
                               size_t count, const char* const* names, sl_value* const* named,
                               size_t named_count, const sl_limits* limits, sl_value** result,
                               sl_error** error);

/* ---- ending calls from elsewhere
 *
 * A canceller is given to calls in their limits, to any number of them. sl_cancel ends all that run
 * and all that begin later, until sl_canceller_reset; each gives SL_CANCELLED within a tenth of a
 * second. What an operator was writing in place is then half written. It must outlive the calls. */
SL_API sl_canceller* sl_canceller_make(void); /* null when memory is out */
SL_API void sl_canceller_release(sl_canceller* canceller);
SL_API void sl_cancel(sl_canceller* canceller); /* from any thread, and from signal handlers */
SL_API void sl_canceller_reset(sl_canceller* canceller);

/* ---- values: sl_value_release ends each that these functions give */

SL_API void sl_value_release(sl_value* value);
SL_API sl_value* sl_value_none(void);
SL_API sl_value* sl_value_bool(int v); /* 0 is False */
SL_API sl_value* sl_value_int(int64_t v);
SL_API sl_value* sl_value_double(double v);
SL_API sl_value* sl_value_complex(double real, double imaginary);
/* A copy of the text, which may hold zeros. Null when it is not UTF-8. */
SL_API sl_value* sl_value_string(const char* utf8, size_t size);
/* "cpu", "cuda:0"; null when there is no such device. sl_value_text gives it back. */
SL_API sl_value* sl_value_device(const char* name);
/* A source of random numbers, as torch.Generator; one thread at a time draws. */
SL_API sl_value* sl_value_generator(uint64_t seed);
/* Containers share what the handles stand for: the caller still releases the items. Null handles
 * are None. Keys of dicts are numbers, strings, devices, enums and tensors, else the result is
 * null; of equal keys the last value stays. */
SL_API sl_value* sl_value_list(sl_value* const* items, size_t count);
SL_API sl_value* sl_value_tuple(sl_value* const* items, size_t count);
SL_API sl_value* sl_value_dict(sl_value* const* keys, sl_value* const* values, size_t count);

/* A tensor over the caller's memory: contiguous, aligned for its type, and alive until `release`
 * (which may be null) is called with `user`, once, from any thread. Programs may write to it. Null,
 * and then `release` is never called: for a bad type or shape, memory that is not aligned, bools
 * other than 0 and 1. `release` may make and release values, but not call modules. */
SL_API sl_value* sl_tensor_view(void* data, sl_dtype dtype, const int64_t* sizes, size_t ndim,
                                void (*release)(void* user), void* user);
/* The same with strides, of memory of so many bytes, in which all elements have to lie; data is the
 * first element. Strides are not negative. */
SL_API sl_value* sl_tensor_strided(void* data, size_t bytes, sl_dtype dtype, const int64_t* sizes,
                                   const int64_t* strides, size_t ndim,
                                   void (*release)(void* user), void* user);
/* A tensor with a copy of contiguous memory, aligned or not. Null as above. */
SL_API sl_value* sl_tensor_copy(const void* data, sl_dtype dtype, const int64_t* sizes,
                                size_t ndim);

SL_API sl_kind sl_value_kind(const sl_value* value);
/* SL_INVALID_ARGUMENT when the value is of another kind; *out stays as it is then. */
SL_API sl_status sl_value_get_bool(const sl_value* value, int* out);
SL_API sl_status sl_value_get_int(const sl_value* value, int64_t* out);
SL_API sl_status sl_value_get_double(const sl_value* value, double* out); /* also of an int */
SL_API sl_status sl_value_get_complex(const sl_value* value, double* real,
                                      double* imaginary); /* also of a double or an int */
/* The text lives as long as this handle; `size` may be null. It may hold zeros, and be cut within a
 * character where a program has cut it. */
SL_API sl_status sl_value_get_string(const sl_value* value, const char** utf8, size_t* size);

/* How many elements: of a list, tuple, named tuple or dict; of an object its attributes; of an enum
 * 2, its name and its value; 0 of anything else. */
SL_API size_t sl_value_length(const sl_value* value);
/* The element; of a dict its index-th value, in insertion order. Release it. Null beyond the
 * last. */
SL_API sl_value* sl_value_item(const sl_value* value, size_t index);
/* The index-th key of a dict. Release it. Null beyond the last, and for other kinds. */
SL_API sl_value* sl_value_key(const sl_value* dict, size_t index);
/* The name of the index-th element of a named tuple, object or enum; null beyond the last, and for
 * other kinds. Archives that scriptlang wrote name the attributes of all classes and the members of
 * all enums. Others name the attributes of classes whose objects they hold: objects of other
 * classes, which programs make, have theirs by place alone, and of members of enums only the value
 * is known: sl_value_item and sl_value_member give null for the name, and programs that ask for it
 * or print it fail. */
SL_API const char* sl_value_field(const sl_value* value, size_t index);
/* The element of that name. Release it. Null when there is none. */
SL_API sl_value* sl_value_member(const sl_value* value, const char* name);
/* The class of an object, enum or named tuple, "__torch__.M"; "" of anything else. */
SL_API const char* sl_value_class(const sl_value* value);
/* The value as the language prints it. *text is freed by sl_text_release; `size` may be null.
 * SL_RUN_ERROR for values nested deeper than 200, SL_OUT_OF_MEMORY for texts of over 64 MB, which
 * small values have that hold each other many times. */
SL_API sl_status sl_value_text(const sl_value* value, char** text, size_t* size);
SL_API void sl_text_release(char* text);

/* Of tensors; sizes and strides (in elements) lie in the value, and live as long as it and until a
 * program changes the tensor's shape. Places may be null. SL_INVALID_ARGUMENT for other kinds. */
SL_API sl_status sl_tensor_info(const sl_value* tensor, sl_dtype* dtype, size_t* ndim,
                                const int64_t** sizes, const int64_t** strides);
/* First element; null of other kinds. With sl_tensor_contiguous first, elements lie in row-major
 * order. What is written there is seen by all that share the tensor; bools are 0 or 1. */
SL_API void* sl_tensor_data(const sl_value* tensor);
/* The same tensor when it is contiguous, else a contiguous copy. Release it. Null of other
 * kinds. */
SL_API sl_value* sl_tensor_contiguous(const sl_value* tensor);

/* ---- errors: sl_error_release ends each; texts live as long as it, and are "" of null */

SL_API void sl_error_release(sl_error* error);
SL_API sl_status sl_error_status(const sl_error* error); /* SL_OK of null */
/* The exception's class: of the program's own raise as it names it, "builtins.ValueError"; else
 * RuntimeError, ValueError, TypeError, IndexError, KeyError, NotImplementedError,
 * ZeroDivisionError, MemoryError, LimitError, Cancelled, ArchiveError or MissingOperator. */
SL_API const char* sl_error_class(const sl_error* error);
SL_API const char* sl_error_message(const sl_error* error);
/* The script stack, innermost first: "function at instruction n", one a line; may be empty. */
SL_API const char* sl_error_stack(const sl_error* error);

/* ---- the process */

/* Where memory of tensors comes from, from now on; null restores the default. A block goes back to
 * the allocator that it came from. Both functions are called from any thread, with the same number
 * of bytes, 1 at least. Blocks are aligned to 64 bytes; null, or a block that is not, ends the call
 * with SL_OUT_OF_MEMORY. They may make and release values, but not call modules.
 * SL_INVALID_ARGUMENT when one of the functions is null: nothing changes then. */
typedef struct sl_allocator {
  void* (*allocate)(size_t bytes, void* user);
  void (*release)(void* block, size_t bytes, void* user);
  void* user;
} sl_allocator;
SL_API sl_status sl_set_allocator(const sl_allocator* allocator);

/* Threads that one operator may use: 1 to 256, others are made these. */
SL_API void sl_set_threads(int threads);
SL_API int sl_get_threads(void);

#ifdef __cplusplus
}
#endif
#endif
