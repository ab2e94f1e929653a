# One target a folder: streamsan_folder(base DEPS fmt::fmt) makes ss_base from every .cc file there.
add_compile_options(-Wall -Wextra -Wno-missing-field-initializers -fvisibility=hidden)

function(streamsan_folder name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  if(NOT sources)  # headers only
    add_library(ss_${name} INTERFACE)
    target_include_directories(ss_${name} INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include)
    target_link_libraries(ss_${name} INTERFACE ${ARG_DEPS})
    return()
  endif()
  add_library(ss_${name} STATIC ${sources})
  target_include_directories(ss_${name} PUBLIC ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(ss_${name} PUBLIC ${ARG_DEPS})
endfunction()

# streamsan_test(name DEPS ...) makes the GoogleTest program tests/<name>_test.cc.
function(streamsan_test name)
  cmake_parse_arguments(ARG "" "" "DEPS" ${ARGN})
  add_executable(${name}_test ${CMAKE_CURRENT_SOURCE_DIR}/${name}_test.cc)
  target_include_directories(${name}_test PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(${name}_test PRIVATE ${ARG_DEPS} GTest::gtest GTest::gtest_main)
  target_compile_definitions(${name}_test PRIVATE
    SS_SOURCE_DIR="${CMAKE_SOURCE_DIR}" SS_BINARY_DIR="${CMAKE_BINARY_DIR}")
  add_test(NAME ${name} COMMAND ${name}_test)
  set_tests_properties(${name} PROPERTIES TIMEOUT 600)
endfunction()
