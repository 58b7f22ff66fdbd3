// Answers requests with eight threads on one module.
//
//   printf 'rain and snow\nsoup with salt\n' | server topics.pt
//
// Each line of the standard input is a request, each line of the output its answer, in the order of
// the requests. All threads call the same module at the same time: its forward only reads. Every
// call has limits, so that no request takes longer than a second; the one that fails is answered by
// its error, and the others go on.
#include <scriptlang/scriptlang.hpp>

#include <condition_variable>
#include <cstdio>
#include <deque>
#include <future>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

constexpr size_t kThreads = 8, kWaiting = 64;

struct Request {
  std::string text;
  std::promise<std::string> answer;
};

// Requests that wait for a thread. Who brings one waits while there are too many.
class Queue {
 public:
  void put(Request request) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return waiting_.size() < kWaiting; });
    waiting_.push_back(std::move(request));
    changed_.notify_all();
  }
  void close() {
    std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  // False when there will be no more.
  bool take(Request* request) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
    if (waiting_.empty()) return false;
    *request = std::move(waiting_.front());
    waiting_.pop_front();
    changed_.notify_all();
    return true;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Request> waiting_;
  bool closed_ = false;
};

static std::string answer_to(const scriptlang::Module& model, const std::string& text) {
  scriptlang::Limits limits;
  limits.milliseconds = 1000;
  limits.memory_bytes = 64 << 20;
  scriptlang::Result<scriptlang::Value> scores = model.try_call("forward", {text}, {}, limits);
  if (!scores) return "error: " + scores.error().message();
  std::string answer;
  for (const auto& [topic, score] : scores->items()) {
    answer += (answer.empty() ? "" : ", ") + std::string(topic.string()) + " " +
              std::to_string(int(score.number()));
  }
  return answer.empty() ? "nothing known" : answer;
}

static void serve(const scriptlang::Module& model) {
  Queue queue;
  std::vector<std::thread> threads;
  for (size_t k = 0; k < kThreads; ++k) {
    threads.emplace_back([&] {
      for (Request request; queue.take(&request);) {
        request.answer.set_value(answer_to(model, request.text));
      }
    });
  }
  std::deque<std::future<std::string>> answers;
  auto print_first = [&] {
    std::printf("%s\n", answers.front().get().c_str());
    answers.pop_front();
  };
  for (std::string line; std::getline(std::cin, line);) {
    Request request{line, {}};
    answers.push_back(request.answer.get_future());
    queue.put(std::move(request));
    if (answers.size() > kWaiting) print_first();
  }
  queue.close();
  while (!answers.empty()) print_first();
  for (std::thread& thread : threads) thread.join();
}

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: server MODEL.pt < REQUESTS\n");
    return 2;
  }
  try {
    scriptlang::set_threads(1);  // the threads here are what keeps the cores busy
    serve(scriptlang::load(arguments[1]));
  } catch (const scriptlang::Error& e) {
    std::fprintf(stderr, "%s: %s\n", e.class_name().c_str(), e.what());
    return 1;
  }
}
