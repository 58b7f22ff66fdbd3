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
typedef struct sl_signature sl_signature;

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

/* How to load; null stands for these fields being 0. Set size to sizeof(sl_load_options). */
typedef struct sl_load_options {
  size_t size;
  /* Where the module is wanted: "cuda:0" as programs for libtorch say. All runs on the CPU: of any
   * other device there is a notice. SL_INVALID_ARGUMENT for what names no device. */
  const char* device;
  /* Gets notices; null: they go to stderr. Called before the loading function returns. */
  void (*notice)(const char* text, size_t size, void* user);
  void* user;
} sl_load_options;
SL_API sl_status sl_load_file_with(const char* path, const sl_load_options* options,
                                   sl_module** module, sl_error** error);
SL_API sl_status sl_load_memory_with(const void* data, size_t size, const sl_load_options* options,
                                     sl_module** module, sl_error** error);
/* From anywhere: `read` puts up to so many bytes to where it is told, and says how many; 0 at the
 * end, (size_t)-1 where it cannot, which gives SL_ARCHIVE_ERROR. */
SL_API sl_status sl_load_stream(size_t (*read)(void* to, size_t bytes, void* user), void* user,
                                const sl_load_options* options, sl_module** module,
                                sl_error** error);

/* Files that lie beside the program (_extra_files of torch.jit.save), by name; null beyond the
 * last. */
SL_API size_t sl_module_extra_count(const sl_module* module);
SL_API const char* sl_module_extra_name(const sl_module* module, size_t index);
/* Their contents, a 0 behind them; `size` may be null. SL_INVALID_ARGUMENT when there is no such
 * file, SL_ARCHIVE_ERROR when it is damaged. */
SL_API sl_status sl_module_extra(const sl_module* module, const char* name, const char** data,
                                 size_t* size, sl_error** error);

/* Save the module as an archive that this library and PyTorch load: its attributes are what they
 * are now, its code and constants what was loaded. Extra files are those of the archive, but for
 * those given here, which are added or take another's place; `extra` may be null where count is 0.
 * A submodule is saved as a module of its own. Objects that keep themselves by __getstate__ run it.
 *
 * sl_save_file replaces a file once the new one is whole; its folder must allow new files.
 * sl_save_stream hands the bytes over in order; `write` gives 0, or else ends it. SL_RUN_ERROR: a
 * value that archives have no place for (a generator), or the reason of the system. */
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

/* ---- what a module holds
 *
 * Names are dotted, "encoder.layers.0.weight", and name attributes of modules and objects. A handle
 * may stand for a submodule, or for any object: methods and attributes are then its own. Functions
 * that write wait until no call runs that may look; what they change is seen by all that share it.
 */

/* The class of the module, "__torch__.M"; "" of null. */
SL_API const char* sl_module_class(const sl_module* module);
/* Methods of the module, sorted by name; null beyond the last. */
SL_API size_t sl_module_method_count(const sl_module* module);
SL_API const char* sl_module_method_name(const sl_module* module, size_t index);
/* Operators that the program names and this build lacks; a call that reaches one fails. */
SL_API size_t sl_module_missing_count(const sl_module* module);
SL_API const char* sl_module_missing_name(const sl_module* module, size_t index);
SL_API int sl_module_has_method(const sl_module* module, const char* name); /* 1 or 0 */

/* An attribute; release the value. It is the module's own, not a copy: what the program writes to
 * it is seen, and what is written to a tensor of it the program sees. Of objects that restore
 * themselves (__setstate__) nothing is there before the first call, or before one of the functions
 * below has looked into the module. SL_INVALID_ARGUMENT when absent. */
SL_API sl_status sl_module_attribute(const sl_module* module, const char* name, sl_value** value,
                                     sl_error** error);
SL_API int sl_module_has_attribute(const sl_module* module, const char* name); /* 1 or 0 */
/* Gives an attribute that is there another value. The value is made what the attribute is declared
 * as, as arguments are: lists and dicts are copied, tensors and objects shared. Where the archive
 * does not declare it (bytecode without code), it takes values of the kind that it has, and None.
 * SL_RUN_ERROR for a value that does not fit. */
