// The node of autograd's graph that this thread evaluates, and what it is called. Asked for when a
// call is recorded: hearing of every node would cost more than most of them do.
#ifndef STREAMSAN_TORCH_NODES_H_
#define STREAMSAN_TORCH_NODES_H_

#include <torch/csrc/autograd/function.h>
#ifndef STREAMSAN_NO_PYTHON_NODES
#include <torch/csrc/autograd/python_function.h>
#endif

#include <memory>
#include <string>
#include <typeinfo>
#include <unordered_map>

#include "_torch_forwards.h"
#include "_torch_operators.h"

namespace {

// Its own name() takes the GIL for it, which nobody who is asked in the middle of a call may do.
// While the node is evaluated, it and the class of its object stay.
const char* PythonNameOf(const torch::autograd::Node& node) {
  if (strcmp(typeid(node).name(), "N5torch8autograd6PyNodeE") != 0) return nullptr;
#ifndef STREAMSAN_NO_PYTHON_NODES
  PyObject* object = static_cast<const torch::autograd::PyNode&>(node).obj;
  if (object) return Py_TYPE(object)->tp_name;
#endif
  return "a node written in Python";
}

uint64_t TextOf(ThreadState& thread, const torch::autograd::Node& node) {
  auto find = [&](const char* name) {
    return FindScope(thread, name, [&] { return g_operators_seen.FindScope(name); })->text;
  };
  if (const char* name = PythonNameOf(node)) return find(name);
  static thread_local auto* known = new std::unordered_map<const std::type_info*, uint64_t>;
  uint64_t& text = (*known)[&typeid(node)];
  if (text == 0) text = find(node.name().c_str());
  return text;
}

// False: none.
bool ContextOfNode(ThreadState& thread, streamsan_context* now) {
  std::shared_ptr<torch::autograd::Node> node = torch::autograd::get_current_node();
  if (!node) return false;
  now->operator_text = TextOf(thread, *node);
  Recall(node->thread_id(), static_cast<int64_t>(node->sequence_nr()), now);
  return true;
}

}  // namespace
#endif  // STREAMSAN_TORCH_NODES_H_
