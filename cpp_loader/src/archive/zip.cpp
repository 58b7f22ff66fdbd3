// The zip reader: reads or maps a file, checks its directory, inflates records.
#include "zip.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "files.h"
#include "values/plain_text.h"

namespace scriptlang {

// ---- Bytes

namespace {

// An open file, closed with the scope.
struct File {
  explicit File(const std::string& path) {
    fd = files::open(path);
    if (fd >= 0) return;
    const int why = errno;
    files::Facts facts;  // Windows opens no folders
    if (files::facts_of(path, &facts) && !facts.is_regular) {
      raise(ErrorKind::ArchiveError, "'", path, "' is not a regular file");
    }
    raise(ErrorKind::ArchiveError, "cannot open '", path, "': ", strerror(why));
  }
  ~File() { files::close(fd); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int fd;
};

// Reads `size` bytes, or less if the file ends before. Returns their number, or -1 with errno.
int64_t read_fully(int fd, char* data, size_t size) {
  size_t at = 0;
  while (at < size) {
    const int64_t got = files::read(fd, data + at, size - at);
    if (got < 0) return -1;
    if (got == 0) break;
    at += size_t(got);
  }
  return int64_t(at);
}

}  // namespace

std::shared_ptr<Bytes> Bytes::of_file(const std::string& path) {
  File file(path);
  files::Facts facts;
  if (!files::facts_of(file.fd, &facts) || !facts.is_regular) {
    raise(ErrorKind::ArchiveError, "'", path, "' is not a regular file");
  }
  size_t size = as_size(facts.size);
  if (size == 0) raise(ErrorKind::ArchiveError, "'", path, "' is empty");
  if (size <= kReadWhole) {
    std::shared_ptr<Bytes> bytes = room_for(size);
    if (read_fully(file.fd, bytes->data_, size) != int64_t(size)) {
      raise(ErrorKind::ArchiveError, "cannot read '", path, "': it has become shorter, or ",
            strerror(errno));
    }
    return bytes;
  }
  std::shared_ptr<Bytes> bytes(new Bytes(nullptr, 0, false));
  void* data = files::map(file.fd, size);
  if (!data) raise(ErrorKind::ArchiveError, "cannot map '", path, "': ", strerror(errno));
  bytes->data_ = static_cast<char*>(data);
  bytes->size_ = size;
  bytes->mapped_ = true;
  return bytes;
}

// A buffer. The object is made before its memory is allocated, so that nothing leaks if that fails.
std::shared_ptr<Bytes> Bytes::room_for(size_t size) {
  std::shared_ptr<Bytes> bytes(new Bytes(nullptr, 0, false));
  bytes->data_ = static_cast<char*>(memory::take(size + 1));
  bytes->size_ = size;
  return bytes;
}

std::shared_ptr<Bytes> Bytes::copy(const void* data, size_t size) {
  std::shared_ptr<Bytes> bytes = room_for(size);
  if (size) std::memcpy(bytes->data_, data, size);
  return bytes;
}

std::shared_ptr<Bytes> Bytes::lend(void* data, size_t size, void (*release)(void*), void* user) {
  std::shared_ptr<Bytes> bytes(new Bytes(static_cast<char*>(data), size, false));
  bytes->release_ = release;
  bytes->user_ = user;
  return bytes;
}

Bytes::~Bytes() {
  if (release_) {
    release_(user_);
  } else if (mapped_) {
    files::unmap(data_, size_);
  } else if (data_) {
    memory::give(data_, size_ + 1);
  }
}

namespace {

// ---- layout of zip files, all in little endian

constexpr uint32_t kLocalMagic = 0x04034b50, kCentralMagic = 0x02014b50, kEndMagic = 0x06054b50;
constexpr uint32_t kEnd64Magic = 0x06064b50, kLocator64Magic = 0x07064b50;
constexpr int64_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22;
constexpr int64_t kEnd64Size = 56, kLocator64Size = 20;
constexpr int64_t kMaxComment = 65535;

template <class T>
T load(const char* p) {
  T value;
  std::memcpy(&value, p, sizeof value);
  return value;
}
int64_t u16(const char* p) { return load<uint16_t>(p); }
int64_t u32(const char* p) { return load<uint32_t>(p); }
uint64_t u64(const char* p) { return load<uint64_t>(p); }

int64_t checked_u64(const char* p) {
  uint64_t value = u64(p);
  if (value > uint64_t(INT64_MAX)) raise(ErrorKind::ArchiveError, "a 64-bit size is out of range");
  return int64_t(value);
}

struct Signature {
  const char* magic;
  size_t size;
  const char* what;
};
constexpr Signature kSignatures[] = {
    {"\xff\xd8\xff", 3, "a JPEG image"},
    {"\x89PNG", 4, "a PNG image"},
    {"GIF8", 4, "a GIF image"},
    {"%PDF", 4, "a PDF document"},
    {"\x7f"
     "ELF",
     4, "an ELF program or library"},
    {"\x1f\x8b", 2, "a gzip file; unpack it first"},
    {"\x93NUMPY", 6, "a numpy .npy file"},
    {"\x89HDF", 4, "an HDF5 file"},
    {"\x80\x02", 2, "a bare pickle (an old torch.save file); save the model with torch.jit.save"},
    {"RIFF", 4, "a RIFF file such as WAV"},
    {"version https://git-lfs", 23, "a Git LFS pointer; run `git lfs pull`"},
    {"<!DOCTYPE", 9, "an HTML page"},
    {"<html", 5, "an HTML page"},
};

[[noreturn]] void not_a_zip(std::string_view bytes) {
  for (const Signature& s : kSignatures) {
    if (bytes.substr(0, s.size) == std::string_view(s.magic, s.size)) {
      raise(ErrorKind::ArchiveError, "not a TorchScript archive: this is ", s.what);
    }
  }
  if (bytes.size() >= 8 && bytes.substr(4, 4) == "PTMF") {
    raise(ErrorKind::ArchiveError,
          "a flatbuffer mobile module; export it in the zip format (use_flatbuffer=False)");
  }
  if (bytes.size() >= 4 && u32(bytes.data()) == kLocalMagic) {
    raise(ErrorKind::ArchiveError,
          "a zip file without its directory: it is truncated; copy or download it again");
  }
  raise(ErrorKind::ArchiveError, "not a TorchScript archive: this is no zip file");
}

// The offset of the end record. It is searched backwards, over a possible comment. The last one
// counts, as in PyTorch and Python, so that all readers see the same archive.
int64_t find_end(std::string_view bytes) {
  int64_t size = int64_t(bytes.size());
  int64_t lowest = std::max<int64_t>(0, size - kEndSize - kMaxComment);
  for (int64_t at = size - 4; at >= lowest; --at) {
    const char* p = bytes.data() + at;
    if (u32(p) != kEndMagic) continue;
    if (at + kEndSize <= size && at + kEndSize + u16(p + 20) <= size) return at;
    raise(ErrorKind::ArchiveError, "the zip directory ends outside the file: it is truncated");
  }
  not_a_zip(bytes);
}

struct Directory {
  int64_t offset, size, count;
};

Directory locate_directory(std::string_view bytes) {
  int64_t end = find_end(bytes);
  const char* p = bytes.data() + end;
  Directory d{u32(p + 16), u32(p + 12), u16(p + 10)};
  bool is_part = u16(p + 4) != 0 || u16(p + 6) != 0 || u16(p + 8) != u16(p + 10);
  bool is_64 = end >= kLocator64Size && u32(bytes.data() + end - kLocator64Size) == kLocator64Magic;
  if (is_64) {
    int64_t at = checked_u64(bytes.data() + end - kLocator64Size + 8);
    if (at > end - kLocator64Size - kEnd64Size || u32(bytes.data() + at) != kEnd64Magic) {
      raise(ErrorKind::ArchiveError, "the zip64 end record is misplaced");
    }
    const char* q = bytes.data() + at;
    d = {checked_u64(q + 48), checked_u64(q + 40), checked_u64(q + 32)};
    is_part = u32(bytes.data() + end - kLocator64Size + 4) != 0 || u32(q + 16) != 0 ||
              u32(q + 20) != 0 || u64(q + 24) != u64(q + 32);
    end = at;
  }
  if (is_part) raise(ErrorKind::ArchiveError, "the zip file is one part of several");
  if (d.offset > end || d.size > end - d.offset) {
    raise(ErrorKind::ArchiveError, "the zip directory lies outside the file");
  }
  return d;
}

// Replaces fields of a directory entry that are 0xffffffff by the 64-bit ones of its extra data.
void apply_zip64(std::string_view extra, int64_t* size, int64_t* compressed, int64_t* offset) {
  while (extra.size() >= 4) {
    int64_t id = u16(extra.data()), length = u16(extra.data() + 2);
    if (length > int64_t(extra.size()) - 4) return;
    std::string_view body = extra.substr(4, size_t(length));
    extra.remove_prefix(size_t(length) + 4);
    if (id != 1) continue;
    for (int64_t* field : {size, compressed, offset}) {
      if (*field != 0xffffffff) continue;
      if (body.size() < 8) raise(ErrorKind::ArchiveError, "a zip64 field is truncated");
      *field = checked_u64(body.data());
      body.remove_prefix(8);
    }
    return;
  }
}

void check_name(std::string_view name) {
  if (!is_utf8(name)) raise(ErrorKind::ArchiveError, "the name of a record is not UTF-8");
  bool bad = name.empty() || name[0] == '/' || name.find('\\') != std::string_view::npos ||
             name.find('\0') != std::string_view::npos;
  for (size_t begin = 0; !bad && begin <= name.size();) {
    size_t end = std::min(name.find('/', begin), name.size());
    bad = name.substr(begin, end - begin) == "..";
    begin = end + 1;
  }
  if (bad) {
    raise(ErrorKind::ArchiveError, "the record name '", std::string(name.substr(0, 100)),
          "' is not a relative path");
  }
}

}  // namespace

// ---- ZipArchive

std::shared_ptr<ZipArchive> ZipArchive::open(std::shared_ptr<Bytes> bytes,
                                             const ZipLimits& limits) {
  std::shared_ptr<ZipArchive> archive(new ZipArchive(std::move(bytes)));
  archive->check_storages_ = limits.check_storages;
  archive->read_directory(limits);
  archive->check_overlaps();
  return archive;
}

void ZipArchive::read_directory(const ZipLimits& limits) {
  std::string_view bytes = bytes_->view();
  Directory directory = locate_directory(bytes);
  if (directory.count > limits.max_records || directory.count > directory.size / kCentralSize) {
    raise(ErrorKind::ArchiveError, "the zip directory claims ", directory.count, " records");
  }
  records_.reserve(as_size(directory.count));
  int64_t at = directory.offset, end = directory.offset + directory.size;
  for (int64_t i = 0; i < directory.count; ++i) {
    if (end - at < kCentralSize || u32(bytes.data() + at) != kCentralMagic) {
      raise(ErrorKind::ArchiveError, "record ", i, " of the zip directory is damaged");
    }
    const char* p = bytes.data() + at;
    int64_t name_size = u16(p + 28), extra_size = u16(p + 30), comment_size = u16(p + 32);
    int64_t total = kCentralSize + name_size + extra_size + comment_size;
    if (total > end - at) {
      raise(ErrorKind::ArchiveError, "record ", i, " of the zip directory is truncated");
    }
    add_record(p, bytes.substr(size_t(at + kCentralSize), size_t(name_size)),
               bytes.substr(size_t(at + kCentralSize + name_size), size_t(extra_size)),
               directory.offset, limits);
    at += total;
  }
  if (at != end) raise(ErrorKind::ArchiveError, "the zip directory has more than its records");
}

void ZipArchive::add_record(const char* p, std::string_view name, std::string_view extra,
                            int64_t directory_offset, const ZipLimits& limits) {
  std::string_view bytes = bytes_->view();
  check_name(name);
  Record r{std::string(name),
           uint16_t(u16(p + 10)),
           uint32_t(u32(p + 16)),
           u32(p + 20),
           u32(p + 24),
           0,
           0};
  int64_t local = u32(p + 42);
  apply_zip64(extra, &r.size, &r.compressed_size, &local);
  auto fail = [&](const char* what) {
    raise(ErrorKind::ArchiveError, "the record '", r.name, "' ", what);
  };
  constexpr int64_t kEncrypted = 1 << 0 | 1 << 6 | 1 << 13, kSizesFollow = 1 << 3;
  if (u16(p + 8) & kEncrypted) fail("is encrypted");
  if (u16(p + 34) != 0 && u16(p + 34) != 0xffff) fail("lies in another file");
  if (r.method != 0 && r.method != 8) fail("uses a compression method other than deflate");
  if (local > directory_offset - kLocalSize) fail("lies outside the file");
  const char* q = bytes.data() + local;
  if (u32(q) != kLocalMagic) fail("has no local header where the directory says");
  bool differs = (u16(q + 6) & kEncrypted) != 0 || u16(q + 8) != r.method;
  if (!(u16(q + 6) & kSizesFollow)) {  // the flag says that CRC and sizes come behind the data
    auto is = [](int64_t own, int64_t wanted) { return own == wanted || own == 0xffffffff; };
    differs = differs || u32(q + 14) != r.crc || !is(u32(q + 18), r.compressed_size) ||
              !is(u32(q + 22), r.size);
  }
  if (differs) fail("has another local header than the directory says");
  r.local_offset = local;
  int64_t local_name_size = u16(q + 26);
  r.data_offset = local + kLocalSize + local_name_size + u16(q + 28);
  if (r.data_offset > directory_offset || r.compressed_size > directory_offset - r.data_offset) {
    fail("reaches beyond the file's data");
  }
  if (bytes.substr(size_t(local + kLocalSize), size_t(local_name_size)) != name) {
    fail("has another name in its local header");
  }
  if (r.size > limits.max_record_bytes) fail("is too large");
  if (r.size > 0 && name.back() == '/') fail("is a folder with contents");
  if (r.method == 0 && r.size != r.compressed_size) fail("is stored with two different sizes");
  if (r.method == 8 && r.size / limits.max_ratio > r.compressed_size) {
    fail("claims to shrink more than deflate can");
  }
  if (!index_.emplace(r.name, records_.size()).second) fail("occurs twice");
  records_.push_back(std::move(r));
}

void ZipArchive::check_overlaps() const {
  std::vector<std::pair<int64_t, int64_t>> spans;
  spans.reserve(records_.size());
  for (const Record& r : records_) {
    spans.emplace_back(r.local_offset, r.data_offset + r.compressed_size);
  }
  std::sort(spans.begin(), spans.end());
  for (size_t i = 1; i < spans.size(); ++i) {
    if (spans[i].first < spans[i - 1].second) {
      raise(ErrorKind::ArchiveError, "two records of the zip file overlap");
    }
  }
}

const ZipArchive::Record* ZipArchive::find(std::string_view name) const {
  auto it = index_.find(std::string(name));
  return it == index_.end() ? nullptr : &records_[it->second];
}

void ZipArchive::count_inflated(const Record& record) const {
  constexpr int64_t kFloor = 64 << 20, kRatio = 64;
  const int64_t size = int64_t(bytes_->size());
  const int64_t most = size > INT64_MAX / (2 * kRatio) ? INT64_MAX / 2 : kFloor + kRatio * size;
  if (record.size > most - inflated_) {
    raise(ErrorKind::ArchiveError, "the record '", record.name, "' and others inflate to over ",
          most, " bytes from a file of ", size, "; no tool writes such a file by accident");
  }
  inflated_ += record.size;
}

void ZipArchive::inflate(const Record& record, char* out) const {
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) {
    raise(ErrorKind::MemoryError, "zlib cannot start");
  }
  const char* in = bytes_->data() + record.data_offset;
  int64_t in_left = record.compressed_size, out_left = record.size;
  constexpr int64_t kChunk = 1 << 30;
  int status = Z_OK;
  char spare;  // the output of a stream that is longer than declared goes here
  bool spared = false;
  while (status == Z_OK) {
    if (stream.avail_in == 0) {
      int64_t n = std::min(in_left, kChunk);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in));
      stream.avail_in = uInt(n);
      in += n;
      in_left -= n;
    }
    if (stream.avail_out == 0) {
      int64_t n = std::min(out_left, kChunk);
      spared = out_left == 0;
      stream.next_out = reinterpret_cast<Bytef*>(spared ? &spare : out);
      stream.avail_out = spared ? 1 : uInt(n);
      out += n;
      out_left -= n;
    }
    status = ::inflate(&stream, Z_NO_FLUSH);
    if (spared && stream.avail_out == 0) status = Z_DATA_ERROR;
  }
  // total_out has 32 bits on Windows.
  bool complete = status == Z_STREAM_END && out_left == 0 && stream.avail_out == uInt(spared);
  inflateEnd(&stream);
  if (!complete) raise(ErrorKind::ArchiveError, "the record '", record.name, "' is damaged");
}