SL_API sl_status sl_module_set_attribute(sl_module* module, const char* name, const sl_value* value,
                                         sl_error** error);

/* The submodule, or other object, of that name; "" gives the module itself. Release it: the handle
 * keeps the whole module. SL_INVALID_ARGUMENT when there is no object of that name. */
SL_API sl_status sl_module_child(const sl_module* module, const char* name, sl_module** child,
                                 sl_error** error);
/* The methods and attributes of an object: of one that came out of the module, or out of a call of
 * its methods. SL_INVALID_ARGUMENT for other kinds, and for objects of another program. */
SL_API sl_status sl_module_of(const sl_module* module, const sl_value* object, sl_module** view,
                              sl_error** error);
/* The module as a value, an object. Release it; null when memory is out. */
SL_API sl_value* sl_module_value(const sl_module* module);

/* What of a module is listed. */
typedef enum sl_listing {
  SL_PARAMETERS = 1,
  SL_BUFFERS = 2,
  SL_ATTRIBUTES = 3, /* all: parameters, buffers, submodules, and others */
  SL_MODULES = 4     /* submodules, but not the module itself */
} sl_listing;
/* A dict of what is asked for by its name; with `recurse`, of all submodules too, each after the
 * module that holds it. The values are the module's own; the dict is the caller's. What is a
 * parameter or a buffer the archive's code says; without code, tensors that require a gradient are
 * parameters, other tensors buffers. */
SL_API sl_status sl_module_list(const sl_module* module, sl_listing what, int recurse,
                                sl_value** dict, sl_error** error);

/* Sets `training` of the module and its submodules: 0 for eval(), else train(). */
SL_API sl_status sl_module_train(sl_module* module, int on, sl_error** error);
/* Parameters and buffers of floating and complex types become of that type, which is such a one;
 * others stay as they are, as in Python (Module.to(dtype)). They are the same tensors as before,
 * for all that have them, over memory of their own. Constants of the program stay as they are.
 * SL_INVALID_ARGUMENT for other types. */
SL_API sl_status sl_module_to(sl_module* module, sl_dtype dtype, sl_error** error);
/* A module of its own with the same program: tensors and objects are copied. Release it. */
SL_API sl_status sl_module_clone(const sl_module* module, sl_module** copy, sl_error** error);
/* The module as text, to be read: its attributes, methods and submodules. *text is freed by
 * sl_text_release; `size` may be null. */
SL_API sl_status sl_module_text(const sl_module* module, char** text, size_t* size);

/* A new object of a class of the program, "__torch__.Counter", made by its __init__ with these
 * arguments, as sl_call takes them. SL_RUN_ERROR where the program has no such class, or the class
 * no __init__. */
SL_API sl_status sl_module_make(sl_module* module, const char* class_name,
                                sl_value* const* arguments, size_t count, const sl_limits* limits,
                                sl_value** object, sl_error** error);
/* A member of an enum of the program by its name. SL_RUN_ERROR when there is none. */
SL_API sl_status sl_module_enum(const sl_module* module, const char* class_name, const char* member,
                                sl_value** value, sl_error** error);

/* ---- signatures: what a method takes and gives, without self
 *
 * SL_INVALID_ARGUMENT when there is no such method. Texts live as long as the signature. */
SL_API sl_status sl_module_signature(const sl_module* module, const char* method,
                                     sl_signature** signature, sl_error** error);
SL_API void sl_signature_release(sl_signature* signature);
/* "forward(Tensor x, float scale=2.0) -> Tensor"; "" of null. */
SL_API const char* sl_signature_text(const sl_signature* signature);
SL_API size_t sl_signature_argument_count(const sl_signature* signature);
/* Names, and types as the language spells them ("Optional[List[int]]"); null beyond the last. The
 * types of a method without a schema are "Any", its arguments are named "". */
