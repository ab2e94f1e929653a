#include "src/kernels/flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <queue>

namespace ss::kernels {
namespace {

constexpr uint64_t kMaxVisits = 200000;
constexpr int kMaxPasses = 12;     // over shared memory's contents
constexpr uint32_t kMaxDepth = 6;  // of call strings; division helpers mix their callers without
constexpr uint32_t kNoContext = 0;

// What the device runtime offers; none of it touches a program's buffers.
constexpr std::array<std::string_view, 8> kRuntime = {"vprintf",
                                                      "malloc",
                                                      "free",
                                                      "__assertfail",
                                                      "__assert_fail",
                                                      "cudaDeviceSynchronize",
                                                      "__nv_aligned_device_malloc",
                                                      "cudaGetParameterBufferV2"};

bool IsRuntime(std::string_view name) {
  return name.starts_with("__cuda_syscall") ||
         std::find(kRuntime.begin(), kRuntime.end(), name) != kRuntime.end();
}

class Flow {
 public:
  Flow(const Code& code, const Graph& graph, Interpreter& interpreter)
      : code_(code), graph_(graph), interpreter_(interpreter), scratch_(interpreter.slots()) {
    contexts_.push_back({});
  }

  FlowResult Run() {
    Reach(graph_.entry, kNoContext, State(interpreter_.slots()));
    for (int pass = 0;; ++pass) {
      while (!queue_.empty()) {
        if (++result_.visits > kMaxVisits) return Stop("the values did not settle");
        uint32_t node = std::get<2>(queue_.top());
        queue_.pop();
        nodes_[node].queued = false;
        Visit(node);
      }
      if (!interpreter_.TakeSharedChanged()) break;
      if (pass == kMaxPasses) return Stop("the contents of shared memory did not settle");
      for (uint32_t i = 0; i < nodes_.size(); ++i) Enqueue(i);
    }
    for (const std::string& name : unknown_) {
      result_.unresolved.push_back(fmt::format("calls {}", name));
    }
    return std::move(result_);
  }

 private:
  struct Context {
    uint32_t parent = kNoContext;
    uint32_t depth = 0;
    uint32_t after = kNoTarget;  // block to come back to
  };
  struct Node {
    uint32_t block = 0;
    uint32_t context = kNoContext;
    bool queued = false;
    State state;
  };

  FlowResult Stop(const char* reason) {
    result_.unresolved.push_back(reason);
    return std::move(result_);
  }

  // Deepest calls first, then by address: a caller waits until its callee has said what it can.
  void Enqueue(uint32_t node) {
    if (nodes_[node].queued) return;
    nodes_[node].queued = true;
    uint32_t depth = contexts_[nodes_[node].context].depth;
    queue_.emplace(kMaxDepth - depth, nodes_[node].block, node);
  }

  void Reach(uint32_t block, uint32_t context, const State& state) {
    if (block == kNoTarget) return;
    auto [found, is_new] = index_.try_emplace(uint64_t(context) << 32 | block, nodes_.size());
    if (is_new) {
      nodes_.push_back({block, context, false, state});
      Enqueue(found->second);
    } else if (nodes_[found->second].state.Join(state, interpreter_.pool())) {
      Enqueue(found->second);
    }
  }

  void Visit(uint32_t node) {
    uint32_t context = nodes_[node].context;
    const Block& block = graph_.blocks[nodes_[node].block];
    uint32_t index = nodes_[node].block;
    scratch_ = nodes_[node].state;
    interpreter_.BeginBlock(&scratch_);
    for (uint32_t i = block.first; i <= block.last; ++i) interpreter_.Step(i);
    for (const Edge& edge : block.edges) {
      switch (edge.kind) {
        case EdgeKind::kNext:
          Reach(edge.block, context, scratch_);
          break;
        case EdgeKind::kCall:
          Call(edge.block, block.after, context, scratch_);
          break;
        case EdgeKind::kReturn:
          Return(index, context);
          break;
        case EdgeKind::kExternal:
          External(block, edge.block, context);
          break;
      }
    }
  }

