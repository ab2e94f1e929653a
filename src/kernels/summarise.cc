#include "src/kernels/summarise.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace ss::kernels {
namespace {

constexpr uint32_t kTensorMapBytes = 128;

// Offsets are what the code says, which may be anything: they wrap as its own arithmetic does.
int32_t Behind(int32_t offset, uint32_t bytes) {
  return static_cast<int32_t>(static_cast<uint32_t>(offset) + bytes);
}
constexpr uint32_t kPointerBytes = 8;
constexpr int kReasonsShown = 4;

class Summary {
 public:
  Summary(const Code& code, const Graph& graph, const KernelInfo& kernel, Interpreter& interpreter,
          const std::vector<uint32_t>& polling, KernelSummary& out)
      : code_(code),
        kernel_(kernel),
        interpreter_(interpreter),
        out_(out),
        polling_(polling.begin(), polling.end()) {
    for (const Block& block : graph.blocks) {
      if (!block.may_precede_wait) continue;
      early_.insert({block.last, block.first});
    }
  }

  void Run() {
    for (const auto& [key, site] : interpreter_.accesses()) Site(site);
    JoinAmbiguous();
    SetEnds();
    for (auto& [key, access] : accesses_) out_.accesses.push_back(std::move(access));
    for (int32_t offset : differences_) out_.differences.push_back({offset});
    if (lost_) {
      std::string shown;
      for (const std::string& one : lost_lines_) shown += (shown.empty() ? "" : "; ") + one;
      out_.unresolved.push_back(
          fmt::format("{} of {} accesses have an address of unknown origin ({})", lost_,
                      interpreter_.accesses().size(), shown));
    }
    for (const char* one : hidden_) out_.unresolved.push_back(one);
    if (behind_pointer_) out_.unresolved.push_back("a tensor map behind a pointer");
  }

 private:
  using Key = std::tuple<Root, int32_t, uint32_t, std::string, bool>;  // the last: ambiguous
  struct Piece {
    int32_t begin = 0, end = 0;
    uint8_t modes = 0;
    bool early = false;
  };

  void Site(const AccessSite& site) {
    ++out_.access_sites;
    std::span<const Tag> roots = interpreter_.pool().Tags(site.roots);
    if (roots.empty()) return Lost(site);
    std::span<const Tag> low = interpreter_.pool().Tags(site.low);
    bool mixed = std::find(low.begin(), low.end(), Tag(TagKind::kMixed, 0)) != low.end();
    for (Tag tag : roots) {
      // A table that went through local memory may have been indexed a second time there.
      bool either = mixed && (roots.size() > 1 || tag.kind() == TagKind::kParamTable);
      Add(site, tag, either || Ambiguous(roots, tag));
    }
    for (Tag tag : low) {
      if (tag.kind() == TagKind::kDifference) Difference(tag.offset(), roots);
    }
  }

  // With one root that was not subtracted, the difference is no more than an index.
  void Difference(int32_t subtracted, std::span<const Tag> roots) {
    bool cancels = roots.size() > 1 || std::any_of(roots.begin(), roots.end(), [&](Tag tag) {
                     if (subtracted < 0) return tag.kind() != TagKind::kParam;
                     return tag.kind() == TagKind::kParam && tag.offset() == subtracted;
                   });
    if (cancels) differences_.insert(subtracted);
  }

  void Lost(const AccessSite& site) {
    ++lost_;
    if (lost_lines_.size() >= kReasonsShown) return;
    const Instruction& in = code_.instructions[site.instruction];
    lost_lines_.push_back(fmt::format("{:#x} {}", in.pc, in.line));
  }

  // Both halves of two words were summed: one is a pointer, the other an offset, or a table index.
  bool Ambiguous(std::span<const Tag> roots, Tag tag) const {
    for (Tag other : roots) {
      bool both = tag.IsPointerWord() && other.IsPointerWord() && !(other == tag);
      if (both && interpreter_.pool().WereAdded(tag, other)) return true;
    }
    return false;
  }