SL_API const char* sl_signature_argument_name(const sl_signature* signature, size_t index);
SL_API const char* sl_signature_argument_type(const sl_signature* signature, size_t index);
/* What the argument is where it is left out. Release it. Null when it has to be given. */
SL_API sl_value* sl_signature_argument_default(const sl_signature* signature, size_t index);
SL_API size_t sl_signature_result_count(const sl_signature* signature);
SL_API const char* sl_signature_result_type(const sl_signature* signature, size_t index);

/* ---- calls */

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
/* One more handle of the same value. Null of null, and when memory is out. */
SL_API sl_value* sl_value_share(const sl_value* value);
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

/* Dicts by key. A key or value of another type than the dict is declared to have is
 * SL_INVALID_ARGUMENT, as is a value that is no dict. */
/* *value becomes what is under the key; release it. Null when the key is not there. */
SL_API sl_status sl_dict_get(const sl_value* dict, const sl_value* key, sl_value** value);
SL_API sl_status sl_dict_set(sl_value* dict, const sl_value* key, const sl_value* value);
SL_API sl_status sl_dict_remove(sl_value* dict, const sl_value* key); /* nothing where absent */
/* The next entry behind *cursor, which is 0 at first; release both. Null and null at the end, and
 * after a failure. The dict must not be changed meanwhile. */
SL_API sl_status sl_dict_next(const sl_value* dict, size_t* cursor, sl_value** key,
                              sl_value** value);
/* Lists by place. SL_INVALID_ARGUMENT: another kind, an index beyond the end, a value of another
 * type than the list is declared to have. */
SL_API sl_status sl_list_set(sl_value* list, size_t index, const sl_value* value);
SL_API sl_status sl_list_append(sl_value* list, const sl_value* value);
SL_API sl_status sl_list_remove(sl_value* list, size_t index);
/* The numbers of a list where they lie, no copy: until somebody changes the list.
 * SL_INVALID_ARGUMENT for other kinds, and for lists that hold anything else. */
SL_API sl_status sl_list_ints(const sl_value* list, const int64_t** data, size_t* count);
SL_API sl_status sl_list_doubles(const sl_value* list, const double** data, size_t* count);

/* A tensor over the caller's memory: contiguous, aligned for its type, and alive until `release`
 * (which may be null) is called with `user`, once, from any thread. Programs may write to it. Null,
 * and then `release` is never called: for a bad type or shape, memory that is not aligned, bools
 * other than 0 and 1. `release` may make and release values, but not call modules. */
SL_API sl_value* sl_tensor_view(void* data, sl_dtype dtype, const int64_t* sizes, size_t ndim,
                                void (*release)(void* user), void* user);
/* The same with strides, of memory of so many bytes, in which all elements have to lie; data is the
 * first element. Strides are not negative. */
SL_API sl_value* sl_tensor_strided(void* data, size_t bytes, sl_dtype dtype, const int64_t* sizes,
                                   const int64_t* strides, size_t ndim, void (*release)(void* user),
                                   void* user);
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

/* A tensor of that element type: the same one, or a converted copy. Release it. Null of other
 * kinds, and where PyTorch does not convert. */
SL_API sl_value* sl_tensor_to(const sl_value* tensor, sl_dtype dtype);
/* Writes the elements to the caller's memory, in row-major order, converted to that type; `bytes`
 * is what they take, exactly. SL_INVALID_ARGUMENT otherwise. */
SL_API sl_status sl_tensor_read(const sl_value* tensor, sl_dtype dtype, void* data, size_t bytes);
/* Writes the elements of one tensor over those of another, of the same sizes or sizes that it is
 * broadcast to, converted to its type, wherever they lie. SL_INVALID_ARGUMENT where they do not
 * fit. */
SL_API sl_status sl_tensor_assign(sl_value* to, const sl_value* from);

/* DLPack: tensors are handed over to and from other libraries without a copy, by the struct of
 * dlpack.h. *managed is ended by its deleter, on any thread. SL_INVALID_ARGUMENT for types that
 * DLPack does not have (those of quantized tensors). */
