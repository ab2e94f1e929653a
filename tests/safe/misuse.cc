// Compiled by misuse.sh, once a case: each must be refused, with the words behind it. Case 0 is
// right.
#include "tests/safe/store.h"

namespace safe = streamsan::safe;

struct Wrong {
  using Roles = safe::List<store::Cg0, store::Cg1, store::Epi>;
  using Pipes = safe::List<store::OStore>;
  template <class Me>
  static void Run(Me& me) {
    if constexpr (Me::template Is<store::Cg1>) {
      auto o = me.template Producer<store::OStore>();
      o.Acquire();
      o.Commit();
#if CASE == 5  // error: passing|cannot bind|rvalue|discards
      o.Tail();
#elif CASE == 6  // error: deleted
      auto twice = o;
      std::move(o).Tail();
#elif CASE == 7  // error: has no member|no member named
      o.Release();
#else
      std::move(o).Tail();
#endif
    } else if constexpr (Me::template Is<store::Epi>) {
      auto o = me.template Consumer<store::OStore>();
      o.Wait();
      o.Release();
#if CASE == 8  // error: has no member|no member named
      std::move(o).Tail();
#endif
    } else {
#if CASE == 1  // error: this role is no producer of this pipeline
      std::move(me.template Producer<store::OStore>()).Tail();
#elif CASE == 2  // error: this role is no producer of this pipeline
      me.template Producer<store::OStore>().Acquire();
#elif CASE == 3  // error: this role is no producer of this pipeline
      me.template Producer<store::OStore>().Commit();
#elif CASE == 4  // error: this role is no consumer of this pipeline
      me.template Consumer<store::OStore>().Release();
#elif CASE == 9  // error: private
      safe::Describer describer;
      safe::Me<store::Cg1, safe::Describer> disguised(describer);
#endif
    }
  }
};

int main() { return safe::Describe<Wrong>().empty(); }