namespace {

void check_crc_of(const ZipArchive::Record& record, const char* data) {
  uLong crc = crc32(0, nullptr, 0);
  for (int64_t at = 0; at < record.size;) {
    int64_t n = std::min<int64_t>(record.size - at, 1 << 30);
    crc = crc32(crc, reinterpret_cast<const Bytef*>(data + at), uInt(n));
    at += n;
  }
  if (uint32_t(crc) != record.crc) {
    raise(ErrorKind::ArchiveError, "the record '", record.name,
          "' is damaged: its checksum differs");
  }
}

void release_bytes(void* user) { delete static_cast<std::shared_ptr<Bytes>*>(user); }

}  // namespace

std::string_view ZipArchive::read(const Record& record, std::string* buffer, bool check_crc) const {
  const char* data = bytes_->data() + record.data_offset;
  if (record.method == 8) {
    count_inflated(record);
    buffer->resize(as_size(record.size));
    inflate(record, buffer->data());
    data = buffer->data();
  }
  if (check_crc) check_crc_of(record, data);
  return {data, size_t(record.size)};
}

Storage* ZipArchive::storage(const Record& record, int64_t itemsize) const {
  char* data = bytes_->data() + record.data_offset;
  bool aligned = reinterpret_cast<uintptr_t>(data) % uintptr_t(std::max<int64_t>(itemsize, 1)) == 0;
  if (record.method == 0 && check_storages_) check_crc_of(record, data);
  if (record.method == 0 && aligned) {
    auto held = std::make_unique<std::shared_ptr<Bytes>>(bytes_);
    Storage* lent = Storage::borrow(data, record.size, release_bytes, held.get());
    held.release();
    return lent;
  }
  if (record.method == 8) count_inflated(record);
  Storage* s = Storage::allocate(record.size);
  try {
    if (record.method == 8) {
      inflate(record, static_cast<char*>(s->data()));
      check_crc_of(record, static_cast<char*>(s->data()));
    } else {
      std::memcpy(s->data(), data, size_t(record.size));
    }
  } catch (...) {
    s->release();
    throw;
  }
  return s;
}

}  // namespace scriptlang
