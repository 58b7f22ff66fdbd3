/* A client in C99: loading from anywhere, extra files, saving, and tensors of other libraries. */
#include <scriptlang/scriptlang.h>
#include <stdlib.h>

#include "check.h"
#include "client.h"

/* As dlpack.h has it. */
struct DLManagedTensor {
  struct {
    void* data;
    struct {
      int32_t type, id;
    } device;
    int32_t ndim;
    struct {
      uint8_t code, bits;
      uint16_t lanes;
    } dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
  } dl_tensor;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensor*);
};

struct bytes {
  char* data;
  size_t size, at, most; /* most: of one read */
};

static size_t read_some(void* to, size_t room, void* user) {
  struct bytes* from = (struct bytes*)user;
  size_t n = from->size - from->at;
  if (from->most == 0) return (size_t)-1;
  if (n > room) n = room;
  if (n > from->most) n = from->most;
  if (n) memcpy(to, from->data + from->at, n);
  from->at += n;
  return n;
}

static int write_all(const void* data, size_t size, void* user) {
  struct bytes* to = (struct bytes*)user;
  if (to->size + size > to->most) return 1;
  memcpy(to->data + to->size, data, size);
  to->size += size;
  return 0;
}

static char noticed[200];
static void notice(const char* text, size_t size, void* user) {
  CHECK(user == noticed && size < sizeof noticed);
  memcpy(noticed, text, size);
}

static void loading(const char* path) {
  static char data[1 << 18];
  struct bytes from = {data, 0, 0, 1000};
  sl_load_options options;
  sl_module* m = NULL;
  sl_error* error = NULL;
  FILE* file = fopen(path, "rb");
  CHECK(file != NULL);
  from.size = fread(data, 1, sizeof data, file);
  fclose(file);
  CHECK(sl_load_stream(read_some, &from, NULL, &m, NULL) == SL_OK && from.at == from.size);
  CHECK(sl_module_has_method(m, "forward"));
  sl_module_release(m);
  from.most = 0;
  CHECK(sl_load_stream(read_some, &from, NULL, &m, &error) == SL_ARCHIVE_ERROR && !m);
  CHECK(strcmp(sl_error_message(error), "the stream cannot be read") == 0);
  sl_error_release(error);
  from.most = 1; /* nothing is left: an empty stream */
  CHECK(sl_load_stream(read_some, &from, NULL, &m, NULL) == SL_ARCHIVE_ERROR);
  CHECK(sl_load_stream(NULL, &from, NULL, &m, NULL) == SL_INVALID_ARGUMENT);
  memset(&options, 0, sizeof options);
  CHECK(sl_load_file_with(path, &options, &m, NULL) == SL_INVALID_ARGUMENT); /* no size */
  options.size = sizeof options;
  options.notice = notice;
  options.user = noticed;
  options.device = "cpu";
  CHECK(sl_load_file_with(path, &options, &m, NULL) == SL_OK && noticed[0] == 0);
  sl_module_release(m);
  options.device = "cuda:0";
  CHECK(sl_load_file_with(path, &options, &m, NULL) == SL_OK);
  CHECK(strstr(noticed, "to be on cuda:0") != NULL && strstr(noticed, "CPU") != NULL);
  sl_module_release(m);
  options.device = "quantum";
  CHECK(sl_load_memory_with(data, from.size, &options, &m, &error) == SL_INVALID_ARGUMENT && !m);
  sl_error_release(error);
}

