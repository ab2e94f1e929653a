/* Which line of the program runs, and in which module: this thread's innermost Python frame outside
 * of PyTorch itself, and the `self` of the innermost call of an nn.Module.
 *
 * Reads the interpreter's own frames, whose layout belongs to one version: compiled against the
 * headers of the Python that runs. Where it does not compile, the helper is built without it and
 * reports have no Python lines. Without the GIL on purpose: operators run with it released, and
 * taking it at each of them would change the program that is watched. A thread that is inside C
 * code does not change its own frames, and a frame keeps its code alive. Nothing is allocated and
 * no reference is counted here. */
#include "_torch_helper.h"

#ifdef STREAMSAN_PYTHON_FRAMES

#define Py_BUILD_CORE 1
#include <Python.h>
#if PY_VERSION_HEX >= 0x030e0000
#include "internal/pycore_interpframe.h"
#elif PY_VERSION_HEX >= 0x030b0000
#include "internal/pycore_frame.h"
#else
#include <frameobject.h>
#endif
#include <stdio.h>
#include <string.h>

#include "streamsan/annotate.h"

#define MAX_FRAMES 64
#define MANY_FRAMES 1024
#define CACHED 1024 /* call sites a thread */
#define SITE_BYTES 64

#if PY_VERSION_HEX >= 0x030b0000
typedef struct _PyInterpreterFrame* Walk;
#else
typedef PyFrameObject* Walk;
#endif

static Walk first_frame(PyThreadState* thread) {
#if PY_VERSION_HEX >= 0x030d0000
  return thread->current_frame;
#elif PY_VERSION_HEX >= 0x030b0000
  return thread->cframe ? thread->cframe->current_frame : NULL;
#else
  return thread->frame;
#endif
}

static Walk next_frame(Walk frame) {
#if PY_VERSION_HEX >= 0x030b0000
  return frame->previous;
#else
  return frame->f_back;
#endif
}

/* NULL for the interpreter's own entry frames. */
static PyCodeObject* code_of(Walk frame) {
#if PY_VERSION_HEX >= 0x030d0000
  if (frame->owner >= 3) return NULL; /* FRAME_OWNED_BY_CSTACK, from 3.14 on _BY_INTERPRETER */
  return _PyFrame_GetCode(frame);
#elif PY_VERSION_HEX >= 0x030c0000
  if (frame->owner == FRAME_OWNED_BY_CSTACK) return NULL;
  return frame->f_code;
#else
  return frame->f_code;
#endif
}

static int offset_of(Walk frame) {
#if PY_VERSION_HEX >= 0x030b0000
  return _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT);
#elif PY_VERSION_HEX >= 0x030a0000
  return frame->f_lasti * (int)sizeof(_Py_CODEUNIT);
#else
  return frame->f_lasti;
#endif
}

/* NULL where the call has not got that far, or has given it up. */
static PyObject* first_local(Walk frame) {
#if PY_VERSION_HEX >= 0x030e0000
  PyObject* local = PyStackRef_AsPyObjectBorrow(frame->localsplus[0]);
#elif PY_VERSION_HEX >= 0x030b0000
  PyObject* local = frame->localsplus[0];
#else
  PyObject* local = frame->f_localsplus[0];
#endif
  return local && Py_IS_TYPE(local, &PyCell_Type) ? ((PyCellObject*)local)->ob_ref : local;
}

enum Whose { PROGRAM, FRAMEWORK, MODULE_CALL };

/* One cache line: every operator that Python calls looks at one for each of the innermost frames.
 */
typedef struct Site {
  PyCodeObject* code;
  PyObject* file; /* an address that comes back is another function with another file, mostly */
  int offset;
  enum Whose whose;
  uint64_t text;
} __attribute__((aligned(SITE_BYTES))) Site;

static const char* ascii(PyObject* text) {
  if (!text || !PyUnicode_IS_COMPACT_ASCII(text)) return "?";
  return (const char*)PyUnicode_1BYTE_DATA(text);
}

static int is_framework(const char* file) {
  static const char* const kParts[] = {"/torch/", "/triton/", "/streamsan/", "<frozen"};
  for (size_t i = 0; i < sizeof kParts / sizeof kParts[0]; ++i) {
    if (strstr(file, kParts[i])) return 1;
  }
  return 0;
}

/* nn.Module's way to forward(): its first argument is the module. */
static int is_module_call(PyCodeObject* code, const char* file) {
  static const char kFile[] = "/torch/nn/modules/module.py";
  size_t length = strlen(file);
  if (length < sizeof kFile - 1 || strcmp(file + length - (sizeof kFile - 1), kFile)) return 0;
  return code->co_argcount > 0 && strstr(ascii(code->co_name), "_call_impl");
}

