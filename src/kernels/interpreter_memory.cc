// Loads, stores, atomics, copies, tensor maps, textures.
#include <algorithm>
#include <charconv>

#include "src/kernels/interpreter.h"

namespace ss::kernels {
namespace {

size_t MemoryAt(std::span<const Operand> operands, size_t from = 0) {
  for (size_t i = from; i < operands.size(); ++i) {
    if (operands[i].kind == OperandKind::kMemory) return i;
  }
  return operands.size();
}

bool IsLocal(Tag tag) {
  return tag.kind() == TagKind::kStack || tag.kind() == TagKind::kStackAt ||
         tag.kind() == TagKind::kStackAny;
}

// Can a load from `tag` + `offset` be of the word at `where`? Tables are walked upwards.
bool MayBeAt(Tag tag, uint32_t offset, int32_t where) {
  if (tag.kind() == TagKind::kStackAny) return true;
  const int64_t start = static_cast<int32_t>(tag.value() + offset);
  const int64_t step = tag.multiple() != 0 && tag.multiple() % 4 == 0 ? tag.multiple() : 4;
  return where >= start && (where - start) % step == 0;
}

bool MayReturn(const Instruction& in) {
  return in.op == OpClass::kLoad || in.op == OpClass::kAtomic;
}

// Of a type's name (64, S32, F64, BF16x2, F32x4), 0 where it is something else.
uint32_t BytesOfType(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of("BFSU"), name.size()));
  uint32_t bits = 0, count = 1;
  const char* end = name.data() + name.size();
  auto [rest, failed] = std::from_chars(name.data(), end, bits);
  if (failed != std::errc{}) return 0;
  if (rest != end && *rest == 'x') rest = std::from_chars(rest + 1, end, count).ptr;
  return rest == end && bits <= 128 && count <= 8 ? bits / 8 * count : 0;
}

// What a load, a store or an atomic touches. Where the type says it, word for word: the size of a
// prefetch ("LTC128B") is none.
uint32_t BytesOf(const Instruction& in) {
  const bool plain = (in.op == OpClass::kLoad && in.opcode != "LDGMC") || in.op == OpClass::kStore;
  if (plain && !(in.modifiers & kModNarrow)) return 4 * WordsOf(in.modifiers);
  uint32_t bytes = 0;
  for (std::string_view mods = in.mods; !mods.empty();) {
    const size_t dot = mods.find('.');
    bytes = std::max(bytes, BytesOfType(mods.substr(0, dot)));
    mods = dot == mods.npos ? "" : mods.substr(dot + 1);
  }
  return bytes ? bytes : 4;
}

uint8_t ModesOf(OpClass op) {
  if (op == OpClass::kLoad) return kRead;
  return op == OpClass::kStore ? kWrite : kUpdate;
}

}  // namespace

// Notes the access; returns what the address is rooted at. `slot` tells an instruction's two apart.
SetId Interpreter::Touch(const Address& address, uint8_t modes, AccessKind kind, int slot) {
  SetId roots = RootsOf(address.low, address.high);
  AccessSite& site = accesses_[{at_, slot}];
  site.instruction = at_;
  site.modes |= modes;
  site.kind = kind;
  site.roots = pool_.Join(site.roots, roots);
  site.low = pool_.Join(site.low, address.low);
  site.high = pool_.Join(site.high, address.high);
  return roots;
}

void Interpreter::Global(const Instruction& in, Operands operands) {
  size_t memory = MemoryAt(operands);
  if (memory == operands.size()) return;
  Address address = AddressOf(operands[memory]);
  bool local = std::binary_search(local_only_.begin(), local_only_.end(), at_);
  SetId roots = local ? RootsOf(address.low, address.high)
                      : Touch(address, ModesOf(in.op), AccessKind::kMemory, 0);
  if (!local) {
    AccessSite& site = accesses_[{at_, 0}];
    site.displacement = static_cast<int32_t>(address.displacement);
    site.bytes = in.opcode[0] == 'U' ? 0 : BytesOf(in);  // of uniform ones it is not known
  }
  if (MayReturn(in)) LoadResults(in, operands, memory, roots, address.displacement);
  if (in.op == OpClass::kStore) StoreValues(in, operands, memory, roots, address.displacement);
}

