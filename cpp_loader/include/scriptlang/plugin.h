/* scriptlang: for plug-ins, which are libraries of operators that a host loads at run time.
 *
 *   #include <scriptlang/plugin.h>
 *
 *   static sl_status scale(void* user, sl_value* const* arguments, ...) { ... }
 *
 *   SL_PLUGIN(error) {
 *     return sl_register_operator("my::scale(Tensor x, int k=1) -> Tensor", scale, NULL, error);
 *   }
 *
 * A plug-in is not linked with scriptlang. The host passes it a table of functions, and macros
 * below make the names of scriptlang.h call them. So one file works with programs that embed
 * scriptlang and with Python, in every version with the same SL_PLUGIN_ABI whose table is not
 * smaller than that in this header. A plug-in is C99 or C++; in C++, scriptlang.hpp may be included
 * after this header, for values, tensors and register_operator.
 *
 *   cc -shared -fPIC -I<prefix>/include scale.c -o libscale.so
 *
 * A host opens it by sl_load_library, `scriptlang run --load`, or scriptlang.ops.load_library.
 */
#ifndef SCRIPTLANG_PLUGIN_H
#define SCRIPTLANG_PLUGIN_H

#if defined(SCRIPTLANG_EXCEPTIONS)
#error "scriptlang/plugin.h comes before scriptlang.hpp: it says what the functions there call"
#endif
#include "scriptlang.h"

#if defined(_WIN32)
#define SL_PLUGIN_EXPORT __declspec(dllexport)
#define SL_PLUGIN_HIDDEN
#else
#define SL_PLUGIN_EXPORT __attribute__((visibility("default")))
#define SL_PLUGIN_HIDDEN __attribute__((visibility("hidden")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* It changes if an entry of the tables changes its meaning. New functions are added at the end of
 * sl_host without a change. */
#define SL_PLUGIN_ABI 1

