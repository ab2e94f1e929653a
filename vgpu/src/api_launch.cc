// Kernel launches. A kernel runs in slices of blocks, so that other streams' work can land in its
// middle.
#include <algorithm>
#include <cstring>

#include "api_graph.h"
#include "vgpu/image.h"

using namespace ss::vgpu;

namespace {

struct Shape {
  vgpu_grid grid{};
  uint64_t blocks = 0;
};

bool Describe(const unsigned (&grid)[3], const unsigned (&block)[3], unsigned shared,
              Shape* shape) {
  uint64_t threads = 1;
  shape->blocks = 1;
  for (int i = 0; i < 3; ++i) {
    if (grid[i] == 0 || block[i] == 0 || block[i] > 1024 || grid[i] > 0x7fffffff) return false;
    shape->grid.grid[i] = grid[i];
    shape->grid.block[i] = block[i];
    shape->blocks *= grid[i];
    threads *= block[i];
  }
  shape->grid.shared_bytes = shared;
  return threads <= 1024 && shape->blocks <= 0xffffffffu;
}

// Parameters given one by one (`values`) or as one buffer (`extra`), as laid out in the image.
bool Pack(const Function& function, void** values, void** extra, std::vector<char>* bytes) {
  bytes->assign(function.parameter_bytes, 0);
  if (extra) {
    const void* buffer = nullptr;
    size_t size = 0;
    for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
      if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[1];
      if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *static_cast<const size_t*>(extra[1]);
    }
    if (!buffer || size < bytes->size()) return bytes->empty();
    std::memcpy(bytes->data(), buffer, bytes->size());
    return true;
  }
  if (!values) return function.parameters.empty();
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const auto [offset, size] = function.parameters[i];
    std::memcpy(bytes->data() + offset, values[i], size);
  }
  return true;
}

std::function<void(uint32_t)> Runner(const Function& function, const Shape& shape, uint32_t slices,
                                     std::vector<char> parameters) {
  return [run_block = function.run, shape, slices,
          parameters = std::move(parameters)](uint32_t slice) {
    const uint64_t begin = shape.blocks * slice / slices;
    const uint64_t end = shape.blocks * (slice + 1) / slices;
    for (uint64_t block = begin; block < end; ++block) {
      run_block(&shape.grid, static_cast<uint32_t>(block), parameters.data());
    }
  };
}

CUresult Launch(CUfunction handle, const Shape& shape, CUstream stream_handle, void** values,
                void** extra, DefaultStream which) {
  VGPU_ENTER(call);
  const auto* function = reinterpret_cast<const Function*>(handle);
  if (!call.machine.functions.contains(function)) return CUDA_ERROR_INVALID_HANDLE;
  Stream* stream = nullptr;
  if (const CUresult error = call.Find(stream_handle, which, &stream)) return error;
  const Context* loaded_in = function->module->context;
  if (loaded_in && loaded_in != RootOf(stream->context)) return CUDA_ERROR_INVALID_HANDLE;
  if (values && extra) return CUDA_ERROR_INVALID_VALUE;
  std::vector<char> parameters;
  if (!Pack(*function, values, extra, &parameters)) return CUDA_ERROR_INVALID_VALUE;

  const auto slices = static_cast<uint32_t>(std::min<uint64_t>(shape.blocks, options().slices));
  auto run = Runner(*function, shape, slices, std::move(parameters));
  return call.Run(*stream, {Work::kKernel, function->name, slices, std::move(run)});
}

CUresult LaunchPlain(CUfunction function, const unsigned (&grid)[3], const unsigned (&block)[3],
                     unsigned shared, CUstream stream, void** values, void** extra,
                     DefaultStream which) {
  Shape shape;
  if (!Describe(grid, block, shared, &shape)) return CUDA_ERROR_INVALID_VALUE;
  return Launch(function, shape, stream, values, extra, which);
}

// Attributes that hint at speed are ignored. So is programmatic serialisation: full serialisation
// is one of the schedules that it allows. An event that fires when the blocks start fires when the
// kernel could: as early as it may.
CUresult RecordStart(const CUlaunchConfig& config, DefaultStream which) {
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const CUlaunchAttribute& attribute = config.attrs[i];
    const bool fires = attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT ||
                       attribute.id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
    if (!fires) continue;
    VGPU_ENTER(call);
    Stream* stream = nullptr;
    if (const CUresult error = call.Find(config.hStream, which, &stream)) return error;
    Event* event = call.machine.events.Find(attribute.value.programmaticEvent.event);
    if (!event) return CUDA_ERROR_INVALID_HANDLE;
    if (!(event->flags & CU_EVENT_DISABLE_TIMING)) return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture) return CUDA_ERROR_NOT_SUPPORTED;
    event->record = call.machine.Issue(*stream, {Work::kMarker, "start"});
  }
  return CUDA_SUCCESS;
}

CUresult LaunchEx(const CUlaunchConfig* config, CUfunction function, void** values, void** extra,
                  DefaultStream which) {
  if (!config || (config->numAttrs && !config->attrs)) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = RecordStart(*config, which)) return error;
  return LaunchPlain(function, {config->gridDimX, config->gridDimY, config->gridDimZ},
                     {config->blockDimX, config->blockDimY, config->blockDimZ},
                     config->sharedMemBytes, config->hStream, values, extra, which);
}

}  // namespace

CUresult ss::vgpu::KernelOp(Call& call, const CUDA_KERNEL_NODE_PARAMS_v3& params, NewOp* op) {
  const auto* function = reinterpret_cast<const Function*>(
      params.func ? static_cast<const void*>(params.func) : static_cast<const void*>(params.kern));
  if (!call.machine.functions.contains(function)) return CUDA_ERROR_INVALID_VALUE;
  Shape shape;
  if (!Describe({params.gridDimX, params.gridDimY, params.gridDimZ},
                {params.blockDimX, params.blockDimY, params.blockDimZ}, params.sharedMemBytes,
                &shape)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::vector<char> bytes;
  if (!Pack(*function, params.kernelParams, params.extra, &bytes)) return CUDA_ERROR_INVALID_VALUE;
  const auto slices = static_cast<uint32_t>(std::min<uint64_t>(shape.blocks, options().slices));
  *op = {Work::kKernel, function->name, slices, Runner(*function, shape, slices, std::move(bytes))};
  return CUDA_SUCCESS;
}

VGPU_STREAM_EXPORT(cuLaunchKernel, _ptsz,
                   (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                    unsigned by, unsigned bz, unsigned shared, CUstream stream, void** values,
                    void** extra),
                   LaunchPlain(function, {gx, gy, gz}, {bx, by, bz}, shared, stream, values, extra,
                               kDefault))
VGPU_STREAM_EXPORT(cuLaunchCooperativeKernel, _ptsz,
                   (CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                    unsigned by, unsigned bz, unsigned shared, CUstream stream, void** values),
                   LaunchPlain(function, {gx, gy, gz}, {bx, by, bz}, shared, stream, values,
                               nullptr, kDefault))
VGPU_STREAM_EXPORT(cuLaunchKernelEx, _ptsz,
                   (const CUlaunchConfig* config, CUfunction function, void** values, void** extra),
                   LaunchEx(config, function, values, extra, kDefault))
