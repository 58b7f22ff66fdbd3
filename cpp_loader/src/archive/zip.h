// Reads zip archives, in memory or mapped from a file: the directory at once, records on demand.
//
// Nothing in the file is trusted. Offsets and sizes are checked against the file. Two records may
// not overlap or have one name. A compressed record may not grow beyond its declared size, nor
// beyond ZipLimits::max_ratio times its compressed size.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "values/tensor.h"

namespace scriptlang {

// Bytes that stay valid as long as this object: a buffer, a mapped file, or memory of the caller.
// They may be written; a mapping is private to the process (copy on write).
class Bytes {
 public:
  // Files up to this size are read, not mapped, so that later changes of the file do no harm.
  static constexpr size_t kReadWhole = 16 << 20;

  // Reads a small file, or maps a large one. Raises ArchiveError.
  static std::shared_ptr<Bytes> of_file(const std::string& path);
  static std::shared_ptr<Bytes> copy(const void* data, size_t size);
  // Uses memory of the caller, which must be writable. Calls release(user) when it is not used any
  // more.
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
  void (*release_)(void*) = nullptr;  // for memory of the caller
  void* user_ = nullptr;
};

struct ZipLimits {
  int64_t max_records = 1 << 20;
  int64_t max_record_bytes = int64_t(1) << 40;
  int64_t max_ratio = 1100;     // deflate cannot exceed 1032
  bool check_storages = false;  // checks the checksums of tensors, too, which reads all of them
};

class ZipArchive {
 public:
  // Reads the directory. Raises ArchiveError that says what the file seems to be.
  static std::shared_ptr<ZipArchive> open(std::shared_ptr<Bytes> bytes,
                                          const ZipLimits& limits = {});

  struct Record {
    std::string name;
    uint16_t method;  // 0 stored, 8 deflated
    uint32_t crc;
    int64_t compressed_size, size;
    int64_t data_offset, local_offset;  // where its contents and its local header are in the file
  };
  const std::vector<Record>& records() const { return records_; }
  const Record* find(std::string_view name) const;

  // The bytes of a record: in place if it is stored, else inflated into *buffer. Checks the CRC,
  // unless `check_crc` is false.
  std::string_view read(const Record& record, std::string* buffer, bool check_crc = true) const;

  // The record as a storage: in place if it is stored and its address is a multiple of `itemsize`,
  // else a copy.
  Storage* storage(const Record& record, int64_t itemsize) const;

 private:
  explicit ZipArchive(std::shared_ptr<Bytes> bytes) : bytes_(std::move(bytes)) {}
  void read_directory(const ZipLimits& limits);
  void add_record(const char* header, std::string_view name, std::string_view extra,
                  int64_t directory_offset, const ZipLimits& limits);
  void check_overlaps() const;
  void inflate(const Record& record, char* out) const;
  // To be called before a record is inflated. Raises ArchiveError if all inflated records together
  // are too large for the size of the file.
  void count_inflated(const Record& record) const;

  std::shared_ptr<Bytes> bytes_;
  std::vector<Record> records_;
  std::unordered_map<std::string, size_t> index_;
  mutable int64_t inflated_ = 0;
  bool check_storages_ = false;
};

}  // namespace scriptlang
