// The pool of worker threads behind parallel_for.
#include "parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "scratch_limit.h"

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#define SL_HAS_FORK 1
#endif
#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

namespace scriptlang::kernels {

namespace {

constexpr int kMaxThreads = 256;
constexpr int kChunksPerThread = 4;
// Long chunks have a multiple of this many elements, so that two threads rarely share a cache line.
constexpr int64_t kLine = 64;
// How long an idle worker spins before it sleeps: longer than the gap between two operators of a
// network, but short enough to spare a shared machine.
constexpr auto kSpin = std::chrono::microseconds(50);

inline void pause_cpu() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

thread_local bool inside_body = false;

// Runs a range in slices, between which the thread checks whether its call is to stop. A grain is
// some ten thousand operations; if the grain is one element, this may be any amount of work.
void run_slices(ParallelBody body, void* context, int64_t begin, int64_t end, int64_t grain) {
  constexpr int64_t kSliceGrains = 4;
  if (grain > 1 && end - begin <= 2 * kSliceGrains * grain) {
    body(context, begin, end);
    return worked(end - begin <= grain ? kBudget / 64 : kBudget / 2);
  }
  int64_t slice = grain > 1 ? kSliceGrains * grain : 1;
  if (slice >= 16 * kLine) slice = (slice + kLine - 1) / kLine * kLine;
  for (int64_t at = begin; at < end; at += slice) {
    body(context, at, std::min(end, at + slice));
    worked_long();
  }
}

// Runs one job at a time. Its chunks are split into one share of neighbouring chunks per thread. A
// thread takes its own share from the front, so that from operator to operator it works on data and
// weights that its caches hold; then it takes what is left of other shares from the back. A ticket
// holds the job's serial number and the remaining chunks of a share, so a worker that was
// descheduled with an old ticket cannot claim a chunk of a newer job.
class Pool {
 public:
  bool try_run(int64_t count, int64_t grain, ParallelBody body, void* context, int threads) {
    std::unique_lock<std::mutex> only(job_mutex_, std::try_to_lock);
    if (!only.owns_lock()) return false;
    grow(threads - 1);
    int64_t chunks = std::min<int64_t>((count + grain - 1) / grain, threads * kChunksPerThread);
    if (chunks > threads) chunks -= chunks % threads;
    int64_t length = (count + chunks - 1) / chunks;
    if (length >= 16 * kLine) length = (length + kLine - 1) / kLine * kLine;
    chunks = (count + length - 1) / length;
    body_.store(body, std::memory_order_relaxed);
    context_.store(context, std::memory_order_relaxed);
    count_.store(count, std::memory_order_relaxed);
    length_.store(length, std::memory_order_relaxed);
    threads_.store(threads, std::memory_order_relaxed);
    grain_.store(grain, std::memory_order_relaxed);
    stop_.store(stopping::here, std::memory_order_relaxed);
    if (room_here != nullptr) {
      MemoryRoom room = room_here();
      limit_.store(room.limit, std::memory_order_relaxed);
      used_.store(room.used, std::memory_order_relaxed);
    }
    failure_ = nullptr;
    pending_.store(chunks, std::memory_order_relaxed);
    serial_ += 1;
    for (int share = 0; share < threads; ++share) {
      uint64_t first = static_cast<uint64_t>(chunks * share / threads);
      uint64_t last = static_cast<uint64_t>(chunks * (share + 1) / threads);
      shares_[share].ticket.store(serial_ << kSerialShift | last << kChunkBits | first,
                                  std::memory_order_seq_cst);
    }
    if (sleeping_.load(std::memory_order_seq_cst) > 0) {
      std::lock_guard<std::mutex> lock(sleep_mutex_);
      wake_.notify_all();
    }
    while (claim(0)) {}
    for (int spins = 0; pending_.load(std::memory_order_acquire) != 0; ++spins) {
      if (spins < 4000) pause_cpu();
      else std::this_thread::yield();
      // Workers see the reason found here and stop early. This thread still waits for them, because
      // they use its data.
      if (stopping::here && spins % 4096 == 4095) stopping::here->look(!stopping::is_helper);
    }
    if (failure_) std::rethrow_exception(failure_);
    return true;
  }

 private:
  static constexpr int kChunkBits = 12;  // kMaxThreads * kChunksPerThread fits
  static constexpr int kSerialShift = 2 * kChunkBits;
  static constexpr uint64_t kChunkMask = (uint64_t{1} << kChunkBits) - 1;

  struct alignas(64) Share {
    std::atomic<uint64_t> ticket{0};
  };

  static uint64_t first_of(uint64_t ticket) noexcept { return ticket & kChunkMask; }
  static uint64_t last_of(uint64_t ticket) noexcept { return ticket >> kChunkBits & kChunkMask; }

  bool has_work() const noexcept {
    int threads = threads_.load(std::memory_order_relaxed);
    return std::any_of(shares_, shares_ + threads, [](const Share& share) {
      uint64_t ticket = share.ticket.load(std::memory_order_seq_cst);
      return first_of(ticket) < last_of(ticket);
    });
  }

  // Claims and runs a chunk as thread number `thread` (0 is the caller). Returns false if none is
  // left.
  bool claim(int thread) {
    int threads = threads_.load(std::memory_order_relaxed);
    for (int k = 0; k < threads; ++k) {
      if (claim_of((thread + k) % threads, k == 0)) return true;
    }
    return false;
  }

