/* A client in C99: tensors of every type, strides, and memory of the caller and of an allocator. */
#include <scriptlang/scriptlang.h>
#include <stdlib.h>

#include "check.h"
#include "client.h"

struct type {
  sl_dtype dtype;
  size_t bytes;
};
static const struct type types[] = {
    {SL_UINT8, 1},     {SL_INT8, 1},      {SL_INT16, 2},       {SL_INT32, 4},
    {SL_INT64, 8},     {SL_FLOAT16, 2},   {SL_FLOAT32, 4},     {SL_FLOAT64, 8},
    {SL_COMPLEX32, 4}, {SL_COMPLEX64, 8}, {SL_COMPLEX128, 16}, {SL_BOOL8, 1},
    {SL_BFLOAT16, 2},  {SL_UINT16, 2},    {SL_UINT32, 4},      {SL_UINT64, 8}};
enum { kTypes = sizeof types / sizeof *types };

static int released = 0;
static void count_release(void* user) { released += *(int*)user; }

static int has(const sl_value* t, sl_dtype dtype, size_t rank, int64_t size, int64_t stride) {
  sl_dtype type;
  size_t ndim;
  const int64_t *sizes, *strides;
  if (sl_tensor_info(t, &type, &ndim, &sizes, &strides) != SL_OK) return 0;
  return type == dtype && ndim == rank &&
         (rank == 0 || (sizes[rank - 1] == size && strides[rank - 1] == stride));
}

static void every_type(sl_module* m) {
  int64_t shape[] = {2, 3};
  uint64_t memory[12]; /* of the widest type */
  int k, one = 1;
  memset(memory, 1, sizeof memory);
  for (k = 0; k < kTypes; ++k) {
    sl_dtype dtype = types[k].dtype;
    sl_value *v, *same, *turned, *plain, *copy;
    released = 0;
    v = sl_tensor_view(memory, dtype, shape, 2, count_release, &one);
    CHECK(sl_value_kind(v) == SL_TENSOR && has(v, dtype, 2, 3, 1));
    CHECK(sl_tensor_data(v) == memory);
    same = give(m, "tensor", &v, 1);
    CHECK(sl_tensor_data(same) == memory);
    turned = give(m, "transposed", &v, 1);
    CHECK(has(turned, dtype, 2, 2, 3) && sl_tensor_data(turned) == memory);
    plain = sl_tensor_contiguous(turned);
    CHECK(has(plain, dtype, 2, 2, 1) && sl_tensor_data(plain) != memory);
    CHECK(memcmp(sl_tensor_data(plain), memory, 6 * types[k].bytes) == 0);
    copy = sl_tensor_contiguous(same);
    CHECK(sl_tensor_data(copy) == memory);
    sl_value_release(copy);
    sl_value_release(v);
    sl_value_release(same);
    CHECK(released == 0); /* a view of it is left */
    sl_value_release(turned);
    CHECK(released == 1);
    sl_value_release(plain);
    copy = sl_tensor_copy(memory, dtype, shape, 2);
    CHECK(has(copy, dtype, 2, 3, 1) && sl_tensor_data(copy) != memory);
    CHECK(memcmp(sl_tensor_data(copy), memory, 6 * types[k].bytes) == 0);
    sl_value_release(copy);
  }
}

/* A program takes types as numbers, and they are the header's. */
static void types_are_numbers(sl_module* m) {
  float x = 3;
  int k;
  for (k = 0; k < kTypes; ++k) {
    sl_value *arguments[2], *result, *number, *made;
    int64_t told = -1;
    if (types[k].dtype == SL_COMPLEX32) continue; /* is not computed with */
    arguments[0] = sl_tensor_view(&x, SL_FLOAT32, NULL, 0, NULL, NULL);
    arguments[1] = sl_value_int(types[k].dtype);
    result = give(m, "dtype", arguments, 2);
    number = sl_value_item(result, 0);
    CHECK(sl_value_get_int(number, &told) == SL_OK && told == SL_FLOAT32);
    made = sl_value_item(result, 1);
    CHECK(has(made, types[k].dtype, 0, 0, 0));
    sl_value_release(made);
    sl_value_release(number);
    sl_value_release(result);
    sl_value_release(arguments[0]);
    sl_value_release(arguments[1]);
  }
}