struct DLManagedTensor;
SL_API sl_status sl_tensor_to_dlpack(const sl_value* tensor, struct DLManagedTensor** managed,
                                     sl_error** error);
/* Takes `managed` over: its deleter is called when the last tensor over its memory goes. Where this
 * fails it stays the caller's. SL_INVALID_ARGUMENT for memory that is not the CPU's, or not aligned
 * for its type, negative strides, and types that there are not here. */
SL_API sl_status sl_tensor_from_dlpack(struct DLManagedTensor* managed, sl_value** tensor,
                                       sl_error** error);

/* ---- derivatives
 *
 * A call records how to go backward when a tensor among its arguments, or of its module, requires a
 * gradient because the host said so, or came from such a call. Other calls record nothing and pay
 * nothing: that an archive's parameters require gradients is not enough. Programs may ask for
 * derivatives themselves at any time. */

/* Makes a tensor require a gradient, or not: one of a floating or complex type, which no recorded
 * call has made. For parameters of a module: those that sl_module_list gives. */
SL_API sl_status sl_tensor_require_grad(sl_value* tensor, int on, sl_error** error);
SL_API int sl_tensor_requires_grad(const sl_value* tensor); /* 1 or 0 */
/* What sl_backward has added up for the tensor; None where nothing. Release it. Null of other
 * kinds. */
SL_API sl_value* sl_tensor_grad(const sl_value* tensor);
/* Sets that, or forgets it (null). SL_INVALID_ARGUMENT: other sizes or another type. */
SL_API sl_status sl_tensor_set_grad(sl_value* tensor, const sl_value* grad);
/* The same elements, without where they came from. Release it. Null of other kinds. */
SL_API sl_value* sl_tensor_detach(const sl_value* tensor);

typedef struct {
  size_t size;       /* sizeof(sl_backward_options) */
  int keeps_graph;   /* what was recorded can be gone through again */
  int creates_graph; /* the gradients can be differentiated; keeps the graph, too */
  int allows_unused; /* sl_grad: inputs that the outputs do not depend on get None */
} sl_backward_options;

/* Adds the gradients of outputs to all tensors that require them. gradients: those of something
 * with respect to the outputs; null, or with null or None in it: 1 for outputs of one element.
 * options may be null. One thread at a time goes backward through what a call recorded: threads
 * that share tensors which require gradients take turns. */
SL_API sl_status sl_backward(sl_value* const* outputs, sl_value* const* gradients, size_t count,
                             const sl_backward_options* options, sl_error** error);
/* Gives the gradients of outputs with respect to inputs in results[0..input_count): release each.
 * Nothing is added up anywhere. */
SL_API sl_status sl_grad(sl_value* const* outputs, sl_value* const* gradients, size_t count,
                         sl_value* const* inputs, size_t input_count,
                         const sl_backward_options* options, sl_value** results, sl_error** error);
/* Whether calls of this thread record; 1 at first. */
SL_API void sl_set_grad_enabled(int on);
SL_API int sl_grad_enabled(void); /* 1 or 0 */

/* ---- calls that take no memory
 *
 * A reservation is one block for calls of one method with arguments of certain sizes. The calls
 * with the example that make it say what is needed when; what is never needed at the same time
 * shares its place. sl_call_reserved then asks the system for no memory, as long as it comes from
 * the thread that made the reservation, with as many arguments of the example's types and sizes,
 * one thread for operators (sl_set_threads), and a program that does not do other work for other
 * elements. A number that the example had not may cost memory once, where a fused group has it. All
 * other calls work as sl_call does, take memory as they need it, and are counted.
 *
 * Arguments may be tensors, numbers, bools and None; of others the calls are as others. sl_reserve
 * calls the method six times: what it writes to the module is written. sl_set_allocator's memory is
 * not reserved. */