  // Local and shared memory, the heap, the parameters themselves, the driver's workspace: nobody
  // else's. Those get no entry.
  void Add(const AccessSite& site, Tag tag, bool ambiguous) {
    bool tensor = site.kind == AccessKind::kTensor;
    if (site.kind == AccessKind::kTexture) return AddTexture(site, tag);
    switch (tag.kind()) {
      case TagKind::kParam:
        behind_pointer_ |= tensor;
        return Put(site, tensor ? Root::kIndirect : Root::kParam, tag.offset(), 0, "", ambiguous);
      case TagKind::kParamTable:
        behind_pointer_ |= tensor;
        return Put(site, tensor ? Root::kIndirect : Root::kParamTable, tag.offset(), tag.multiple(),
                   "", ambiguous);
      case TagKind::kParamAddress:
        if (tensor) Put(site, Root::kTensorMap, tag.offset(), 0, "", false);
        return;
      case TagKind::kParamAddressAt:
        if (tensor) Put(site, Root::kTensorMap, tag.offset(), kTensorMapBytes, "", false);
        return;
      case TagKind::kParamAddressAny:
        if (tensor) Put(site, Root::kTensorMap, 0, kTensorMapBytes, "", false);
        return;
      case TagKind::kLoaded:
        behind_pointer_ |= tensor;
        return AddLoaded(site, tag, ambiguous);
      case TagKind::kSymbol:
        behind_pointer_ |= tensor;
        return Put(site, Root::kGlobal, 0, 0, interpreter_.symbols()[tag.value()], ambiguous);
      case TagKind::kConstantWord:
      case TagKind::kConstantTable:
        return Put(site, Root::kIndirect, 0, 0, fmt::format("c[3]+{}", tag.offset()), ambiguous);
      default:
        return;
    }
  }

  void AddTexture(const AccessSite& site, Tag tag) {
    bool param = tag.kind() == TagKind::kParam || tag.kind() == TagKind::kParamTable;
    Put(site, Root::kTexture, param ? tag.offset() : -1, 0, "", false);
  }

  void AddLoaded(const AccessSite& site, Tag tag, bool ambiguous) {
    Tag base = tag.Base();
    std::string symbol;
    if (base.kind() == TagKind::kSymbol) symbol = interpreter_.symbols()[base.value()];
    if (base.kind() == TagKind::kConstantWord || base.kind() == TagKind::kConstantTable) {
      symbol = fmt::format("c[3]+{}", base.offset());
    }
    if (base.kind() == TagKind::kDriver || base.kind() == TagKind::kHeap) {
      hidden_.insert(base.kind() == TagKind::kHeap ? "a pointer in memory from malloc"
                                                   : "a pointer behind one of the driver's");
      return;
    }
    Put(site, Root::kIndirect, symbol.empty() ? tag.offset() : 0, 0, symbol, ambiguous);
  }

  void Put(const AccessSite& site, Root root, int32_t offset, uint32_t stride,
           const std::string& symbol, bool ambiguous) {
    if (root == Root::kParamTable && (stride < kPointerBytes || stride % kPointerBytes)) stride = 1;
    Access& access = accesses_[{root, offset, stride, symbol, ambiguous}];
    access.root = root;
    access.offset = offset;
    access.stride = stride;
    access.symbol = symbol;
    access.reads |= site.modes & kRead;
    access.writes |= site.modes & kWrite;
    access.updates |= site.modes & kUpdate;
    const bool early = MayBeEarly(site.instruction);
    access.before_grid_wait |= early;
    access.early_reads |= early && site.modes & kRead;
    access.early_writes |= early && site.modes & kWrite;
    access.early_updates |= early && site.modes & kUpdate;
    access.polled |= polling_.count(site.instruction) > 0;
    access.ambiguous = ambiguous;
    if (root == Root::kParam) pieces_[offset].push_back(PieceOf(site, offset));
  }

  // From where to where an access of the word at `offset` goes, counted from what the word points
  // to. Empty where something unknown was added to the pointer.
  Piece PieceOf(const AccessSite& site, int32_t offset) const {
    auto is = [&](SetId half, int32_t word) {
      std::span<const Tag> tags = interpreter_.pool().Tags(half);
      return tags.size() == 1 && tags[0] == Tag(TagKind::kParam, uint32_t(word));
    };
    const bool plain = is(site.low, offset) && is(site.high, Behind(offset, 4));
    if (!plain || site.bytes == 0) return {};
    const uint32_t end = uint32_t(site.displacement) + site.bytes;  // wraps in nonsense alone
    return {site.displacement, int32_t(end), site.modes, MayBeEarly(site.instruction)};
  }

  // Does what is done in one of `modes` reach every byte? `pieces` are sorted.
  static bool Cover(const std::vector<Piece>& pieces, uint8_t modes, const Access& access) {
    int32_t upto = access.first;
    for (const Piece& one : pieces) {
      if (!(one.modes & modes)) continue;
      if (one.begin > upto) return false;
      upto = std::max(upto, one.end);
    }
    return upto >= access.last;
  }