static void fill(Site* site, PyCodeObject* code, int offset) {
  char text[1024];
  const char* file = ascii(code->co_filename);
  site->code = code;
  site->file = code->co_filename;
  site->offset = offset;
  site->text = 0;
  site->whose = is_framework(file) ? FRAMEWORK : PROGRAM;
  if (is_module_call(code, file)) site->whose = MODULE_CALL;
  if (site->whose != PROGRAM) return;
#if PY_VERSION_HEX >= 0x030b0000
  const char* function = ascii(code->co_qualname);
#else
  const char* function = ascii(code->co_name);
#endif
  snprintf(text, sizeof text, "%s\n%s\n%d", function, file, PyCode_Addr2Line(code, offset));
  site->text = streamsan_text(text);
}

static const Site* site_of(PyCodeObject* code, int offset) {
  static __thread Site sites[CACHED];
  size_t at = (((uintptr_t)code >> 4) * 31 + (size_t)offset) * 0x9e3779b97f4a7c15u >> 54;
  Site* site = &sites[at];
  if (site->code != code || site->offset != offset || site->file != code->co_filename) {
    fill(site, code, offset);
  }
  return site;
}

static uint64_t call_of(Walk frame) {
  while (frame && !code_of(frame)) frame = next_frame(frame);
  return frame ? (uint64_t)(uintptr_t)frame * 0x9e3779b97f4a7c15u ^ (uint64_t)offset_of(frame) : 0;
}

/* The program's modules run unnamed where Python cannot name them, however often it is asked. */
#define MOST_QUESTIONS 1000

static void (*unknown_module)(void);
static int asked, questions;

static int ask(void* none) {
  (void)none;
  __atomic_load_n(&unknown_module, __ATOMIC_ACQUIRE)();
  __atomic_store_n(&asked, 0, __ATOMIC_RELEASE);
  return 0; /* anything else is an error of the program's line that runs now */
}

static uint64_t module_text(PyObject* module) {
  uint64_t text = streamsan_torch_module_text(module);
  if (text || !module || !__atomic_load_n(&unknown_module, __ATOMIC_ACQUIRE)) return text;
  if (__atomic_exchange_n(&asked, 1, __ATOMIC_ACQ_REL)) return 0;
  int enough = __atomic_add_fetch(&questions, 1, __ATOMIC_RELAXED) > MOST_QUESTIONS;
  if (enough || Py_AddPendingCall(ask, NULL) != 0)
    __atomic_store_n(&asked, enough, __ATOMIC_RELEASE);
  return 0;
}

__attribute__((visibility("default"))) void streamsan_torch_on_unknown_module(
    void (*unknown)(void)) {
  __atomic_store_n(&unknown_module, unknown, __ATOMIC_RELEASE);
}

uint64_t streamsan_torch_python_call(void) {
  PyThreadState* thread = PyGILState_GetThisThreadState();
  return thread ? call_of(first_frame(thread)) : 0;
}

int streamsan_torch_python_is_in(uint64_t call) {
  PyThreadState* thread = PyGILState_GetThisThreadState();
  Walk frame = thread ? first_frame(thread) : NULL;
  for (int i = 0; call && frame && i < MANY_FRAMES; ++i, frame = next_frame(frame)) {
    if (code_of(frame) && call_of(frame) == call) return 1;
  }
  return call == 0;
}

streamsan_torch_place streamsan_torch_python_place(void) {
  streamsan_torch_place place = {0, 0};
  int wanted = streamsan_torch_places && !streamsan_torch_forked;
  PyThreadState* thread = wanted ? PyGILState_GetThisThreadState() : NULL;
  Walk frame = thread ? first_frame(thread) : NULL;
  for (int i = 0; frame && i < MAX_FRAMES; ++i, frame = next_frame(frame)) {
    PyCodeObject* code = code_of(frame);
    if (!code) continue;
    const Site* site = site_of(code, offset_of(frame));
    if (site->whose == PROGRAM && !place.site) place.site = site->text;
    if (site->whose == MODULE_CALL && !place.module) {
      place.module = module_text(first_local(frame));
    }
    if (place.site && place.module) break;
  }
  return place;
}

__attribute__((visibility("default"))) int streamsan_torch_has_python_frames(void) { return 1; }

#else

uint64_t streamsan_torch_python_call(void) { return 0; }

int streamsan_torch_python_is_in(uint64_t call) { return call == 0; }

streamsan_torch_place streamsan_torch_python_place(void) {
  streamsan_torch_place nowhere = {0, 0};
  return nowhere;
}

__attribute__((visibility("default"))) void streamsan_torch_on_unknown_module(
    void (*unknown)(void)) {
  (void)unknown;
}

__attribute__((visibility("default"))) int streamsan_torch_has_python_frames(void) { return 0; }

#endif
