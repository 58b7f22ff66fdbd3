// Says what an image shows: a PPM file in, the names of classes with their probabilities out.
//
//   classify_image shapes.pt circle.ppm
//
// The archive takes the pixels as they are, and makes of them what its network wants. It brings the
// names of the classes as an extra file.
#include <scriptlang/scriptlang.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

struct Image {
  int64_t height = 0, width = 0;
  std::vector<uint8_t> pixels;  // rows of red, green and blue
};

// The next number of a PPM's header; comments begin with #.
static int64_t number(std::istream& file) {
  std::string word;
  while (file >> word && word[0] == '#') std::getline(file, word);
  return std::atoll(word.c_str());
}

static Image read_ppm(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string kind;
  if (!(file >> kind) || kind != "P6") throw std::runtime_error(path + " is no PPM file (P6)");
  Image image;
  image.width = number(file);
  image.height = number(file);
  const bool fits = number(file) == 255 && image.width > 0 && image.height > 0 &&
                    image.width <= 10000 && image.height <= 10000;
  if (!fits) throw std::runtime_error(path + " has no size, or not 255 as the largest value");
  file.get();  // the one blank behind the header
  image.pixels.resize(size_t(image.height * image.width * 3));
  file.read(reinterpret_cast<char*>(image.pixels.data()), std::streamsize(image.pixels.size()));
  if (!file) throw std::runtime_error(path + " ends before its last pixel");
  return image;
}

static std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

static void run(const char* model, const char* path) {
  scriptlang::Module network = scriptlang::load(model);
  const std::vector<std::string> labels = lines_of(network.extra("labels.txt"));
  Image image = read_ppm(path);
  auto pixels =
      scriptlang::Tensor::view(image.pixels.data(), {image.height, image.width, 3});  // no copy
  std::vector<float> chances = network.forward({pixels}).tensor().values<float>();
  std::vector<size_t> order(chances.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return chances[a] > chances[b]; });
  for (size_t k : order) {
    std::printf("%-8s %.3f\n", k < labels.size() ? labels[k].c_str() : "?", double(chances[k]));
  }
}

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: classify_image MODEL.pt IMAGE.ppm\n");
    return 2;
  }
  try {
    run(arguments[1], arguments[2]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
