#include "src/kernels/tag_set.h"

#include <algorithm>
#include <numeric>

namespace ss::kernels {
namespace {

constexpr uint32_t kAbsent = 0xffffffff;
constexpr uint64_t kFreeSlot = ~uint64_t{0};
// Beyond these a set stops being worth its precision; what replaces it covers all of it.
constexpr size_t kMaxNumbers = 6;
constexpr size_t kMaxAddresses = 8;

uint64_t Mix(uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ull;
  return x ^ x >> 32;
}

uint64_t HashOf(std::span<const Tag> tags) {
  uint64_t hash = tags.size();
  for (Tag tag : tags) hash = Mix(hash * 31 + tag.bits());
  return hash;
}

// A step that every number of both progressions is a multiple of, within what a tag can hold.
uint32_t Step(uint64_t step) {
  while (step > Tag::kMaxMultiple) step = step % 2 ? 1 : step / 2;
  return step ? static_cast<uint32_t>(step) : 1;
}

// The one progression that holds all of `numbers`; the step 0 means a single number.
Tag Widen(std::span<const Tag> numbers) {
  uint64_t step = 0;
  uint32_t first = numbers[0].value();
  for (Tag tag : numbers) {
    uint32_t distance = tag.offset() > int32_t(first) ? tag.value() - first : first - tag.value();
    step = std::gcd(step, uint64_t(distance));
    if (tag.kind() != TagKind::kConst) step = std::gcd(step, uint64_t(tag.multiple()));
  }
  uint32_t whole = Step(step);
  int64_t rest = int32_t(first) % int64_t(whole);
  return Tag(TagKind::kWide, static_cast<uint32_t>(rest < 0 ? rest + whole : rest), whole);
}

template <typename Predicate>
size_t CountIf(const std::vector<Tag>& tags, Predicate predicate) {
  return static_cast<size_t>(std::count_if(tags.begin(), tags.end(), predicate));
}

bool IsAddress(Tag tag) {
  return tag.kind() == TagKind::kParamAddress || tag.kind() == TagKind::kParamAddressAt;
}

bool IsStack(Tag tag) { return tag.kind() == TagKind::kStack || tag.kind() == TagKind::kStackAt; }

// `tag`, a place in the parameters or in local memory, moved by `by`.
Tag Moved(Tag tag, Tag by) {
  uint32_t sum = tag.value() + (by.IsNumber() ? by.value() : 0);
  if (by.kind() == TagKind::kConst) return Tag(tag.kind(), sum, tag.multiple());
  bool stack = IsStack(tag), exact = tag.multiple() == 0;
  if (stack && by.kind() == TagKind::kLocalWindow) return tag;
  if (stack && !by.IsNumber()) return Tag(TagKind::kStackAny, 0);
  uint32_t step = by.IsNumber() ? by.multiple() : 1;
  step = exact ? step : std::gcd(step, tag.multiple());
  return Tag(stack ? TagKind::kStackAt : TagKind::kParamAddressAt, sum, step);
}

// Too many tags of a kind, or its "any" already there: only the "any" stays.
template <typename Predicate>
void Collapse(std::vector<Tag>& tags, Predicate predicate, Tag any) {
  bool has_any = std::find(tags.begin(), tags.end(), any) != tags.end();
  size_t count = CountIf(tags, predicate);
  if (count <= kMaxAddresses && !(has_any && count)) return;
  std::erase_if(tags, predicate);
  if (!has_any) tags.push_back(any);
}

// The word itself is one of the places to which it may have been moved. `tags` are sorted.
void DropPlain(std::vector<Tag>& tags) {
  if (std::none_of(tags.begin(), tags.end(), [](Tag tag) { return tag.moved(); })) return;
  const std::vector<Tag> all = tags;
  std::erase_if(tags, [&](Tag tag) {
    return !(tag == tag.Moved()) && std::binary_search(all.begin(), all.end(), tag.Moved());
  });
}

Tag AddNumbers(Tag x, Tag y) {
  uint32_t sum = x.value() + y.value();
  if (x.kind() == TagKind::kConst && y.kind() == TagKind::kConst) return {TagKind::kConst, sum};
  uint32_t step = std::gcd(x.kind() == TagKind::kConst ? 0 : x.multiple(),
                           y.kind() == TagKind::kConst ? 0 : y.multiple());
  step = step ? step : 1;
  bool wide = x.kind() == TagKind::kWide || y.kind() == TagKind::kWide;
  if (!wide) return {TagKind::kNumber, sum, step};
  int64_t rest = int64_t(int32_t(sum)) % step;
  return {TagKind::kWide, static_cast<uint32_t>(rest < 0 ? rest + step : rest), step};
}

}  // namespace

void PairMap::Clear() {
  slots_.assign(256, {kFreeSlot, 0});
  used_ = 0;
}

uint32_t PairMap::Find(uint32_t a, uint32_t b) const {
  uint64_t key = uint64_t(a) << 32 | b;
  size_t mask = slots_.size() - 1;
  for (size_t i = Mix(key) & mask;; i = (i + 1) & mask) {
    if (slots_[i].key == key) return slots_[i].value;
    if (slots_[i].key == kFreeSlot) return kAbsent;
  }
}

void PairMap::Insert(uint32_t a, uint32_t b, uint32_t value) {
  if (++used_ * 2 > slots_.size()) Grow();
  uint64_t key = uint64_t(a) << 32 | b;
  size_t mask = slots_.size() - 1;
  size_t i = Mix(key) & mask;
  while (slots_[i].key != kFreeSlot) i = (i + 1) & mask;
  slots_[i] = {key, value};
}

void PairMap::Grow() {
  std::vector<Slot> old = std::move(slots_);
  slots_.assign(old.size() * 2, {kFreeSlot, 0});
  size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.key == kFreeSlot) continue;
    size_t i = Mix(slot.key) & mask;
    while (slots_[i].key != kFreeSlot) i = (i + 1) & mask;
    slots_[i] = slot;
  }
}