/* No tensor, and the memory stays with the caller. */
static void refused(void* data, int dtype, const int64_t* sizes, size_t ndim) {
  int one = 1;
  released = 0;
  CHECK(sl_tensor_view(data, (sl_dtype)dtype, sizes, ndim, count_release, &one) == NULL);
  CHECK(sl_tensor_copy(data, (sl_dtype)dtype, sizes, ndim) == NULL);
  CHECK(released == 0);
}

static void bad_tensors(void) {
  static const int wrong[] = {-1, 12, 13, 14, 16, 26, 30, 127, 256, 261, -2147483647};
  int64_t good[] = {4}, negative[] = {-1}, huge[] = {INT64_MAX}, wide[] = {1 << 30, 1 << 30, 16};
  int64_t many[65], none[] = {0, 1 << 30}, zero_less[] = {0, -1}, far[] = {0, INT64_MAX};
  double memory[4] = {0, 0, 0, 0};
  unsigned char bools[4] = {0, 1, 2, 1};
  size_t k;
  sl_value* v;
  for (k = 0; k < 65; ++k) many[k] = 1;
  for (k = 0; k < sizeof wrong / sizeof *wrong; ++k) refused(memory, wrong[k], good, 1);
  refused(memory, SL_UINT8, negative, 1);
  refused(memory, SL_FLOAT64, huge, 1);
  refused(memory, SL_FLOAT64, wide, 3);
  refused(memory, SL_UINT8, many, 65);
  refused(memory, SL_UINT8, many, SIZE_MAX);
  refused(memory, SL_UINT8, zero_less, 2);
  refused(memory, SL_UINT8, far, 2); /* other sizes than 0 multiply to 2^55 at most */
  refused(NULL, SL_UINT8, good, 1);
  refused(memory, SL_UINT8, NULL, 1);
  refused(bools, SL_BOOL8, good, 1);
  CHECK(sl_tensor_view((char*)memory + 1, SL_FLOAT32, good, 1, NULL, NULL) == NULL);
  v = sl_tensor_copy((char*)memory + 1, SL_FLOAT32, good, 1); /* is copied as bytes */
  CHECK(v != NULL);
  sl_value_release(v);
  v = sl_tensor_view(memory, SL_UINT8, many, 16, NULL, NULL);
  CHECK(has(v, SL_UINT8, 16, 1, 1));
  sl_value_release(v);
  v = sl_tensor_view(NULL, SL_UINT8, none, 2, NULL, NULL);
  CHECK(v != NULL);
  sl_value_release(v);
}

static void strides(sl_module* m) {
  float memory[12];
  int64_t shape[] = {3, 2}, steps[] = {4, 2}, expanded[] = {0, 1}, far[] = {4, 4}, back[] = {4, -1};
  int64_t overflow[] = {INT64_MAX, INT64_MAX}, empty[] = {0, 2}, huge[] = {INT64_MAX, INT64_MAX};
  sl_value *v, *plain, *arguments[2];
  size_t bytes = sizeof memory;
  int k, one = 1;
  const float* at;
  for (k = 0; k < 12; ++k) memory[k] = (float)k;
  released = 0;
  v = sl_tensor_strided(memory, bytes, SL_FLOAT32, shape, steps, 2, count_release, &one);
  CHECK(has(v, SL_FLOAT32, 2, 2, 2) && sl_tensor_data(v) == memory);
  plain = sl_tensor_contiguous(v);
  at = (const float*)sl_tensor_data(plain);
  CHECK(at[0] == 0 && at[1] == 2 && at[2] == 4 && at[5] == 10);
  sl_value_release(plain);
  arguments[0] = v;
  arguments[1] = sl_value_double(-1);
  plain = give(m, "fill", arguments, 2); /* programs write to it, and beside it nothing */
  CHECK(memory[0] == -1 && memory[1] == 1 && memory[10] == -1 && memory[11] == 11);
  sl_value_release(plain);
  sl_value_release(v);
  sl_value_release(arguments[1]);
  CHECK(released == 1);
  v = sl_tensor_strided(memory, 8, SL_FLOAT32, shape, expanded, 2, count_release, &one);
  CHECK(v != NULL);
  sl_value_release(v);
  v = sl_tensor_strided(NULL, 0, SL_FLOAT32, empty, steps, 2, count_release, &one);
  CHECK(v != NULL);
  sl_value_release(v);
  CHECK(released == 3);
  CHECK(!sl_tensor_strided(memory, bytes, SL_FLOAT32, shape, far, 2, count_release, &one));
  CHECK(!sl_tensor_strided(memory, bytes, SL_FLOAT32, shape, back, 2, count_release, &one));
  CHECK(!sl_tensor_strided(memory, bytes, SL_FLOAT32, empty, back, 2, count_release, &one));
  CHECK(!sl_tensor_strided(memory, bytes, SL_FLOAT32, shape, overflow, 2, count_release, &one));
  CHECK(!sl_tensor_strided(memory, bytes, SL_FLOAT32, huge, expanded, 2, count_release, &one));
  CHECK(!sl_tensor_strided(memory, bytes - 8, SL_FLOAT32, shape, steps, 2, count_release, &one));
  CHECK(!sl_tensor_strided(memory, SIZE_MAX, SL_FLOAT32, shape, steps, 2, count_release, &one));
  CHECK(!sl_tensor_strided(memory, bytes, SL_FLOAT32, shape, NULL, 2, count_release, &one));
  CHECK(!sl_tensor_strided(memory, bytes, SL_FLOAT32, NULL, steps, 2, count_release, &one));
  CHECK(!sl_tensor_strided(NULL, bytes, SL_FLOAT32, shape, steps, 2, count_release, &one));
  CHECK(released == 3);
}

