// .npz files: a zip of .npy records, each a header in Python's spelling and the elements.
#include "npz.h"

#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <fstream>

#include "archive/zip.h"
#include "values/wide_path.h"

namespace npz {

using namespace scriptlang;

namespace {

struct Kind {
  const char* text;
  ScalarType type;
};
constexpr Kind kKinds[] = {
    {"|b1", ScalarType::Bool},      {"|u1", ScalarType::UInt8},       {"|i1", ScalarType::Int8},
    {"<i2", ScalarType::Int16},     {"<i4", ScalarType::Int32},       {"<i8", ScalarType::Int64},
    {"<f2", ScalarType::Float16},   {"<f4", ScalarType::Float32},     {"<f8", ScalarType::Float64},
    {"<c8", ScalarType::Complex64}, {"<c16", ScalarType::Complex128},
};

[[noreturn]] void malformed(const std::string& name) {
  raise(ErrorKind::ArchiveError, name, " is no array that is read here (.npy of numbers)");
}

// The text between a key of the header and the end of its value.
std::string_view field(std::string_view header, std::string_view key, char end,
                       const std::string& name) {
  size_t at = header.find(key);
  if (at == std::string_view::npos) malformed(name);
  at += key.size();
  size_t stop = header.find(end, at);
  if (stop == std::string_view::npos) malformed(name);
  return header.substr(at, stop - at);
}

Tensor array_of(std::string_view bytes, const std::string& name) {
  if (bytes.size() < 12 || bytes.substr(0, 6) != "\x93NUMPY") malformed(name);
  const bool is_long = bytes[6] >= 2;
  uint32_t size = uint8_t(bytes[8]) | uint32_t(uint8_t(bytes[9])) << 8;
  if (is_long) size |= uint32_t(uint8_t(bytes[10])) << 16 | uint32_t(uint8_t(bytes[11])) << 24;
  const size_t begin = is_long ? 12 : 10;
  if (bytes.size() - begin < size) malformed(name);
  std::string_view header = bytes.substr(begin, size), data = bytes.substr(begin + size);
  std::string_view descr = field(header, "'descr': '", '\'', name);
  if (field(header, "'fortran_order': ", ',', name) != "False") malformed(name);
  std::vector<int64_t> sizes;
  int64_t number = -1;
  for (char c : std::string(field(header, "'shape': (", ')', name)) + ",") {
    if (c >= '0' && c <= '9') number = (number < 0 ? 0 : number) * 10 + (c - '0');
    else if (c == ',' && number >= 0) sizes.push_back(std::exchange(number, -1));
    if (number > int64_t(1) << 40) malformed(name);
  }
  for (const Kind& kind : kKinds) {
    if (descr != kind.text) continue;
    Tensor made = Tensor::empty(sizes, kind.type);
    const size_t wanted = size_t(made.numel() * itemsize(kind.type));
    if (data.size() < wanted) malformed(name);
    if (wanted) std::memcpy(made.raw(), data.data(), wanted);
    return made;
  }
  malformed(name);
}

template <class T>
void put(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Row by row, whatever the strides are.
void append_elements(const Tensor& tensor, std::string* out) {
  const size_t size = size_t(itemsize(tensor.dtype()));
  const char* data = static_cast<const char*>(tensor.raw());
  std::vector<int64_t> index(size_t(tensor.dim()), 0);
  for (int64_t left = tensor.numel(); left > 0; --left) {
    int64_t offset = 0;
    for (int64_t d = 0; d < tensor.dim(); ++d) offset += index[size_t(d)] * tensor.stride(d);
    out->append(data + offset * int64_t(size), size);
    for (int64_t d = tensor.dim(); d-- > 0;) {
      if (++index[size_t(d)] < tensor.size(d)) break;
      index[size_t(d)] = 0;
    }
  }
}

std::string npy_of(const Tensor& tensor) {
  const char* text = nullptr;
  for (const Kind& kind : kKinds) {
    if (kind.type == tensor.dtype()) text = kind.text;
  }
  if (!text) {
    raise(ErrorKind::TypeError, "numpy has no elements of ", dtype_name(tensor.dtype()));
  }
  std::string shape;
  for (int64_t d = 0; d < tensor.dim(); ++d) shape += std::to_string(tensor.size(d)) + ", ";
  std::string header =
      concat("{'descr': '", text, "', 'fortran_order': False, 'shape': (", shape, "), }");
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  std::string out("\x93NUMPY\x01\x00", 8);
  put<uint16_t>(&out, uint16_t(header.size()));
  out += header;
  append_elements(tensor, &out);
  return out;
}

}  // namespace

std::vector<std::pair<std::string, Tensor>> read(const std::string& path) {
  auto zip = ZipArchive::open(Bytes::of_file(path));
  std::vector<std::pair<std::string, Tensor>> arrays;
  for (const ZipArchive::Record& record : zip->records()) {
    std::string buffer, name = record.name;
    if (name.size() > 4 && name.compare(name.size() - 4, 4, ".npy") == 0) {
      name.resize(name.size() - 4);
    }
    arrays.emplace_back(name, array_of(zip->read(record, &buffer), name));
  }
  return arrays;
}

void write(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& arrays) {
  std::string file, directory;
  for (const auto& [name, tensor] : arrays) {
    const std::string data = npy_of(tensor), record = name + ".npy";
    const uint32_t at = uint32_t(file.size()), size = uint32_t(data.size());
    const auto crc =
        uint32_t(crc32(0, reinterpret_cast<const Bytef*>(data.data()), uInt(data.size())));
    std::string common;
    put<uint16_t>(&common, 20);
    put<uint16_t>(&common, 0);
    put<uint16_t>(&common, 0);  // stored
    put<uint32_t>(&common, 0x00210000);
    put<uint32_t>(&common, crc);
    put<uint32_t>(&common, size);
    put<uint32_t>(&common, size);
    put<uint16_t>(&common, uint16_t(record.size()));
    put<uint16_t>(&common, 0);
    put<uint32_t>(&file, 0x04034b50);
    file += common + record + data;
    put<uint32_t>(&directory, 0x02014b50);
    put<uint16_t>(&directory, 20);
    directory += common;
    put<uint16_t>(&directory, 0);
    put<uint16_t>(&directory, 0);
    put<uint16_t>(&directory, 0);
    put<uint32_t>(&directory, 0);
    put<uint32_t>(&directory, at);
    directory += record;
  }
  const uint32_t at = uint32_t(file.size());
  file += directory;
  put<uint32_t>(&file, 0x06054b50);
  put<uint32_t>(&file, 0);
  put<uint16_t>(&file, uint16_t(arrays.size()));
  put<uint16_t>(&file, uint16_t(arrays.size()));
  put<uint32_t>(&file, uint32_t(directory.size()));
  put<uint32_t>(&file, at);
  put<uint16_t>(&file, 0);
  std::ofstream out(system_path(path).c_str(), std::ios::binary);
  out.write(file.data(), std::streamsize(file.size()));
  if (!out) raise(ErrorKind::RuntimeError, "cannot write ", path);
}

}  // namespace npz
