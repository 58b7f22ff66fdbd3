/* scriptlang: runs TorchScript archives. This is the C interface.
 *
 * Ownership: handles are opaque and belong to the caller. Every function that returns one says
 * which sl_*_release ends it. Each handle is released once, in any order and on any thread;
 * releasing null does nothing. The object behind a handle lives as long as anything needs it:
 * results outlive their module, and items outlive the list from which they were taken. Texts and
 * arrays to which a function points belong to the handle that was passed, and live as long as it.
 *
 * Errors: functions that can fail return a status. If `error` is not null, *error becomes a handle
 * that explains the failure, or null if there is none (or no memory for the explanation); release
 * it with sl_error_release. A function that fails sets its results to null or 0, except for
 * sl_value_get_* and sl_tensor_info, which do not change them. Functions that return a new value
 * return null if memory is exhausted, if a pointer that they need is null, or for the reasons that
 * they state. No C++ exception crosses this interface. Where a value is read, a null handle stands
 * for None; other null handles lead to SL_INVALID_ARGUMENT, null or 0. Use no released handle.
 *
 * Threads: any thread may call any function, as long as no other thread releases the same handle.
 * Calls of a module whose program only reads run concurrently. Calls that may write attributes (a
 * recurrent state) run one after the other, in the order in which they come, and functions that
 * read attributes of the module wait for them. Different modules run concurrently, until one of
 * them is given a list, dict or object that came from the other. Programs that change the shape of
 * tensors (resize_) run alone in the process, as does sl_module_to. sl_set_allocator, sl_set_print,
 * sl_set_threads and the registration of operators act on the process.
 * What no module holds has no lock, as in C++: while one thread changes a list or dict that the
 * host made, or that only the host has, no other thread may use it. Nor may a tensor be passed to
 * sl_value_text, sl_tensor_*, sl_backward or sl_grad while another one gives it another type, shape
 * or memory (sl_module_to, resize_) or calls sl_tensor_require_grad for it. Elements of tensors are
 * not protected: what one thread writes must not be used as indices by another.
 *
 * Units: sizes of memory are in bytes; sizes, strides and offsets of tensors are in elements. Texts
 * are UTF-8, followed by a 0 that their size does not count.
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
typedef struct sl_signature sl_signature;

typedef enum sl_status {
  SL_OK = 0,
  SL_INVALID_ARGUMENT = 1, /* the interface was misused: null handle, wrong kind of value */
  SL_ARCHIVE_ERROR = 2,    /* the file is malformed, unsafe or unsupported */
  SL_RUN_ERROR = 3,        /* the program failed, or raised an exception */
  SL_MISSING_OPERATOR = 4, /* the program reached an operator that this build lacks */
  SL_LIMIT = 5,            /* a limit of the caller was reached, but for memory_bytes */
  SL_OUT_OF_MEMORY = 6,    /* or memory_bytes of the limits was reached */
  SL_CANCELLED = 7         /* sl_cancel ended the call */
} sl_status;

/* The kind of a value. It is that of the value itself, also if its declared type is Optional, Union
 * or Any. A dtype, layout or memory format is an int; a range is a list. */
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
  SL_FUTURE = 14 /* the result of a call that was forked */
} sl_kind;

/* Element types of tensors, with the numbers that PyTorch uses. */
typedef enum sl_dtype {
  SL_UINT8 = 0,
  SL_INT8 = 1,
  SL_INT16 = 2,
  SL_INT32 = 3,
  SL_INT64 = 4,
  SL_FLOAT16 = 5,
  SL_FLOAT32 = 6,
  SL_FLOAT64 = 7,
  SL_COMPLEX32 = 8, /* can be stored and copied, but not computed with */
  SL_COMPLEX64 = 9,
  SL_COMPLEX128 = 10,
  SL_BOOL8 = 11, /* each byte is 0 or 1 */
  SL_QINT8 = 12, /* codes of quantized tensors, which programs make, but not sl_tensor_* */
  SL_QUINT8 = 13,
  SL_QINT32 = 14,
  SL_BFLOAT16 = 15,
  SL_UINT16 = 27,
  SL_UINT32 = 28,
  SL_UINT64 = 29
} sl_dtype;

/* What one call may use. 0 means no limit (but see depth); a negative number is an error. Set size
 * to sizeof(sl_limits), so that fields can be added later. */