  bool IsRecursive(uint32_t entry) const {
    return std::any_of(graph_.functions.begin(), graph_.functions.end(),
                       [&](const Function& one) { return one.entry == entry && one.recursive; });
  }

  void Call(uint32_t callee, uint32_t after, uint32_t context, const State& state) {
    bool cut = contexts_[context].depth >= kMaxDepth || IsRecursive(callee) || after == kNoTarget;
    if (cut) return Reach(callee, context, state);
    auto [found, is_new] = children_.try_emplace({context, after}, contexts_.size());
    if (is_new) contexts_.push_back({context, contexts_[context].depth + 1, after});
    Reach(callee, found->second, state);
  }

  // Where the call string was cut, to every place that calls the function.
  void Return(uint32_t block, uint32_t context) {
    const std::vector<uint32_t>& functions = graph_.functions_of[block];
    auto recursive = [&](uint32_t f) { return graph_.functions[f].recursive; };
    bool all = std::all_of(functions.begin(), functions.end(), recursive);
    bool any = std::any_of(functions.begin(), functions.end(), recursive);
    const Context here = contexts_[context];
    if (here.depth && !(all && !functions.empty())) Reach(here.after, here.parent, scratch_);
    if (!any && here.depth && here.depth < kMaxDepth) return;
    for (uint32_t f : functions) {
      for (uint32_t site : graph_.functions[f].return_sites) Reach(site, context, scratch_);
    }
  }

  // A call through a register, or of what is not in this code.
  void External(const Block& block, uint32_t after, uint32_t context) {
    const Instruction& in = code_.instructions[block.last];
    bool malloc = false, unknown = false;
    for (const Operand& one : code_.Operands(in)) {
      if (one.kind == OperandKind::kLabel && one.target == kNoTarget)
        Name(std::string(one.text), unknown);
      if (one.kind != OperandKind::kRegister || one.reg == kNoRegister) continue;
      for (Tag tag : interpreter_.pool().Tags(interpreter_.Get(one.reg))) {
        if (tag.kind() != TagKind::kSymbol) {
          unknown = true;
          continue;
        }
        const std::string& name = interpreter_.symbols()[tag.value()];
        malloc |= name == "malloc";
        Name(name, unknown);
      }
    }
    if (unknown) {
      // The functions of this module are followed, but the pointer may come from elsewhere.
      if (graph_.candidates.empty())
        unknown_.insert("a function that is not known");
      else
        unknown_.insert("through a pointer");
      for (uint32_t one : graph_.candidates) Call(one, after, context, scratch_);
    }
    interpreter_.ForgetCallerSaved();
    if (malloc) {
      interpreter_.SetPlain(4, interpreter_.pool().Of(Tag::Halved(TagKind::kHeap, 0, 0)));
      interpreter_.SetPlain(5, interpreter_.pool().Of(Tag::Halved(TagKind::kHeap, 0, 1)));
    }
    Reach(after, context, scratch_);
  }

  // A function by its name: the runtime's, one of the candidates, or not known.
  void Name(const std::string& name, bool& unknown) {
    if (IsRuntime(name)) return;
    unknown = true;
    if (graph_.candidates.empty())
      unknown_.insert(name == "?" ? "a function that is not known" : name);
  }

  const Code& code_;
  const Graph& graph_;
  Interpreter& interpreter_;
  State scratch_;
  std::vector<Context> contexts_;
  std::map<std::pair<uint32_t, uint32_t>, uint32_t> children_;
  std::vector<Node> nodes_;
  std::unordered_map<uint64_t, uint32_t> index_;
  using Entry = std::tuple<uint32_t, uint32_t, uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue_;
  std::set<std::string> unknown_;
  FlowResult result_;
};

}  // namespace

FlowResult RunFlow(const Code& code, const Graph& graph, Interpreter& interpreter) {
  return Flow(code, graph, interpreter).Run();
}

}  // namespace ss::kernels
