/* A client in C99: attributes, submodules, signatures, listings, whole modules. */
#include <math.h>
#include <scriptlang/scriptlang.h>
#include <stdlib.h>

#include "check.h"
#include "client.h"

static int prints(sl_value* v, const char* wanted) {
  char* text = NULL;
  int same = v && sl_value_text(v, &text, NULL) == SL_OK && strcmp(text, wanted) == 0;
  if (!same) printf("prints %s, not %s\n", text ? text : "nothing", wanted);
  sl_text_release(text);
  sl_value_release(v);
  return same;
}

/* An attribute that has to be there. */
static sl_value* get(const sl_module* m, const char* name) {
  sl_value* v = NULL;
  CHECK(sl_module_attribute(m, name, &v, NULL) == SL_OK && v);
  return v;
}

/* Sets an attribute, and releases the value. */
static sl_status set(sl_module* m, const char* name, sl_value* v) {
  sl_error* error = (sl_error*)&v;
  sl_status status = sl_module_set_attribute(m, name, v, &error);
  CHECK((status == SL_OK) == (error == NULL));
  CHECK(status == SL_OK || sl_error_message(error)[0] != 0);
  sl_error_release(error);
  CHECK(status == SL_OK || sl_module_set_attribute(m, name, v, NULL) == status);
  sl_value_release(v);
  return status;
}

static sl_module* child(const sl_module* m, const char* name) {
  sl_module* found = NULL;
  CHECK(sl_module_child(m, name, &found, NULL) == SL_OK && found);
  return found;
}

/* The names of a listing, with a comma behind each; its values are counted by kind. */
static int lists(const sl_module* m, sl_listing what, int recurse, const char* wanted) {
  sl_value *dict = NULL, *key = NULL, *value = NULL;
  size_t cursor = 0, size = 0, count = 0;
  char names[1000] = "";
  const char* text = NULL;
  CHECK(sl_module_list(m, what, recurse, &dict, NULL) == SL_OK);
  while (sl_dict_next(dict, &cursor, &key, &value) == SL_OK && key) {
    CHECK(sl_value_get_string(key, &text, &size) == SL_OK);
    strcat(strcat(names, text), ",");
    CHECK(what == SL_ATTRIBUTES ||
          sl_value_kind(value) == (what == SL_MODULES ? SL_OBJECT : SL_TENSOR));
    sl_value_release(key);
    sl_value_release(value);
    ++count;
  }
  CHECK(key == NULL && value == NULL && count == sl_value_length(dict));
  sl_value_release(dict);
  if (strcmp(names, wanted) != 0) printf("lists %s\n not %s\n", names, wanted);
  return strcmp(names, wanted) == 0;
}