typedef struct sl_limits {
  size_t size;
  int64_t instructions; /* counted at loops and calls */
  int64_t memory_bytes; /* tensors, strings, containers and deep calls that it holds */
  int64_t milliseconds; /* wall time; even a long operator ends within a tenth of a second of it */
  int64_t depth;        /* of nested script calls; 0 means 2000 */
  const sl_canceller* canceller; /* can end the call, see sl_cancel; may be null */
} sl_limits;

SL_API const char* sl_version(void); /* such as "0.1.0"; lives as long as the process */

/* ---- modules */

/* Load an archive, without running anything in it. It may be written by torch.jit.save (its code is
 * compiled here), contain bytecode (`.ptl` files), or be made by `scriptlang compile`, which starts
 * fastest. SL_ARCHIVE_ERROR means that the file cannot be read or is wrong; the error says why. If
 * the code of one method is wrong, only calls of that method fail. *module is released by
 * sl_module_release; values that came from it stay valid.
 *
 * sl_load_file reads a file of up to 16 MB and maps a larger one. A mapped file must not be changed
 * or truncated while the module or its tensors live: reading a part that was cut off ends the
 * process. If that may happen, read the file yourself and call sl_load_memory. */
SL_API sl_status sl_load_file(const char* path, sl_module** module, sl_error** error);
SL_API sl_status sl_load_memory(const void* data, size_t size, sl_module** module,
                                sl_error** error); /* copies the data */
SL_API void sl_module_release(sl_module* module);

/* Options of loading; null means that all fields are 0. Set size to sizeof(sl_load_options). */
typedef struct sl_load_options {
  size_t size;
  /* A device (cuda:0), else SL_INVALID_ARGUMENT. All runs on the CPU; others lead to a notice. */
  const char* device;
  /* Gets notices; if null, they go to stderr. It is called in the thread that loads, before the
   * loading function returns, and must not call modules. */
  void (*notice)(const char* text, size_t size, void* user);
  void* user;
} sl_load_options;
SL_API sl_status sl_load_file_with(const char* path, const sl_load_options* options,
                                   sl_module** module, sl_error** error);
SL_API sl_status sl_load_memory_with(const void* data, size_t size, const sl_load_options* options,
                                     sl_module** module, sl_error** error);
/* Loads from a stream. `read` writes at most `bytes` bytes to `to` and returns their number, 0 at
 * the end, (size_t)-1 if it fails; the result is then SL_ARCHIVE_ERROR. */
SL_API sl_status sl_load_stream(size_t (*read)(void* to, size_t bytes, void* user), void* user,
                                const sl_load_options* options, sl_module** module,
                                sl_error** error);

/* The names of extra files (_extra_files of torch.jit.save), sorted; null beyond the last one. */
SL_API size_t sl_module_extra_count(const sl_module* module);
SL_API const char* sl_module_extra_name(const sl_module* module, size_t index);
/* The contents of an extra file, followed by a 0. They belong to the module; `size` may be null.
 * SL_INVALID_ARGUMENT if there is no such file, SL_ARCHIVE_ERROR if it is damaged. */
SL_API sl_status sl_module_extra(const sl_module* module, const char* name, const char** data,
                                 size_t* size, sl_error** error);

/* Save the module as an archive that this library and PyTorch can load. It has the current values
 * of the attributes, and the code and constants that were loaded. Its extra files are those of the
 * loaded archive and those passed here, which replace others of the same name; `extra` may be null
 * if count is 0. A handle of a submodule saves only that. Methods __getstate__ of objects are run.
 *
 * sl_save_file replaces an existing file once the new one is complete; it must be possible to
 * create files in its folder. sl_save_stream passes the bytes to `write` in order; saving ends if
 * `write` returns another value than 0. SL_RUN_ERROR: a value that archives cannot contain (a
 * generator), or the file or stream cannot be written. SL_INVALID_ARGUMENT: the name of an extra
 * file is empty, occurs twice or is not a relative path. */
typedef struct sl_extra {
  const char* name;
  const void* data;
  size_t size;
} sl_extra;
SL_API sl_status sl_save_file(sl_module* module, const char* path, const sl_extra* extra,
                              size_t count, sl_error** error);
SL_API sl_status sl_save_stream(sl_module* module,
                                int (*write)(const void* data, size_t size, void* user), void* user,
                                const sl_extra* extra, size_t count, sl_error** error);

/* ---- contents of a module
 *
 * Attributes have dotted names, "encoder.layers.0.weight", which lead through modules and objects.
 * A handle may also stand for a submodule or another object, and then has its methods and
 * attributes. Functions that write wait until no call runs that may read the same. */