void TagPool::Clear() {
  sets_.clear();
  tags_.clear();
  index_.assign(512, 0);
  for (PairMap* map : {&joins_, &sums_, &negations_, &multiples_}) map->Clear();
  added_.clear();
  std::vector<Tag> none;
  Intern(none);
  Of(Tag(TagKind::kNumber, 0, 1));
  Const(0);
}

void TagPool::Normalise(std::vector<Tag>& tags) {
  std::vector<Tag> numbers;
  bool wide = false;
  DropPlain(tags);
  for (Tag tag : tags) {
    if (!tag.IsNumber()) continue;
    wide |= tag.kind() == TagKind::kWide;
    numbers.push_back(tag);
  }
  if (numbers.size() > kMaxNumbers || (wide && numbers.size() > 1)) {
    std::erase_if(tags, [](Tag tag) { return tag.IsNumber(); });
    tags.push_back(Widen(numbers));
  }
  Collapse(tags, IsAddress, Tag(TagKind::kParamAddressAny, 0));
  Collapse(tags, IsStack, Tag(TagKind::kStackAny, 0));
}

SetId TagPool::Intern(std::vector<Tag>& tags) {
  if (tags.size() > 1) {
    std::sort(tags.begin(), tags.end());
    tags.erase(std::unique(tags.begin(), tags.end()), tags.end());
    Normalise(tags);
    std::sort(tags.begin(), tags.end());
  }
  size_t mask = index_.size() - 1;
  size_t i = HashOf(tags) & mask;
  for (; index_[i]; i = (i + 1) & mask) {
    std::span<const Tag> found = Tags(index_[i] - 1);
    if (std::equal(found.begin(), found.end(), tags.begin(), tags.end())) return index_[i] - 1;
  }
  bool pointers = std::any_of(tags.begin(), tags.end(), [](Tag tag) { return !tag.IsNumber(); });
  bool marks = std::any_of(tags.begin(), tags.end(),
                           [](Tag tag) { return tag.kind() == TagKind::kDifference; });
  SetId id = static_cast<SetId>(sets_.size());
  sets_.push_back({uint32_t(tags_.size()), uint16_t(tags.size()), pointers, marks});
  tags_.insert(tags_.end(), tags.begin(), tags.end());
  index_[i] = id + 1;
  if (sets_.size() * 2 > index_.size()) Rehash();
  return id;
}

void TagPool::Rehash() {
  index_.assign(index_.size() * 2, 0);
  size_t mask = index_.size() - 1;
  for (SetId id = 0; id < sets_.size(); ++id) {
    size_t i = HashOf(Tags(id)) & mask;
    while (index_[i]) i = (i + 1) & mask;
    index_[i] = id + 1;
  }
}

SetId TagPool::Of(Tag tag) {
  scratch_.assign(1, tag);
  return Intern(scratch_);
}

SetId TagPool::Join(SetId a, SetId b) {
  if (a == b || b == kNothing) return a;
  if (a == kNothing) return b;
  if (a > b) std::swap(a, b);
  if (uint32_t known = joins_.Find(a, b); known != kAbsent) return known;
  std::vector<Tag> both(Tags(a).begin(), Tags(a).end());
  both.insert(both.end(), Tags(b).begin(), Tags(b).end());
  SetId joined = Intern(both);
  joins_.Insert(a, b, joined);
  return joined;
}

// The pointers of `left`, moved by what `right` may be.
void TagPool::AddTo(std::span<const Tag> left, std::span<const Tag> right, std::vector<Tag>& out) {
  for (Tag tag : left) {
    if (tag.IsNumber()) continue;
    bool movable = IsAddress(tag) || IsStack(tag);
    if (!movable) out.push_back(tag.Moved());
    for (Tag by : right) {
      if (movable) out.push_back(Moved(tag, by));
    }
  }
}

