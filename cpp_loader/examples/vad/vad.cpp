// Prints the speech segments of a WAV file, found by the silero voice-activity network.
//
//   scriptlang compile silero_vad.jit -o silero.pt
//   vad silero.pt speech16k.wav
//
// One line a segment: start and end in seconds. The network gives a probability for each chunk
// of 512 samples. A segment starts at the first chunk that reaches 0.5 and ends at the first
// later chunk below 0.35; samples after the last whole chunk are left out. examples/vad.py does
// the same in Python and prints the same lines.
#include <scriptlang/scriptlang.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

constexpr int kRate = 16000, kChunk = 512;
constexpr float kStart = 0.5f, kEnd = 0.35f;

// Samples of a 16-bit, 16 kHz, one-channel WAV file, scaled to [-1, 1).
static std::vector<float> read_wav(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (bytes.size() < 12 || std::memcmp(bytes.data(), "RIFF", 4) != 0 ||
      std::memcmp(bytes.data() + 8, "WAVE", 4) != 0) {
    throw std::runtime_error(path + " is no WAV file");
  }
  auto number = [&](size_t at, size_t size) {
    uint32_t v = 0;
    std::memcpy(&v, bytes.data() + at, size);
    return v;
  };
  bool suits = false;
  for (size_t at = 12; at + 8 <= bytes.size();) {
    size_t size = number(at + 4, 4), body = at + 8;
    bool is_format = std::memcmp(bytes.data() + at, "fmt ", 4) == 0;
    if (is_format && size >= 16 && body + 16 <= bytes.size()) {
      suits = number(body, 2) == 1 && number(body + 2, 2) == 1 && number(body + 4, 4) == kRate &&
              number(body + 14, 2) == 16;
    } else if (std::memcmp(bytes.data() + at, "data", 4) == 0) {
      if (!suits) throw std::runtime_error(path + " is not 16-bit, 16 kHz, mono");
      size_t count = std::min(size, bytes.size() - body) / 2;
      std::vector<int16_t> samples(count);
      std::memcpy(samples.data(), bytes.data() + body, count * 2);
      std::vector<float> scaled(count);
      for (size_t k = 0; k < count; ++k) scaled[k] = float(samples[k]) / 32768.0f;
      return scaled;
    }
    at = body + size + size % 2;
  }
  throw std::runtime_error(path + " has no samples");
}

static void print_segment(size_t first_chunk, size_t end_chunk) {
  std::printf("%.3f %.3f\n", double(first_chunk) * kChunk / kRate,
              double(end_chunk) * kChunk / kRate);
}

static void run(const char* model, const char* wav) {
  scriptlang::Module network = scriptlang::load(model);
  std::vector<float> samples = read_wav(wav);
  network("reset_states", {});
  bool inside = false;
  size_t start = 0, chunks = samples.size() / kChunk;
  for (size_t c = 0; c < chunks; ++c) {
    scriptlang::Tensor x = scriptlang::Tensor::view(samples.data() + c * kChunk, {1, kChunk});
    float p = network("forward", {x, kRate}).tensor().contiguous().data<float>()[0];
    if (!inside && p >= kStart) {
      inside = true;
      start = c;
    } else if (inside && p < kEnd) {
      inside = false;
      print_segment(start, c);
    }
  }
  if (inside) print_segment(start, chunks);
}

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: vad MODEL.pt SPEECH.wav\n");
    return 2;
  }
  try {
    run(arguments[1], arguments[2]);
  } catch (const scriptlang::Error& e) {
    std::fprintf(stderr, "%s: %s\n%s", e.class_name().c_str(), e.what(), e.stack().c_str());
    return 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