/* The class of the module, "__torch__.M"; "" for null. */
SL_API const char* sl_module_class(const sl_module* module);
/* The methods of the module, sorted by name; null beyond the last one. */
SL_API size_t sl_module_method_count(const sl_module* module);
SL_API const char* sl_module_method_name(const sl_module* module, size_t index);
/* The operators in the program that this build lacks; a call that reaches one fails. */
SL_API size_t sl_module_missing_count(const sl_module* module);
SL_API const char* sl_module_missing_name(const sl_module* module, size_t index);
SL_API int sl_module_has_method(const sl_module* module, const char* name); /* 1 or 0 */

/* The value of an attribute; release it. It is shared with the program, so each sees what the other
 * writes. Objects with __setstate__ have no attributes until they are restored: by the first call,
 * by saving, or by sl_module_set_attribute, _child, _list, _train, _to, _clone or _text.
 * SL_INVALID_ARGUMENT if there is no such attribute. */
SL_API sl_status sl_module_attribute(const sl_module* module, const char* name, sl_value** value,
                                     sl_error** error);
SL_API int sl_module_has_attribute(const sl_module* module, const char* name); /* 1 or 0 */
/* Sets an existing attribute. The value is converted to the declared type, as arguments are: lists
 * and dicts are copied, tensors and objects are shared. If the archive declares no type (bytecode
 * without code), the value must have the kind of the old one, unless one of them is None.
 * SL_RUN_ERROR if it does not fit, SL_INVALID_ARGUMENT if there is no such attribute. */
SL_API sl_status sl_module_set_attribute(sl_module* module, const char* name, const sl_value* value,
                                         sl_error** error);

/* The submodule, or other object, of that name; "" gives the module itself. Release it; the handle
 * keeps the whole module alive. SL_INVALID_ARGUMENT if there is no object of that name. */
SL_API sl_status sl_module_child(const sl_module* module, const char* name, sl_module** child,
                                 sl_error** error);
/* A handle for the methods and attributes of an object that came from the module or one of its
 * calls. Release it. SL_INVALID_ARGUMENT for other kinds, and for objects of another program. */
SL_API sl_status sl_module_of(const sl_module* module, const sl_value* object, sl_module** view,
                              sl_error** error);
/* The module as a value, which is an object. Release it. Null if memory is exhausted. */
SL_API sl_value* sl_module_value(const sl_module* module);

/* What sl_module_list lists. */
typedef enum sl_listing {
  SL_PARAMETERS = 1,
  SL_BUFFERS = 2,
  SL_ATTRIBUTES = 3, /* all attributes: parameters, buffers, submodules and others */
  SL_MODULES = 4     /* submodules, without the module itself */
} sl_listing;
/* A dict from names to attributes of the kind `what`; release it. With `recurse` it also has those
 * of all submodules, each after the module that contains it. The values are shared with the module;
 * the dict is new. The code in the archive states which tensors are parameters or buffers; without
 * code, tensors that require a gradient are parameters and other tensors are buffers. */
SL_API sl_status sl_module_list(const sl_module* module, sl_listing what, int recurse,
                                sl_value** dict, sl_error** error);

/* Sets `training` of the module and its submodules: `on` is 0 for eval(), otherwise train(). */
SL_API sl_status sl_module_train(sl_module* module, int on, sl_error** error);
/* Converts the parameters and buffers of floating and complex types to `dtype`, like
 * Module.to(dtype) in Python; constants of the program do not change. They stay the same tensors
 * with new memory. SL_INVALID_ARGUMENT if `dtype` is neither floating nor complex. */
SL_API sl_status sl_module_to(sl_module* module, sl_dtype dtype, sl_error** error);
/* An independent module with the same program and copies of tensors and objects. Release it. */
SL_API sl_status sl_module_clone(const sl_module* module, sl_module** copy, sl_error** error);
/* A readable description of the module. *text is freed by sl_text_release; `size` may be null. */
SL_API sl_status sl_module_text(const sl_module* module, char** text, size_t* size);

/* Makes an object of a class in the program, "__torch__.Counter", by calling its __init__ with
 * these arguments. Arguments, limits and errors are as in sl_call. SL_RUN_ERROR if the program has
 * no such class, or the class has no __init__. Release the object with sl_value_release. */
SL_API sl_status sl_module_make(sl_module* module, const char* class_name,
                                sl_value* const* arguments, size_t count, const sl_limits* limits,
                                sl_value** object, sl_error** error);
/* A member of an enum in the program, by its name. Release it. SL_RUN_ERROR if there is none. */
SL_API sl_status sl_module_enum(const sl_module* module, const char* class_name, const char* member,
                                sl_value** value, sl_error** error);

