// The C API: errors. Turns exceptions into a status and a handle that explains it.
#include "capi.h"

using namespace scriptlang;
using namespace scriptlang::capi;

namespace scriptlang::capi {

namespace {

sl_status status_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::ArchiveError: return SL_ARCHIVE_ERROR;
    case ErrorKind::MissingOperator: return SL_MISSING_OPERATOR;
    case ErrorKind::LimitError: return SL_LIMIT;
    case ErrorKind::MemoryError: return SL_OUT_OF_MEMORY;
    case ErrorKind::Cancelled: return SL_CANCELLED;
    case ErrorKind::RuntimeError:
    case ErrorKind::ValueError:
    case ErrorKind::TypeError:
    case ErrorKind::IndexError:
    case ErrorKind::KeyError:
    case ErrorKind::NotImplementedError:
    case ErrorKind::ZeroDivisionError:
    case ErrorKind::Raised: return SL_RUN_ERROR;
  }
  return SL_RUN_ERROR;
}

}  // namespace

sl_status report(sl_error** error, sl_status status, const char* class_name, const char* message,
                 const char* stack) noexcept {
  if (!error) return status;
  *error = nullptr;
  try {
    *error = new sl_error{status, class_name, message, stack};
  } catch (...) {  // no memory for the error: the caller gets the status only
  }
  return status;
}

sl_status misuse(sl_error** error, const char* what) noexcept {
  return report(error, SL_INVALID_ARGUMENT, "ValueError", what);
}

sl_status report_current(sl_error** error) noexcept {
  try {
    throw;
  } catch (const Misuse& wrong) { return misuse(error, wrong.what); } catch (const Error& e) {
    std::string stack;
    try {
      for (const ErrorFrame& f : e.stack) {
        stack += f.function;
        if (f.pc >= 0) stack += concat(" at instruction ", f.pc);
        stack += '\n';
      }
    } catch (...) {  // no memory for the whole stack: a part of it is reported
    }
    const char* name = e.class_name.empty() ? error_kind_name(e.kind) : e.class_name.c_str();
    return report(error, status_of(e.kind), name, e.message.c_str(), stack.c_str());
  } catch (const std::bad_alloc&) {
    return report(error, SL_OUT_OF_MEMORY, "MemoryError", "out of memory");
  } catch (const std::length_error&) {
    return report(error, SL_OUT_OF_MEMORY, "MemoryError", "out of memory");
  } catch (const std::exception& e) {
    return report(error, SL_RUN_ERROR, "RuntimeError", e.what());
  } catch (...) { return report(error, SL_RUN_ERROR, "RuntimeError", "an unknown error"); }
}

}  // namespace scriptlang::capi

void sl_error_release(sl_error* error) { delete error; }
sl_status sl_error_status(const sl_error* error) { return error ? error->status : SL_OK; }
const char* sl_error_class(const sl_error* error) { return error ? error->class_name.c_str() : ""; }
const char* sl_error_message(const sl_error* error) { return error ? error->message.c_str() : ""; }
const char* sl_error_stack(const sl_error* error) { return error ? error->stack.c_str() : ""; }
sl_error* sl_error_make(const char* class_name, const char* message) {
  sl_error* error = nullptr;
  report(&error, SL_RUN_ERROR, class_name && class_name[0] ? class_name : "RuntimeError",
         message ? message : "");
  return error;
}