/* The functions that a host provides, which scriptlang.h documents with the prefix sl_. */
typedef struct sl_host {
  uint32_t abi; /* SL_PLUGIN_ABI of the host */
  size_t size;  /* of the host's table, in bytes */
  sl_error* (*error_make)(const char* class_name, const char* message);
  const char* (*version)(void);
  sl_status (*register_operator)(const char* schema, sl_operator function, void* user,
                                 sl_error** error);
  void (*value_release)(sl_value* value);
  sl_value* (*value_share)(const sl_value* value);
  sl_value* (*value_none)(void);
  sl_value* (*value_bool)(int v);
  sl_value* (*value_int)(int64_t v);
  sl_value* (*value_double)(double v);
  sl_value* (*value_complex)(double real, double imaginary);
  sl_value* (*value_string)(const char* utf8, size_t size);
  sl_value* (*value_device)(const char* name);
  sl_value* (*value_generator)(uint64_t seed);
  sl_value* (*value_list)(sl_value* const* items, size_t count);
  sl_value* (*value_tuple)(sl_value* const* items, size_t count);
  sl_value* (*value_dict)(sl_value* const* keys, sl_value* const* values, size_t count);
  sl_status (*dict_get)(const sl_value* dict, const sl_value* key, sl_value** value);
  sl_status (*dict_set)(sl_value* dict, const sl_value* key, const sl_value* value);
  sl_status (*dict_remove)(sl_value* dict, const sl_value* key);
  sl_status (*dict_next)(const sl_value* dict, size_t* cursor, sl_value** key, sl_value** value);
  sl_status (*list_set)(sl_value* list, size_t index, const sl_value* value);
  sl_status (*list_append)(sl_value* list, const sl_value* value);
  sl_status (*list_remove)(sl_value* list, size_t index);
  sl_status (*list_ints)(const sl_value* list, const int64_t** data, size_t* count);
  sl_status (*list_doubles)(const sl_value* list, const double** data, size_t* count);
  sl_value* (*tensor_view)(void* data, sl_dtype dtype, const int64_t* sizes, size_t ndim,
                           void (*release)(void* user), void* user);
  sl_value* (*tensor_strided)(void* data, size_t bytes, sl_dtype dtype, const int64_t* sizes,
                              const int64_t* strides, size_t ndim, void (*release)(void* user),
                              void* user);
  sl_value* (*tensor_copy)(const void* data, sl_dtype dtype, const int64_t* sizes, size_t ndim);
  sl_kind (*value_kind)(const sl_value* value);
  sl_status (*value_get_bool)(const sl_value* value, int* out);
  sl_status (*value_get_int)(const sl_value* value, int64_t* out);
  sl_status (*value_get_double)(const sl_value* value, double* out);
  sl_status (*value_get_complex)(const sl_value* value, double* real, double* imaginary);
  sl_status (*value_get_string)(const sl_value* value, const char** utf8, size_t* size);
  size_t (*value_length)(const sl_value* value);
  sl_value* (*value_item)(const sl_value* value, size_t index);
  sl_value* (*value_key)(const sl_value* dict, size_t index);
  const char* (*value_field)(const sl_value* value, size_t index);
  sl_value* (*value_member)(const sl_value* value, const char* name);
  const char* (*value_class)(const sl_value* value);
  sl_status (*value_text)(const sl_value* value, char** text, size_t* size);
  void (*text_release)(char* text);
  sl_status (*tensor_info)(const sl_value* tensor, sl_dtype* dtype, size_t* ndim,
                           const int64_t** sizes, const int64_t** strides);
  void* (*tensor_data)(const sl_value* tensor);
  sl_value* (*tensor_contiguous)(const sl_value* tensor);
  sl_value* (*tensor_to)(const sl_value* tensor, sl_dtype dtype);
  sl_status (*tensor_read)(const sl_value* tensor, sl_dtype dtype, void* data, size_t bytes);
  sl_status (*tensor_assign)(sl_value* to, const sl_value* from);
  sl_status (*tensor_to_dlpack)(const sl_value* tensor, struct DLManagedTensor** managed,
                                sl_error** error);
  sl_status (*tensor_from_dlpack)(struct DLManagedTensor* managed, sl_value** tensor,
                                  sl_error** error);
  void (*error_release)(sl_error* error);
  sl_status (*error_status)(const sl_error* error);
  const char* (*error_class)(const sl_error* error);
  const char* (*error_message)(const sl_error* error);
  const char* (*error_stack)(const sl_error* error);
  int (*get_threads)(void);
} sl_host;

/* The entry that a library exports under the name `sl_plugin`; SL_PLUGIN defines it. The host
 * checks the first two fields and then calls `start`, in the thread that loads the library. `start`
 * must not call modules. Operators that it has registered stay, even if it fails afterwards. A
 * library that has started is not started again; one that has failed may be. */
typedef struct sl_plugin_entry {
  uint32_t abi;     /* SL_PLUGIN_ABI when the library was compiled */
  size_t host_size; /* sizeof(sl_host) when the library was compiled */
  sl_status (*start)(const sl_host* host, sl_error** error);
} sl_plugin_entry;

/* The table of the host that has loaded this library. SL_PLUGIN defines it, so exactly one file of
 * the library uses SL_PLUGIN. */
extern SL_PLUGIN_HIDDEN const sl_host* sl_plugin_host;

/* The body that follows the macro runs when the library is loaded. It returns a status, and may set
 * *error. */
#define SL_PLUGIN(error)                                                                           \
  SL_PLUGIN_C_BEGIN                                                                                \
  const sl_host* sl_plugin_host;                                                                   \
  static sl_status sl_plugin_body(sl_error** error);                                               \
  static sl_status sl_plugin_start(const sl_host* host, sl_error** failure) {                      \
    if (sl_plugin_host && sl_plugin_host != host) {                                                \
      *failure = host->error_make(0, "another scriptlang in this process has loaded the library"); \
      return SL_INVALID_ARGUMENT;                                                                  \
    }                                                                                              \
    sl_plugin_host = host;                                                                         \
    return sl_plugin_body(failure);                                                                \
  }                                                                                                \
  extern SL_PLUGIN_EXPORT const sl_plugin_entry sl_plugin;                                         \
  const sl_plugin_entry sl_plugin = {SL_PLUGIN_ABI, sizeof(sl_host), sl_plugin_start};             \
  SL_PLUGIN_C_END                                                                                  \
  static sl_status sl_plugin_body(sl_error** error)