/* ---- signatures: the arguments and results of a method, without self
 *
 * SL_INVALID_ARGUMENT if there is no such method. Texts live until sl_signature_release. */
SL_API sl_status sl_module_signature(const sl_module* module, const char* method,
                                     sl_signature** signature, sl_error** error);
SL_API void sl_signature_release(sl_signature* signature);
/* The signature as text, "forward(Tensor x, float scale=2.0) -> Tensor"; "" for null. */
SL_API const char* sl_signature_text(const sl_signature* signature);
SL_API size_t sl_signature_argument_count(const sl_signature* signature);
/* The names of the arguments, and their types as annotations ("Optional[List[int]]"); null beyond
 * the last one. If a method has no schema, the types are "Any" and the names are "". */
SL_API const char* sl_signature_argument_name(const sl_signature* signature, size_t index);
SL_API const char* sl_signature_argument_type(const sl_signature* signature, size_t index);
/* The default of an argument. Release it. Null if the argument has none. */
SL_API sl_value* sl_signature_argument_default(const sl_signature* signature, size_t index);
SL_API size_t sl_signature_result_count(const sl_signature* signature);
SL_API const char* sl_signature_result_type(const sl_signature* signature, size_t index);

/* ---- calls */

/* Calls a method. `arguments` are those after self; a null handle is None. Arguments that are left
 * out take their defaults. Arguments are converted to the types in the schema, as in Python: ints
 * become floats, tuples become lists, tensors without dimensions become numbers, names become
 * devices. Lists and dicts are copied, so that the program cannot change those of the caller;
 * tensors and objects are shared. `limits` may be null. *result is released by sl_value_release; it
 * is None if the method returns nothing, and a tuple if it returns several values.
 *
 * SL_INVALID_ARGUMENT: a null pointer, wrong limits, or a call from within a callback (allocator,
 * release function, operator, print). SL_RUN_ERROR: no such method, arguments that do not fit, or
 * an exception of the program. SL_ARCHIVE_ERROR: the code of the method is wrong. Others: see
 * sl_status. After any of them the module can be called again, with what was written until then. */
SL_API sl_status sl_call(sl_module* module, const char* method, sl_value* const* arguments,
                         size_t count, const sl_limits* limits, sl_value** result,
                         sl_error** error);
/* The same with keyword arguments, after the positional ones: named[k] is passed as names[k]. */
SL_API sl_status sl_call_named(sl_module* module, const char* method, sl_value* const* arguments,
                               size_t count, const char* const* names, sl_value* const* named,
                               size_t named_count, const sl_limits* limits, sl_value** result,
                               sl_error** error);

/* ---- cancelling calls
 *
 * A canceller is passed to any number of calls in their limits, and must outlive them. sl_cancel
 * ends all of these calls that run, and all that begin later, until sl_canceller_reset. Each fails
 * with SL_CANCELLED within a tenth of a second. A tensor may then be partly written. */
SL_API sl_canceller* sl_canceller_make(void); /* null if memory is exhausted */
SL_API void sl_canceller_release(sl_canceller* canceller);
SL_API void sl_cancel(sl_canceller* canceller); /* from any thread, and from signal handlers */
SL_API void sl_canceller_reset(sl_canceller* canceller);

/* ---- values: each value that these functions return is released by sl_value_release */

SL_API void sl_value_release(sl_value* value);
/* Another handle of the same value. Null for null, and if memory is exhausted. */
SL_API sl_value* sl_value_share(const sl_value* value);
SL_API sl_value* sl_value_none(void);
SL_API sl_value* sl_value_bool(int v); /* 0 is False, others are True */
SL_API sl_value* sl_value_int(int64_t v);
SL_API sl_value* sl_value_double(double v);
SL_API sl_value* sl_value_complex(double real, double imaginary);
/* A copy of a text of `size` bytes, which may contain zeros. Null if it is not UTF-8. */
SL_API sl_value* sl_value_string(const char* utf8, size_t size);
/* A device from its name, "cpu" or "cuda:0", which sl_value_text returns; null for other texts. */
SL_API sl_value* sl_value_device(const char* name);
/* A random number generator, like torch.Generator. Only one thread at a time may draw from it. */
SL_API sl_value* sl_value_generator(uint64_t seed);
/* Containers of values, which they share with the handles: the caller still releases the items.
 * Null handles stand for None. The keys of a dict are numbers, strings, devices, enums or tensors;
 * for others the result is null. If keys are equal, the last value is kept. */