static void attributes(sl_module* m) {
  sl_value *one = sl_value_int(1), *key = sl_value_string("k", 1), *v;
  float x[] = {5, 6, 7, 8}, *at;
  int64_t shape[] = {2, 2};
  CHECK(sl_module_has_attribute(m, "name") == 1 && sl_module_has_attribute(m, "?") == 0);
  CHECK(sl_module_has_attribute(m, "block.inner.0.weight") == 1);
  CHECK(sl_module_has_attribute(m, "block.inner.2") == 0);
  CHECK(sl_module_has_attribute(m, "name.x") == 0 && sl_module_has_attribute(m, "") == 0);
  CHECK(sl_module_has_attribute(m, ".") == 0 && sl_module_has_attribute(m, "block.") == 0);
  CHECK(prints(give(m, "state", NULL, 0),
               "(True, client, 3, {a: 1, b: 2}, [1, 2, 3], None, Enum<Color.RED>, 10)"));
  CHECK(set(m, "name", sl_value_string("other", 5)) == SL_OK);
  CHECK(set(m, "calls", sl_value_int(4)) == SL_OK);
  CHECK(set(m, "table", sl_value_dict(&key, &one, 1)) == SL_OK);
  CHECK(set(m, "steps", sl_value_list(&one, 1)) == SL_OK);
  CHECK(set(m, "limit", sl_value_double(0.5)) == SL_OK);
  CHECK(set(m, "owned.count", sl_value_int(11)) == SL_OK);
  v = NULL;
  CHECK(sl_module_enum(m, "__torch__.Color", "BLUE", &v, NULL) == SL_OK);
  CHECK(set(m, "favourite", v) == SL_OK);
  CHECK(prints(give(m, "state", NULL, 0),
               "(True, other, 4, {k: 1}, [1], 0.5, Enum<Color.BLUE>, 11)"));
  CHECK(set(m, "limit", NULL) == SL_OK && prints(get(m, "limit"), "None"));
  CHECK(set(m, "name", sl_value_int(1)) == SL_RUN_ERROR);
  CHECK(set(m, "calls", sl_value_string("1", 1)) == SL_RUN_ERROR);
  CHECK(set(m, "weights", sl_value_int(1)) == SL_RUN_ERROR);
  CHECK(set(m, "layer", sl_module_value(m)) == SL_RUN_ERROR);
  CHECK(set(m, "no", sl_value_int(1)) == SL_INVALID_ARGUMENT);
  CHECK(set(m, "name.no", sl_value_int(1)) == SL_INVALID_ARGUMENT);
  CHECK(set(m, "table", sl_value_list(&one, 1)) == SL_RUN_ERROR);
  /* A tensor is shared: what either side writes the other sees. */
  CHECK(set(m, "weights", sl_tensor_view(x, SL_FLOAT32, shape, 2, NULL, NULL)) == SL_OK);
  v = get(m, "weights");
  at = (float*)sl_tensor_data(v);
  CHECK(at == x);
  x[0] = 100;
  sl_value_release(v);
  v = sl_tensor_copy(x, SL_FLOAT32, shape, 2);
  key = (sl_value_release(key), give(m, "forward", &v, 1));
  CHECK(((float*)sl_tensor_data(key))[0] == 300);
  sl_value_release(key);
  CHECK(set(m, "weights", v) == SL_OK); /* x is the caller's again */
  sl_value_release(one);
}