// Destinations stand before the address; two of them share eight words.
void Interpreter::LoadResults(const Instruction& in, Operands operands, size_t memory, SetId roots,
                              uint32_t displacement) {
  uint32_t words = std::max(WordsOf(in.modifiers), BytesOf(in) / 4);
  size_t destinations =
      std::count_if(operands.begin(), operands.begin() + memory,
                    [](const auto& one) { return one.kind == OperandKind::kRegister; });
  if (destinations == 2 && words == 8) words = 4;
  uint32_t word = 0;
  for (size_t i = 0; i < memory; ++i) {
    if (operands[i].kind != OperandKind::kRegister) continue;
    for (uint32_t w = 0; w < words; ++w) {
      bool narrow = in.modifiers & kModNarrow;
      PutWord(operands[i], w, narrow ? kUnknown : Loaded(roots, displacement, word + w, in));
    }
    word += words;
  }
}

SetId Interpreter::Loaded(SetId roots, uint32_t displacement, uint32_t word,
                          const Instruction& in) {
  std::vector<Tag> tags(pool_.Tags(roots).begin(), pool_.Tags(roots).end());
  bool any_local = std::any_of(tags.begin(), tags.end(), IsLocal);
  bool shared = tags.empty();
  SetId value = kNothing;
  for (Tag tag : tags) {
    shared |= tag.kind() == TagKind::kSharedWindow;
    if (!IsLocal(tag)) value = pool_.Join(value, LoadedFrom(tag, displacement, word));
  }
  if (tags.empty()) value = kUnknown;
  if (shared && in.opcode == "LD") value = pool_.Join(value, shared_);
  if (any_local) value = pool_.Join(value, LoadLocal(roots, displacement + 4 * word));
  return value;
}

// The tags of a word loaded from what `root` leads to.
SetId Interpreter::LoadedFrom(Tag root, uint32_t displacement, uint32_t word) {
  uint32_t offset = root.value() + displacement + 4 * word;
  uint32_t half = ((displacement >> 2) + word) & 1;
  switch (root.kind()) {
    case TagKind::kParamAddress:
      return BankWord(0, kernel_.param_base + offset);
    case TagKind::kParamAddressAt:
      return BankWordAt(0, kernel_.param_base + offset, root.multiple());
    case TagKind::kParamAddressAny:
      return pool_.Of(Tag(TagKind::kParamTable, half * 4, 1));
    case TagKind::kSharedWindow:
      return kUnknown;
    case TagKind::kDriver:
      if (root.value() == machine_.constant_window) {
        return pool_.Of(Tag(TagKind::kConstantTable, half * 4));
      }
      break;
    default:
      break;
  }
  bool again = root.kind() == TagKind::kLoaded;
  Tag loaded = Tag::Loaded(again ? root.Base() : root, again, half);
  return pool_.Join(pool_.Of(loaded), kUnknown);
}

SetId Interpreter::LoadLocal(SetId roots, uint32_t offset) {
  SetId value = kNothing;
  std::vector<Tag> tags(pool_.Tags(roots).begin(), pool_.Tags(roots).end());
  for (Tag tag : tags) {
    if (tag.kind() == TagKind::kStack) {
      value = pool_.Join(value, state_->Local(static_cast<int32_t>(tag.value() + offset)));
    } else if (IsLocal(tag)) {
      for (const auto& [where, one] : state_->locals()) {
        if (MayBeAt(tag, offset, where)) value = pool_.Join(value, one);
      }
    } else {
      continue;
    }
    value = pool_.Join(value, state_->anywhere());
    if (tag.kind() != TagKind::kStack || state_->anywhere() != kNothing) value = Mixed(value);
  }
  return value == kNothing ? kUnknown : value;
}

// Marks what may be one pointer or another, so that an access through it is not taken for both.
SetId Interpreter::Mixed(SetId value) {
  std::span<const Tag> tags = pool_.Tags(value);
  auto pointers =
      std::count_if(tags.begin(), tags.end(), [](Tag tag) { return tag.IsPointerWord(); });
  bool table = std::any_of(tags.begin(), tags.end(),
                           [](Tag tag) { return tag.kind() == TagKind::kParamTable; });
  return pointers > 1 || table ? pool_.Join(value, pool_.Of(Tag(TagKind::kMixed, 0))) : value;
}