void TagPool::NoteSums(std::span<const Tag> left, std::span<const Tag> right) {
  for (Tag x : left) {
    if (!x.IsPointerWord()) continue;
    for (Tag y : right) {
      const Tag a = x.Unmoved(), b = y.Unmoved();
      if (b.IsPointerWord() && !(a == b) && !WereAdded(a, b)) {
        added_.emplace_back(std::min(a, b), std::max(a, b));
      }
    }
  }
}

SetId TagPool::Add(SetId a, SetId b) {
  if (a == kNothing || b == kZeroSet) return a;
  if (b == kNothing || a == kZeroSet) return b;
  if (a > b) std::swap(a, b);
  if (uint32_t known = sums_.Find(a, b); known != kAbsent) return known;
  std::vector<Tag> out;
  std::vector<Tag> left(Tags(a).begin(), Tags(a).end()), right(Tags(b).begin(), Tags(b).end());
  AddTo(left, right, out);
  AddTo(right, left, out);
  for (Tag x : left) {
    for (Tag y : right) {
      if (x.IsNumber() && y.IsNumber()) out.push_back(AddNumbers(x, y));
    }
  }
  NoteSums(left, right);
  SetId sum = out.empty() ? kUnknown : Intern(out);
  sums_.Insert(a, b, sum);
  return sum;
}

SetId TagPool::Negate(SetId a) {
  if (uint32_t known = negations_.Find(a, 0); known != kAbsent) return known;
  std::vector<Tag> out;
  for (Tag tag : Tags(a)) {
    if (tag.IsNumber()) {
      out.push_back(Tag(tag.kind(), 0u - tag.value(), tag.multiple()));
      if (tag.kind() == TagKind::kWide) out.back() = AddNumbers(out.back(), {TagKind::kConst, 0});
    } else {
      out.push_back(Tag(TagKind::kNumber, 0, 1));
    }
  }
  SetId negated = Intern(out);
  negations_.Insert(a, 0, negated);
  return negated;
}

SetId TagPool::Multiple(SetId a, uint32_t factor) {
  if (a == kNothing || factor == 0) return a == kNothing ? kNothing : kZeroSet;
  if (uint32_t known = multiples_.Find(a, factor); known != kAbsent) return known;
  std::vector<Tag> out;
  uint64_t magnitude = int32_t(factor) < 0 ? 0u - factor : factor;
  for (Tag tag : Tags(a)) {
    bool number = tag.IsNumber();
    if (tag.kind() == TagKind::kDifference) {
      out.push_back(tag);  // scaled back into an index and out of it: "a[b - a]"
    } else if (tag.kind() == TagKind::kConst) {
      out.push_back(Tag(TagKind::kConst, tag.value() * factor));
    } else {
      uint32_t step = Step(magnitude * (number ? tag.multiple() : 1));
      out.push_back(Tag(TagKind::kNumber, number ? tag.value() * factor : 0, step));
      if (tag.kind() == TagKind::kWide) {
        out.back() =
            AddNumbers(Tag(TagKind::kWide, 0, step), Tag(TagKind::kConst, out.back().value()));
      }
    }
  }
  bool only_marks = std::all_of(out.begin(), out.end(), [](Tag tag) { return !tag.IsNumber(); });
  if (only_marks) out.push_back(Tag(TagKind::kNumber, 0, Step(magnitude)));
  SetId product = Intern(out);
  multiples_.Insert(a, factor, product);
  return product;
}

SetId TagPool::PointersOnly(SetId a) {
  if (!HasPointer(a)) return kNothing;
  std::vector<Tag> out;
  for (Tag tag : Tags(a)) {
    if (!tag.IsNumber()) out.push_back(tag);
  }
  return Intern(out);
}

SetId TagPool::NumberOf(SetId a) {
  if (!HasPointer(a)) return kUnknown;
  std::vector<Tag> out{Tag(TagKind::kNumber, 0, 1)};
  for (Tag tag : Tags(a)) {
    if (tag.kind() == TagKind::kDifference) out.push_back(tag);
  }
  return Intern(out);
}

SetId TagPool::MarksOf(SetId a) {
  if (!HasMark(a)) return kNothing;
  std::vector<Tag> out;
  for (Tag tag : Tags(a)) {
    if (tag.kind() == TagKind::kDifference) out.push_back(tag);
  }
  return Intern(out);
}

bool TagPool::AsConst(SetId set, uint32_t* value) const {
  std::span<const Tag> tags = Tags(set);
  if (tags.size() != 1 || tags[0].kind() != TagKind::kConst) return false;
  *value = tags[0].value();
  return true;
}

bool TagPool::WereAdded(Tag a, Tag b) const {
  std::pair<Tag, Tag> pair(std::min(a.Unmoved(), b.Unmoved()), std::max(a.Unmoved(), b.Unmoved()));
  return std::find(added_.begin(), added_.end(), pair) != added_.end();
}

}  // namespace ss::kernels
