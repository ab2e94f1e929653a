// What the judging of several processes as one program needs, whatever it is for.
#include "src/cli/process_analysis.h"

namespace ss {

const ProcessAnalysis* KeptWhole(const WholeOf& whole_of, size_t position,
                                 std::vector<Analysed>& inputs) {
  const ProcessAnalysis* whole = whole_of(position, inputs[position]);
  return whole != nullptr && whole->engine().whole() ? whole : nullptr;
}

Report AnalyseJoint(const Program& program, const AnalyseOptions& options,
                    const std::function<void(const Analysis&)>& then) {
  Analysis analysis(program, options, program.ops.size());
  for (const Op& op : program.ops) analysis.FeedKept(op, program.accesses.data() + op.access_begin);
  Report report = analysis.Finish();
  if (then) then(analysis);
  return report;
}

}  // namespace ss