SL_API sl_value* sl_value_list(sl_value* const* items, size_t count);
SL_API sl_value* sl_value_tuple(sl_value* const* items, size_t count);
SL_API sl_value* sl_value_dict(sl_value* const* keys, sl_value* const* values, size_t count);

/* Dicts by key. SL_INVALID_ARGUMENT: the value is not a dict, a key or value does not have the
 * dict's declared type, or the new value contains the dict. */
/* *value becomes the value of the key; release it. It is null, with SL_OK, if there is none. */
SL_API sl_status sl_dict_get(const sl_value* dict, const sl_value* key, sl_value** value);
SL_API sl_status sl_dict_set(sl_value* dict, const sl_value* key, const sl_value* value);
SL_API sl_status sl_dict_remove(sl_value* dict, const sl_value* key); /* SL_OK if it is absent */
/* The next entry, in insertion order; release both. *cursor is 0 at first and advances with each
 * call. At the end both are null with SL_OK. The dict must not be changed meanwhile. */
SL_API sl_status sl_dict_next(const sl_value* dict, size_t* cursor, sl_value** key,
                              sl_value** value);
/* Lists by index. SL_INVALID_ARGUMENT: the value is not a list, the index is beyond the end, or the
 * new value does not have the list's declared type or contains the list. */
SL_API sl_status sl_list_set(sl_value* list, size_t index, const sl_value* value);
SL_API sl_status sl_list_append(sl_value* list, const sl_value* value);
SL_API sl_status sl_list_remove(sl_value* list, size_t index);
/* The numbers in a list, without a copy, valid until the list is changed or released; *data is null
 * for an empty list. SL_INVALID_ARGUMENT for other kinds, and for lists of something else. */
SL_API sl_status sl_list_ints(const sl_value* list, const int64_t** data, size_t* count);
SL_API sl_status sl_list_doubles(const sl_value* list, const double** data, size_t* count);

/* A contiguous tensor on the caller's memory, which must be aligned for the type, and stay valid
 * until `release` is called with `user`: once, from any thread, when nothing needs it any more. If
 * `release` is null, the memory must outlive all tensors on it. Programs may write to it. `release`
 * may make and release values, but must not call modules. Null for a wrong type or shape, memory
 * that is not aligned, or bools other than 0 and 1; then `release` is never called. */
SL_API sl_value* sl_tensor_view(void* data, sl_dtype dtype, const int64_t* sizes, size_t ndim,
                                void (*release)(void* user), void* user);
/* The same with strides, not negative. All elements must lie in the `bytes` bytes from `data`; of
 * bools, all these bytes must be 0 or 1, since programs may make other views of them. */
SL_API sl_value* sl_tensor_strided(void* data, size_t bytes, sl_dtype dtype, const int64_t* sizes,
                                   const int64_t* strides, size_t ndim, void (*release)(void* user),
                                   void* user);
/* A tensor with a copy of contiguous memory, aligned or not. Null as above, but for alignment. */
SL_API sl_value* sl_tensor_copy(const void* data, sl_dtype dtype, const int64_t* sizes,
                                size_t ndim);

SL_API sl_kind sl_value_kind(const sl_value* value);
/* SL_INVALID_ARGUMENT if the value is of another kind; then the results are not changed. */
SL_API sl_status sl_value_get_bool(const sl_value* value, int* out);
SL_API sl_status sl_value_get_int(const sl_value* value, int64_t* out);
SL_API sl_status sl_value_get_double(const sl_value* value, double* out); /* also for an int */
SL_API sl_status sl_value_get_complex(const sl_value* value, double* real,
                                      double* imaginary); /* also for a double or an int */
/* The text lives as long as this handle; `size` may be null. It may contain zeros. It may begin or
 * end within a character of UTF-8 if a program has sliced it there. */
SL_API sl_status sl_value_get_string(const sl_value* value, const char** utf8, size_t* size);

/* The number of elements of a list, tuple, named tuple or dict; for an object, that of its
 * attributes; for an enum 2 (its name and its value); 0 for other kinds. */
SL_API size_t sl_value_length(const sl_value* value);
/* The index-th element; of a dict the value, in order. Release it. Null beyond the end. */
SL_API sl_value* sl_value_item(const sl_value* value, size_t index);
/* The index-th key of a dict. Release it. Null beyond the last one, and for other kinds. */
SL_API sl_value* sl_value_key(const sl_value* dict, size_t index);
/* The name of the index-th element of a named tuple, object or enum; null beyond, and for others.
 *
 * Archives with bytecode may lack names, unless scriptlang wrote them. They have the names of
 * attributes only for classes of which they contain objects; attributes of other objects, which
 * programs make, are found by index alone. Of members of enums they only have the values: the name
 * is null for sl_value_item and sl_value_member, and programs that use or print it fail. */
