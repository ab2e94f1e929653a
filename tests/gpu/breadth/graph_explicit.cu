// A graph by hand: memset -> kernel -> copy back, with the copy's edge to the kernel left out in
// `racy`. Then the kernel's argument is changed in the executable graph.
#include "breadth.h"
int main(int argc, char** argv) {
  bool racy = Racy(argc, argv);
  cudaStream_t s = MakeStream();
  float *a = Device(), *b = Device(), *host;
  OK(cudaMallocHost(&host, kBytes));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphNode_t memset_node, kernel_node, copy_node, empty_node;
  OK(cudaGraphCreate(&graph, 0));
  cudaMemsetParams memset_params = {};
  memset_params.dst = a;
  memset_params.elementSize = 4;
  memset_params.width = kCount;
  memset_params.height = 1;
  OK(cudaGraphAddMemsetNode(&memset_node, graph, nullptr, 0, &memset_params));
  float value = 3;
  int n = kCount;
  void* arguments[] = {&b, &a, &value, &n};
  cudaKernelNodeParams kernel = {};
  kernel.func = reinterpret_cast<void*>(Axpy);
  kernel.gridDim = dim3(64);
  kernel.blockDim = dim3(256);
  kernel.kernelParams = arguments;
  OK(cudaGraphAddKernelNode(&kernel_node, graph, &memset_node, 1, &kernel));
  OK(cudaGraphAddEmptyNode(&empty_node, graph, racy ? &memset_node : &kernel_node, 1));
  OK(cudaGraphAddMemcpyNode1D(&copy_node, graph, nullptr, 0, host, b, kBytes,
                              cudaMemcpyDeviceToHost));
  OK(cudaGraphAddDependencies(graph, &empty_node, &copy_node, nullptr, 1));
  OK(cudaGraphInstantiate(&exec, graph, 0));
  OK(cudaGraphLaunch(exec, s));
  void* swapped[] = {&b, &b, &value, &n};
  kernel.kernelParams = swapped;
  OK(cudaGraphExecKernelNodeSetParams(exec, kernel_node, &kernel));
  OK(cudaGraphLaunch(exec, s));
  OK(cudaStreamSynchronize(s));
  std::puts("ok");
}
