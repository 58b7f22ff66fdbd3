// Files of the system: see files.h.
#include "files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

#if defined(_WIN32)
#include <io.h>
#include <process.h>

#include "values/wide_path.h"
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace scriptlang::files {

namespace {

// Systems take no more than this many bytes at once.
constexpr size_t kAtOnce = size_t(1) << 30;

template <class Stat>
Facts facts_from(const Stat& found) {
  return {(found.st_mode & S_IFMT) == S_IFREG, int64_t(found.st_size),
          unsigned(found.st_mode) & 0777};
}

}  // namespace

#if defined(_WIN32)

int open(const std::string& path) {
  return _wopen(wide_path(path).c_str(), _O_RDONLY | _O_BINARY | _O_NOINHERIT);
}

int make(const std::string& path) {
  return _wopen(wide_path(path).c_str(), _O_WRONLY | _O_CREAT | _O_EXCL | _O_BINARY | _O_NOINHERIT,
                _S_IREAD | _S_IWRITE);
}

void close(int file) { _close(file); }

bool facts_of(int file, Facts* facts) {
  struct _stat64 found;
  if (_fstat64(file, &found) != 0) return false;
  *facts = facts_from(found);
  return true;
}

bool facts_of(const std::string& path, Facts* facts) {
  struct _stat64 found;
  if (_wstat64(wide_path(path).c_str(), &found) != 0) return false;
  *facts = facts_from(found);
  return true;
}

void set_mode(int, unsigned) {}  // files have no such modes

int64_t read(int file, char* data, size_t size) {
  return _read(file, data, unsigned(std::min(size, kAtOnce)));
}

int64_t write(int file, const char* data, size_t size) {
  return _write(file, data, unsigned(std::min(size, kAtOnce)));
}

bool flush(int file) { return _commit(file) == 0; }

void* map(int file, size_t size) {
  HANDLE handle = reinterpret_cast<HANDLE>(_get_osfhandle(file));
  HANDLE mapping = CreateFileMappingW(handle, nullptr, PAGE_WRITECOPY, 0, 0, nullptr);
  void* data = mapping ? MapViewOfFile(mapping, FILE_MAP_COPY, 0, 0, size) : nullptr;
  if (mapping) CloseHandle(mapping);  // the view keeps it
  if (!data) errno = ENOMEM;
  return data;
}

void unmap(void* data, size_t) { UnmapViewOfFile(data); }

std::string real(const std::string& path) { return path; }

bool rename(const std::string& from, const std::string& to) {
  if (MoveFileExW(wide_path(from).c_str(), wide_path(to).c_str(),
                  MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH)) {
    return true;
  }
  errno = EACCES;  // a program has the file open, most often
  return false;
}

void remove(const std::string& path) { _wunlink(wide_path(path).c_str()); }

int64_t process() { return _getpid(); }

#else

int open(const std::string& path) {
  // Without O_NONBLOCK, opening a named pipe would wait for a writer.
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

int make(const std::string& path) {
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

void close(int file) { ::close(file); }

bool facts_of(int file, Facts* facts) {
  struct stat found;
  if (::fstat(file, &found) != 0) return false;
  *facts = facts_from(found);
  return true;
}

bool facts_of(const std::string& path, Facts* facts) {
  struct stat found;
  if (::stat(path.c_str(), &found) != 0) return false;
  *facts = facts_from(found);
  return true;
}

void set_mode(int file, unsigned mode) {
  if (::fchmod(file, mode_t(mode)) != 0) errno = 0;  // the file is then as others are made
}

int64_t read(int file, char* data, size_t size) {
  for (;;) {
    const ssize_t done = ::read(file, data, std::min(size, kAtOnce));
    if (done >= 0 || errno != EINTR) return done;
  }
}

int64_t write(int file, const char* data, size_t size) {
  for (;;) {
    const ssize_t done = ::write(file, data, std::min(size, kAtOnce));
    if (done >= 0 || errno != EINTR) return done;
  }
}

bool flush(int file) { return ::fsync(file) == 0; }

void* map(int file, size_t size) {
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
  return data == MAP_FAILED ? nullptr : data;
}

void unmap(void* data, size_t size) { ::munmap(data, size); }

std::string real(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> found{::realpath(path.c_str(), nullptr), ::free};
  return found ? found.get() : path;
}

bool rename(const std::string& from, const std::string& to) {
  return ::rename(from.c_str(), to.c_str()) == 0;
}

void remove(const std::string& path) { ::unlink(path.c_str()); }

int64_t process() { return ::getpid(); }

#endif

}  // namespace scriptlang::files