  void SetBytes(Access& access) {
    std::vector<Piece>& pieces = pieces_[access.offset];
    std::sort(pieces.begin(), pieces.end(),
              [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
    const bool known = std::none_of(pieces.begin(), pieces.end(),
                                    [](const Piece& one) { return one.begin >= one.end; });
    if (!known) return;
    access.first = access.last = pieces.front().begin;
    for (const Piece& one : pieces) access.last = std::max(access.last, one.end);
    const bool on_both_sides = std::any_of(pieces.begin(), pieces.end(), [&](const Piece& one) {
      return one.early != pieces.front().early;
    });
    access.scattered = on_both_sides || (access.reads && !Cover(pieces, kRead, access)) ||
                       (access.writes && !Cover(pieces, kWrite, access)) ||
                       (access.updates && !Cover(pieces, kUpdate, access));
  }

  bool MayBeEarly(uint32_t instruction) const {
    auto block = early_.lower_bound(instruction);
    return block != early_.end() && block->second <= instruction;
  }

  // The end of the parameter in which `offset` lies.
  int32_t EndOfParameter(int32_t offset) const {
    for (const Parameter& one : kernel_.params) {
      bool inside = offset >= int32_t(one.offset) && offset < int32_t(one.offset + one.size);
      if (inside) return static_cast<int32_t>(one.offset + one.size);
    }
    return static_cast<int32_t>(kernel_.param_size);
  }

  // A table ends where the next one begins. With a known step, a base that is not a whole number of
  // steps away is another field of the same structures, and no end.
  int32_t EndOfTable(const Access& table) const {
    int32_t end = EndOfParameter(table.offset);
    if (table.stride < kPointerBytes) return end;
    for (const auto& [key, other] : accesses_) {
      bool later = other.root == Root::kParamTable && other.offset > table.offset;
      bool whole = (int64_t{other.offset} - table.offset) % int64_t{table.stride} == 0;
      if (later && whole) end = std::min(end, other.offset);
    }
    return end;
  }

  // What may be one pointer or another adds nothing where the pointer is certain, in the same mode.
  void JoinAmbiguous() {
    for (auto certain = accesses_.begin(); certain != accesses_.end(); ++certain) {
      if (certain->second.ambiguous) continue;
      Key key = certain->first;
      std::get<bool>(key) = true;
      auto other = accesses_.find(key);
      if (other == accesses_.end()) continue;
      Join(certain->second, other->second);
      const bool left = other->second.reads || other->second.writes || other->second.updates;
      if (!left) accesses_.erase(other);
    }
  }

  static void Join(Access& certain, Access& other) {
    auto take = [](bool& into, bool& from, bool& early_into, bool& early_from) {
      if (!into || !from) return;
      early_into |= early_from;
      from = early_from = false;
    };
    take(certain.reads, other.reads, certain.early_reads, other.early_reads);
    take(certain.writes, other.writes, certain.early_writes, other.early_writes);
    take(certain.updates, other.updates, certain.early_updates, other.early_updates);
    certain.before_grid_wait = certain.early_reads || certain.early_writes || certain.early_updates;
    other.before_grid_wait = other.early_reads || other.early_writes || other.early_updates;
    certain.polled |= other.polled && !other.reads;
    other.polled &= other.reads;
  }

  void SetEnds() {
    for (auto& [key, access] : accesses_) {
      access.end = Behind(access.offset, kPointerBytes);
      if (access.root == Root::kParam) SetBytes(access);
      if (access.root == Root::kParamTable) access.end = EndOfTable(access);
      if (access.root == Root::kGlobal) access.end = 0;
      if (access.root == Root::kTensorMap) {
        access.end =
            access.stride ? EndOfParameter(access.offset) : Behind(access.offset, kTensorMapBytes);
      }
      if (access.root == Root::kParamTable) access.stride = std::max(access.stride, kPointerBytes);
    }
  }

  const Code& code_;
  const KernelInfo& kernel_;
  Interpreter& interpreter_;
  KernelSummary& out_;
  std::set<uint32_t> polling_;
  std::map<uint32_t, uint32_t> early_;  // last instruction of a block -> first
  std::map<Key, Access> accesses_;
  std::map<int32_t, std::vector<Piece>> pieces_;  // of kParam, by offset
  std::set<int32_t> differences_;
  std::set<const char*> hidden_;
  std::vector<std::string> lost_lines_;
  int lost_ = 0;
  bool behind_pointer_ = false;
};

}  // namespace

void Summarise(const Code& code, const Graph& graph, const FlowResult& flow,
               const KernelInfo& kernel, Interpreter& interpreter,
               const std::vector<uint32_t>& polling, KernelSummary& out) {
  out.waits_for_grid = graph.waits;
  out.launches_dependents = graph.triggers;
  out.unresolved = graph.unresolved;
  out.unresolved.insert(out.unresolved.end(), flow.unresolved.begin(), flow.unresolved.end());
  Summary(code, graph, kernel, interpreter, polling, out).Run();
}

}  // namespace ss::kernels
