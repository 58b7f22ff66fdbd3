/* A client in C99: modules, calls, defaults, names, limits and errors; and the program's entry. */
#include <scriptlang/scriptlang.h>
#include <stdlib.h>

#include "check.h"
#include "client.h"

sl_value* give(sl_module* module, const char* method, sl_value* const* arguments, size_t count) {
  sl_value* result = NULL;
  sl_error* error = NULL;
  sl_status status = sl_call(module, method, arguments, count, NULL, &result, &error);
  CHECK(status == SL_OK && result && !error);
  if (status != SL_OK) printf("  %s: %s\n", method, sl_error_message(error));
  sl_error_release(error);
  return result;
}

/* One call that has to fail; arguments are released. */
struct call {
  const char* method;
  sl_value* given[3];
  size_t count;
  const char* name; /* of an argument by name, or null */
  sl_value* named;
};

static void fails(sl_module* m, struct call c, const sl_limits* limits, sl_status status,
                  const char* class_name, const char* message) {
  sl_value* result = (sl_value*)&c; /* is made null */
  sl_error* error = NULL;
  size_t k;
  CHECK(sl_call_named(m, c.method, c.given, c.count, &c.name, &c.named, c.name != NULL, limits,
                      &result, &error) == status);
  CHECK(result == NULL && error != NULL && sl_error_status(error) == status);
  if (strcmp(sl_error_class(error), class_name) != 0 ||
      strncmp(sl_error_message(error), message, strlen(message)) != 0) {
    ++failures;
    printf("%s: %s: %s\n  wanted: %s: %s\n", c.method, sl_error_class(error),
           sl_error_message(error), class_name, message);
  }
  CHECK(status != SL_RUN_ERROR || strstr(message, "()") || strstr(message, "no method") ||
        sl_error_stack(error)[0] != 0);
  sl_error_release(error);
  CHECK(sl_call_named(m, c.method, c.given, c.count, &c.name, &c.named, c.name != NULL, limits,
                      &result, NULL) == status); /* who does not ask is not told */
  for (k = 0; k < c.count; ++k) sl_value_release(c.given[k]);
  sl_value_release(c.named);
}

static struct call call_of(const char* method, sl_value* a, sl_value* b) {
  struct call c = {NULL, {NULL, NULL, NULL}, 0, NULL, NULL};
  c.method = method;
  c.given[0] = a;
  c.given[1] = b;
  c.count = b ? 2 : a ? 1 : 0;
  return c;
}

static struct call how(const char* kind) {
  return call_of("fail", sl_value_string(kind, strlen(kind)), NULL);
}

static int prints(sl_value* v, const char* wanted) {
  char* text = NULL;
  int same = sl_value_text(v, &text, NULL) == SL_OK && strcmp(text, wanted) == 0;
  if (!same) printf("prints %s, not %s\n", text ? text : "nothing", wanted);
  sl_text_release(text);
  sl_value_release(v);
  return same;
}

static void defaults(sl_module* m) {
  sl_value *one = sl_value_int(1), *list = sl_value_list(&one, 1), *result = NULL;
  const char* names[] = {"g", "a", "c"};
  sl_value* named[3];
  sl_value* given[7] = {NULL, NULL, NULL, NULL, NULL, NULL, NULL};
  named[0] = list;
  named[1] = named[2] = one;
  CHECK(prints(give(m, "defaults", &one, 1), "1 2 0.5 d True True True"));
  CHECK(sl_call_named(m, "defaults", NULL, 0, names, named, 3, NULL, &result, NULL) == SL_OK);
  CHECK(prints(result, "1 2 1. d True True False"));
  given[0] = given[1] = one;
  CHECK(sl_call_named(m, "defaults", given, 2, names, named, 1, NULL, &result, NULL) == SL_OK);
  CHECK(prints(result, "1 1 0.5 d True True False"));
  CHECK(prints(give(m, "maybe", NULL, 0), "-1"));
  CHECK(prints(give(m, "maybe", given + 4, 1), "-1") && prints(give(m, "maybe", &one, 1), "1"));
  CHECK(prints(give(m, "anything", NULL, 0), "(None, 3)"));
  CHECK(prints(give(m, "anything", &one, 1), "(1, 3)"));
  fails(m, call_of("wanted", NULL, NULL), NULL, SL_RUN_ERROR, "RuntimeError",
        "wanted() is missing value for argument 'a' (Optional[int])\n  ");
  fails(m, call_of("defaults", NULL, NULL), NULL, SL_RUN_ERROR, "RuntimeError",
        "defaults() is missing value for argument 'a' (int)\n  ");
  sl_value_release(one);
  sl_value_release(list);
}

