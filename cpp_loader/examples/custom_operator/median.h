/* filters::median(Tensor x, int width=3) -> Tensor: the median of `width` neighbours along the last
 * dimension; at the ends there are fewer. */
#ifndef MEDIAN_H
#define MEDIAN_H

#if defined(AS_PLUGIN)
#include <scriptlang/plugin.h>
#else
#include <scriptlang/scriptlang.h>
#endif

#define MEDIAN_SCHEMA "filters::median(Tensor x, int width=3) -> Tensor"

#ifdef __cplusplus
extern "C" {
#endif
sl_status median(void* user, sl_value* const* arguments, size_t count, sl_value** results,
                 size_t result_count, sl_error** error);
#ifdef __cplusplus
}
#endif

#endif