static void submodules(sl_module* m) {
  float x[] = {1, 2};
  int64_t shape[] = {1, 2};
  sl_value *v = sl_tensor_view(x, SL_FLOAT32, shape, 2, NULL, NULL), *twice, *got;
  sl_module *block = child(m, "block"), *linear = child(m, "block.inner.0"), *same, *none;
  CHECK(strcmp(sl_module_class(block), "__torch__.Block") == 0);
  CHECK(strstr(sl_module_class(linear), "Linear") != NULL && sl_module_class(NULL)[0] == 0);
  CHECK(sl_module_has_method(block, "half") == 1 && sl_module_has_method(block, "defaults") == 0);
  CHECK(sl_module_has_method(m, "defaults") == 1 && sl_module_has_method(m, "def") == 0);
  CHECK(prints(give(block, "half", &v, 1), " 0.5000  1.0000\n[ CPUFloatType{1,2} ]"));
  twice = give(linear, "forward", &v, 1);
  CHECK(sl_value_kind(twice) == SL_TENSOR);
  sl_value_release(twice);
  same = child(block, "");
  CHECK(prints(give(same, "half", &v, 1), " 0.5000  1.0000\n[ CPUFloatType{1,2} ]"));
  sl_module_release(same);
  CHECK(sl_module_child(m, "name", &none, NULL) == SL_INVALID_ARGUMENT && none == NULL);
  CHECK(sl_module_child(m, "?", &none, NULL) == SL_INVALID_ARGUMENT);
  /* An object that a program made has methods, too. */
  got = sl_value_int(5);
  twice = give(m, "counter", &got, 1);
  CHECK(sl_module_of(m, twice, &same, NULL) == SL_OK && sl_module_has_method(same, "add"));
  CHECK(prints(give(same, "add", &got, 1), "10") && prints(get(same, "count"), "10"));
  CHECK(set(same, "count", sl_value_int(1)) == SL_OK);
  CHECK(prints(sl_value_member(twice, "count"), "1"));
  sl_module_release(same);
  sl_value_release(twice);
  CHECK(sl_module_of(m, got, &same, NULL) == SL_INVALID_ARGUMENT && same == NULL);
  CHECK(sl_module_make(m, "__torch__.Counter", &got, 1, NULL, &twice, NULL) == SL_OK);
  CHECK(strcmp(sl_value_class(twice), "__torch__.Counter") == 0);
  CHECK(prints(give(m, "count", &twice, 1), "6"));
  sl_value_release(twice);
  CHECK(sl_module_make(m, "__torch__.Nothing", NULL, 0, NULL, &twice, NULL) == SL_RUN_ERROR);
  CHECK(sl_module_make(m, "__torch__.Client", NULL, 0, NULL, &twice, NULL) == SL_RUN_ERROR);
  CHECK(sl_module_make(m, "__torch__.Counter", NULL, 0, NULL, &twice, NULL) == SL_RUN_ERROR);
  CHECK(twice == NULL);
  CHECK(sl_module_enum(m, "__torch__.Color", "?", &twice, NULL) == SL_RUN_ERROR && !twice);
  CHECK(sl_module_enum(m, "__torch__.Counter", "RED", &twice, NULL) == SL_RUN_ERROR);
  twice = sl_module_value(block);
  CHECK(sl_value_kind(twice) == SL_OBJECT && prints(give(m, "anything", NULL, 0), "(None, 3)"));
  sl_value_release(twice);
  sl_value_release(got);
  sl_value_release(v);
  sl_module_release(block);
  sl_module_release(linear);
}

static void listings(sl_module* m) {
  sl_module* block = child(m, "block");
  sl_value* dict = (sl_value*)&m;
  CHECK(lists(m, SL_PARAMETERS, 0, "tied,"));
  CHECK(lists(m, SL_PARAMETERS, 1,
              "tied,block.inner.0.weight,block.inner.0.bias,block.inner.1.weight,"
              "block.inner.1.bias,layer.weight,layer.bias,"));
  CHECK(lists(m, SL_BUFFERS, 1,
              "weights,block.inner.1.running_mean,block.inner.1.running_var,"
              "block.inner.1.num_batches_tracked,block.keeper.numbers,"));
  CHECK(lists(block, SL_BUFFERS, 0, ""));
  CHECK(lists(block, SL_MODULES, 0, "inner,keeper,"));
  CHECK(lists(block, SL_MODULES, 1, "inner,inner.0,inner.1,keeper,"));
  CHECK(lists(block, SL_ATTRIBUTES, 0, "training,inner,keeper,"));
  CHECK(sl_module_list(m, (sl_listing)9, 1, &dict, NULL) == SL_INVALID_ARGUMENT && !dict);
  sl_module_release(block);
}

static void signatures(sl_module* m) {
  sl_signature* s = NULL;
  sl_value* v;
  CHECK(sl_module_signature(m, "defaults", &s, NULL) == SL_OK);
  CHECK(sl_signature_argument_count(s) == 7 && sl_signature_result_count(s) == 1);
  CHECK(strcmp(sl_signature_argument_name(s, 0), "a") == 0);
  CHECK(strcmp(sl_signature_argument_type(s, 0), "int") == 0);
  CHECK(sl_signature_argument_default(s, 0) == NULL);
  CHECK(prints(sl_signature_argument_default(s, 1), "2"));
  CHECK(prints(sl_signature_argument_default(s, 3), "d"));
  CHECK(strcmp(sl_signature_argument_type(s, 6), "Optional[List[int]]") == 0);
  v = sl_signature_argument_default(s, 6);
  CHECK(v != NULL && sl_value_kind(v) == SL_NONE);
  sl_value_release(v);
  CHECK(strcmp(sl_signature_result_type(s, 0), "str") == 0);
  CHECK(!sl_signature_argument_name(s, 7) && !sl_signature_argument_type(s, 7));
  CHECK(!sl_signature_argument_default(s, 7) && !sl_signature_result_type(s, 1));
  sl_signature_release(s);
  CHECK(sl_module_signature(m, "forward", &s, NULL) == SL_OK);
  if (strcmp(sl_signature_text(s), "forward(Tensor x, float scale=2.0) -> Tensor") != 0) {
    CHECK(!"the signature's text");
    printf("%s\n", sl_signature_text(s));
  }
  sl_signature_release(s);
  CHECK(sl_module_signature(m, "?", &s, NULL) == SL_INVALID_ARGUMENT && s == NULL);
}