/* Tensors without dimensions are numbers, as int(), float() and bool() of Python make them. */
static void tensors_as_numbers(sl_module* m) {
  float number = -3.5f, most = 1e30f;
  double complex[2] = {2, 0}, imaginary[2] = {2, 1};
  struct call c;
  sl_value* t = sl_tensor_copy(&number, SL_FLOAT32, NULL, 0);
  CHECK(prints(give(m, "integer", &t, 1), "-3") && prints(give(m, "number", &t, 1), "-3.5"));
  CHECK(prints(give(m, "truth", &t, 1), "True"));
  sl_value_release(t);
  t = sl_tensor_copy(complex, SL_COMPLEX128, NULL, 0);
  CHECK(prints(give(m, "integer", &t, 1), "2") && prints(give(m, "number", &t, 1), "2."));
  sl_value_release(t);
  c = call_of("integer", sl_tensor_copy(&most, SL_FLOAT32, NULL, 0), NULL);
  fails(m, c, NULL, SL_RUN_ERROR, "RuntimeError", "integer() Expected a value of type 'int'");
  c = call_of("integer", sl_tensor_copy(imaginary, SL_COMPLEX128, NULL, 0), NULL);
  fails(m, c, NULL, SL_RUN_ERROR, "RuntimeError", "integer() Expected a value of type 'int'");
  c = call_of("number", sl_tensor_copy(imaginary, SL_COMPLEX128, NULL, 0), NULL);
  fails(m, c, NULL, SL_RUN_ERROR, "RuntimeError", "number() Expected a value of type 'float'");
}

static void arguments(sl_module* m) {
  sl_value* item = sl_value_string("a", 1);
  struct call c = call_of("maybe", sl_value_int(1), sl_value_int(2));
  fails(m, c, NULL, SL_RUN_ERROR, "RuntimeError",
        "maybe() expected at most 1 argument but received 2 arguments\n  ");
  fails(m, call_of("integer", NULL, NULL), NULL, SL_RUN_ERROR, "RuntimeError",
        "integer() is missing value for argument 'x' (int)\n  ");
  fails(m, call_of("integer", sl_value_double(1.5), NULL), NULL, SL_RUN_ERROR, "RuntimeError",
        "integer() Expected a value of type 'int' for argument 'x' but instead found type 'float'\n"
        "Position: 1\n  ");
  fails(m, call_of("ints", sl_value_list(&item, 1), NULL), NULL, SL_RUN_ERROR, "RuntimeError",
        "ints() Expected a value of type 'List[int]' for argument 'x' but instead found type "
        "'List[str]': str at x[0]\nPosition: 1\n  ");
  fails(m, call_of("by_text", sl_value_dict(&item, &item, 1), NULL), NULL, SL_RUN_ERROR,
        "RuntimeError",
        "by_text() Expected a value of type 'Dict[str, int]' for argument 'x' but "
        "instead found type 'Dict[str, str]': str at x['a']\nPosition: 1\n  ");
  fails(m, call_of("tensor", sl_value_none(), NULL), NULL, SL_RUN_ERROR, "RuntimeError",
        "tensor() Expected a value of type 'Tensor' for argument 'x' but instead found type "
        "'None'");
  fails(m, call_of("string", sl_value_int(1), NULL), NULL, SL_RUN_ERROR, "RuntimeError",
        "string() Expected a value of type 'str'");
  fails(m, call_of("pair", sl_value_tuple(&item, 1), NULL), NULL, SL_RUN_ERROR, "RuntimeError",
        "pair() Expected a value of type 'Tuple[int, Optional[str]]'");
  fails(m, call_of("other", NULL, NULL), NULL, SL_RUN_ERROR, "RuntimeError",
        "the module has no method 'other'; it has: anything, blocks, bools, by_float");
  c = call_of("maybe", NULL, NULL);
  c.name = "y";
  c.named = sl_value_int(1);
  fails(m, c, NULL, SL_RUN_ERROR, "RuntimeError", "Unknown keyword argument 'y' for maybe()\n  ");
  c = call_of("maybe", sl_value_int(1), NULL);
  c.name = "x";
  c.named = sl_value_int(1);
  fails(m, c, NULL, SL_RUN_ERROR, "RuntimeError",
        "Argument 'x' of maybe() specified both as positional and keyword argument\n  ");
  c.given[0] = c.named = NULL;
  c.count = 0;
  c.name = "self";
  fails(m, c, NULL, SL_RUN_ERROR, "RuntimeError", "Argument 'self' of maybe() specified both");
  sl_value_release(item);
}

