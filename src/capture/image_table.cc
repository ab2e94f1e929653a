#include "src/capture/image_table.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/capture/counts.h"
#include "src/capture/image.h"
#include "src/capture/mapped_file.h"
#include "src/capture/own_memory.h"
#include "src/capture/session.h"
#include "src/capture/word_map.h"
#include "src/trace/crc32c.h"

namespace ss::capture {
namespace {

// An image and its pieces are not taken apart by another thread's load of the same one. Never held
// across a driver call.
pthread_mutex_t g_lock = PTHREAD_MUTEX_INITIALIZER;
WordMap g_images;   // hash of the bytes or of the place -> number
WordMap g_handles;  // CUmodule, CUlibrary -> number << 16 | load
WordMap g_owners;   // CUkernel, CUfunction -> CUlibrary << 16 | load
uint64_t g_next_image = 1;
std::atomic<uint64_t> g_next_load{0};

constexpr size_t kPiece = trace::kMaxText;
static_assert(kPiece <= sizeof(uint64_t) * 2 * kMaxWords);

// A load's number, 1 to 65535: tells a library from the one that had its handle before.
constexpr uint64_t kLoadMask = 0xffff;
uint64_t NextLoad() { return g_next_load.fetch_add(1) % kLoadMask + 1; }

class Hash {
 public:
  void Add(const char* bytes, size_t size) {
    for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t), bytes += sizeof(uint64_t)) {
      uint64_t word;
      memcpy(&word, bytes, sizeof word);
      Add(word);
    }
    uint64_t rest = size;
    for (size_t i = 0; i < size; ++i) rest = rest << 8 | static_cast<uint8_t>(bytes[i]);
    Add(rest);
  }
  void Add(uint64_t word) {
    state_ = (state_ ^ word) * 0x9e3779b97f4a7c15;
    state_ ^= state_ >> 29;
  }
  uint64_t value() const { return state_ ? state_ : 1; }

 private:
  uint64_t state_ = 0xcbf29ce484222325;
};

// A thread that loads a module launches nothing meanwhile: its list of words is the buffer.
char* Buffer(Thread& thread) { return reinterpret_cast<char*>(thread.words); }

bool HashBytes(Thread& thread, const ImageSpan& image, uint64_t* key) {
  Hash hash;
  hash.Add(image.bytes);
  for (uint64_t at = 0; at < image.bytes; at += kPiece) {
    size_t size = image.bytes - at < kPiece ? image.bytes - at : kPiece;
    if (!ReadOwnMemory(image.begin + at, Buffer(thread), size)) return false;
    hash.Add(Buffer(thread), size);
  }
  *key = hash.value();
  return true;
}

uint64_t HashPlace(const FilePlace& place, uint64_t bytes, uint64_t checksum) {
  Hash hash;
  hash.Add(place.path, strlen(place.path));
  hash.Add(place.offset);
  hash.Add(bytes);
  hash.Add(checksum);
  return hash.value();
}

void EmitBytes(Thread& thread, uint64_t number, const ImageSpan& image) {
  for (uint64_t at = 0; at < image.bytes; at += kPiece) {
    size_t size = image.bytes - at < kPiece ? image.bytes - at : kPiece;
    if (!ReadOwnMemory(image.begin + at, Buffer(thread), size)) {  // unmapped by another thread
      return CountGap(Gap::kUnreadableImage);
    }
    Note(thread,
         trace::view::ImageBytes{.image = number, .offset = at, .data = {Buffer(thread), size}});
  }
}

// The number of the image with this key; emits it when it is new. `place`: null for bytes.
uint64_t Intern(Thread& thread, uint64_t key, const ImageSpan& image, const FilePlace* place,
                uint64_t checksum) {
  pthread_mutex_lock(&g_lock);
  uint64_t number = g_images.Get(key);
  if (number == 0) {
    number = g_next_image++;
    Note(thread, trace::view::Image{.image = number,
                                    .kind = static_cast<uint64_t>(image.kind),
                                    .bytes = image.bytes,
                                    .path = place ? place->path : "",
                                    .offset = place ? place->offset : 0,
                                    .checksum = checksum});
    if (!place) EmitBytes(thread, number, image);
    g_images.Set(key, number);
  }
  pthread_mutex_unlock(&g_lock);
  return number;
}