#ifdef __cplusplus
#define SL_PLUGIN_C_BEGIN extern "C" {
#define SL_PLUGIN_C_END }
#else
#define SL_PLUGIN_C_BEGIN
#define SL_PLUGIN_C_END
#endif

#ifdef __cplusplus
}
#endif

#ifndef SCRIPTLANG_PLUGIN_HOST /* defined by the host's code that fills the table */
#define sl_error_make sl_plugin_host->error_make
#define sl_version sl_plugin_host->version
#define sl_register_operator sl_plugin_host->register_operator
#define sl_value_release sl_plugin_host->value_release
#define sl_value_share sl_plugin_host->value_share
#define sl_value_none sl_plugin_host->value_none
#define sl_value_bool sl_plugin_host->value_bool
#define sl_value_int sl_plugin_host->value_int
#define sl_value_double sl_plugin_host->value_double
#define sl_value_complex sl_plugin_host->value_complex
#define sl_value_string sl_plugin_host->value_string
#define sl_value_device sl_plugin_host->value_device
#define sl_value_generator sl_plugin_host->value_generator
#define sl_value_list sl_plugin_host->value_list
#define sl_value_tuple sl_plugin_host->value_tuple
#define sl_value_dict sl_plugin_host->value_dict
#define sl_dict_get sl_plugin_host->dict_get
#define sl_dict_set sl_plugin_host->dict_set
#define sl_dict_remove sl_plugin_host->dict_remove
#define sl_dict_next sl_plugin_host->dict_next
#define sl_list_set sl_plugin_host->list_set
#define sl_list_append sl_plugin_host->list_append
#define sl_list_remove sl_plugin_host->list_remove
#define sl_list_ints sl_plugin_host->list_ints
#define sl_list_doubles sl_plugin_host->list_doubles
#define sl_tensor_view sl_plugin_host->tensor_view
#define sl_tensor_strided sl_plugin_host->tensor_strided
#define sl_tensor_copy sl_plugin_host->tensor_copy
#define sl_value_kind sl_plugin_host->value_kind
#define sl_value_get_bool sl_plugin_host->value_get_bool
#define sl_value_get_int sl_plugin_host->value_get_int
#define sl_value_get_double sl_plugin_host->value_get_double
#define sl_value_get_complex sl_plugin_host->value_get_complex
#define sl_value_get_string sl_plugin_host->value_get_string
#define sl_value_length sl_plugin_host->value_length
#define sl_value_item sl_plugin_host->value_item
#define sl_value_key sl_plugin_host->value_key
#define sl_value_field sl_plugin_host->value_field
#define sl_value_member sl_plugin_host->value_member
#define sl_value_class sl_plugin_host->value_class
#define sl_value_text sl_plugin_host->value_text
#define sl_text_release sl_plugin_host->text_release
#define sl_tensor_info sl_plugin_host->tensor_info
#define sl_tensor_data sl_plugin_host->tensor_data
#define sl_tensor_contiguous sl_plugin_host->tensor_contiguous
#define sl_tensor_to sl_plugin_host->tensor_to
#define sl_tensor_read sl_plugin_host->tensor_read
#define sl_tensor_assign sl_plugin_host->tensor_assign
#define sl_tensor_to_dlpack sl_plugin_host->tensor_to_dlpack
#define sl_tensor_from_dlpack sl_plugin_host->tensor_from_dlpack
#define sl_error_release sl_plugin_host->error_release
#define sl_error_status sl_plugin_host->error_status
#define sl_error_class sl_plugin_host->error_class
#define sl_error_message sl_plugin_host->error_message
#define sl_error_stack sl_plugin_host->error_stack
#define sl_get_threads sl_plugin_host->get_threads
#endif

#endif