static void extra_files(sl_module* m) {
  const char* data = NULL;
  size_t size = 9;
  CHECK(sl_module_extra_count(m) == 2 && strcmp(sl_module_extra_name(m, 1), "labels.txt") == 0);
  CHECK(sl_module_extra_name(m, 2) == NULL && sl_module_extra_count(NULL) == 0);
  CHECK(sl_module_extra(m, "labels.txt", &data, &size, NULL) == SL_OK);
  CHECK(size == 7 && memcmp(data, "cat\0dog", 8) == 0);
  CHECK(sl_module_extra(m, "empty", &data, &size, NULL) == SL_OK && size == 0 && data[0] == 0);
  CHECK(sl_module_extra(m, "no", &data, &size, NULL) == SL_INVALID_ARGUMENT && !data);
  CHECK(sl_module_extra(NULL, "no", &data, NULL, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_module_extra(m, NULL, &data, NULL, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_module_extra(m, "empty", NULL, NULL, NULL) == SL_INVALID_ARGUMENT);
}

static int same_text(sl_module* m, const char* method, sl_value* argument, sl_module* other) {
  sl_value* a = give(m, method, &argument, argument != NULL);
  sl_value* b = give(other, method, &argument, argument != NULL);
  char *s = NULL, *t = NULL;
  int same;
  CHECK(sl_value_text(a, &s, NULL) == SL_OK && sl_value_text(b, &t, NULL) == SL_OK);
  same = strcmp(s, t) == 0;
  if (!same) printf("%s gives\n%s, once saved\n%s\n", method, s, t);
  sl_text_release(s);
  sl_text_release(t);
  sl_value_release(a);
  sl_value_release(b);
  return same;
}

/* An object that is no module cannot be saved. */
static void only_modules(sl_module* m, const char* name) {
  sl_value *one = sl_value_int(1), *object = give(m, "counter", &one, 1);
  sl_module* view = NULL;
  sl_error* error = NULL;
  CHECK(sl_module_of(m, object, &view, NULL) == SL_OK);
  CHECK(sl_save_file(view, name, NULL, 0, &error) == SL_RUN_ERROR);
  CHECK(strstr(sl_error_message(error), "only modules are saved, and __torch__.Counter") != NULL);
  sl_error_release(error);
  sl_module_release(view);
  sl_value_release(object);
  sl_value_release(one);
}

static void saving(sl_module* m, const char* path) {
  static char data[1 << 18];
  struct bytes to = {data, 0, 0, sizeof data};
  sl_extra extra[3] = {{"empty", "no more", 7}, {"new/one", NULL, 0}, {"", NULL, 0}};
  float x[] = {1, 2};
  int64_t shape[] = {1, 2};
  sl_module *changed = NULL, *read = NULL, *block = NULL;
  sl_value *v = sl_tensor_view(x, SL_FLOAT32, shape, 2, NULL, NULL), *w = NULL;
  sl_error* error = NULL;
  const char* text = NULL;
  char name[300];
  size_t k, size = 0;
  CHECK(sl_module_clone(m, &changed, NULL) == SL_OK);
  CHECK(sl_module_train(changed, 0, NULL) == SL_OK);
  CHECK(sl_module_attribute(changed, "block.inner.0.weight", &w, NULL) == SL_OK);
  ((float*)sl_tensor_data(w))[0] = 77;
  sl_value_release(w);
  w = sl_value_string("a\0b", 3);
  CHECK(sl_module_set_attribute(changed, "name", w, NULL) == SL_OK);
  sl_value_release(w);
  CHECK(sl_save_stream(changed, write_all, &to, extra, 2, &error) == SL_OK);
  if (error) printf("%s\n", sl_error_message(error));
  sl_error_release(error);
  CHECK(sl_load_memory(data, to.size, &read, &error) == SL_OK);
  if (error) printf("%s\n", sl_error_message(error));
  for (k = 0; k < sl_module_method_count(m); ++k) {
    CHECK(strcmp(sl_module_method_name(m, k), sl_module_method_name(read, k)) == 0);
  }
  CHECK(same_text(changed, "blocks", v, read) && same_text(changed, "state", NULL, read));
  CHECK(sl_module_attribute(read, "tied", &w, NULL) == SL_OK); /* one tensor is still one */
  CHECK(((float*)sl_tensor_data(w))[0] == 77);
  ((float*)sl_tensor_data(w))[0] = 78;
  sl_value_release(w);
  CHECK(sl_module_attribute(read, "block.inner.0.weight", &w, NULL) == SL_OK);
  CHECK(((float*)sl_tensor_data(w))[0] == 78);
  sl_value_release(w);
  CHECK(sl_module_extra_count(read) == 3);
  CHECK(sl_module_extra(read, "empty", &text, &size, NULL) == SL_OK && size == 7);
  CHECK(strcmp(text, "no more") == 0);
  CHECK(sl_module_extra(read, "labels.txt", &text, &size, NULL) == SL_OK && size == 7);
  sl_module_release(read);
  /* Once more, from what was saved, in another type, to a file; and a part of it. */
  CHECK(sl_module_to(changed, SL_FLOAT64, NULL) == SL_OK);
  sprintf(name, "%.250s.gr\xc3\xbc\xc3\x9f.pt", strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
  CHECK(sl_save_file(changed, name, NULL, 0, NULL) == SL_OK);
  CHECK(sl_save_file(changed, name, NULL, 0, NULL) == SL_OK); /* over the other */
  CHECK(sl_load_file(name, &read, NULL) == SL_OK);
  CHECK(same_text(changed, "state", NULL, read));
  CHECK(sl_module_child(read, "block", &block, NULL) == SL_OK);
  sl_module_release(read);
  to.size = 0;
  CHECK(sl_save_stream(block, write_all, &to, NULL, 0, NULL) == SL_OK);
  CHECK(sl_load_memory(data, to.size, &read, NULL) == SL_OK);
  CHECK(strcmp(sl_module_class(read), "__torch__.Block") == 0);
  sl_module_release(read);
  remove(name);
  only_modules(changed, name);
  to.most = 5000; /* full */
  to.size = 0;
  CHECK(sl_save_stream(block, write_all, &to, NULL, 0, &error) == SL_RUN_ERROR);
  CHECK(strcmp(sl_error_message(error), "the stream cannot be written") == 0);
  sl_error_release(error);
  CHECK(sl_save_file(block, "/no/such/folder/a.pt", NULL, 0, &error) == SL_RUN_ERROR);
  CHECK(strstr(sl_error_message(error), "cannot write '/no/such/folder/a.pt'") != NULL);
  sl_error_release(error);
  CHECK(sl_save_file(block, "/dev/null", NULL, 0, NULL) == SL_RUN_ERROR);
  CHECK(sl_save_file(NULL, "x", NULL, 0, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_save_file(block, NULL, NULL, 0, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_save_file(block, "x", NULL, 1, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_save_file(block, "x", extra, 3, NULL) == SL_INVALID_ARGUMENT);
  extra[1].size = 1;
  CHECK(sl_save_file(block, "x", extra, 2, NULL) == SL_INVALID_ARGUMENT);
  extra[0].name = "../out";
  CHECK(sl_save_file(block, "x", extra, 1, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_save_stream(block, NULL, NULL, NULL, 0, NULL) == SL_INVALID_ARGUMENT);
  sl_module_release(block);
  sl_module_release(changed);
  sl_value_release(v);
}

/* ---- tensors in the caller's memory, and other libraries' */

static void copies(void) {
  float x[] = {1, 2, 3, 4, 5, 6}, out[7] = {0};
  int64_t shape[] = {2, 2}, strides[] = {1, 3}, wide[] = {3, 2, 2};
  unsigned char half[8] = {0};
  double doubles[12];
  sl_value* v = sl_tensor_strided(x, sizeof x, SL_FLOAT32, shape, strides, 2, NULL, NULL);
  sl_value *to, *other, *text = sl_value_string("a", 1);
  CHECK(sl_tensor_read(v, SL_FLOAT32, out, 16) == SL_OK);
  CHECK(out[0] == 1 && out[1] == 4 && out[2] == 2 && out[3] == 5 && out[4] == 0);
  CHECK(sl_tensor_read(v, SL_FLOAT64, doubles, 32) == SL_OK && doubles[3] == 5);
  CHECK(sl_tensor_read(v, SL_FLOAT16, half, 8) == SL_OK && half[1] == 0x3c && half[0] == 0);
  CHECK(sl_tensor_read(v, SL_FLOAT32, (char*)out + 1, 16) == SL_OK); /* not aligned */
  CHECK(memcmp((char*)out + 1, x, 4) == 0);
  CHECK(sl_tensor_read(v, SL_FLOAT32, out, 12) == SL_INVALID_ARGUMENT);
  CHECK(sl_tensor_read(v, SL_FLOAT32, NULL, 16) == SL_INVALID_ARGUMENT);
  CHECK(sl_tensor_read(v, (sl_dtype)99, out, 16) == SL_INVALID_ARGUMENT);
  CHECK(sl_tensor_read(NULL, SL_FLOAT32, out, 16) == SL_INVALID_ARGUMENT);
  CHECK(sl_tensor_read(text, SL_FLOAT32, out, 16) == SL_INVALID_ARGUMENT);
  to = sl_tensor_view(doubles, SL_FLOAT64, wide, 3, NULL, NULL);
  CHECK(sl_tensor_assign(to, v) == SL_OK && doubles[11] == 5 && doubles[8] == 1);
  CHECK(sl_tensor_assign(v, to) == SL_INVALID_ARGUMENT);
  CHECK(sl_tensor_assign(v, v) == SL_OK && x[4] == 5);
  CHECK(sl_tensor_assign(text, v) == SL_INVALID_ARGUMENT);
  CHECK(sl_tensor_assign(v, NULL) == SL_INVALID_ARGUMENT);
  other = sl_tensor_to(v, SL_INT32);
  CHECK(other != NULL && sl_tensor_to(text, SL_INT32) == NULL);
  CHECK(sl_tensor_to(v, SL_QINT8) == NULL && sl_tensor_to(NULL, SL_INT32) == NULL);
  sl_value_release(other);
  other = sl_tensor_to(v, SL_FLOAT32);
  CHECK(sl_tensor_data(other) == x);
  sl_value_release(other);
  sl_value_release(to);
  sl_value_release(text);
  sl_value_release(v);
}

/* Tensors on memory that they share, as far as the library is told. */
static void overlaps(void) {
  float x[] = {0, 1, 2, 3, 4, 5, 6, 7};
  double wide[] = {1, 2, 3, 4};
  int64_t four[] = {4}, two[] = {2};
  sl_value* a = sl_tensor_view(x, SL_FLOAT32, four, 1, NULL, NULL);
  sl_value* b = sl_tensor_view(x + 1, SL_FLOAT32, four, 1, NULL, NULL);
  sl_value* again = sl_tensor_view(x, SL_FLOAT32, four, 1, NULL, NULL);
  sl_value* apart = sl_tensor_view(x + 4, SL_FLOAT32, four, 1, NULL, NULL);
  sl_value* even = sl_tensor_strided(x, sizeof x, SL_FLOAT32, four, two, 1, NULL, NULL);
  sl_value* odd = sl_tensor_strided(x + 1, sizeof x - 4, SL_FLOAT32, four, two, 1, NULL, NULL);
  CHECK(sl_tensor_assign(b, a) == SL_INVALID_ARGUMENT && x[4] == 4);
  CHECK(sl_tensor_assign(a, b) == SL_INVALID_ARGUMENT && x[0] == 0);
  CHECK(sl_tensor_assign(again, a) == SL_OK && x[3] == 3);
  CHECK(sl_tensor_assign(even, odd) == SL_OK && x[0] == 1 && x[6] == 7 && x[7] == 7);
  CHECK(sl_tensor_assign(even, a) == SL_OK); /* 1 1 3 3 */
  CHECK(x[0] == 1 && x[2] == 1 && x[4] == 3 && x[6] == 3);
  CHECK(sl_tensor_assign(apart, a) == SL_OK && x[4] == 1 && x[7] == 3);
  sl_value_release(b);
  b = sl_tensor_view(wide, SL_FLOAT32, four, 1, NULL, NULL);
  sl_value_release(again);
  again = sl_tensor_view(wide, SL_FLOAT64, four, 1, NULL, NULL);
  CHECK(sl_tensor_assign(b, again) == SL_INVALID_ARGUMENT && wide[0] == 1);
  CHECK(sl_tensor_read(again, SL_FLOAT32, wide, sizeof wide / 2) == SL_OK);
  CHECK(sl_tensor_read(b, SL_FLOAT32, x, 16) == SL_OK && x[0] == 1 && x[3] == 4);
  CHECK(sl_tensor_read(b, SL_FLOAT64, wide, sizeof wide) == SL_OK && wide[1] == 2 && wide[3] == 4);
  sl_value_release(a);
  sl_value_release(b);
  sl_value_release(again);
  sl_value_release(apart);
  sl_value_release(even);
  sl_value_release(odd);
}

static int deleted = 0;
static void count_deleted(struct DLManagedTensor* managed) {
  (void)managed;
  ++deleted;
}

static void dlpack(sl_module* m) {
  float x[] = {1, 2, 3, 4};
  int64_t shape[] = {2, 2}, strides[] = {1, 2};
  struct DLManagedTensor own, *out = NULL;
  sl_value *v = NULL, *turned;
  sl_error* error = NULL;
  memset(&own, 0, sizeof own);
  own.dl_tensor.data = x;
  own.dl_tensor.device.type = 1;
  own.dl_tensor.ndim = 2;
  own.dl_tensor.dtype.code = 2;
  own.dl_tensor.dtype.bits = 32;
  own.dl_tensor.dtype.lanes = 1;
  own.dl_tensor.shape = shape;
  own.deleter = count_deleted;
  CHECK(sl_tensor_from_dlpack(&own, &v, NULL) == SL_OK && sl_tensor_data(v) == x);
  turned = give(m, "transposed", &v, 1);
  sl_value_release(v);
  CHECK(deleted == 0 && sl_tensor_to_dlpack(turned, &out, NULL) == SL_OK);
  sl_value_release(turned);
  CHECK(out->dl_tensor.data == x && out->dl_tensor.ndim == 2 && out->dl_tensor.dtype.code == 2);
  CHECK(out->dl_tensor.strides[0] == 1 && out->dl_tensor.strides[1] == 2 && deleted == 0);
  out->deleter(out);
  CHECK(deleted == 1);
  own.dl_tensor.strides = strides;
  own.dl_tensor.ndim = 1;
  own.dl_tensor.byte_offset = 4;
  CHECK(sl_tensor_from_dlpack(&own, &v, NULL) == SL_OK && sl_tensor_data(v) == x + 1);
  sl_value_release(v);
  CHECK(deleted == 2);
  own.dl_tensor.byte_offset = 2; /* not aligned */
  CHECK(sl_tensor_from_dlpack(&own, &v, &error) == SL_INVALID_ARGUMENT && v == NULL);
  CHECK(sl_error_status(error) == SL_INVALID_ARGUMENT);
  sl_error_release(error);
  own.dl_tensor.byte_offset = 0;
  strides[0] = -1;
  CHECK(sl_tensor_from_dlpack(&own, &v, NULL) == SL_INVALID_ARGUMENT);
  strides[0] = INT64_MAX;
  CHECK(sl_tensor_from_dlpack(&own, &v, NULL) == SL_INVALID_ARGUMENT);
  strides[0] = 1;
  shape[0] = -1;
  CHECK(sl_tensor_from_dlpack(&own, &v, NULL) == SL_INVALID_ARGUMENT);
  shape[0] = 2;
  own.dl_tensor.dtype.lanes = 4;
  CHECK(sl_tensor_from_dlpack(&own, &v, NULL) == SL_INVALID_ARGUMENT);
  own.dl_tensor.dtype.lanes = 1;
  own.dl_tensor.device.type = 2;
  CHECK(sl_tensor_from_dlpack(&own, &v, NULL) == SL_INVALID_ARGUMENT);
  own.dl_tensor.device.type = 1;
  own.dl_tensor.ndim = -1;
  CHECK(sl_tensor_from_dlpack(&own, &v, NULL) == SL_INVALID_ARGUMENT);
  own.dl_tensor.ndim = 1;
  own.dl_tensor.data = NULL;
  CHECK(sl_tensor_from_dlpack(&own, &v, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_tensor_from_dlpack(NULL, &v, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_tensor_from_dlpack(&own, NULL, NULL) == SL_INVALID_ARGUMENT);
  CHECK(sl_tensor_to_dlpack(NULL, &out, NULL) == SL_INVALID_ARGUMENT && out == NULL);
  CHECK(deleted == 2);
}

void check_files(sl_module* module, const char* path) {
  loading(path);
  extra_files(module);
  saving(module, path);
  copies();
  overlaps();
  dlpack(module);
}

int file_failures(void) { return failures; }
