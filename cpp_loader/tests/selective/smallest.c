/* The program whose size is measured: it loads an archive and calls it on ones.
     smallest MODEL [SIZE...] [=NUMBER]
   The sizes are those of the tensor, a number is the second argument. It prints an element. */
#include <scriptlang/scriptlang.h>
#include <stdio.h>
#include <stdlib.h>

static int failed(sl_error* error) {
  fprintf(stderr, "%s\n", sl_error_message(error));
  return 1;
}

int main(int count, char** words) {
  sl_module* module;
  sl_error* error = NULL;
  sl_value *arguments[2], *result;
  size_t given = 1, ndim = 0, elements = 1;
  int64_t sizes[8];
  float* ones;
  if (count < 2 || count > 10) return 2;
  if (sl_load_file(words[1], &module, &error) != SL_OK) return failed(error);
  for (int k = 2; k < count; ++k) {
    if (words[k][0] == '=' && given < 2) {
      arguments[given++] = sl_value_int(atoll(words[k] + 1));
    } else {
      sizes[ndim++] = atoll(words[k]);
      elements *= (size_t)sizes[ndim - 1];
    }
  }
  ones = malloc(elements * sizeof *ones);
  if (ones == NULL) return 2;
  for (size_t k = 0; k < elements; ++k) ones[k] = 1;
  arguments[0] = sl_tensor_view(ones, SL_FLOAT32, sizes, ndim, NULL, NULL);
  if (sl_call(module, "forward", arguments, given, NULL, &result, &error) != SL_OK) {
    return failed(error);
  }
  printf("%.6g\n", (double)*(const float*)sl_tensor_data(result));
  sl_value_release(result);
  for (size_t k = 0; k < given; ++k) sl_value_release(arguments[k]);
  sl_module_release(module);
  free(ones);
  return 0;
}
