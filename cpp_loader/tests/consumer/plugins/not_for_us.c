/* Libraries that no host of today takes: KIND says what is wrong with this one. */
#include <scriptlang/plugin.h>

#if KIND == 1 /* of an ABI that was */
static sl_status start(const sl_host* host, sl_error** error) {
  (void)host;
  (void)error;
  return SL_OK;
}
SL_PLUGIN_EXPORT const sl_plugin_entry sl_plugin = {SL_PLUGIN_ABI - 1, sizeof(sl_host), start};
#elif KIND == 2 /* of one to come */
static sl_status start(const sl_host* host, sl_error** error) {
  (void)host;
  (void)error;
  return SL_OK;
}
SL_PLUGIN_EXPORT const sl_plugin_entry sl_plugin = {SL_PLUGIN_ABI + 1, sizeof(sl_host), start};
#elif KIND == 3 /* of a header with more functions */
static sl_status start(const sl_host* host, sl_error** error) {
  (void)host;
  (void)error;
  return SL_OK;
}
SL_PLUGIN_EXPORT const sl_plugin_entry sl_plugin = {SL_PLUGIN_ABI, sizeof(sl_host) + 8, start};
#elif KIND == 4 /* nothing of a plug-in */
SL_PLUGIN_EXPORT int sl_other;
int sl_other = 3;
#elif KIND == 5 /* nothing that starts it */
SL_PLUGIN_EXPORT const sl_plugin_entry sl_plugin = {SL_PLUGIN_ABI, sizeof(sl_host), 0};
#elif KIND == 6 /* it does not want to */
SL_PLUGIN(error) {
  *error = sl_error_make("ValueError", "no licence");
  return SL_RUN_ERROR;
}
#elif KIND == 7 /* it registers what there is */
static sl_status relu(void* user, sl_value* const* arguments, size_t count, sl_value** results,
                      size_t result_count, sl_error** error) {
  (void)user;
  (void)count;
  (void)result_count;
  (void)error;
  results[0] = sl_value_share(arguments[0]);
  return SL_OK;
}
SL_PLUGIN(error) { return sl_register_operator("aten::relu(Tensor x) -> Tensor", relu, 0, error); }
#endif
