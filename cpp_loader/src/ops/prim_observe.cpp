// The operator scriptlang::observe, which profiled programs call before and after each operator.
#include "observe.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <utility>

#include "../../kernels/thread.h"
#include "op.h"

namespace scriptlang {

namespace observe {

namespace {

constexpr size_t kMostNumbers = size_t{1} << 24;  // 128 MB; later events are dropped

std::atomic<bool> is_on{false};
std::atomic<int64_t> threads{0};
std::mutex mutex;
// Guarded by the mutex. Never destroyed, so that no destructor runs at exit.
std::vector<int64_t>& notes() {
  static auto* const kept = new std::vector<int64_t>;
  return *kept;
}

int64_t this_thread() {
  SL_THREAD_WORD int64_t number = 0;
  if (number == 0) number = threads.fetch_add(1, std::memory_order_relaxed) + 1;
  return number - 1;
}

// Adds the tensors of a value: a tensor, or a list of some.
void add(const Value& value, size_t count) {
  constexpr size_t kMostItems = 64;
  if (value.is_list()) {
    const List& list = value.as_list();
    for (size_t k = 0; k < std::min(list.size(), kMostItems); ++k) {
      const Value item = list.get(k);
      if (item.is_tensor()) add(item, count);
    }
  }
  if (!value.is_tensor() || !value.as_tensor().defined()) return;
  const Tensor& t = value.as_tensor();
  notes().insert(notes().end(), {int64_t(t.dtype()), t.dim()});
  for (int64_t d = 0; d < t.dim(); ++d) notes().push_back(t.size(d));
  ++notes()[count];
}

void note(Args args) {
  using Clock = std::chrono::steady_clock;
  const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(  //
      Clock::now().time_since_epoch());
  const int64_t thread = this_thread();
  std::lock_guard<std::mutex> lock(mutex);
  if (notes().size() > kMostNumbers) return;
  notes().insert(notes().end(), {args.integer(0), int64_t(now.count()), thread, 0});
  const size_t count = notes().size() - 1;
  for (int k = 1; k < args.size(); ++k) add(args[k], count);
}

}  // namespace

void start() {
  std::lock_guard<std::mutex> lock(mutex);
  notes().clear();
  is_on.store(true, std::memory_order_relaxed);
}

std::vector<int64_t> take() {
  std::lock_guard<std::mutex> lock(mutex);
  is_on.store(false, std::memory_order_relaxed);
  return std::exchange(notes(), {});
}

}  // namespace observe

SL_OP(scriptlang_observe) {
  if (observe::is_on.load(std::memory_order_relaxed)) observe::note(args);
}

}  // namespace scriptlang
