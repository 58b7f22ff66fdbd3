// Prints when somebody speaks, while the sound comes in, with tensors in a block of fixed size.
//
//   stream_vad speech.pt < speech.wav
//
// The sound is a WAV stream: 16 bits, 8 kHz, one channel. Each chunk of 256 samples is looked at as
// soon as it is there. The tensors that calls make lie in a static array; the archive with its
// weights, and the program that is made of it, do not. At the end it says how much of the array was
// in use at most.
#include <scriptlang/scriptlang.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <vector>

#if defined(_WIN32)
#include <fcntl.h>
#include <io.h>
#endif

constexpr int kRate = 8000, kChunk = 256;
constexpr float kStart = 0.6f, kEnd = 0.3f;

// Blocks of a static array: the first gap that is wide enough is taken. Blocks lie in the order of
// their places, and there are few at a time.
class Arena {
 public:
  static void* allocate(size_t bytes, void* user) { return static_cast<Arena*>(user)->take(bytes); }
  static void release(void* block, size_t, void* user) { static_cast<Arena*>(user)->give(block); }
  size_t most() const { return most_; }
  size_t size() const { return sizeof memory_; }

 private:
  struct Block {
    size_t begin, end;
  };

  void* take(size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    const size_t rounded = (bytes + 63) / 64 * 64;
    size_t at = 0, place = 0;
    while (place < count_ && blocks_[place].begin - at < rounded) at = blocks_[place++].end;
    if (count_ == blocks_.size() || rounded < bytes || sizeof memory_ - at < rounded)
      return nullptr;
    std::copy_backward(blocks_.begin() + place, blocks_.begin() + count_,
                       blocks_.begin() + count_ + 1);
    blocks_[place] = {at, at + rounded};
    ++count_;
    most_ = std::max(most_, blocks_[count_ - 1].end);
    return memory_ + at;
  }

  void give(void* block) {
    std::lock_guard<std::mutex> lock(mutex_);
    const size_t begin = size_t(static_cast<unsigned char*>(block) - memory_);
    auto found = std::find_if(blocks_.begin(), blocks_.begin() + count_,
                              [&](const Block& b) { return b.begin == begin; });
    std::copy(found + 1, blocks_.begin() + count_, found);
    --count_;
  }

  alignas(64) unsigned char memory_[16 * 1024];
  std::array<Block, 256> blocks_;
  size_t count_ = 0, most_ = 0;
  std::mutex mutex_;
};
static Arena arena;

static void read(void* to, size_t bytes) {
  if (std::fread(to, 1, bytes, stdin) != bytes)
    throw std::runtime_error("the stream ends too soon");
}

// Reads up to the first sample.
static void read_header() {
  char word[4];
  uint32_t size = 0;
  uint16_t facts[8] = {};
  read(word, 4);
  const bool is_riff = std::memcmp(word, "RIFF", 4) == 0;
  read(&size, 4);
  read(word, 4);
  if (!is_riff || std::memcmp(word, "WAVE", 4) != 0) throw std::runtime_error("no WAV stream");
  for (;;) {
    read(word, 4);
    read(&size, 4);
    if (std::memcmp(word, "data", 4) == 0) break;
    size += size % 2;
    if (std::memcmp(word, "fmt ", 4) == 0 && size >= sizeof facts) {
      read(facts, sizeof facts);
      size -= uint32_t(sizeof facts);
    }
    for (; size > 0; --size) read(word, 1);
  }
  if (facts[0] != 1 || facts[1] != 1 || facts[2] != kRate || facts[7] != 16) {
    throw std::runtime_error("the stream is not 16-bit, 8 kHz, mono");
  }
}

static void run(const char* model) {
  using Clock = std::chrono::steady_clock;
  scriptlang::Module network = scriptlang::load(model);
  network("reset", {});
  std::array<int16_t, kChunk> samples;
  std::array<float, kChunk> scaled;
  scriptlang::Tensor x = scriptlang::Tensor::view(scaled.data(), {kChunk});
  std::vector<scriptlang::Value> arguments{x};  // the same memory each time
  bool speaks = false;
  double slowest = 0;
#if defined(_WIN32)
  _setmode(_fileno(stdin), _O_BINARY);  // else a byte 26 would be the end of the stream
#endif
  read_header();
  int64_t chunk = 0;
  for (; std::fread(samples.data(), sizeof(int16_t), kChunk, stdin) == kChunk; ++chunk) {
    std::transform(samples.begin(), samples.end(), scaled.begin(),
                   [](int16_t s) { return float(s) / 32768.0f; });
    const auto start = Clock::now();
    const float chance = network("forward", arguments).tensor().item<float>();
    const std::chrono::duration<double, std::milli> took = Clock::now() - start;
    slowest = std::max(slowest, chunk ? took.count() : 0.0);  // the first one prepares
    if (speaks ? chance >= kEnd : chance < kStart) continue;
    speaks = !speaks;
    std::printf("%.2f %s\n", double(chunk) * kChunk / kRate, speaks ? "speech" : "silence");
    std::fflush(stdout);
  }
  std::printf("%lld chunks of %d ms; tensors took %zu of %zu bytes\n", (long long)chunk,
              1000 * kChunk / kRate, arena.most(), arena.size());
  std::fprintf(stderr, "the slowest chunk took %.3f ms\n", slowest);
}

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: stream_vad MODEL.pt < STREAM.wav\n");
    return 2;
  }
  const sl_allocator allocator = {Arena::allocate, Arena::release, &arena};
  sl_set_allocator(&allocator);
  int status = 0;
  try {
    run(arguments[1]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    status = 1;
  }
  return status;
}
