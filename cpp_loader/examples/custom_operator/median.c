/* An operator in C99. It is the same file in a plug-in and in a program; see CMakeLists.txt. */
#include "median.h"

#include <stdlib.h>
#include <string.h>

static int by_size(const void* a, const void* b) {
  const float x = *(const float*)a, y = *(const float*)b;
  return (x > y) - (x < y);
}

/* One row: `window` has room for `width` numbers. */
static void filter(const float* row, float* out, int64_t size, int64_t width, float* window) {
  const int64_t half = width / 2;
  for (int64_t k = 0; k < size; ++k) {
    const int64_t from = k < half ? 0 : k - half;
    const int64_t to = k + half < size ? k + half + 1 : size;
    const size_t count = (size_t)(to - from);
    memcpy(window, row + from, count * sizeof *window);
    qsort(window, count, sizeof *window, by_size);
    out[k] = window[count / 2];
  }
}

sl_status median(void* user, sl_value* const* arguments, size_t count, sl_value** results,
                 size_t result_count, sl_error** error) {
  const int64_t* sizes = NULL;
  size_t ndim = 0, numbers = 1;
  int64_t width = 0;
  float *from, *to, *window;
  sl_status status = sl_tensor_info(arguments[0], NULL, &ndim, &sizes, NULL);
  (void)user, (void)count, (void)result_count;
  if (status == SL_OK) status = sl_value_get_int(arguments[1], &width);
  if (status != SL_OK) return status;
  if (ndim == 0 || width < 1 || width > 1001 || width % 2 == 0) {
    *error = sl_error_make("ValueError", "median wants a dimension, and an odd width up to 1001");
    return SL_RUN_ERROR;
  }
  for (size_t k = 0; k < ndim; ++k) numbers *= (size_t)sizes[k];
  from = malloc((2 * numbers + (size_t)width) * sizeof *from);
  if (!from) return SL_OUT_OF_MEMORY;
  to = from + numbers;
  window = to + numbers;
  status = sl_tensor_read(arguments[0], SL_FLOAT32, from, numbers * sizeof *from);
  if (status == SL_OK) {
    const int64_t size = sizes[ndim - 1];
    for (size_t row = 0; numbers && row < numbers; row += (size_t)size) {
      filter(from + row, to + row, size, width, window);
    }
    results[0] = sl_tensor_copy(to, SL_FLOAT32, sizes, ndim);
    if (!results[0]) status = SL_OUT_OF_MEMORY;
  }
  free(from);
  return status;
}

#if defined(AS_PLUGIN)
SL_PLUGIN(error) { return sl_register_operator(MEDIAN_SCHEMA, median, NULL, error); }
#endif
