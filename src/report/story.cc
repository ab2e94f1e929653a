#include "src/report/story.h"

#include <fmt/format.h>

#include <algorithm>

#include "src/report/rows.h"
#include "src/report/words.h"

namespace ss {
namespace {

class Teller {
 public:
  Teller(const PrintInput& input, const Finding& finding) : input_(input), finding_(finding) {
    for (const Site* site : Sites()) stacks_.push_back(site->stack);
  }

  std::vector<Answer> Tell() {
    if (IsCollective(finding_)) {
      Collective();
    } else {
      Say("Which buffer", Buffer());
      if (finding_.code == "lifetime") {
        Lifetime();
      } else {
        Race();
      }
    }
    Edge();
    Change();
    return std::move(answers_);
  }

 private:
  std::vector<const Site*> Sites() const {
    return {&finding_.first, &finding_.second, &finding_.reuse, &finding_.producer};
  }

  void Say(const char* question, std::string text, bool early = false) {
    answers_.push_back({question, std::move(text), early});
  }

  // "fill_nan on comm (op 122, moe.cc:62)"
  std::string Who(const Site& site) const {
    std::string place = PlaceText(input_, finding_.source, site.stack, site.line, stacks_);
    return fmt::format("{} on {} (op {}{})", KernelText(site.name), LaneText(site), site.op,
                       place.empty() ? "" : ", " + place);
  }

  std::string Does(const Site& site) const {
    return fmt::format("{} {}", Who(site), AccessText(site, finding_.buffer.name));
  }

  std::string Buffer() const {
    const BufferRef& buffer = finding_.buffer;
    std::string text = fmt::format("{}, {}", buffer.name, BytesText(buffer.bytes));
    std::string place =
        PlaceText(input_, finding_.source, buffer.alloc_stack, buffer.alloc_line, stacks_);
    if (!place.empty()) text += ", allocated at " + place;
    if (!buffer.owner.empty()) text += ", owned by stream " + buffer.owner;
    return text;
  }

  void Produced() {
    const Site& producer = finding_.producer;
    Say("Who wrote it",
        producer.op != 0 ? Who(producer) + " wrote what is in it" : "nobody in what was recorded");
  }

  void Lifetime() {
    const Site &use = finding_.first, &end = finding_.second, &reuse = finding_.reuse;
    if (end.access == "alloc" || end.kind == OpKind::kAllocAsync) {
      Say("Who wrote it", Who(end) + " makes it");
      return Say("Who touches it too early",
                 Does(use) + ", before its allocation is complete there", true);
    }
    Produced();
    if (use.index > end.index) {
      Say("Who frees it", Who(end));
      return Say("Who touches it too late", Does(use) + ", after the free", true);
    }
    Say("Who still uses it", Does(use));
    const std::string free =
        fmt::format("{} gives it back while that use may still be running", Who(end));
    if (reuse.op == 0)
      return Say("Who touches it too early", free + "; the next to get its bytes overwrites it",
                 true);
    Say("Who frees it", free);
    Say("Who touches it too early",
        fmt::format("{} overwrites it: the same bytes were handed out again{}", Who(reuse),
                    finding_.struck ? " in this very run" : ""),
        true);
  }

  void Race() {
    const Site &first = finding_.first, &second = finding_.second;
    const bool writes = first.access != "read";
    if (writes) {
      Say("Who wrote it", Does(first));
    } else {
      Produced();
      Say("Who still reads it", Does(first));
    }
    Say("Who touches it too early",
        fmt::format("{}, without waiting for op {}", Does(second), first.op), true);
  }

  void Collective() {
    Say("Which communicator", finding_.buffer.name);
    for (const Site* site : {&finding_.first, &finding_.second}) {
      Say(site == &finding_.first ? "What is issued" : "What does not fit",
          site->op != 0 ? fmt::format("{} on rank {}, {}", Who(*site), site->rank, site->lane)
                        : "nothing on " + site->lane,
          site != &finding_.first);
    }
  }

  void Edge() {
    const MissingEdge edge = EdgeOf(finding_);
    if (edge.from == nullptr) {
      return Say("Which edge is missing", IsCollective(finding_)
                                              ? "none: the ranks disagree about what to issue"
                                              : "none: the order of issue itself is wrong");
    }
    // The free's own lane is the CPU; what has to wait is the stream that gets the bytes.
    const bool by_free = edge.to == &finding_.second && finding_.code == "lifetime";
    std::string to = by_free && !finding_.buffer.owner.empty()
                         ? fmt::format("whatever {} does with the bytes after their free (op {})",
                                       finding_.buffer.owner, edge.to->op)
                         : fmt::format("{} on {} (op {})", KernelText(edge.to->name),
                                       LaneText(*edge.to), edge.to->op);
    Say("Which edge is missing",
        fmt::format("{} on {} (op {})  ->  {}", KernelText(edge.from->name), LaneText(*edge.from),
                    edge.from->op, to));
  }

  void Change() {
    std::string text;
    for (const Fix& fix : finding_.fixes) {
      if (!fix.verified) continue;
      if (text.empty()) {
        text = FixText(fix) + " (" + VerifiedText(fix) + ")";
      } else {
        text += "; or " + FixText(fix);
      }
    }
    if (text.empty()) text = ChangeText(finding_);
    if (text.empty()) text = "no change that was tried passed verification; see the reasons below";
    Say("What to change", text);
  }

  const PrintInput& input_;
  const Finding& finding_;
  std::vector<StackId> stacks_;
  std::vector<Answer> answers_;
};

}  // namespace

std::vector<Answer> AnswersOf(const PrintInput& input, const Finding& finding) {
  return Teller(input, finding).Tell();
}

MissingEdge EdgeOf(const Finding& finding) {
  const Site &first = finding.first, &second = finding.second, &reuse = finding.reuse;
  if (IsCollective(finding)) return {};
  if (finding.code != "lifetime") return {&first, &second};
  if (second.kind == OpKind::kAllocAsync) return {&second, &first};
  if (second.op != 0 && first.index > second.index) return {};
  return {&first, reuse.op != 0 ? &reuse : &second};
}

std::string VerifiedText(const Fix& fix) {
  std::string gone = fix.alike ? fmt::format("gone with {} alike", fix.alike) : "gone";
  std::string cost = fix.cost.empty() ? "" : ", " + fix.cost;
  return fmt::format("verified: {}, nothing new{}", gone, cost);
}

}  // namespace ss