typedef struct sl_reservation sl_reservation;
SL_API sl_status sl_reserve(sl_module* module, const char* method, sl_value* const* example,
                            size_t count, sl_reservation** reservation, sl_error** error);
/* In the caller's memory, aligned to 64 bytes: a static array. It stays his, and has to stay there.
 * SL_OUT_OF_MEMORY where it is too small; the message says how many bytes are enough, as
 * sl_reservation_bytes does of a reservation that sl_reserve made. */
SL_API sl_status sl_reserve_memory(sl_module* module, const char* method, sl_value* const* example,
                                   size_t count, void* block, size_t bytes,
                                   sl_reservation** reservation, sl_error** error);
/* Bytes of the block; and those of them that tensors within a call share, without what outlives it
 * (results, attributes) and without working memory of kernels. */
SL_API size_t sl_reservation_bytes(const sl_reservation* reservation);
SL_API size_t sl_reservation_planned(const sl_reservation* reservation);
/* Calls, or parts of calls, that took memory elsewhere. */
SL_API int64_t sl_reservation_misses(const sl_reservation* reservation);
/* As sl_call. *result is the reservation's, not to be released, and is there until its next call or
 * its end; so is the memory of the tensors in it, unless sl_value_share or another handle keeps
 * them, and then the next call takes memory elsewhere. One thread at a time. */
SL_API sl_status sl_call_reserved(sl_reservation* reservation, sl_value* const* arguments,
                                  size_t count, const sl_limits* limits, const sl_value** result,
                                  sl_error** error);
/* How many tensors and others still lie in the block: what the module's attributes or other handles
 * have. A block of the caller's has to stay until they are gone, so release the module first. */
SL_API size_t sl_reservation_release(sl_reservation* reservation);

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

/* An error for who fails: an operator's. The class is the exception's as programs see it,
 * "ValueError"; a null one is RuntimeError. Null when memory is out. */
SL_API sl_error* sl_error_make(const char* class_name, const char* message);

/* ---- custom operators
 *
 * An operator that programs call as torch.ops.my.op, written by the host. It gets all arguments of
 * its schema, in order, and puts a value into each place of its results, which are null at first:
 * null is None. They are then the library's, as is the error where it gives another status than
 * SL_OK; errors are exceptions of the program. Arguments are the library's: what is to be kept is
 * kept by sl_value_share, and not changed. Any thread that runs a program calls it, many at a time;
 * it may make and read values, but not call or load modules. Results that are not of the schema's
 * types are an error. What it writes to arguments the schema says, "Tensor(a!) x". */
typedef sl_status (*sl_operator)(void* user, sl_value* const* arguments, size_t count,
                                 sl_value** results, size_t result_count, sl_error** error);
/* Registers one, "my::op(Tensor x, int k=1) -> Tensor", for modules that are loaded from now on, as
 * long as the process lives. SL_INVALID_ARGUMENT: a schema that cannot be read, a name that is
 * taken or of PyTorch's own (aten, prim, quantized), or over 256 operators. */
SL_API sl_status sl_register_operator(const char* schema, sl_operator function, void* user,
                                      sl_error** error);

/* Opens a library of operators (plugin.h), as dlopen does, and lets it register them, for modules
 * that are loaded from now on. It stays open; a second time does nothing. This runs its code, with
 * all rights of the process: give it only what you trust. No archive names a library, nor is one
 * ever looked for. SL_INVALID_ARGUMENT: no such file, no library, none of plugin.h's, or one made
 * for another ABI; else the status that the library starts with. */
SL_API sl_status sl_load_library(const char* path, sl_error** error);

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

/* Where print() of programs goes, from now on; null: to stdout. `print` is called by the thread
 * that runs the program, and may make and release values, but not call modules. */
SL_API void sl_set_print(void (*print)(const char* text, size_t size, void* user), void* user);

/* Threads that one operator may use: 1 to 256, others are made these. */
SL_API void sl_set_threads(int threads);
SL_API int sl_get_threads(void);

#ifdef __cplusplus
}
#endif
#endif