SL_API const char* sl_value_field(const sl_value* value, size_t index);
/* The element of that name, of a named tuple, object or enum. Release it. Null if there is none. */
SL_API sl_value* sl_value_member(const sl_value* value, const char* name);
/* The class of an object, enum or named tuple, "__torch__.M"; "" for other kinds. */
SL_API const char* sl_value_class(const sl_value* value);
/* The value as print() in a program prints it. *text is freed by sl_text_release; `size` may be
 * null. SL_RUN_ERROR for values nested deeper than 200; SL_OUT_OF_MEMORY for texts of over 64 MB,
 * which even a small value may have if it contains others many times. */
SL_API sl_status sl_value_text(const sl_value* value, char** text, size_t* size);
SL_API void sl_text_release(char* text);

/* The element type and shape of a tensor. *sizes and *strides are valid as long as it lives, until
 * a program changes its shape. Result pointers may be null. SL_INVALID_ARGUMENT for other kinds. */
SL_API sl_status sl_tensor_info(const sl_value* tensor, sl_dtype* dtype, size_t* ndim,
                                const int64_t** sizes, const int64_t** strides);
/* The address of the first element; null for other kinds. Elements are in row-major order if
 * sl_tensor_contiguous returned the tensor. All that share it see writes; bools must be 0 or 1. */
SL_API void* sl_tensor_data(const sl_value* tensor);
/* The same tensor if it is contiguous, else a contiguous copy. Release it. Null for other kinds. */
SL_API sl_value* sl_tensor_contiguous(const sl_value* tensor);

/* A tensor with that element type: the same one, or a converted copy. Release it. Null for other
 * kinds, and for conversions from or to codes of quantized tensors. */
SL_API sl_value* sl_tensor_to(const sl_value* tensor, sl_dtype dtype);
/* Writes the elements to the caller's memory, in row-major order, converted to that type. `bytes`
 * must be exactly their size, otherwise the result is SL_INVALID_ARGUMENT. */
SL_API sl_status sl_tensor_read(const sl_value* tensor, sl_dtype dtype, void* data, size_t bytes);
/* Writes the elements of `from` to `to`, broadcast to its sizes and converted to its type.
 * SL_INVALID_ARGUMENT for sizes that do not fit, codes of quantized tensors, partial overlap. */
SL_API sl_status sl_tensor_assign(sl_value* to, const sl_value* from);

/* DLPack exchanges tensors with other libraries without a copy, by the struct of dlpack.h. *managed
 * keeps the tensor's memory until its deleter is called, on any thread. SL_INVALID_ARGUMENT for
 * element types that DLPack does not have (those of quantized tensors). */
struct DLManagedTensor;
SL_API sl_status sl_tensor_to_dlpack(const sl_value* tensor, struct DLManagedTensor** managed,
                                     sl_error** error);
/* Makes a tensor of `managed` and takes ownership of it: its deleter is called when the last tensor
 * on its memory is released. If this fails, `managed` still belongs to the caller. Release *tensor
 * with sl_value_release. SL_INVALID_ARGUMENT for memory that is not on the CPU or not aligned for
 * its type, for negative strides, and for element types that are not in sl_dtype. */
SL_API sl_status sl_tensor_from_dlpack(struct DLManagedTensor* managed, sl_value** tensor,
                                       sl_error** error);

/* ---- derivatives
 *
 * A call is recorded for the backward pass if a tensor among its arguments, or in its module,
 * requires a gradient because of sl_tensor_require_grad, or was computed by a recorded call. Other
 * calls are not recorded, even if parameters in the archive require gradients, and cost nothing
 * more. Programs may always compute derivatives themselves.
 *
 * sl_tensor_require_grad, sl_backward and sl_grad return SL_INVALID_ARGUMENT for values that are no
 * tensors, and SL_RUN_ERROR in a build without derivatives (SCRIPTLANG_TRAINING=OFF). */

/* Sets whether a tensor requires a gradient. For the parameters of a module, pass the values in the
 * dict of sl_module_list. SL_RUN_ERROR if `on` is not 0 and the type is neither floating nor
 * complex, or if `on` is 0 and the tensor was computed by a recorded call. */