  bool claim_of(int share, bool own) {
    std::atomic<uint64_t>& place = shares_[share].ticket;
    uint64_t ticket = place.load(std::memory_order_acquire);
    for (;;) {
      uint64_t first = first_of(ticket), last = last_of(ticket);
      if (first >= last) return false;
      ParallelBody body = body_.load(std::memory_order_relaxed);
      void* context = context_.load(std::memory_order_relaxed);
      int64_t length = length_.load(std::memory_order_relaxed);
      int64_t count = count_.load(std::memory_order_relaxed);
      int64_t grain = grain_.load(std::memory_order_relaxed);
      Stop* stop = stop_.load(std::memory_order_relaxed);
      MemoryRoom room{limit_.load(std::memory_order_relaxed),
                      used_.load(std::memory_order_relaxed)};
      uint64_t taken = own ? ticket + 1 : ticket - (uint64_t{1} << kChunkBits);
      if (!place.compare_exchange_weak(ticket, taken, std::memory_order_acq_rel)) continue;
      int64_t begin = static_cast<int64_t>(own ? first : last - 1) * length;
      StopScope scope(stop);
      if (stopping::is_helper && set_room != nullptr) set_room(room);
      run_chunk(body, context, begin, std::min(count, begin + length), grain);
      return true;
    }
  }

  // If the call is to stop, the chunk is skipped.
  void run_chunk(ParallelBody body, void* context, int64_t begin, int64_t end, int64_t grain) {
    inside_body = true;
    try {
      if (stopping::here && stopping::here->reason() != Stop::kNone) throw Stopped();
      run_slices(body, context, begin, end, grain);
    } catch (...) {
      std::lock_guard<std::mutex> lock(failure_mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    inside_body = false;
    pending_.fetch_sub(1, std::memory_order_release);
  }

  void grow(int workers) {
    while (workers_ < workers) {
      try {
        std::thread(&Pool::work, this, workers_).detach();
      } catch (...) {
        return;  // cannot start more threads: the others do their work
      }
      workers_ += 1;
    }
  }

  bool takes_part(int index) const noexcept {
    return index + 1 < threads_.load(std::memory_order_relaxed);
  }

  void work(int index) {
    stopping::is_helper = true;
    auto idle_since = std::chrono::steady_clock::now();
    for (;;) {
      if (takes_part(index) && claim(index + 1)) {
        idle_since = std::chrono::steady_clock::now();
        continue;
      }
      for (int i = 0; i < 64; ++i) pause_cpu();
      if (std::chrono::steady_clock::now() - idle_since < kSpin) continue;
      std::unique_lock<std::mutex> lock(sleep_mutex_);
      sleeping_.fetch_add(1, std::memory_order_seq_cst);
      wake_.wait(lock, [&] { return has_work() && takes_part(index); });
      sleeping_.fetch_sub(1, std::memory_order_relaxed);
      idle_since = std::chrono::steady_clock::now();
    }
  }

  std::mutex job_mutex_, sleep_mutex_, failure_mutex_;
  std::condition_variable wake_;
  Share shares_[kMaxThreads];
  std::atomic<int64_t> pending_{0};
  std::atomic<ParallelBody> body_{nullptr};
  std::atomic<void*> context_{nullptr};
  std::atomic<int64_t> count_{0}, length_{0}, grain_{1};
  std::atomic<Stop*> stop_{nullptr};
  std::atomic<int64_t> limit_{0}, used_{0};
  std::atomic<int> threads_{1}, sleeping_{0};
  std::exception_ptr failure_;
  uint64_t serial_ = 0;
  int workers_ = 0;
};

// Never destroyed: its detached threads may outlive the destructors of static objects.
std::atomic<Pool*> the_pool{nullptr};
std::atomic<int> wanted_threads{0};

Pool& pool() {
  Pool* current = the_pool.load(std::memory_order_acquire);
  if (current != nullptr) return *current;
  Pool* fresh = new Pool;
  if (the_pool.compare_exchange_strong(current, fresh, std::memory_order_acq_rel)) {
#ifdef SL_HAS_FORK
    // A forked child has none of the threads, and its copies of the parent's locks may be held.
    static std::once_flag once;
    std::call_once(once, [] {
      pthread_atfork(nullptr, nullptr, [] {
        the_pool.store(nullptr, std::memory_order_relaxed);
        inside_body = false;
      });
    });
#endif
    return *fresh;
  }
  delete fresh;
  return *current;
}

}  // namespace

int thread_count() noexcept {
#if defined(SL_NO_THREADS)  // then no pool is linked
  return 1;
#endif
  int wanted = wanted_threads.load(std::memory_order_relaxed);
  if (wanted > 0) return wanted;
  static const int machine =
      std::clamp<int>(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaxThreads);
  return machine;
}

void set_thread_count(int count) noexcept {
  wanted_threads.store(std::clamp(count, 1, kMaxThreads), std::memory_order_relaxed);
}

void parallel_run(int64_t count, int64_t grain, ParallelBody body, void* context) {
  if (count <= 0) return;
  // One grain is short. A caller with many of them checks the time in between.
  if (count <= grain && grain > 1) return body(context, 0, count);
  grain = std::max<int64_t>(grain, 1);
  if (count > grain && !inside_body) {
    int threads = thread_count();
    if (threads > 1 && pool().try_run(count, grain, body, context, threads)) return;
  }
  run_slices(body, context, 0, count, grain);
}

}  // namespace scriptlang::kernels
