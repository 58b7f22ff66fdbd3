/* A plug-in in C99 with operators that custom.pt calls: my::scale and my::split. */
#include <scriptlang/plugin.h>

#include <stdlib.h>

static sl_status scale(void* user, sl_value* const* arguments, size_t count, sl_value** results,
                       size_t result_count, sl_error** error) {
  const int64_t* sizes = NULL;
  size_t ndim = 0, size = 1, k;
  int64_t by = 0;
  float* data;
  sl_status status;
  (void)user;
  (void)count;
  (void)result_count;
  status = sl_tensor_info(arguments[0], NULL, &ndim, &sizes, NULL);
  if (status == SL_OK) status = sl_value_get_int(arguments[1], &by);
  if (status != SL_OK) return status;
  if (by < 0) {
    *error = sl_error_make("ValueError", "k is negative");
    return SL_RUN_ERROR;
  }
  for (k = 0; k < ndim; ++k) size *= (size_t)sizes[k];
  data = malloc(size * sizeof *data + 1);
  if (!data) return SL_OUT_OF_MEMORY;
  status = sl_tensor_read(arguments[0], SL_FLOAT32, data, size * sizeof *data);
  for (k = 0; k < size && status == SL_OK; ++k) data[k] *= (float)by;
  if (status == SL_OK) results[0] = sl_tensor_copy(data, SL_FLOAT32, sizes, ndim);
  free(data);
  return status != SL_OK ? status : results[0] ? SL_OK : SL_OUT_OF_MEMORY;
}

static sl_status split(void* user, sl_value* const* arguments, size_t count, sl_value** results,
                       size_t result_count, sl_error** error) {
  (void)user;
  (void)count;
  (void)result_count;
  (void)error;
  results[0] = sl_value_share(arguments[0]);
  results[1] = sl_tensor_to(arguments[0], SL_FLOAT64);
  return results[0] && results[1] ? SL_OK : SL_OUT_OF_MEMORY;
}

SL_PLUGIN(error) {
  sl_status status =
      sl_register_operator("my::scale(Tensor x, int k=1) -> Tensor", scale, NULL, error);
  if (status != SL_OK) return status;
  return sl_register_operator("my::split(Tensor x, int k) -> (Tensor, Tensor)", split, NULL, error);
}
