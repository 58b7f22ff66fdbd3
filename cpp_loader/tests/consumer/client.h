/* What the files of the C client share. */
#ifndef CLIENT_H
#define CLIENT_H

#include <scriptlang/scriptlang.h>

/* The result of a call that has to succeed. */
sl_value* give(sl_module* module, const char* method, sl_value* const* arguments, size_t count);

void check_values(sl_module* module);
void check_tensors(sl_module* module);
void check_calls(sl_module* module, const char* path);
void check_modules(sl_module* module); /* changes the module */
void check_files(sl_module* module, const char* path);
int value_failures(void), tensor_failures(void), module_failures(void), file_failures(void);

#endif
