// Kernels beyond basic.cu: strides, reductions, structures, loops, flags, programmatic launch.
// The notation of the truth lines is in truth.h.
#include <cstdint>
#include <cuda_fp16.h>
#define K extern "C" __global__ void
#define TID (blockIdx.x * blockDim.x + threadIdx.x)
//GT axpby: @0:R @1:R @2:W
K axpby(const float* x, const float* y, float* z, float a, float b, int n) { for (int i = TID; i < n; i += gridDim.x * blockDim.x) z[i] = a * x[i] + b * y[i]; }
//GT inplace_scale: @0:RW
K inplace_scale(float* x, float s, size_t n) { size_t i = TID; if (i < n) x[i] *= s; }
//GT fill: @0:W
K fill(double* p, double v, long n) { for (long i = TID; i < n; i += 1024) p[i] = v; }
//GT gather: @0:R @1:R @2:W
K gather(const float* t, const int* idx, float* o, int d) { int r = idx[blockIdx.x]; o[blockIdx.x * d + threadIdx.x] = t[r * d + threadIdx.x]; }
//GT scatter_add: @0:R @1:R @2:A
K scatter_add(const float* s, const int* idx, float* o, int d) { int r = idx[blockIdx.x]; atomicAdd(o + r * d + threadIdx.x, s[blockIdx.x * d + threadIdx.x]); }
//GT transpose: @0:R @1:W
K transpose(const float* a, float* b, int w, int h) { __shared__ float t[32][33]; int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y; if (x < w && y < h) t[threadIdx.y][threadIdx.x] = a[y * w + x]; __syncthreads(); x = blockIdx.y * 32 + threadIdx.x; y = blockIdx.x * 32 + threadIdx.y; if (x < h && y < w) b[y * h + x] = t[threadIdx.x][threadIdx.y]; }
//GT softmax: @0:R @1:W
K softmax(const float* in, float* out, int n) { const float* p = in + (size_t)blockIdx.x * n; float m = -1e30f, s = 0; for (int i = threadIdx.x; i < n; i += 32) m = fmaxf(m, p[i]); for (int k = 16; k; k >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, k)); for (int i = threadIdx.x; i < n; i += 32) s += expf(p[i] - m); for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k); for (int i = threadIdx.x; i < n; i += 32) out[(size_t)blockIdx.x * n + i] = expf(p[i] - m) / s; }
//GT layernorm: @0:R @1:R @2:R @3:W @4:W @5:W
K layernorm(const __half* x, const __half* w, const __half* b, __half* y, float* mean, float* rstd, int n, float eps) { float s = 0, q = 0; for (int i = threadIdx.x; i < n; i += 32) { float v = __half2float(x[blockIdx.x * n + i]); s += v; q += v * v; } for (int k = 16; k; k >>= 1) { s += __shfl_xor_sync(~0u, s, k); q += __shfl_xor_sync(~0u, q, k); } float m = s / n, r = rsqrtf(q / n - m * m + eps); if (!threadIdx.x) { mean[blockIdx.x] = m; rstd[blockIdx.x] = r; } for (int i = threadIdx.x; i < n; i += 32) y[blockIdx.x * n + i] = __float2half((__half2float(x[blockIdx.x * n + i]) - m) * r * __half2float(w[i]) + __half2float(b[i])); }
//GT adam: @0:RW @1:R @2:RW @3:RW
K adam(float* p, const float* g, float* m, float* v, float lr, float b1, float b2, float eps, int n) { int i = TID; if (i >= n) return; float a = m[i] = b1 * m[i] + (1 - b1) * g[i]; float c = v[i] = b2 * v[i] + (1 - b2) * g[i] * g[i]; p[i] -= lr * a / (sqrtf(c) + eps); }
//GT histogram: @0:R @1:A
K histogram(const unsigned char* d, unsigned* h, int n) { __shared__ unsigned s[256]; s[threadIdx.x] = 0; __syncthreads(); for (int i = TID; i < n; i += gridDim.x * blockDim.x) atomicAdd(&s[d[i]], 1u); __syncthreads(); atomicAdd(&h[threadIdx.x], s[threadIdx.x]); }
struct View { float* data; long sizes[4]; long strides[4]; };
//GT strided_view: @0+0:W @1+0:R
K strided_view(View o, View i) { long a = threadIdx.x, b = blockIdx.x, c = blockIdx.y; o.data[a * o.strides[0] + b * o.strides[1] + c * o.strides[2]] = i.data[a * i.strides[0] + b * i.strides[1] + c * i.strides[2]]; }
//GT optional_out: @0:R @1:W @2:W
K optional_out(const float* x, float* y, float* mask) { float v = x[TID]; y[TID] = v > 0 ? v : 0; if (mask) mask[TID] = v > 0; }
//GT cond_write: @0:R @1:W @2:W
K cond_write(const int* s, int* a, int* b) { int v = s[TID]; if (v & 1) a[v] = v; else b[v] = v; }
//GT swap_by_flag: @0:RW @1:RW
K swap_by_flag(float* a, float* b, int f) { float* s = f ? a : b; float* d = f ? b : a; d[TID] = s[TID] + 1; }
//GT two_writes: @0:W @1:W
K two_writes(long* a, long* b, long v) { a[TID] = v; b[TID] = -v; }
struct Mixed { int n; float* a; char c; const double* b; short s[3]; int* d; };
//GT mixed_struct: @0+8:W @0+24:R @0+40:A
K mixed_struct(Mixed m) { int i = TID; if (i < m.n) { m.a[i] = (float)m.b[i] * m.s[i % 3]; atomicAdd(m.d, m.c); } }
//GT cas_lock: @0:AW @1:RW
K cas_lock(int* lock, int* data) { if (!threadIdx.x) { while (atomicCAS(lock, 0, 1)) {} data[0]++; __threadfence(); *(volatile int*)lock = 0; } }
//GT wait_flag: @0:R @1:R @2:W POLL
K wait_flag(const volatile int* flag, const float* in, float* out) { if (!threadIdx.x) while (*flag != 7) {} __syncthreads(); out[TID] = in[TID]; }
//GT wait_acquire: @0:R @1:R @2:W POLL
K wait_acquire(const int* flag, const float* in, float* out) { int v; do { asm volatile("ld.acquire.gpu.global.s32 %0,[%1];" : "=r"(v) : "l"(flag) : "memory"); } while (v == 0); out[TID] = in[TID]; }
//GT strong_once: @0:R @1:W
K strong_once(const int* flag, float* out) { int v; asm volatile("ld.acquire.gpu.global.s32 %0,[%1];" : "=r"(v) : "l"(flag) : "memory"); for (int i = 0; i < 100; i++) out[TID + i * 4096] = v; }
//GT set_flag: @0:W @1:W
K set_flag(float* out, int* flag) { out[TID] = 1; __threadfence(); if (!threadIdx.x) *(volatile int*)flag = 7; }
//GT stencil: @0:R @1:W
K stencil(const float* a, float* b, int n) { int i = TID; if (i > 0 && i < n - 1) b[i] = a[i - 1] + a[i] * 2 + a[i + 1]; }
//GT prefix: @0:R @1:W @2:W
K prefix(const int* in, int* out, int* total, int n) { __shared__ int s[1024]; int t = threadIdx.x; s[t] = t < n ? in[t] : 0; for (int d = 1; d < 1024; d *= 2) { __syncthreads(); int v = t >= d ? s[t - d] : 0; __syncthreads(); s[t] += v; } if (t < n) out[t] = s[t]; if (t == 1023) *total = s[t]; }
//GT argmax: @0:R @1:A
K argmax(const float* x, unsigned long long* best, int n) { for (int i = TID; i < n; i += 65536) atomicMax(best, (unsigned long long)__float_as_uint(x[i]) << 32 | (unsigned)i); }
struct Chunk { const float* src[4]; float* dst[4]; int n[4]; };
//GT foreach_copy: D0-32:R D32-64:W
K foreach_copy(Chunk c) { int t = blockIdx.y; for (int i = TID; i < c.n[t]; i += 4096) c.dst[t][i] = c.src[t][i]; }
//GT unrolled_table: @0+0:R @0+8:R @0+16:R @0+24:R @0+32:W @0+40:W @0+48:W @0+56:W
K unrolled_table(Chunk c) {
#pragma unroll
  for (int t = 0; t < 4; t++) if ((int)TID < c.n[t]) c.dst[t][TID] = c.src[t][TID]; }