void Interpreter::StoreLocal(SetId roots, uint32_t displacement, const std::vector<SetId>& values) {
  std::vector<Tag> tags(pool_.Tags(roots).begin(), pool_.Tags(roots).end());
  bool certain = tags.size() == 1 && tags[0].kind() == TagKind::kStack && !in_->guarded;
  for (Tag tag : tags) {
    if (tag.kind() == TagKind::kStackAny || tag.kind() == TagKind::kStackAt) {
      SetId anywhere = state_->anywhere();
      for (SetId value : values) anywhere = pool_.Join(anywhere, value);
      state_->set_anywhere(anywhere);
    } else if (tag.kind() == TagKind::kStack) {
      for (size_t w = 0; w < values.size(); ++w) {
        int32_t offset = static_cast<int32_t>(tag.value() + displacement + 4 * w);
        state_->SetLocal(offset,
                         certain ? values[w] : pool_.Join(state_->Local(offset), values[w]));
      }
    }
  }
}

void Interpreter::StoreValues(const Instruction& in, Operands operands, size_t memory, SetId roots,
                              uint32_t displacement) {
  for (size_t i = memory + 1; i < operands.size(); ++i) {
    if (operands[i].kind != OperandKind::kRegister) continue;
    std::vector<SetId> values;
    for (uint32_t w = 0; w < WordsOf(in.modifiers); ++w) values.push_back(Value(operands[i], w));
    StoreLocal(roots, displacement, values);
    std::span<const Tag> tags = pool_.Tags(roots);
    bool shared = std::any_of(tags.begin(), tags.end(),
                              [](Tag tag) { return tag.kind() == TagKind::kSharedWindow; });
    for (SetId value : values) {
      if (shared) ToShared(value);
    }
    return;
  }
}

void Interpreter::LocalAccess(const Instruction& in, Operands operands) {
  size_t memory = MemoryAt(operands);
  if (memory == operands.size()) return;
  Address address = AddressOf(operands[memory]);
  std::vector<Tag> local;
  for (Tag tag : pool_.Tags(address.low)) {
    if (IsLocal(tag)) local.push_back(tag);
  }
  if (local.empty()) local.push_back(Tag(TagKind::kStackAny, 0));
  SetId roots = pool_.Intern(local);
  if (in.op == OpClass::kStoreLocal) {
    StoreValues(in, operands, memory, roots, address.displacement);
    return;
  }
  for (uint32_t w = 0; w < WordsOf(in.modifiers); ++w) {
    bool narrow = in.modifiers & kModNarrow;
    PutWord(operands[0], w, narrow ? kUnknown : LoadLocal(roots, address.displacement + 4 * w));
  }
}

void Interpreter::ToShared(SetId value) {
  std::vector<Tag> kept;
  for (Tag tag : pool_.Tags(value)) {
    bool address = tag.kind() == TagKind::kParamAddress || tag.kind() == TagKind::kParamAddressAt ||
                   tag.kind() == TagKind::kStack;
    if (tag.IsPointerWord() || address) kept.push_back(tag);
  }
  SetId joined = pool_.Join(shared_, pool_.Intern(kept));
  shared_changed_ |= joined != shared_;
  shared_ = joined;
}

void Interpreter::CopyToShared(SetId roots) {
  std::vector<Tag> tags(pool_.Tags(roots).begin(), pool_.Tags(roots).end());
  for (Tag tag : tags) {
    for (uint32_t word = 0; word < 2; ++word) {
      if (!IsLocal(tag)) ToShared(LoadedFrom(tag, 0, word));
    }
  }
}

void Interpreter::SharedAccess(const Instruction& in, Operands operands) {
  if (in.op == OpClass::kStoreShared) {
    const Operand* last = operands.empty() ? nullptr : &operands.back();
    if (!last || last->kind != OperandKind::kRegister || last->reg == kNoRegister) return;
    for (uint32_t w = 0; w < WordsOf(in.modifiers); ++w) ToShared(Value(*last, w));
    return;
  }
  bool plain = in.op == OpClass::kLoadShared && !(in.modifiers & kModNarrow);
  uint32_t words = WordsOf(in.modifiers);
  if (in.opcode == "LDSM") words = in.modifiers & kMod4 ? 4 : in.modifiers & kMod2 ? 2 : 1;
  size_t memory = MemoryAt(operands);
  for (size_t i = 0; i < memory && memory < operands.size(); ++i) {
    if (operands[i].kind != OperandKind::kRegister) continue;
    SetId value = plain ? pool_.Join(Mixed(shared_), kUnknown) : kUnknown;
    for (uint32_t w = 0; w < words; ++w) PutWord(operands[i], w, value);
  }
}

