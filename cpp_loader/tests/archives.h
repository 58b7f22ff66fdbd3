// Zip files and pickles made in memory, right or wrong in every way a test needs.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <zlib.h>

namespace test {

template <class T>
void put(std::string* out, T v) {
  out->append(reinterpret_cast<const char*>(&v), sizeof v);
}

struct ZipEntry {
  ZipEntry() = default;
  ZipEntry(std::string name, std::string data, bool deflate = false)
      : name(std::move(name)), data(std::move(data)), deflate(deflate) {}

  std::string name, data;
  bool deflate = false;
  // What the headers claim, when it is not the truth.
  int64_t claimed_size = -1;
  int64_t claimed_offset = -1;
  int64_t claimed_compressed = -1;
  std::string local_name;  // when it differs
  uint16_t flags = 0, method = 0;
  uint32_t crc_change = 0;
};

inline std::string deflated(const std::string& data) {
  std::string out(compressBound(uLong(data.size())) + 64, '\0');
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, -15, 9, Z_DEFAULT_STRATEGY);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = uInt(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = uInt(out.size());
  ::deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

// Data of stored records is aligned to 64 bytes by an extra field, as PyTorch does it.
inline std::string make_zip(const std::vector<ZipEntry>& entries) {
  std::string file, directory;
  for (const ZipEntry& e : entries) {
    std::string body = e.deflate ? deflated(e.data) : e.data;
    uint16_t method = e.method ? e.method : e.deflate ? 8 : 0;
    uint32_t crc =
        uint32_t(crc32(0, reinterpret_cast<const Bytef*>(e.data.data()), uInt(e.data.size()))) +
        e.crc_change;
    const std::string& local = e.local_name.empty() ? e.name : e.local_name;
    size_t begin = file.size(), data_at = begin + 30 + local.size();
    uint16_t padding = uint16_t((64 - data_at % 64) % 64);
    uint32_t size = uint32_t(e.claimed_size >= 0 ? e.claimed_size : int64_t(e.data.size()));
    uint32_t packed =
        uint32_t(e.claimed_compressed >= 0 ? e.claimed_compressed : int64_t(body.size()));
    auto common = [&](std::string* out) {
      put<uint16_t>(out, 20);
      put<uint16_t>(out, e.flags);
      put<uint16_t>(out, method);
      put<uint32_t>(out, 0);
      put<uint32_t>(out, crc);
      put<uint32_t>(out, packed);
      put<uint32_t>(out, size);
    };
    put<uint32_t>(&file, 0x04034b50);
    common(&file);
    put<uint16_t>(&file, uint16_t(local.size()));
    put<uint16_t>(&file, padding);
    file += local + std::string(padding, '\0') + body;
    put<uint32_t>(&directory, 0x02014b50);
    put<uint16_t>(&directory, 20);
    common(&directory);
    put<uint16_t>(&directory, uint16_t(e.name.size()));
    put<uint32_t>(&directory, 0);
    put<uint32_t>(&directory, 0);
    put<uint32_t>(&directory, 0);
    put<uint32_t>(&directory, uint32_t(e.claimed_offset >= 0 ? e.claimed_offset : int64_t(begin)));
    directory += e.name;
  }
  uint32_t directory_at = uint32_t(file.size());
  file += directory;
  put<uint32_t>(&file, 0x06054b50);
  put<uint32_t>(&file, 0);
  put<uint16_t>(&file, uint16_t(entries.size()));
  put<uint16_t>(&file, uint16_t(entries.size()));
  put<uint32_t>(&file, uint32_t(directory.size()));
  put<uint32_t>(&file, directory_at);
  put<uint16_t>(&file, 0);
  return file;
}

// ---- pickles of protocol 2

inline std::string p_text(std::string_view s) {
  std::string out = "X";
  put<uint32_t>(&out, uint32_t(s.size()));
  return out + std::string(s);
}
inline std::string p_int(int32_t v) {
  std::string out = "J";
  put<int32_t>(&out, v);
  return out;
}
inline std::string p_global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}
inline std::string p_tuple(const std::vector<std::string>& items) {
  std::string out = "(";
  for (const std::string& item : items) out += item;
  return out + "t";
}
inline std::string p_call(const std::string& callee, const std::vector<std::string>& arguments) {
  return callee + p_tuple(arguments) + "R";
}
inline std::string p_storage(const std::string& type, const std::string& key, int32_t numel) {
  return p_tuple({p_text("storage"), p_global("torch", type), p_text(key), p_text("cpu"),
                  p_int(numel)}) +
         "Q";
}
inline std::string p_tensor(const std::string& storage, int32_t offset,
                            const std::vector<int32_t>& sizes,
                            const std::vector<int32_t>& strides) {
  auto ints = [](const std::vector<int32_t>& values) {
    std::vector<std::string> items;
    for (int32_t v : values) items.push_back(p_int(v));
    return p_tuple(items);
  };
  return p_call(p_global("torch._utils", "_rebuild_tensor_v2"),
                {storage, p_int(offset), ints(sizes), ints(strides), "\x89",
                 p_call(p_global("collections", "OrderedDict"), {})});
}
inline std::string p_object(const std::string& module, const std::string& name,
                            const std::vector<std::pair<std::string, std::string>>& slots) {
  std::string out = p_global(module, name) + ")\x81}(";
  for (const auto& [slot, value] : slots) out += p_text(slot) + value;
  return out + "ub";
}
inline std::string pickle(const std::string& body) { return "\x80\x02" + body + "."; }

}  // namespace test