static sl_dtype dtype_of(const sl_module* m, const char* name) {
  sl_value* v = get(m, name);
  sl_dtype dtype = SL_QINT8;
  CHECK(sl_tensor_info(v, &dtype, NULL, NULL, NULL) == SL_OK);
  sl_value_release(v);
  return dtype;
}

static void wholes(sl_module* m) {
  sl_module *copy = NULL, *block;
  sl_value *v, *w;
  char* text = NULL;
  size_t size = 0;
  CHECK(sl_module_clone(m, &copy, NULL) == SL_OK);
  CHECK(sl_module_method_count(copy) == sl_module_method_count(m));
  CHECK(sl_module_train(copy, 0, NULL) == SL_OK && prints(get(copy, "training"), "False"));
  CHECK(prints(get(copy, "block.inner.1.training"), "False"));
  CHECK(prints(get(copy, "block.keeper.training"), "False"));
  CHECK(prints(get(m, "training"), "True") && prints(get(m, "block.inner.1.training"), "True"));
  CHECK(sl_module_train(copy, 1, NULL) == SL_OK && prints(get(copy, "training"), "True"));
  v = get(copy, "tied");
  w = get(copy, "block.inner.0.weight"); /* what was one tensor still is */
  CHECK(sl_tensor_data(v) == sl_tensor_data(w));
  CHECK(sl_module_to(copy, SL_FLOAT64, NULL) == SL_OK);
  CHECK(sl_tensor_data(v) == sl_tensor_data(w) && dtype_of(copy, "tied") == SL_FLOAT64);
  sl_value_release(v);
  sl_value_release(w);
  CHECK(dtype_of(copy, "weights") == SL_FLOAT64 && dtype_of(m, "weights") == SL_FLOAT32);
  CHECK(dtype_of(copy, "block.inner.1.num_batches_tracked") == SL_INT64);
  CHECK(dtype_of(copy, "block.keeper.numbers") == SL_FLOAT64);
  CHECK(sl_module_to(copy, SL_INT32, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_module_to(copy, (sl_dtype)1000, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_module_to(copy, SL_BFLOAT16, NULL) == SL_OK && dtype_of(copy, "tied") == SL_BFLOAT16);
  block = child(copy, "block");
  sl_module_release(copy);
  CHECK(sl_module_text(block, &text, &size) == SL_OK && strlen(text) == size);
  CHECK(strstr(text, "module __torch__.Block {\n  parameters {\n  }\n") == text);
  CHECK(strstr(text, "    half(Tensor x, float by=0.5) -> Tensor\n") != NULL);
  CHECK(strstr(text, "weight = Tensor torch.bfloat16 [3, 2]\n") != NULL);
  CHECK(strstr(text, "running_mean = Tensor torch.bfloat16 [3]\n") != NULL);
  sl_text_release(text);
  CHECK(sl_module_clone(block, &copy, NULL) == SL_OK);
  CHECK(strcmp(sl_module_class(copy), "__torch__.Block") == 0);
  sl_module_release(block);
  sl_module_release(copy);
}

static void changes(void) {
  sl_value *items[3], *list, *dict, *found = (sl_value*)&items;
  const int64_t* ints = NULL;
  const double* doubles = NULL;
  size_t k, count = 5, cursor = 0;
  for (k = 0; k < 3; ++k) items[k] = sl_value_int((int64_t)k);
  list = sl_value_list(items, 3);
  CHECK(sl_list_ints(list, &ints, &count) == SL_OK && count == 3 && ints[2] == 2);
  CHECK(sl_list_doubles(list, &doubles, &count) == SL_INVALID_ARGUMENT && !doubles && !count);
  CHECK(sl_list_set(list, 0, items[2]) == SL_OK && sl_list_append(list, items[1]) == SL_OK);
  CHECK(sl_list_remove(list, 1) == SL_OK && sl_value_length(list) == 3);
  CHECK(sl_list_set(list, 3, items[0]) == SL_INVALID_ARGUMENT);
  CHECK(sl_list_remove(list, 3) == SL_INVALID_ARGUMENT);
  CHECK(sl_list_append(list, list) == SL_INVALID_ARGUMENT); /* it would hold itself */
  CHECK(sl_list_append(list, NULL) == SL_OK);
  CHECK(sl_list_ints(list, &ints, &count) == SL_INVALID_ARGUMENT && !ints);
  CHECK(prints(list, "[2, 2, 1, None]"));
  list = sl_value_list(NULL, 0);
  CHECK(sl_list_ints(list, &ints, &count) == SL_OK && count == 0);
  sl_value_release(list);
  dict = sl_value_dict(items, items, 2);
  CHECK(sl_dict_get(dict, items[1], &found) == SL_OK && prints(found, "1"));
  CHECK(sl_dict_get(dict, items[2], &found) == SL_OK && found == NULL);
  CHECK(sl_dict_set(dict, items[2], items[0]) == SL_OK && sl_value_length(dict) == 3);
  CHECK(sl_dict_remove(dict, items[0]) == SL_OK && sl_dict_remove(dict, items[0]) == SL_OK);
  CHECK(sl_dict_set(dict, dict, items[0]) == SL_INVALID_ARGUMENT);
  CHECK(sl_dict_set(dict, items[0], dict) == SL_INVALID_ARGUMENT);
  CHECK(sl_dict_get(dict, NULL, &found) == SL_INVALID_ARGUMENT && !found);
  found = (sl_value*)&items;
  CHECK(sl_dict_next(dict, &cursor, &found, &list) == SL_OK && prints(found, "1"));
  CHECK(prints(list, "1") && sl_dict_next(dict, &cursor, &found, &list) == SL_OK);
  CHECK(prints(found, "2") && prints(list, "0"));
  CHECK(sl_dict_next(dict, &cursor, &found, &list) == SL_OK && !found && !list);
  CHECK(prints(dict, "{1: 1, 2: 0}"));
  for (k = 0; k < 3; ++k) { /* of another kind */
    CHECK(sl_dict_get(items[k], items[0], &found) == SL_INVALID_ARGUMENT);
    CHECK(sl_dict_set(items[k], items[0], items[0]) == SL_INVALID_ARGUMENT);
    CHECK(sl_dict_next(items[k], &cursor, &found, &list) == SL_INVALID_ARGUMENT);
    CHECK(sl_list_append(items[k], items[0]) == SL_INVALID_ARGUMENT);
    CHECK(sl_list_ints(items[k], &ints, &count) == SL_INVALID_ARGUMENT);
    sl_value_release(items[k]);
  }
}

/* A list of the module: what is put into it the program sees, and only what fits. */
static void open_lists(sl_module* m) {
  sl_value *steps = get(m, "steps"), *table = get(m, "table"), *one = sl_value_int(1);
  sl_value* text = sl_value_string("z", 1);
  CHECK(sl_list_append(steps, one) == SL_OK && prints(get(m, "steps"), "[1, 1]"));
  CHECK(sl_list_append(steps, text) == SL_INVALID_ARGUMENT);
  CHECK(sl_dict_set(table, text, one) == SL_OK && prints(get(m, "table"), "{k: 1, z: 1}"));
  CHECK(sl_dict_set(table, one, one) == SL_INVALID_ARGUMENT);
  CHECK(sl_dict_set(table, text, text) == SL_INVALID_ARGUMENT);
  sl_value_release(steps);
  sl_value_release(table);
  sl_value_release(one);
  sl_value_release(text);
}

static char said[100];
static void hear(const char* text, size_t size, void* user) {
  CHECK(user == said && strlen(said) + size < sizeof said);
  strncat(said, text, size);
}

static void printing(sl_module* m) {
  sl_value* v = sl_value_string("a word", 6);
  sl_set_print(hear, said);
  sl_value_release(give(m, "say", &v, 1));
  sl_set_print(NULL, NULL);
  sl_value_release(v);
  CHECK(strcmp(said, "says a word\n") == 0);
  said[0] = 0;
}

static void nulls(sl_module* m) {
  sl_value *v = (sl_value*)&m, *w = NULL;
  sl_module* other = (sl_module*)&m;
  sl_signature* s = (sl_signature*)&m;
  char* text = (char*)&m;
  size_t cursor = 0;
  CHECK(sl_module_has_attribute(NULL, "x") == 0 && sl_module_has_attribute(m, NULL) == 0);
  CHECK(sl_module_has_method(NULL, "x") == 0 && sl_module_has_method(m, NULL) == 0);
  CHECK(sl_module_set_attribute(NULL, "x", NULL, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_module_set_attribute(m, NULL, NULL, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_module_child(NULL, "", &other, NULL) == SL_INVALID_ARGUMENT && !other);
  CHECK(sl_module_child(m, NULL, &other, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_module_child(m, "", NULL, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_module_of(m, NULL, &other, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_module_of(NULL, NULL, NULL, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_module_value(NULL) == NULL);
  CHECK(sl_module_list(NULL, SL_BUFFERS, 1, &v, NULL) == SL_INVALID_ARGUMENT && !v);
  CHECK(sl_module_list(m, SL_BUFFERS, 1, NULL, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_module_train(NULL, 1, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_module_to(NULL, SL_FLOAT32, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_module_clone(NULL, &other, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_module_clone(m, NULL, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_module_text(NULL, &text, NULL) == SL_INVALID_ARGUMENT && !text);
  CHECK(sl_module_text(m, NULL, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_module_make(NULL, "x", NULL, 0, NULL, &v, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_module_make(m, NULL, NULL, 0, NULL, &v, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_module_make(m, "x", NULL, 1, NULL, &v, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_module_enum(m, "x", NULL, &v, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_module_signature(NULL, "x", &s, NULL) == SL_INVALID_ARGUMENT && !s);
  CHECK(sl_module_signature(m, NULL, &s, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_signature_text(NULL)[0] == 0 && sl_signature_argument_count(NULL) == 0);
  CHECK(!sl_signature_argument_name(NULL, 0) && !sl_signature_argument_default(NULL, 0));
  CHECK(sl_signature_result_count(NULL) == 0 && !sl_signature_result_type(NULL, 0));
  sl_signature_release(NULL);
  CHECK(sl_dict_get(NULL, v, &v) == SL_INVALID_ARGUMENT);
  CHECK(sl_dict_next(NULL, &cursor, &v, &w) == SL_INVALID_ARGUMENT && !v && !w);
  CHECK(sl_list_append(NULL, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_list_ints(NULL, NULL, NULL) == SL_INVALID_ARGUMENT);
}

void check_modules(sl_module* module) {
  nulls(module);
  listings(module);
  submodules(module);
  signatures(module);
  attributes(module);
  wholes(module);
  changes();
  open_lists(module);
  printing(module);
}

int module_failures(void) { return failures; }
