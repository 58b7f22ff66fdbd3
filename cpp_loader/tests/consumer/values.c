/* A client in C99: makes, reads and compares every kind of value, by the installed header alone. */
#include <math.h>
#include <scriptlang/scriptlang.h>
#include <stdlib.h>

#include "check.h"
#include "client.h"

static int is_text(sl_value* v, const char* wanted, size_t size) {
  const char* text = NULL;
  size_t length = 99;
  return sl_value_kind(v) == SL_STRING && sl_value_get_string(v, &text, &length) == SL_OK &&
         length == size && memcmp(text, wanted, size) == 0 && text[size] == 0;
}

/* The value's text is this; the value is released. */
static int prints(sl_value* v, const char* wanted) {
  char* text = NULL;
  size_t size = 0;
  int same = sl_value_text(v, &text, &size) == SL_OK && strcmp(text, wanted) == 0 &&
             size == strlen(wanted);
  if (!same) printf("prints %s, not %s\n", text ? text : "nothing", wanted);
  sl_text_release(text);
  sl_value_release(v);
  return same;
}

/* What the getters say of a value of another kind. */
static void check_refusals(sl_value* v, sl_kind kind) {
  int truth = 5;
  int64_t number = 5;
  double real = 5, imaginary = 5;
  const char* text = NULL;
  CHECK(sl_value_kind(v) == kind);
  CHECK((sl_value_get_bool(v, &truth) == SL_OK) == (kind == SL_BOOL));
  CHECK((sl_value_get_int(v, &number) == SL_OK) == (kind == SL_INT));
  CHECK((sl_value_get_double(v, &real) == SL_OK) == (kind == SL_INT || kind == SL_DOUBLE));
  CHECK((sl_value_get_complex(v, &real, &imaginary) == SL_OK) ==
        (kind == SL_INT || kind == SL_DOUBLE || kind == SL_COMPLEX));
  CHECK((sl_value_get_string(v, &text, NULL) == SL_OK) == (kind == SL_STRING));
  CHECK((sl_tensor_info(v, NULL, NULL, NULL, NULL) == SL_OK) == (kind == SL_TENSOR));
  CHECK((sl_tensor_data(v) != NULL) == (kind == SL_TENSOR));
  CHECK(sl_value_item(v, (size_t)-1) == NULL && sl_value_key(v, (size_t)-1) == NULL);
  CHECK(sl_value_field(v, (size_t)-1) == NULL && sl_value_member(v, "?") == NULL);
  if (kind != SL_TENSOR) CHECK(sl_tensor_contiguous(v) == NULL);
  if (kind != SL_BOOL) CHECK(truth == 5);
  if (kind != SL_INT) CHECK(number == 5);
  CHECK(sl_value_get_bool(v, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_value_get_int(v, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_value_get_double(v, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_value_get_complex(v, &real, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_value_get_string(v, NULL, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_value_text(v, NULL, NULL) == SL_INVALID_ARGUMENT);
}

/* Sends a value through a method, and releases it. */
static sl_value* through(sl_module* m, const char* method, sl_value* v) {
  sl_value* result = give(m, method, &v, 1);
  sl_value_release(v);
  return result;
}

static void numbers(sl_module* m) {
  static const int64_t ints[] = {0, -1, INT64_MAX, INT64_MIN, 1};
  static const double doubles[] = {0.0, -0.0, 1.5, INFINITY, -INFINITY, 5e-324, 1.7e308};
  const char* methods[] = {"echo", "number"};
  size_t k, way;
  int truth;
  int64_t number;
  double real, imaginary;
  sl_value* v;
  for (k = 0; k < 5; ++k) {
    v = through(m, k % 2 ? "echo" : "integer", sl_value_int(ints[k]));
    check_refusals(v, SL_INT);
    CHECK(sl_value_get_int(v, &number) == SL_OK && number == ints[k]);
    CHECK(sl_value_get_double(v, &real) == SL_OK && real == (double)ints[k]);
    sl_value_release(v);
  }
  for (k = 0; k < 14; ++k) {
    way = k % 2;
    v = through(m, methods[way], sl_value_double(doubles[k / 2]));
    check_refusals(v, SL_DOUBLE);
    CHECK(sl_value_get_double(v, &real) == SL_OK && real == doubles[k / 2]);
    CHECK(signbit(real) == signbit(doubles[k / 2]));
    sl_value_release(v);
  }
  v = through(m, "number", sl_value_double(NAN));
  CHECK(sl_value_get_double(v, &real) == SL_OK && isnan(real));
  sl_value_release(v);
  for (truth = 0; truth < 3; ++truth) {
    int out = -1;
    v = through(m, "truth", sl_value_bool(truth));
    check_refusals(v, SL_BOOL);
    CHECK(sl_value_get_bool(v, &out) == SL_OK && out == (truth != 0));
    sl_value_release(v);
  }
  v = through(m, "imaginary", sl_value_complex(2, -3));
  check_refusals(v, SL_COMPLEX);
  CHECK(sl_value_get_complex(v, &real, &imaginary) == SL_OK && real == 3 && imaginary == 2);
  sl_value_release(v);
  CHECK(prints(through(m, "number", sl_value_int(3)), "3."));
  CHECK(prints(through(m, "number", sl_value_bool(1)), "1."));
  CHECK(prints(through(m, "truth", sl_value_int(3)), "True"));
  v = sl_value_none();
  check_refusals(v, SL_NONE);
  CHECK(prints(through(m, "echo", v), "None"));
}

static void texts(sl_module* m) {
  static const char* const given[] = {"",
                                      "a",
                                      "seven b",
                                      "eight by",
                                      "fifteen by now.",
                                      "sixteen by now..",
                                      "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"};
  static const char* const bad[] = {"\x80",
                                    "\xc3",
                                    "\xc0\x80",
                                    "\xed\xa0\x80",
                                    "\xf5\x80\x80\x80",
                                    "\xe0\x80\x80",
                                    "\xf0\x80\x80\x80",
                                    "a\xff"};
  size_t k;
  sl_value* v;
  for (k = 0; k < sizeof given / sizeof *given; ++k) {
    v = through(m, "string", sl_value_string(given[k], strlen(given[k])));
    check_refusals(v, SL_STRING);
    CHECK(is_text(v, given[k], strlen(given[k])));
    sl_value_release(v);
  }
  v = through(m, "echo", sl_value_string("a\0b\0", 4));
  CHECK(is_text(v, "a\0b\0", 4));
  sl_value_release(v);
  v = through(m, "string", sl_value_string("a\0 longer than seven\0", 21));
  CHECK(is_text(v, "a\0 longer than seven\0", 21));
  sl_value_release(v);
  v = sl_value_string(NULL, 0);
  CHECK(is_text(v, "", 0));
  sl_value_release(v);
  for (k = 0; k < sizeof bad / sizeof *bad; ++k) {
    CHECK(sl_value_string(bad[k], strlen(bad[k])) == NULL);
  }
  CHECK(sl_value_string(NULL, 1) == NULL);
  CHECK(sl_value_device("nonsense") == NULL && sl_value_device(NULL) == NULL);
  v = sl_value_device("cuda:1");
  check_refusals(v, SL_DEVICE);
  CHECK(prints(through(m, "place", v), "(cuda:1, False)"));
  CHECK(prints(through(m, "place", sl_value_string("cpu", 3)), "(cpu, True)"));
}

static void containers(sl_module* m) {
  sl_value *items[3], *v, *inner;
  size_t k;
  for (k = 0; k < 3; ++k) items[k] = sl_value_int((int64_t)k);
  v = sl_value_list(items, 3);
  check_refusals(v, SL_LIST);
  CHECK(sl_value_length(v) == 3 && sl_value_item(v, 3) == NULL && sl_value_key(v, 0) == NULL);
  inner = give(m, "ints", &v, 1);
  CHECK(prints(inner, "[0, 1, 2, 7]"));
  CHECK(sl_value_length(v) == 3); /* the caller's list is not the program's */
  CHECK(prints(through(m, "floats", v), "[0., 1., 2.]"));
  v = sl_value_tuple(items, 3);
  check_refusals(v, SL_TUPLE);
  CHECK(sl_value_class(v)[0] == 0 && sl_value_field(v, 0) == NULL);
  CHECK(prints(through(m, "ints", v), "[0, 1, 2, 7]"));
  CHECK(prints(through(m, "ints", sl_value_list(NULL, 0)), "[7]"));
  CHECK(prints(through(m, "bools", sl_value_list(NULL, 0)), "[]"));
  CHECK(prints(sl_value_tuple(NULL, 0), "()") && prints(sl_value_dict(NULL, NULL, 0), "{}"));
  for (k = 0; k < 3; ++k) sl_value_release(items[k]);
  items[0] = sl_value_bool(1);
  items[1] = sl_value_bool(0);
  CHECK(prints(through(m, "bools", sl_value_list(items, 2)), "[True, False]"));
  sl_value_release(items[0]);
  sl_value_release(items[1]);
  items[0] = sl_value_string("a", 1);
  items[1] = sl_value_string("", 0);
  CHECK(prints(through(m, "texts", sl_value_list(items, 2)), "[a, ]"));
  items[2] = NULL; /* None */
  CHECK(prints(through(m, "echo", sl_value_list(items, 3)), "[a, , None]"));
  sl_value_release(items[0]);
  sl_value_release(items[1]);
  CHECK(sl_value_list(NULL, 1) == NULL && sl_value_tuple(NULL, 1) == NULL);
  CHECK(sl_value_list(items, SIZE_MAX) == NULL); /* there is no such array: none is read */
}

static void dicts(sl_module* m) {
  sl_value *key, *held, *v, *found;
  int64_t shape[] = {1};
  float one = 1;
  int64_t number = 0;
  key = sl_value_string("k", 1);
  held = sl_value_int(4);
  v = sl_value_dict(&key, &held, 1);
  check_refusals(v, SL_DICT);
  CHECK(sl_value_length(v) == 1 && sl_value_item(v, 1) == NULL && sl_value_key(v, 1) == NULL);
  v = through(m, "by_text", v);
  found = sl_value_key(v, 1);
  CHECK(is_text(found, "new", 3));
  sl_value_release(found);
  found = sl_value_item(v, 0);
  CHECK(sl_value_get_int(found, &number) == SL_OK && number == 4);
  sl_value_release(found);
  CHECK(prints(v, "{k: 4, new: 1}"));
  CHECK(prints(through(m, "by_int", sl_value_dict(&held, &held, 1)), "{4: 4.}"));
  CHECK(prints(through(m, "by_float", sl_value_dict(&held, &key, 1)), "{4.: k}"));
  sl_value_release(key);
  key = sl_tensor_view(&one, SL_FLOAT32, shape, 1, NULL, NULL);
  v = through(m, "by_tensor", sl_value_dict(&key, &held, 1));
  found = sl_value_key(v, 0);
  CHECK(sl_tensor_data(found) == &one);
  sl_value_release(found);
  sl_value_release(v);
  sl_value_release(key);
  key = sl_value_list(NULL, 0);
  CHECK(sl_value_dict(&key, &held, 1) == NULL); /* no key */
  CHECK(sl_value_dict(NULL, &held, 1) == NULL && sl_value_dict(&held, NULL, 1) == NULL);
  sl_value_release(key);
  key = NULL;
  CHECK(sl_value_dict(&key, &held, 1) == NULL);
  sl_value_release(held);
}

/* A list or tuple that holds one twice, which holds one twice. */
static sl_value* doubled(sl_value* (*make)(sl_value* const*, size_t), sl_value* inner, int times) {
  sl_value* items[2];
  while (times-- > 0) {
    items[0] = items[1] = inner;
    inner = make(items, 2);
    sl_value_release(items[0]);
  }
  return inner;
}

/* Values that share their parts are as small as they are in memory. */
static void shared(sl_module* m) {
  char* text;
  sl_value *lists, *tuples, *v, *part;
  sl_error* error;
  int k;
  tuples = doubled(sl_value_tuple, sl_value_int(7), 60);
  part = sl_value_item(tuples, 1);
  CHECK(sl_value_kind(part) == SL_TUPLE && sl_value_length(part) == 2);
  sl_value_release(part);
  v = through(m, "echo", tuples);
  CHECK(sl_value_kind(v) == SL_TUPLE);
  CHECK(sl_value_text(v, &text, NULL) == SL_OUT_OF_MEMORY && text == NULL);
  sl_value_release(v);
  lists = doubled(sl_value_list, sl_value_int(7), 40);
  v = give(m, "deep", &lists, 1);
  CHECK(prints(v, "2"));
  CHECK(prints(give(m, "either", &lists, 1), "False"));
  v = give(m, "echo", &lists, 1);
  for (k = 0; k < 40; ++k) {
    part = sl_value_item(v, 1);
    sl_value_release(v);
    v = part;
  }
  CHECK(prints(v, "7"));
  v = doubled(sl_value_list, sl_value_string("x", 1), 40);
  CHECK(sl_call(m, "deep", &v, 1, NULL, &part, &error) == SL_RUN_ERROR && error != NULL);
  sl_error_release(error);
  CHECK(sl_call(m, "either", &v, 1, NULL, &part, &error) == SL_RUN_ERROR && error != NULL);
  sl_error_release(error);
  CHECK(sl_call(m, "by_text", &v, 1, NULL, &part, &error) == SL_RUN_ERROR && error != NULL);
  CHECK(strlen(sl_error_message(error)) < 100000);
  sl_error_release(error);
  sl_value_release(v);
  CHECK(sl_value_text(lists, &text, NULL) == SL_OUT_OF_MEMORY && text == NULL);
  sl_value_release(lists);
}

/* Named tuples, objects, enums and generators: a host gets them, and gives them back. */
static void made_by_programs(sl_module* m) {
  sl_value *items[2], *v, *part;
  items[0] = sl_value_int(1);
  items[1] = sl_value_string("one", 3);
  v = through(m, "point", sl_value_tuple(items, 2));
  check_refusals(v, SL_TUPLE);
  CHECK(strstr(sl_value_class(v), "Point") != NULL);
  CHECK(strcmp(sl_value_field(v, 0), "x") == 0 && strcmp(sl_value_field(v, 1), "label") == 0);
  part = sl_value_member(v, "label");
  CHECK(is_text(part, "one!", 4));
  sl_value_release(part);
  v = through(m, "point", v);
  CHECK(prints(sl_value_member(v, "x"), "3"));
  sl_value_release(v);
  sl_value_release(items[1]);
  CHECK(prints(through(m, "pair", sl_value_tuple((items[1] = NULL, items), 2)), "(None, 1)"));
  v = give(m, "counter", items, 1);
  check_refusals(v, SL_OBJECT);
  CHECK(strstr(sl_value_class(v), "Counter") != NULL && sl_value_length(v) == 2);
  CHECK(strcmp(sl_value_field(v, 0), "count") == 0 && sl_value_field(v, 2) == NULL);
  items[1] = sl_value_int(5);
  sl_value_release(items[0]);
  items[0] = v;
  CHECK(prints(give(m, "count", items, 2), "6") && prints(give(m, "count", items, 1), "7"));
  CHECK(prints(sl_value_item(v, 0), "7") && prints(sl_value_item(v, 1), "counter"));
  CHECK(prints(sl_value_member(v, "count"), "7") && prints(sl_value_member(v, "name"), "counter"));
  sl_value_release(v);
  CHECK(sl_module_attribute(m, "layer", &v, NULL) == SL_OK);
  check_refusals(v, SL_OBJECT);
  part = sl_value_member(v, "bias");
  CHECK(strstr(sl_value_class(v), "Linear") && sl_value_kind(part) == SL_TENSOR);
  sl_value_release(part);
  sl_value_release(v);
  sl_value_release(items[1]);
  v = through(m, "color", sl_value_bool(1));
  check_refusals(v, SL_ENUM);
  CHECK(strstr(sl_value_class(v), "Color") != NULL && sl_value_length(v) == 2);
  CHECK(prints(sl_value_member(v, "name"), "BLUE") && prints(sl_value_member(v, "value"), "2"));
  CHECK(prints(give(m, "named", &v, 1), "(BLUE, Enum<Color.BLUE>)"));
  CHECK(prints(through(m, "is_blue", v), "True"));
  items[0] = sl_value_int(3);
  items[1] = sl_value_generator(7);
  check_refusals(items[1], SL_GENERATOR);
  v = give(m, "draw", items, 2);
  part = sl_value_item(v, 1);
  check_refusals(part, SL_GENERATOR);
  sl_value_release(part);
  sl_value_release(v);
  sl_value_release(items[0]);
  sl_value_release(items[1]);
}

void check_values(sl_module* module) {
  numbers(module);
  texts(module);
  containers(module);
  dicts(module);
  shared(module);
  made_by_programs(module);
}

int value_failures(void) { return failures; }
