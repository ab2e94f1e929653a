# Makes the tables of src/generated.h from cuda.h (and cudaTypedefs.h where it is there): the interface is
# NVIDIA's and grows with every toolkit, so it is read, not copied. Every function that no source file defines
# becomes a weak stub that says so and returns CUDA_ERROR_NOT_SUPPORTED.

# Names of all dynamic symbols: declared ones, both sides of renaming macros, per-thread forms.
function(vgpu_function_names header out)
  set(names)
  file(STRINGS ${header} declared REGEX "CUDAAPI +cu[A-Z][A-Za-z0-9_]*\\(")
  foreach(line IN LISTS declared)
    string(REGEX REPLACE ".*CUDAAPI +(cu[A-Z][A-Za-z0-9_]*)\\(.*" "\\1" name "${line}")
    list(APPEND names ${name})
  endforeach()
  file(STRINGS ${header} wrapped REGEX "^cu[A-Z][A-Za-z0-9_]*\\(")
  foreach(line IN LISTS wrapped)
    string(REGEX REPLACE "^(cu[A-Z][A-Za-z0-9_]*)\\(.*" "\\1" name "${line}")
    list(APPEND names ${name})
  endforeach()
  file(STRINGS ${header} renamed REGEX "^ *# *define +cu[A-Z][A-Za-z0-9_]* +cu[A-Z][A-Za-z0-9_]* *$")
  foreach(line IN LISTS renamed)
    string(REGEX MATCHALL "cu[A-Z][A-Za-z0-9_]*" both "${line}")
    list(APPEND names ${both})
  endforeach()
  file(STRINGS ${header} threaded REGEX "^ *# *define +cu[A-Z][A-Za-z0-9_]* +__CUDA_API_PT[A-Z]+\\(")
  foreach(line IN LISTS threaded)
    string(REGEX REPLACE ".*define +(cu[A-Za-z0-9_]*) +__CUDA_API_PT(SZ|DS)\\((cu[A-Za-z0-9_]*)\\).*" "\\1;\\2;\\3"
           parts "${line}")
    list(GET parts 0 alias)
    list(GET parts 1 form)
    list(GET parts 2 name)
    string(TOLOWER ${form} form)
    list(APPEND names ${alias} ${name} ${name}_pt${form})
  endforeach()
  list(REMOVE_DUPLICATES names)
  list(SORT names)
  set(${out} ${names} PARENT_SCOPE)
endfunction()

# Stubs are C without prototypes: on every ABI that CUDA runs on, a function may ignore its arguments.
function(vgpu_write_functions names file)
  set(stubs "")
  set(rows "")
  foreach(name IN LISTS names)
    string(APPEND stubs "STUB(${name})\n")
    string(APPEND rows "  {\"${name}\", (void*)${name}},\n")
  endforeach()
  list(LENGTH names count)
  file(CONFIGURE OUTPUT ${file} CONTENT
"/* Generated from cuda.h. */
int vgpu_unsupported(const char* name);
#define STUB(name) __attribute__((weak, visibility(\"default\"))) int name(void) { return vgpu_unsupported(#name); }
${stubs}
struct row { const char* name; void* address; };
const struct row vgpu_functions[] = {
${rows}};
const unsigned vgpu_function_count = ${count};
")
endfunction()

function(vgpu_write_versions header file)
  set(rows "")
  set(entries)
  if(EXISTS ${header})
    file(STRINGS ${header} lines REGEX "\\(CUDAAPI \\*PFN_cu[A-Za-z0-9]+_v[0-9]+")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE ".*PFN_(cu[A-Za-z0-9]+)_v([0-9]+).*" "\\1;\\2" parts "${line}")
      list(GET parts 0 name)
      list(GET parts 1 version)
      string(LENGTH ${version} digits)
      if(digits LESS 5)
        set(version "0${version}")  # so that text order is number order
      endif()
      list(APPEND entries "${name}:${version}")
    endforeach()
    list(REMOVE_DUPLICATES entries)
    list(SORT entries)
    foreach(entry IN LISTS entries)
      string(REGEX REPLACE "(.*):0?([0-9]+)" "  {\"\\1\", \\2},\n" row ${entry})
      string(APPEND rows "${row}")
    endforeach()
  endif()
  list(LENGTH entries count)
  file(CONFIGURE OUTPUT ${file} CONTENT
"/* Generated from cudaTypedefs.h. */
struct row { const char* name; int version; };
const struct row vgpu_versions[] = {
${rows}  {0, 0}};
const unsigned vgpu_version_count = ${count};
")
endfunction()

function(vgpu_write_errors header file)
  file(STRINGS ${header} lines REGEX "^ *(CUDA_SUCCESS|CUDA_ERROR_[A-Z0-9_]+) *= *[0-9]+")
  set(rows "")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^ *(CUDA_[A-Z0-9_]+) *= *([0-9]+).*" "\\1;\\2" parts "${line}")
    list(GET parts 0 name)
    list(GET parts 1 code)
    string(REGEX REPLACE "^CUDA_(ERROR_)?" "" text ${name})
    string(TOLOWER ${text} text)
    string(REPLACE "_" " " text ${text})
    string(APPEND rows "  {${code}, \"${name}\", \"${text}\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${file} CONTENT
"/* Generated from cuda.h. */
struct row { int code; const char* name; const char* text; };
const struct row vgpu_errors[] = {
${rows}  {-1, 0, 0}};
")
endfunction()

function(vgpu_generate include_dir out)
  set(dir ${CMAKE_CURRENT_BINARY_DIR}/generated)
  vgpu_function_names(${include_dir}/cuda.h names)
  vgpu_write_functions("${names}" ${dir}/functions.c)
  vgpu_write_versions(${include_dir}/cudaTypedefs.h ${dir}/versions.c)
  vgpu_write_errors(${include_dir}/cuda.h ${dir}/errors.c)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${include_dir}/cuda.h)
  set(${out} ${dir}/functions.c ${dir}/versions.c ${dir}/errors.c PARENT_SCOPE)
endfunction()
