#include "src/capture/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace ss::capture {
namespace {

constexpr size_t kMaxRingMegabytes = 1024;
constexpr const char* kCollectorKeys[] = {"mode", "max_trace_mb", "halt_on_error", "stall_seconds",
                                          "min_confidence"};

struct Item {
  const char* key;
  size_t key_size;
  const char* value;
  size_t value_size;

  bool KeyIs(const char* name) const {
    return strlen(name) == key_size && memcmp(key, name, key_size) == 0;
  }
  bool ValueIs(const char* name) const {
    return strlen(name) == value_size && memcmp(value, name, value_size) == 0;
  }
};

bool ReadFlag(const Item& item, bool* flag) {
  if (!item.ValueIs("0") && !item.ValueIs("1")) return false;
  *flag = item.ValueIs("1");
  return true;
}

bool ReadMegabytes(const Item& item, size_t* bytes) {
  size_t megabytes = 0;
  for (size_t i = 0; i < item.value_size; ++i) {
    if (item.value[i] < '0' || item.value[i] > '9' || megabytes > kMaxRingMegabytes) return false;
    megabytes = megabytes * 10 + static_cast<size_t>(item.value[i] - '0');
  }
  if (megabytes == 0 || megabytes > kMaxRingMegabytes) return false;
  *bytes = megabytes << 20;
  return true;
}

bool ReadOnFull(const Item& item, bool* drop) {
  if (!item.ValueIs("block") && !item.ValueIs("drop")) return false;
  *drop = item.ValueIs("drop");
  return true;
}

bool IsCollectorKey(const Item& item) {
  for (const char* key : kCollectorKeys) {
    if (item.KeyIs(key)) return true;
  }
  return false;
}

bool Read(const Item& item, Options* options) {
  if (item.KeyIs("disable")) return ReadFlag(item, &options->disable);
  if (item.KeyIs("stacks")) return ReadFlag(item, &options->stacks);
  if (item.KeyIs("ring_mb")) return ReadMegabytes(item, &options->ring_bytes);
  if (item.KeyIs("on_full")) return ReadOnFull(item, &options->drop_when_full);
  return IsCollectorKey(item);
}

}  // namespace

Options ParseOptions(const char* text) {
  Options options;
  while (text && *text) {
    size_t size = strcspn(text, ":");
    size_t key_size = strcspn(text, "=:");
    const char* value = text + key_size + (key_size < size);
    Item item{text, key_size, value, size - static_cast<size_t>(value - text)};
    if (size && !Read(item, &options)) {
      fprintf(stderr,
              "StreamSan: STREAMSAN_OPTIONS: '%.*s' is not understood and ignored "
              "(stacks=0|1, ring_mb=1..1024, on_full=block|drop, disable=0|1)\n",
              static_cast<int>(size), text);
    }
    text += size + (text[size] == ':');
  }
  return options;
}

}  // namespace ss::capture