uint64_t Unreadable() {
  CountGap(Gap::kUnreadableImage);
  return 0;
}

// The same sum as ImageChecksum's.
bool ReadEnds(int fd, uint64_t bytes, ImageKind* kind, uint64_t* checksum) {
  char part[kChecksumBytes];
  uint64_t size = bytes < sizeof part ? bytes : sizeof part;
  if (pread(fd, part, size, 0) != static_cast<ssize_t>(size)) return false;
  *kind = KindOfFile(part, size);
  uint32_t crc = trace::Crc32c(part, size);
  if (pread(fd, part, size, static_cast<off_t>(bytes - size)) != static_cast<ssize_t>(size)) {
    return false;
  }
  *checksum = trace::Crc32c(part, size, crc);
  return true;
}

}  // namespace

uint64_t TheImage(Thread& thread, const void* pointer) {
  ImageSpan image = RecogniseImage(pointer);
  if (image.kind == ImageKind::kUnknown) return image.damaged ? Unreadable() : 0;
  FilePlace place;
  uint64_t key = 0;
  uint64_t checksum = 0;
  if (!ImageChecksum(image, &checksum)) return Unreadable();
  if (FindFile(image.begin, image.bytes, &place)) {
    key = HashPlace(place, image.bytes, checksum);
    return Intern(thread, key, image, &place, checksum);
  }
  if (!HashBytes(thread, image, &key)) return Unreadable();
  return Intern(thread, key, image, nullptr, checksum);
}

uint64_t TheImageOfFile(Thread& thread, const char* path) {
  FilePlace place;
  place.offset = 0;
  if (!path || !AbsolutePath(path, &place)) return Unreadable();
  int fd = open(place.path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  ImageSpan image;
  uint64_t checksum = 0;
  bool read = fd >= 0 && fstat(fd, &status) == 0 &&
              ReadEnds(fd, static_cast<uint64_t>(status.st_size), &image.kind, &checksum);
  if (fd >= 0) close(fd);
  if (!read) return Unreadable();
  image.bytes = static_cast<uint64_t>(status.st_size);
  return Intern(thread, HashPlace(place, image.bytes, checksum), image, &place, checksum);
}

void NoteImageLoad(Thread& thread, uint64_t image, uint64_t handle) {
  g_handles.Set(handle, image << 16 | NextLoad());
  Note(thread, trace::view::ImageLoad{.image = image, .handle = handle});
}

void NoteSameImage(Thread& thread, uint64_t library, uint64_t module) {
  uint64_t image = g_handles.Get(library);
  if (image == 0 || g_handles.Get(module) == image) return;
  g_handles.Set(module, image);
  Note(thread, trace::view::ImageLoad{.image = image >> 16, .handle = module});
}

void ForgetImageLoad(uint64_t handle) { g_handles.Set(handle, 0); }
bool IsLoaded(uint64_t handle) { return g_handles.Get(handle) != 0; }

void NoteOwner(uint64_t function, uint64_t library) {
  uint64_t load = g_handles.Get(library) & kLoadMask;
  if (load && library >> 48 == 0) g_owners.Set(function, library << 16 | load);
}

uint64_t OwnerOf(uint64_t function) {
  uint64_t owner = g_owners.Get(function);
  uint64_t library = owner >> 16;
  return owner && (g_handles.Get(library) & kLoadMask) == (owner & kLoadMask) ? library : 0;
}

bool InitImages() { return g_images.Init(15) && g_handles.Init(16) && g_owners.Init(18); }

void ResetImages() {
  g_images.Clear();
  g_handles.Clear();
  g_owners.Clear();
  g_next_image = 1;
  g_next_load.store(0);
  g_lock = PTHREAD_MUTEX_INITIALIZER;
}

}  // namespace ss::capture