//GT batched: @0:R *@0:R @1:R *@1:W
K batched(const float* const* a, float* const* b, int n) { for (int i = threadIdx.x; i < n; i += 64) b[blockIdx.x][i] = a[blockIdx.x][i] * 2; }
//GT embedding_bag: @0:R @1:R @2:R @3:W
K embedding_bag(const float* w, const long* idx, const long* off, float* o, int d) { float s = 0; for (long k = off[blockIdx.x]; k < off[blockIdx.x + 1]; k++) s += w[idx[k] * d + threadIdx.x]; o[blockIdx.x * d + threadIdx.x] = s; }
//GT shared_stage: @0:R @1:W
K shared_stage(const float4* a, float4* b, int n) { __shared__ float4 s[2][128]; int t = threadIdx.x; s[0][t] = a[t]; for (int i = 1; i < n; i++) { s[i & 1][t] = a[i * 128 + t]; __syncthreads(); b[(i - 1) * 128 + t] = s[(i - 1) & 1][127 - t]; __syncthreads(); } }
//GT random_walk: @0:R @1:W
K random_walk(const int* next, int* out, int steps) { int at = TID; for (int i = 0; i < steps; i++) at = next[at]; out[TID] = at; }
//GT byte_copy: @0:W @1:R
K byte_copy(unsigned char* d, const unsigned char* s, unsigned n) { unsigned i = TID; if (i < n) d[i] = s[i]; }
//GT unaligned_struct: @0+16:R @0+8:W
struct Odd { short a, b; int c; int* out; const int* in; };
K unaligned_struct(Odd o) { o.out[TID] = o.in[TID] * o.a + o.b * o.c; }
//GT atomic_ops: @0:A @1:A @2:A @3:R
K atomic_ops(int* mn, unsigned* orr, float* ex, const float* x) { atomicMin(mn, (int)x[TID]); atomicOr(orr, 1u << threadIdx.x); atomicExch(ex, x[TID]); }
//GT pointer_loop: @0:R @1:W
K pointer_loop(const float* p, float* o, const int n) { float s = 0; for (const float* e = p + n; p < e; p += 7) s += *p; o[TID] = s; }
//GT struct_in_array: @0:RW
struct Particle { float x, y, z, m; };
K struct_in_array(Particle* p, float dt, int n) { int i = TID; if (i < n) { p[i].x += dt * p[i].m; p[i].z = p[i].y; } }
//GT long_kernel: @0:R @1:R @2:RW
K long_kernel(const float* a, const float* b, float* c, int n) { float r[8]; 
#pragma unroll
  for (int i = 0; i < 8; i++) r[i] = c[TID + i * 4096]; for (int k = 0; k < n; k++) { float x = a[k * 128 + threadIdx.x];
#pragma unroll
    for (int i = 0; i < 8; i++) r[i] += x * b[k * 8 + i]; }
#pragma unroll
  for (int i = 0; i < 8; i++) c[TID + i * 4096] = r[i]; }