static void errors(sl_module* m) {
  sl_limits limits;
  memset(&limits, 0, sizeof limits);
  limits.size = sizeof limits;
  fails(m, how("value"), NULL, SL_RUN_ERROR, "builtins.ValueError", "a value");
  fails(m, how("runtime"), NULL, SL_RUN_ERROR, "builtins.RuntimeError", "a run");
  fails(m, how("index"), NULL, SL_RUN_ERROR, "IndexError", "list index out of range");
  fails(m, how("key"), NULL, SL_RUN_ERROR, "KeyError", "");
  fails(m, how("zero"), NULL, SL_RUN_ERROR, "RuntimeError", "division by 0");
  fails(m, how("shape"), NULL, SL_RUN_ERROR, "RuntimeError", "mat1 and mat2 shapes cannot");
  fails(m, how("dim"), NULL, SL_RUN_ERROR, "IndexError", "Dimension out of range");
  fails(m, how("?"), NULL, SL_RUN_ERROR, "builtins.AssertionError", "an assertion");
  fails(m, how("deep"), NULL, SL_LIMIT, "LimitError", "calls are nested deeper than 2000");
  limits.depth = 10;
  fails(m, how("deep"), &limits, SL_LIMIT, "LimitError", "calls are nested deeper than 10");
  limits.depth = 0;
  limits.instructions = 1000;
  fails(m, how("long"), &limits, SL_LIMIT, "LimitError",
        "the program ran longer than its limit of 1000 instructions");
  limits.instructions = 0;
  limits.milliseconds = 20;
  fails(m, how("long"), &limits, SL_LIMIT, "LimitError",
        "the program ran longer than its limit of 20 ms");
  limits.milliseconds = INT64_MAX; /* as good as none */
  limits.memory_bytes = 1 << 20;
  fails(m, how("wide"), &limits, SL_OUT_OF_MEMORY, "MemoryError",
        "the program needs more than its memory limit of 1048576 bytes");
  limits.depth = INT64_MAX;
  fails(m, how("deep"), &limits, SL_OUT_OF_MEMORY, "MemoryError",
        "the program needs more than its memory limit of 1048576 bytes");
  limits.depth = 0;
  fails(m, how("value"), &limits, SL_RUN_ERROR, "builtins.ValueError", "a value");
  limits.instructions = -1;
  fails(m, how("value"), &limits, SL_INVALID_ARGUMENT, "ValueError", "a limit is negative");
  limits.size = 0;
  fails(m, how("value"), &limits, SL_INVALID_ARGUMENT, "ValueError",
        "the size of limits is not set: it is sizeof(sl_limits)");
  limits.size = sizeof(size_t) + sizeof(int64_t); /* an older header's: the rest is not read */
  limits.instructions = 0;
  limits.memory_bytes = -1;
  fails(m, how("value"), &limits, SL_RUN_ERROR, "builtins.ValueError", "a value");
}