struct counts {
  int64_t blocks, asked, refuse_at;
  int bad;
};
static void* allocate(size_t bytes, void* user) {
  struct counts* c = (struct counts*)user;
  char* block;
  uintptr_t at;
  if (++c->asked == c->refuse_at) return NULL;
  if (bytes == 0) c->bad = 1;
  block = (char*)malloc(bytes + 64 + sizeof(void*));
  if (!block) return NULL;
  ++c->blocks;
  at = ((uintptr_t)block + sizeof(void*) + 63) / 64 * 64;
  ((void**)at)[-1] = block;
  return (void*)at;
}
static void release(void* block, size_t bytes, void* user) {
  struct counts* c = (struct counts*)user;
  (void)bytes;
  if (!block) return;
  --c->blocks;
  free(((void**)block)[-1]);
}
static void* allocate_badly(size_t bytes, void* user) {
  (void)bytes;
  return (char*)allocate(256, user) + 8;
}
static void release_badly(void* block, size_t bytes, void* user) {
  if (block) release((char*)block - 8, bytes, user);
}

static void allocators(sl_module* m) {
  struct counts counts = {0, 0, 0, 0};
  sl_allocator own = {allocate, release, NULL}, bad = {allocate_badly, release_badly, NULL};
  sl_allocator half = {allocate, NULL, NULL};
  float x[4] = {1, 2, 3, 4};
  int64_t shape[] = {2, 2}, empty[] = {0}, refusing = 1;
  sl_value *v, *w, *result;
  sl_error* error = NULL;
  own.user = bad.user = &counts;
  CHECK(sl_set_allocator(&half) == SL_INVALID_ARGUMENT);
  CHECK(sl_set_allocator(&own) == SL_OK);
  v = sl_tensor_copy(x, SL_FLOAT32, shape, 2);
  w = sl_tensor_copy(NULL, SL_FLOAT32, empty, 1);
  CHECK(v && w && counts.blocks == 2 && !counts.bad);
  sl_value_release(w);
  for (;; ++refusing) { /* until no allocation of the call is refused */
    sl_status status;
    counts.asked = 0;
    counts.refuse_at = refusing;
    result = NULL;
    status = sl_call(m, "forward", &v, 1, NULL, &result, &error);
    if (status == SL_OK) break;
    CHECK(status == SL_OUT_OF_MEMORY && !result && counts.blocks == 1);
    CHECK(strcmp(sl_error_class(error), "MemoryError") == 0);
    CHECK(strstr(sl_error_message(error), "the allocator refused 16 bytes") != NULL);
    sl_error_release(error);
  }
  /* A group of operators that is refused memory may go on with less, one by one. */
  CHECK((refusing > 1 || counts.asked > 1) && error == NULL);
  sl_value_release(result);
  CHECK(counts.blocks == 1);
  CHECK(sl_set_allocator(&bad) == SL_OK);
  CHECK(sl_tensor_copy(x, SL_FLOAT32, shape, 2) == NULL && counts.blocks == 1);
  CHECK(sl_set_allocator(NULL) == SL_OK);
  sl_value_release(v); /* goes back to where it came from */
  CHECK(counts.blocks == 0);
}

void check_tensors(sl_module* module) {
  every_type(module);
  types_are_numbers(module);
  bad_tensors();
  strides(module);
  allocators(module);
}

int tensor_failures(void) { return failures; }