#if __CUDA_ARCH__ >= 900 || !defined(__CUDA_ARCH__)
//GT pdl_mixed: @0:R @1:R @2:W @3:W EARLY1 EARLY3
K pdl_mixed(const float* a, const float* b, float* o, int* flag, int n) { float w = b[threadIdx.x]; if (n > 3) flag[0] = 1; asm volatile("griddepcontrol.wait;" ::: "memory"); o[threadIdx.x] = a[threadIdx.x] * w; asm volatile("griddepcontrol.launch_dependents;"); o[threadIdx.x + 1024] = w; }
//GT pdl_cond: @0:R @1:W EARLY0 EARLY1
K pdl_cond(const float* a, float* o, int n) { if (n > 5) { asm volatile("griddepcontrol.wait;" ::: "memory"); } o[threadIdx.x] = a[threadIdx.x]; }
//GT pdl_first: @0:R @1:W
K pdl_first(const float* a, float* o) { asm volatile("griddepcontrol.wait;" ::: "memory"); o[threadIdx.x] = a[threadIdx.x]; }
//GT pdl_trigger_only: @0:R @1:W EARLY0 EARLY1
K pdl_trigger_only(const float* a, float* o) { asm volatile("griddepcontrol.launch_dependents;"); o[threadIdx.x] = a[threadIdx.x]; }
#endif
