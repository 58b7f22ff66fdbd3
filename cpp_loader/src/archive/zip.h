// A zip archive in memory or mapped from a file: its directory, and its records on demand.
//
// Nothing in the file is trusted. Offsets and sizes are checked against the file, two records may
// not overlap or share a name, and a compressed record may not grow beyond its declared size or
// beyond kMaxRatio times its compressed size.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "values/tensor.h"

namespace scriptlang {

// Bytes that stay valid while somebody holds the object: a mapping or a caller's buffer.
// The memory may be written: a mapping is private to the process (copy on write).
class Bytes {
 public:
  // Files up to this size are read: nothing that happens to them later can hurt.
  static constexpr size_t kReadWhole = 16 << 20;

  // A small file's contents, or a large file mapped; raises ArchiveError.
  static std::shared_ptr<Bytes> of_file(const std::string& path);
  static std::shared_ptr<Bytes> copy(const void* data, size_t size);
  // Memory of the caller, which may be written; `release(user)` once nobody holds it.
  static std::shared_ptr<Bytes> lend(void* data, size_t size, void (*release)(void*), void* user);
  ~Bytes();
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;

  char* data() const { return data_; }
  size_t size() const { return size_; }
  std::string_view view() const { return {data_, size_}; }

 private:
  static std::shared_ptr<Bytes> room_for(size_t size);
  Bytes(char* data, size_t size, bool mapped) : data_(data), size_(size), mapped_(mapped) {}
  char* data_;
  size_t size_;
  bool mapped_;
  void (*release_)(void*) = nullptr;  // of memory that was lent
  void* user_ = nullptr;
};

struct ZipLimits {
  int64_t max_records = 1 << 20;
  int64_t max_record_bytes = int64_t(1) << 40;
  int64_t max_ratio = 1100;     // deflate cannot exceed 1032
  bool check_storages = false;  // the checksums of tensors, too, which reads them all
};

class ZipArchive {
 public:
  // Reads the directory. Raises ArchiveError with what the file seems to be.
  static std::shared_ptr<ZipArchive> open(std::shared_ptr<Bytes> bytes,
                                          const ZipLimits& limits = {});

  struct Record {
    std::string name;
    uint16_t method;  // 0 stored, 8 deflated
    uint32_t crc;
    int64_t compressed_size, size;
    int64_t data_offset, local_offset;  // in the file: of the contents, of the header
  };
  const std::vector<Record>& records() const { return records_; }
  const Record* find(std::string_view name) const;

  // The record's bytes: in place when stored, else inflated into *buffer. Checks the CRC of
  // what it inflates, and of stored records when asked.
  std::string_view read(const Record& record, std::string* buffer, bool check_crc = true) const;

  // The record as a storage: in place when it is stored and 64-byte aligned in memory for the
  // given item size, else a copy.
  Storage* storage(const Record& record, int64_t itemsize) const;

 private:
  explicit ZipArchive(std::shared_ptr<Bytes> bytes) : bytes_(std::move(bytes)) {}
  void read_directory(const ZipLimits& limits);
  void add_record(const char* header, std::string_view name, std::string_view extra,
                  int64_t directory_offset, const ZipLimits& limits);
  void check_overlaps() const;
  void inflate(const Record& record, char* out) const;
  // Before a record is inflated: all of them together stay in proportion to the file.
  void count_inflated(const Record& record) const;

  std::shared_ptr<Bytes> bytes_;
  std::vector<Record> records_;
  std::unordered_map<std::string, size_t> index_;
  mutable int64_t inflated_ = 0;
  bool check_storages_ = false;
};

}  // namespace scriptlang
