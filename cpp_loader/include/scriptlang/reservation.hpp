// Calls that allocate no memory from the system: a Reservation is one block of memory for calls of
// a method with arguments of the example's sizes. scriptlang.h states the conditions (sl_reserve).
//
//   Reservation reserved(model, "forward", {x});
//   const sl_value* y = reserved.call({x.handle()}).value();  // valid until the next call
#pragma once

#include <initializer_list>
#include <memory>
#include <vector>

#include "module.hpp"

namespace scriptlang {
inline namespace api {

class Reservation {
 public:
  Reservation() = default;
  // Uses a new block if `block` is null, otherwise the caller's, which must be aligned to 64 bytes
  // and outlive the reservation and all values in it.
  Reservation(const Module& module, const char* method, const std::vector<Value>& example,
              void* block = nullptr, size_t bytes = 0)
      : Reservation(make(module, method, example, block, bytes).value()) {}
  static Result<Reservation> make(const Module& module, const char* method,
                                  const std::vector<Value>& example, void* block = nullptr,
                                  size_t bytes = 0) {
    std::vector<sl_value*> handles = Value::handles_of(example);
    auto made = detail::made<sl_reservation>([&](sl_reservation** place, sl_error** error) {
      if (!block) {
        return sl_reserve(module.handle(), method, handles.data(), handles.size(), place, error);
      }
      return sl_reserve_memory(module.handle(), method, handles.data(), handles.size(), block,
                               bytes, place, error);
    });
    if (!made) return made.error();
    Reservation reservation;
    reservation.handle_.reset(*made);
    return reservation;
  }

  // The result belongs to the reservation, and is valid until the next call or its destruction.
  Result<const sl_value*> call(std::initializer_list<sl_value*> arguments) {
    return call(arguments.begin(), arguments.size());
  }
  Result<const sl_value*> call(sl_value* const* arguments, size_t count) {
    const sl_value* result = nullptr;
    sl_error* error = nullptr;
    sl_status status = sl_call_reserved(handle_.get(), arguments, count, nullptr, &result, &error);
    if (status != SL_OK) return detail::taken(status, error);
    return result;
  }

  size_t bytes() const { return sl_reservation_bytes(handle_.get()); }
  size_t planned() const { return sl_reservation_planned(handle_.get()); }
  int64_t misses() const { return sl_reservation_misses(handle_.get()); }

 private:
  struct Release {
    void operator()(sl_reservation* r) const { sl_reservation_release(r); }
  };
  std::unique_ptr<sl_reservation, Release> handle_;
};

}  // namespace api
}  // namespace scriptlang