static void cancelled(sl_module* m) {
  sl_canceller* canceller = sl_canceller_make();
  sl_limits limits;
  memset(&limits, 0, sizeof limits);
  limits.size = sizeof limits;
  limits.canceller = canceller;
  CHECK(canceller != NULL);
  fails(m, how("value"), &limits, SL_RUN_ERROR, "builtins.ValueError", "a value");
  sl_cancel(canceller);
  fails(m, how("long"), &limits, SL_CANCELLED, "Cancelled", "");
  sl_canceller_reset(canceller);
  fails(m, how("value"), &limits, SL_RUN_ERROR, "builtins.ValueError", "a value");
  sl_canceller_release(canceller);
  sl_canceller_release(NULL);
  sl_canceller_reset(NULL);
  sl_cancel(NULL);
}

static void nulls(sl_module* m) {
  sl_module* module = (sl_module*)&m;
  sl_value* result = (sl_value*)&m;
  sl_error* error = NULL;
  const char* name = NULL;
  char* text = NULL;
  size_t size = 5;
  CHECK(sl_load_file(NULL, &module, &error) == SL_INVALID_ARGUMENT && module == NULL);
  CHECK(strcmp(sl_error_class(error), "ValueError") == 0 && sl_error_stack(error)[0] == 0);
  sl_error_release(error);
  CHECK(sl_load_file("x", NULL, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_load_memory(NULL, 1, &module, NULL) == SL_INVALID_ARGUMENT && module == NULL);
  CHECK(sl_load_memory("", 0, NULL, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_call(NULL, "forward", NULL, 0, NULL, &result, NULL) == SL_INVALID_ARGUMENT && !result);
  CHECK(sl_call(m, NULL, NULL, 0, NULL, &result, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_call(m, "forward", NULL, 1, NULL, &result, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_call(m, "forward", NULL, 0, NULL, NULL, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_call(m, "maybe", &result, SIZE_MAX, NULL, &result, NULL) == SL_OUT_OF_MEMORY);
  CHECK(sl_call_named(m, "maybe", NULL, 0, NULL, &result, 1, NULL, &result, NULL) ==
        SL_INVALID_ARGUMENT);
  CHECK(sl_call_named(m, "maybe", NULL, 0, &name, &result, 1, NULL, &result, NULL) ==
        SL_INVALID_ARGUMENT);
  CHECK(sl_module_method_count(NULL) == 0 && sl_module_method_name(NULL, 0) == NULL);
  CHECK(sl_module_missing_count(NULL) == 0 && sl_module_missing_name(NULL, 0) == NULL);
  CHECK(sl_module_attribute(NULL, "name", &result, NULL) == SL_INVALID_ARGUMENT && !result);
  CHECK(sl_module_attribute(m, NULL, &result, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_module_attribute(m, "name", NULL, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_error_status(NULL) == SL_OK && sl_error_class(NULL)[0] == 0);
  CHECK(sl_error_message(NULL)[0] == 0 && sl_error_stack(NULL)[0] == 0);
  CHECK(sl_value_kind(NULL) == SL_NONE && sl_value_length(NULL) == 0);
  CHECK(!sl_value_item(NULL, 0) && !sl_value_key(NULL, 0) && !sl_value_field(NULL, 0));
  CHECK(!sl_value_member(NULL, "x") && sl_value_class(NULL)[0] == 0);
  CHECK(sl_tensor_info(NULL, NULL, NULL, NULL, NULL) == SL_INVALID_ARGUMENT);
  CHECK(!sl_tensor_data(NULL) && !sl_tensor_contiguous(NULL));
  CHECK(sl_value_text(NULL, &text, &size) == SL_OK && size == 4 && strcmp(text, "None") == 0);
  sl_text_release(text);
  sl_text_release(NULL);
  sl_value_release(NULL);
  sl_error_release(NULL);
  sl_module_release(NULL);
}

static void modules(sl_module* m, const char* path) {
  sl_module *other = NULL, *copy = NULL;
  sl_value *value = NULL, *held;
  sl_error* error = NULL;
  size_t k, size;
  char* bytes;
  FILE* file = fopen(path, "rb");
  CHECK(file != NULL);
  bytes = (char*)malloc(1 << 20);
  size = fread(bytes, 1, 1 << 20, file);
  fclose(file);
  CHECK(sl_version()[0] != 0);
  CHECK(sl_load_memory(bytes, size, &copy, NULL) == SL_OK);
  memset(bytes, 0, size); /* the module has its own */
  CHECK(sl_load_memory(bytes, size, &other, &error) == SL_ARCHIVE_ERROR && !other);
  CHECK(strcmp(sl_error_class(error), "ArchiveError") == 0 && sl_error_message(error)[0]);
  sl_error_release(error);
  CHECK(sl_load_memory(NULL, 0, &other, NULL) == SL_ARCHIVE_ERROR);
  CHECK(sl_load_file("/no/such/file", &other, &error) == SL_ARCHIVE_ERROR && !other);
  sl_error_release(error);
  free(bytes);
  CHECK(sl_module_method_count(copy) == sl_module_method_count(m));
  for (k = 1; k < sl_module_method_count(m); ++k) {
    CHECK(strcmp(sl_module_method_name(m, k - 1), sl_module_method_name(copy, k)) < 0);
  }
  CHECK(sl_module_method_name(m, k) == NULL && k > 20);
  CHECK(sl_module_missing_count(m) == 0 && sl_module_missing_name(m, 0) == NULL);
  CHECK(sl_module_attribute(copy, "name", &value, &error) == SL_OK && prints(value, "client"));
  CHECK(sl_module_attribute(copy, "no", &value, &error) == SL_INVALID_ARGUMENT && !value);
  CHECK(strcmp(sl_error_message(error), "the module has no attribute of that name") == 0);
  sl_error_release(error);
  CHECK(sl_module_attribute(copy, "weights", &held, NULL) == SL_OK);
  sl_module_release(copy); /* what came from it lives on */
  CHECK(((float*)sl_tensor_data(held))[3] == 4);
  value = give(m, "tensor", &held, 1);
  sl_value_release(held);
  CHECK(((float*)sl_tensor_data(value))[3] == 4);
  sl_value_release(value);
}

/* The language has no way to end a call that it does not wait for: a host sees a future. */
static void futures(sl_module* m) {
  float x[2] = {1, 2};
  int64_t shape[] = {1, 2};
  sl_value *v = sl_tensor_view(x, SL_FLOAT32, shape, 2, NULL, NULL), *later;
  later = give(m, "later", &v, 1);
  CHECK(sl_value_kind(later) == SL_FUTURE && sl_value_length(later) == 0);
  sl_value_release(later);
  sl_value_release(v);
}

void check_calls(sl_module* module, const char* path) {
  defaults(module);
  arguments(module);
  tensors_as_numbers(module);
  errors(module);
  cancelled(module);
  nulls(module);
  modules(module, path);
  futures(module);
}

int main(int count, char** given) {
  sl_module* module = NULL;
  sl_error* error = NULL;
  int threads = sl_get_threads();
  if (count < 2 || sl_load_file(given[1], &module, &error) != SL_OK) {
    printf("cannot load: %s\n", sl_error_message(error));
    return 1;
  }
  check_values(module);
  check_tensors(module);
  check_calls(module, given[1]);
  check_files(module, given[1]);
  check_modules(module);
  sl_set_threads(-5);
  CHECK(sl_get_threads() == 1);
  sl_set_threads(1 << 30);
  CHECK(sl_get_threads() == 256);
  sl_set_threads(threads);
  check_values(module); /* after all those errors */
  sl_module_release(module);
  failures += value_failures() + tensor_failures() + module_failures() + file_failures();
  printf("C client: %d failures\n", failures);
  return failures != 0;
}
