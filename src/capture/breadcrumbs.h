// Marks behind the operations of each stream, so that the watching process knows how far it has
// come. A mark is a write of the operation's number by the stream itself; no record tells of it.
#pragma once

#include <cstdint>

#include "src/trace/ring_client.h"

namespace ss::capture {

// When the session opens. Without STREAMSAN_BREADCRUMBS=1 nothing is ever marked.
void OpenBreadcrumbs(trace::RingClient& client);
bool BreadcrumbsOn();
// Behind the operation `number`, which is queued on the (resolved) stream of the context.
void LeaveBreadcrumb(uint64_t stream, uint64_t context, uint64_t number);
// The handle may be given to another stream.
void EndBreadcrumbs(uint64_t stream);
// Before a context goes: the marks' memory may be registered there.
void BreadcrumbContextGoes(uint64_t context);
// In a forked child.
void ResetBreadcrumbs();

}  // namespace ss::capture