// LDGSTS [shared], [global]
void Interpreter::AsyncCopy(Operands operands) {
  size_t first = MemoryAt(operands), second = MemoryAt(operands, first + 1);
  if (second >= operands.size()) return;
  CopyToShared(Touch(AddressOf(operands[second]), kRead, AccessKind::kMemory, 0));
}

// UBLKCP.D.S: D is the space of the destination, S that of the source; G is global.
void Interpreter::Bulk(const Instruction& in, Operands operands) {
  size_t first = MemoryAt(operands), second = MemoryAt(operands, first + 1);
  if (second >= operands.size()) return;
  std::string spaces;
  for (size_t i = 0; i < in.mods.size(); ++i) {
    bool single =
        (i == 0 || in.mods[i - 1] == '.') && (i + 1 == in.mods.size() || in.mods[i + 1] == '.');
    if (single && std::string_view("GST").find(in.mods[i]) != std::string_view::npos)
      spaces += in.mods[i];
  }
  if (spaces.starts_with('G')) {
    uint8_t mode = in.opcode == "UBLKRED" ? kUpdate : kWrite;
    Touch(AddressOf(operands[first]), mode, AccessKind::kMemory, 0);
  }
  if (spaces.size() > 1 && spaces[1] == 'G') {
    CopyToShared(Touch(AddressOf(operands[second]), kRead, AccessKind::kMemory, 1));
  }
}

// The descriptor is the second address, where there are two.
void Interpreter::Tensor(const Instruction& in, Operands operands) {
  size_t first = MemoryAt(operands), second = MemoryAt(operands, first + 1);
  size_t descriptor = second < operands.size() ? second : first;
  if (descriptor >= operands.size()) return;
  uint8_t mode = in.opcode == "UTMALDG" ? kRead : in.opcode == "UTMASTG" ? kWrite : kUpdate;
  Touch(AddressOf(operands[descriptor]), mode, AccessKind::kTensor, 0);
}

// The handle is in a uniform register, in the last register, or at an immediate offset of bank 0.
void Interpreter::Texture(const Instruction& in, Operands operands) {
  bool uniform = false;
  const Operand* last = nullptr;
  std::vector<uint32_t> immediates;
  for (const Operand& one : operands) {
    if (one.kind == OperandKind::kImmediate) immediates.push_back(one.value);
    if (one.kind != OperandKind::kRegister || one.reg == kNoRegister) continue;
    uniform |= one.reg >= kUniform;
    last = &one;
  }
  std::vector<Tag> handles;
  auto take = [&](Register reg) {
    for (Tag tag : pool_.Tags(Get(reg))) {
      bool word = tag.kind() == TagKind::kParam || tag.kind() == TagKind::kParamTable ||
                  tag.kind() == TagKind::kLoaded;
      if (word) handles.push_back(tag);
    }
  };
  for (const Operand& one : operands) {
    bool has = one.kind == OperandKind::kRegister && one.reg != kNoRegister && one.reg >= kUniform;
    if (has) take(one.reg);
  }
  if (!uniform && last) take(last->reg);
  uint32_t base = kernel_.param_base;
  if (handles.empty() && immediates.size() >= 2 && base) {
    uint32_t offset = immediates[1] * 4;
    bool inside = offset >= base && offset < base + kernel_.param_size;
    if (inside) handles.push_back(Tag(TagKind::kParam, offset - base));
  }
  bool reads = in.opcode[0] == 'T' || in.opcode == "SULD";
  AccessSite& site = accesses_[{at_, 0}];
  site.instruction = at_;
  site.modes |= reads ? kRead : in.opcode == "SUST" ? kWrite : kUpdate;
  site.kind = AccessKind::kTexture;
  site.roots = pool_.Join(site.roots, pool_.Intern(handles));
}

void Interpreter::Param(const Instruction& in, Operands operands) {
  if (operands.empty() || operands[0].kind != OperandKind::kRegister) return;
  bool known = operands.size() > 1 && operands[1].kind == OperandKind::kConstant &&
               !(in.modifiers & kModNarrow);
  std::vector<SetId> values;  // all of them first: the index may be the destination
  for (uint32_t w = 0; w < WordsOf(in.modifiers); ++w) {
    values.push_back(known ? Value(operands[1], w) : kUnknown);
  }
  for (uint32_t w = 0; w < values.size(); ++w) PutWord(operands[0], w, values[w]);
}

}  // namespace ss::kernels