SL_API sl_status sl_tensor_require_grad(sl_value* tensor, int on, sl_error** error);
SL_API int sl_tensor_requires_grad(const sl_value* tensor); /* 1 or 0 */
/* The gradient that sl_backward has accumulated; None if none. Release it. Null for other kinds.
 * This and sl_tensor_set_grad may be called beside sl_backward. */
SL_API sl_value* sl_tensor_grad(const sl_value* tensor);
/* Sets the gradient of a tensor; null removes it. SL_INVALID_ARGUMENT if its sizes or type differ
 * from those of the tensor, or if one of the values is not a tensor. */
SL_API sl_status sl_tensor_set_grad(sl_value* tensor, const sl_value* grad);
/* A tensor on the same memory, without what was recorded. Release it. Null for other kinds. */
SL_API sl_value* sl_tensor_detach(const sl_value* tensor);

typedef struct {
  size_t size;       /* sizeof(sl_backward_options) */
  int keeps_graph;   /* the recorded calls are kept, for another backward pass */
  int creates_graph; /* the gradients can be differentiated; implies keeps_graph */
  int allows_unused; /* sl_grad: None for inputs on which the outputs do not depend */
} sl_backward_options;

/* Runs the backward pass from `outputs`, and adds the gradients to all tensors that require one.
 * `gradients` are those of the outputs; if it is null, or one of them is null or None, the gradient
 * is 1 and the output must have one element. `options` may be null. Only one thread at a time may
 * go backward through a recorded call: threads that share such tensors must take turns. */
SL_API sl_status sl_backward(sl_value* const* outputs, sl_value* const* gradients, size_t count,
                             const sl_backward_options* options, sl_error** error);
/* Writes the gradients of `outputs` with respect to `inputs` to results[0..input_count); release
 * each. None is accumulated in a tensor. Other arguments are those of sl_backward. */
SL_API sl_status sl_grad(sl_value* const* outputs, sl_value* const* gradients, size_t count,
                         sl_value* const* inputs, size_t input_count,
                         const sl_backward_options* options, sl_value** results, sl_error** error);
/* Whether calls of this thread may be recorded; 1 at first. */
SL_API void sl_set_grad_enabled(int on);
SL_API int sl_grad_enabled(void); /* 1 or 0 */

/* ---- calls that allocate no memory
 *
 * A reservation is one block of memory for calls of one method with arguments of certain sizes. To
 * make it, the method is called six times with an example; what these calls write to the module
 * stays written. They show which memory is needed when, and what can share a place.
 *
 * sl_call_reserved then allocates no memory from the system, if the thread is the one that made the
 * reservation, the arguments have the number, types, sizes and strides of the example, operators
 * use one thread (sl_set_threads), and the work of the program does not depend on the elements.
 * Another number than in the example may allocate memory once, if a fused group uses it. All other
 * calls work like sl_call, allocate what they need, and are counted as misses.
 *
 * Arguments may be tensors, ints, floats, bools and None; calls with other arguments are misses.
 * Memory of sl_set_allocator is not reserved. sl_reserve allocates the block; errors are those of
 * sl_call, and SL_RUN_ERROR if there are 64 reservations. sl_reservation_release releases it. */
typedef struct sl_reservation sl_reservation;
SL_API sl_status sl_reserve(sl_module* module, const char* method, sl_value* const* example,
                            size_t count, sl_reservation** reservation, sl_error** error);
/* The same with a block of the caller's, such as a static array. It must be aligned to 64 bytes, or
 * the result is SL_INVALID_ARGUMENT, and stay valid until sl_reservation_release says that nothing
 * is in it. SL_OUT_OF_MEMORY if it is too small; the message says how many bytes are needed, as
 * does sl_reservation_bytes for a reservation that sl_reserve made. */
SL_API sl_status sl_reserve_memory(sl_module* module, const char* method, sl_value* const* example,
                                   size_t count, void* block, size_t bytes,
                                   sl_reservation** reservation, sl_error** error);
/* The bytes of the block; and those of them that values within a call share, without values that
 * outlive it (results, attributes) and without scratch memory of kernels. */
SL_API size_t sl_reservation_bytes(const sl_reservation* reservation);
SL_API size_t sl_reservation_planned(const sl_reservation* reservation);
/* The number of calls, or parts of calls, that allocated memory elsewhere. */
SL_API int64_t sl_reservation_misses(const sl_reservation* reservation);
/* Like sl_call, but *result belongs to the reservation: it must not be released, and is valid until
 * the next call or the release of the reservation. So is the memory of the tensors in it, unless
 * sl_value_share or another handle keeps them; then the next call allocates memory elsewhere. Only
 * one thread at a time may call a reservation, otherwise the result is SL_INVALID_ARGUMENT. */
