# cuda.h declares the interface that is intercepted. It is NVIDIA's and never committed: it comes from a
# toolkit, or from the PyPI package nvidia-cuda-runtime that `./dev` unpacks into .deps/ and that pip puts
# beside the build of a wheel.
if(SKBUILD)
  find_package(Python QUIET COMPONENTS Interpreter)
  execute_process(COMMAND ${Python_EXECUTABLE} -c "import nvidia; print(list(nvidia.__path__)[0])"
    OUTPUT_VARIABLE ss_wheel OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
find_path(SS_CUDA_INCLUDE cuda.h
  HINTS $ENV{CUDA_HOME}/include /usr/local/cuda/include ${CMAKE_SOURCE_DIR}/.deps/cuda/include ${ss_wheel}/cu13/include)
if(NOT SS_CUDA_INCLUDE)
  message(FATAL_ERROR "cuda.h not found: run `./dev setup`, or set CUDA_HOME to a CUDA toolkit (>= 12)")
endif()
add_library(ss_cuda_headers INTERFACE)
target_include_directories(ss_cuda_headers SYSTEM INTERFACE ${SS_CUDA_INCLUDE})
