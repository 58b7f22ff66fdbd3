/* Runs a network in C99: plain_c curve.pt 0 1.57 3.14 prints its value at each number, which is
 * close to the sine. Each call is checked; whatever is made is released. */
#include <scriptlang/scriptlang.h>

#include <stdio.h>
#include <stdlib.h>

/* Says why a call has failed. */
static int failed(const char* what, sl_error* error) {
  fprintf(stderr, "%s: %s: %s\n%s", what, sl_error_class(error), sl_error_message(error),
          sl_error_stack(error));
  sl_error_release(error);
  return 1;
}

static int run(sl_module* module, float* numbers, size_t count) {
  sl_error* error = NULL;
  sl_value *x, *y = NULL;
  int64_t size = (int64_t)count;
  size_t k;
  int status = 0;
  x = sl_tensor_view(numbers, SL_FLOAT32, &size, 1, NULL, NULL); /* no copy */
  if (sl_call(module, "forward", &x, 1, NULL, &y, &error) != SL_OK) {
    status = failed("forward", error);
  } else {
    float* values = malloc(count * sizeof *values);
    if (values && sl_tensor_read(y, SL_FLOAT32, values, count * sizeof *values) == SL_OK) {
      for (k = 0; k < count; ++k) printf("%.2f %.2f\n", (double)numbers[k], (double)values[k]);
    } else {
      status = 1;
    }
    free(values);
  }
  sl_value_release(y);
  sl_value_release(x);
  return status;
}

int main(int count, char** arguments) {
  sl_module* module = NULL;
  sl_error* error = NULL;
  float numbers[16];
  int k, status;
  if (count < 3 || count > 18) {
    fprintf(stderr, "usage: plain_c MODEL.pt NUMBER... (16 at most)\n");
    return 2;
  }
  for (k = 2; k < count; ++k) numbers[k - 2] = (float)atof(arguments[k]);
  if (sl_load_file(arguments[1], &module, &error) != SL_OK) return failed(arguments[1], error);
  status = run(module, numbers, (size_t)(count - 2));
  sl_module_release(module);
  return status;
}
