// The thread pool and the working memory of kernels, and the size of a cache.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <vector>

#if defined(__unix__)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "../kernels/caches.h"
#include "../kernels/parallel.h"
#include "../kernels/scratch.h"
#include "../kernels/stop.h"
#include "harness.h"
#include "values/tensor.h"

using namespace scriptlang::kernels;

namespace {

// Every index once, whatever the threads do.
bool covers(int64_t count, int64_t grain) {
  std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) seen[size_t(i)].fetch_add(1);
  });
  for (auto& s : seen) {
    if (s.load() != 1) return false;
  }
  return true;
}

}  // namespace

TEST(every_index_is_visited_once) {
  for (int threads : {1, 2, 5}) {
    set_thread_count(threads);
    for (int64_t count : {1, 2, 7, 100, 4097}) {
      for (int64_t grain : {1, 3, 100, 5000}) CHECK(covers(count, grain));
    }
  }
  set_thread_count(2);
  for (int i = 0; i < 3000; ++i) CHECK(covers(16, 1));
}

// Work that would take minutes ends once the flag is set by another thread, or the time is over.
TEST(long_work_stops) {
  for (int threads : {1, 3}) {
    for (bool in_time : {false, true}) {
      set_thread_count(threads);
      std::atomic<bool> cancelled{false};
      std::atomic<int64_t> done{0};
      Stop stop;
      auto begin = Stop::Clock::now();
      if (in_time) stop.set_deadline(begin + std::chrono::milliseconds(50));
      else stop.set_cancelled(&cancelled);
      std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        cancelled = true;
      });
      bool stopped = false;
      try {
        StopScope scope(&stop);
        parallel_for(int64_t{1} << 40, 16384, [&](int64_t first, int64_t last) {
          volatile int64_t sum = 0;
          for (int64_t i = first; i < last; ++i) sum = sum + i;
          done.fetch_add(last - first);
        });
      } catch (const Stopped&) { stopped = true; }
      other.join();
      CHECK(stopped && done.load() > 0);
      CHECK(stop.reason() == (in_time ? Stop::kTime : Stop::kCancelled));
      CHECK(Stop::Clock::now() - begin < std::chrono::seconds(2));
      CHECK(covers(4097, 3));  // the pool is as it was
    }
  }
}

TEST(an_interrupt_is_asked_for_by_the_caller_alone) {
  set_thread_count(3);
  static std::atomic<int> asked{0}, elsewhere{0};
  static std::thread::id caller;
  caller = std::this_thread::get_id();
  Stop stop;
  stop.set_interrupted(
      [](void*) {
        if (std::this_thread::get_id() != caller) ++elsewhere;
        return ++asked == 3;
      },
      nullptr);
  bool stopped = false;
  try {
    StopScope scope(&stop);
    parallel_for(int64_t{1} << 40, 16384, [](int64_t first, int64_t last) {
      volatile int64_t sum = 0;
      for (int64_t i = first; i < last; ++i) sum = sum + i;
    });
  } catch (const Stopped&) { stopped = true; }
  CHECK(stopped && asked == 3 && elsewhere == 0 && stop.reason() == Stop::kInterrupted);
}

TEST(nested_and_concurrent_calls_end) {
  set_thread_count(3);
  std::atomic<int64_t> total{0};
  auto work = [&] {
    for (int i = 0; i < 50; ++i) {
      parallel_for(20, 1, [&](int64_t begin, int64_t end) {
        for (int64_t j = begin; j < end; ++j) {
          parallel_for(10, 1, [&](int64_t b, int64_t e) { total.fetch_add(e - b); });
        }
      });
    }
  };
  std::thread other(work);
  work();
  other.join();
  CHECK_EQ(total.load(), int64_t{2} * 50 * 20 * 10);
}

TEST(an_exception_reaches_the_caller_after_all_chunks) {
  set_thread_count(4);
  std::atomic<int> ended{0};
  bool caught = false;
  try {
    parallel_for(64, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        ended.fetch_add(1);
        if (i == 17) throw std::runtime_error("seventeen");
      }
    });
  } catch (const std::runtime_error& e) { caught = std::strcmp(e.what(), "seventeen") == 0; }
  CHECK(caught);
  CHECK(ended.load() > 32);
  CHECK(covers(100, 1));
}

#if defined(__unix__)
TEST(a_forked_child_can_compute) {
  set_thread_count(3);
  CHECK(covers(1000, 1));
  pid_t child = fork();
  if (child == 0) _exit(covers(1000, 1) ? 7 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  CHECK_EQ(WEXITSTATUS(status), 7);
}
#endif

TEST(scratch_nests_and_grows) {
  for (int round = 0; round < 3; ++round) {
    Scratch a(1000);
    std::memset(a.as<char>(), 1, 1000);
    {
      Scratch b(100'000);
      std::memset(b.as<char>(), 2, 100'000);
      Scratch c(0);
      CHECK(reinterpret_cast<uintptr_t>(b.as<char>()) % 64 == 0);
    }
    Scratch d(5000);
    std::memset(d.as<char>(), 3, 5000);
    CHECK_EQ(int(a.as<char>()[999]), 1);
  }
}

// The processor is asked; Linux asks it, too, or the firmware.
TEST(the_second_cache_is_what_the_system_tells) {
  const int64_t bytes = second_cache_bytes();
  CHECK(bytes >= 64 << 10 && bytes <= 64 << 20);
  CHECK_EQ(second_cache_block(kUsualSecondCache), std::min(bytes, kUsualSecondCache));
#if defined(__linux__) && defined(__x86_64__)
  std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index2/size");
  int64_t kilobytes = 0;
  char unit = 0;
  if (file >> kilobytes >> unit && unit == 'K') CHECK_EQ(bytes, kilobytes << 10);
#endif
}

TEST(workers_have_the_memory_limit_of_their_caller) {
  set_thread_count(2);
  for (int64_t limit : {int64_t{1} << 20, int64_t{1} << 24}) {
    std::atomic<int> tried{0}, refused{0};
    scriptlang::memory::LimitScope scope(limit);
    bool raised = false;
    try {
      parallel_for(2, 1, [&](int64_t, int64_t) {
        if (!stopping::is_helper) {  // waits for a worker to take the other half
          auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
          while (!tried && std::chrono::steady_clock::now() < until) std::this_thread::yield();
          return;
        }
        struct Counts {
          std::atomic<int>& n;
          ~Counts() { ++n; }
        } counts{tried};
        refused = 1;
        Scratch four_million(4'000'000);
        refused = 0;
      });
    } catch (const std::exception& error) {
      raised = std::strstr(error.what(), "memory limit") != nullptr;
    }
    bool small = limit == int64_t{1} << 20;
    CHECK(tried.load() > 0);  // which may take both halves
    CHECK_EQ(refused.load(), int(small));
    CHECK_EQ(raised, small);
  }
  set_thread_count(1);
  Scratch here(4'000'000);  // no limit any more
  CHECK(here.as<char>() != nullptr);
}

int main(int count, char** arguments) { return test::main(count, arguments); }