SL_API sl_status sl_call_reserved(sl_reservation* reservation, sl_value* const* arguments,
                                  size_t count, const sl_limits* limits, const sl_value** result,
                                  sl_error** error);
/* Releases a reservation, and returns how many pieces of its block attributes or handles still have
 * (two for a tensor). The block must stay valid until they are gone: release modules first. */
SL_API size_t sl_reservation_release(sl_reservation* reservation);

/* ---- errors: sl_error_release releases each; texts live as long as it, and are "" for null */

SL_API void sl_error_release(sl_error* error);
SL_API sl_status sl_error_status(const sl_error* error); /* SL_OK for null */
/* The class of the exception. If the program raised it, that is a qualified name such as
 * "builtins.ValueError"; otherwise RuntimeError, ValueError, TypeError, IndexError, KeyError,
 * NotImplementedError, ZeroDivisionError, MemoryError, LimitError, Cancelled, ArchiveError or
 * MissingOperator, or the class that an operator gave to sl_error_make. */
SL_API const char* sl_error_class(const sl_error* error);
SL_API const char* sl_error_message(const sl_error* error);
/* The script stack, innermost first, one line per function: "function at record:line" if the code
 * was compiled here, "function at instruction n" for bytecode. It may be empty. */
SL_API const char* sl_error_stack(const sl_error* error);

/* Makes an error, for an operator that fails. The class is that of the exception in programs, such
 * as "ValueError"; null or "" means RuntimeError. Returns null if memory is exhausted. */
SL_API sl_error* sl_error_make(const char* class_name, const char* message);

/* ---- custom operators
 *
 * An operator of the host, which programs call as torch.ops.my.op. It gets all arguments of its
 * schema, in order, and writes a handle to each of the results, which are null at first; null
 * stands for None. If it fails (another status than SL_OK; it may set *error), the program raises.
 *
 * The library takes ownership of the results and of the error in any case. It also owns the
 * arguments: to keep one, use sl_value_share, and do not change it later. Results of other types
 * than in the schema are an error. An operator may only write to arguments that its schema marks,
 * as in "Tensor(a!) x". Any thread that runs a program calls it, several at the same time. It may
 * make and read values, but must not call or load modules. */
typedef sl_status (*sl_operator)(void* user, sl_value* const* arguments, size_t count,
                                 sl_value** results, size_t result_count, sl_error** error);
/* Registers an operator, "my::op(Tensor x, int k=1) -> Tensor", until the process ends, for modules
 * that are loaded afterwards. SL_INVALID_ARGUMENT: the schema cannot be read, the name is taken or
 * in a built-in namespace (aten, prim, quantized), or there are 256 operators already. */
SL_API sl_status sl_register_operator(const char* schema, sl_operator function, void* user,
                                      sl_error** error);

/* Opens a library of operators (plugin.h) and lets it register them, for modules that are loaded
 * afterwards. It stays open; opening it again does nothing, unless it failed to start. This runs
 * code of the library with all rights of the process, so only open libraries that you trust.
 * Archives cannot name libraries, and none are searched for. SL_INVALID_ARGUMENT: the file does not
 * exist, is no plug-in, or was made for another ABI; the call comes from a callback; or the system
 * has no shared libraries. Otherwise the status that the library returns when it starts. */
SL_API sl_status sl_load_library(const char* path, sl_error** error);

/* ---- the process */

/* Sets the allocator for memory of tensors; null restores the default. A block is released by the
 * allocator from which it came. Both functions are called from any thread, `release` with the same
 * number of bytes as `allocate`, at least 1. Blocks must be aligned to 64 bytes; for others, and
 * for null, the call of the program ends with SL_OUT_OF_MEMORY. The functions may make and release
 * values, but must not call modules. SL_INVALID_ARGUMENT, and no change, if one of them is null. */
typedef struct sl_allocator {
  void* (*allocate)(size_t bytes, void* user);
  void (*release)(void* block, size_t bytes, void* user);
  void* user;
} sl_allocator;
SL_API sl_status sl_set_allocator(const sl_allocator* allocator);

/* Sets where print() in programs writes; null means stdout. `print` is called by the thread that
 * runs the program. It may make and release values, but must not call modules. */
SL_API void sl_set_print(void (*print)(const char* text, size_t size, void* user), void* user);

/* The number of threads that one operator may use. It is limited to the range from 1 to 256. */
SL_API void sl_set_threads(int threads);
SL_API int sl_get_threads(void);

#ifdef __cplusplus
}
#endif
#endif
