// Kernels of odd kinds: how an address or an access is written down, not what is computed. The
// notation of the //GT lines is in truth.h.
//   //BYTES KERNEL: @ORDINAL=FIRST-LAST...   the bytes that are touched through that parameter, where
//                                            they are known; "s": scattered. Not listed: not known.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include <cstdint>
#define K extern "C" __global__ void
#define TID (blockIdx.x * blockDim.x + threadIdx.x)
namespace cg = cooperative_groups;

// --- bytes

//GT b_flag: @0:W
//BYTES b_flag: @0=0-4
K b_flag(int* flag) { *(volatile int*)flag = 1; }
//GT b_half: @0:R @1:W
//BYTES b_half: @0=2-4 @1=0-2
K b_half(const uint16_t* p, uint16_t* q) { uint16_t v; asm volatile("ld.global.L2::128B.u16 %0,[%1+2];" : "=h"(v) : "l"(p)); *q = v; }
//GT b_byte: @0:R @1:W
//BYTES b_byte: @0=0-1 @1=7-8
K b_byte(const int8_t* p, int8_t* q) { q[7] = p[0]; }
//GT b_vector: @0:R @1:W
//BYTES b_vector: @0=32-48 @1=-16-0
K b_vector(const float4* p, float4* q) { q[-1] = p[2]; }
//GT b_pair: @0:RW
//BYTES b_pair: @0=0-8s
K b_pair(int* p) { p[1] = p[0]; }
//GT b_swap: @0:RW
//BYTES b_swap: @0=0-8
K b_swap(int* p) { int t = p[0]; p[0] = p[1]; p[1] = t; }
//GT b_holes: @0:W
//BYTES b_holes: @0=0-404s
K b_holes(int* p) { p[0] = 1; p[100] = 2; }
//GT b_red: @0:A @1:A @2:A @3:A @4:A
//BYTES b_red: @0=0-4 @1=0-8 @2=0-8 @3=0-4 @4=0-8
K b_red(float* f, double* d, unsigned long long* u, __half2* h, long long* s) { atomicAdd(f, 1.f); atomicAdd(d, 1.0); atomicAdd(u, 1ull); atomicAdd(h, __float2half2_rn(1.f)); atomicMax(s, 5ll); }
//GT b_cas: @0:A @1:A @2:W
//BYTES b_cas: @0=0-4 @1=0-8 @2=0-8
K b_cas(int* a, unsigned long long* b, unsigned long long* o) { *o = atomicCAS(a, 1, 2) + atomicCAS(b, 3ull, 4ull); }
#if __CUDA_ARCH__ >= 900
//GT b_red_vector: @0:A @1:A @2:A
//BYTES b_red_vector: @0=0-8 @1=0-16 @2=0-8
K b_red_vector(float* p, float* q, __half2* h, unsigned v) { asm volatile("red.global.v2.f32.add [%0],{%1,%1};" ::"l"(p), "f"(1.f) : "memory"); asm volatile("red.global.v4.f32.add [%0],{%1,%1,%1,%1};" ::"l"(q), "f"(1.f) : "memory"); asm volatile("red.global.v2.f16x2.add.noftz [%0],{%1,%1};" ::"l"(h), "r"(v) : "memory"); }
//GT b_exchange: @0:A
//BYTES b_exchange: @0=0-16
K b_exchange(void* p) { asm volatile("{.reg .b128 a,b; mov.b128 a,{%1,%2}; atom.global.exch.b128 b,[%0],a; }" ::"l"(p), "l"(1ll), "l"(2ll) : "memory"); }
#endif
//GT b_masked: @0:W
K b_masked(float* p) { *(float*)((uintptr_t)p & ~(uintptr_t)15) = 1; }
//GT b_chosen: @0:W @1:W
K b_chosen(float* a, float* b, int c) { (c ? a : b)[3] = 1; }
//GT b_offset: @0:W
K b_offset(float* p, int c) { (c ? p : p + 1000)[3] = 1; }
//GT b_high: @0:W
K b_high(char* p, unsigned n) { p[(uint64_t)n << 32] = 1; }
//GT b_small_cas: @0:AR
K b_small_cas(unsigned short* p) { atomicCAS(p, (unsigned short)1, (unsigned short)2); }
//GT b_some: @0:RW
K b_some(int* p, int i) { p[0] = p[i]; }
struct Flags { int* ready; float* data; };
//GT b_struct: @0+0:W @0+8:R
//BYTES b_struct: @0=0-4
K b_struct(Flags f) { if (f.data[TID] > 0) *f.ready = 1; }
//GT b_called: @0:W @1:W
__device__ __noinline__ void put(int* p, int v) { p[2] = v; }
K b_called(int* a, int* b) { put(a, 1); put(b, 2); }
//GT b_loop: @0:RW
//BYTES b_loop: @0=0-4
K b_loop(volatile int* p, int n) { for (int i = 0; i < n; i++) *p = *p + 1; }
//GT b_walk: @0:W
K b_walk(int* p, int n) { for (int i = 0; i < n; i++) *p++ = i; }

// --- forms

//GT o_cached: @0:R @1:R @2:W @3:W
K o_cached(const float* __restrict__ a, const float* b, float* c, float* d) { float v = __ldg(a + TID) + __ldcs(b + TID); __stcs(c + TID, v); __stwt(d + TID, v); }
//GT o_long_index: @0:R @1:W
K o_long_index(const double* a, double* b, long sx, long sy, unsigned long base) { long i = (long)blockIdx.y * sy - (long)threadIdx.x * sx; b[base + i] = a[i * sx - sy * (base >> 3)]; }
//GT o_table2: D0-64:R @0+64:W
struct Table2 { const float* p[2][4]; float* out; };
K o_table2(Table2 t, int i, int j) { t.out[TID] = t.p[i & 1][j & 3][TID]; }
//GT o_atom_result: @0:A @1:W @2:A
//BYTES o_atom_result: @0=0-4
K o_atom_result(unsigned* counter, unsigned* out, unsigned* other) { unsigned at = atomicAdd(counter, 1u); out[at] = TID; atomicOr(other + at, 1u); }
//GT o_group_reduce: @0:R @1:W @2:A
//BYTES o_group_reduce: @2=0-4
K o_group_reduce(const int* in, int* out, int* all) { auto tile = cg::tiled_partition<32>(cg::this_thread_block()); int s = cg::reduce(tile, in[TID], cg::plus<int>()); if (tile.thread_rank() == 0) { out[TID / 32] = s; cg::reduce_update_async(tile, *(cuda::atomic<int, cuda::thread_scope_device>*)all, s, cg::plus<int>()); } }
//GT o_pipeline: @0:R @1:W
K o_pipeline(const float4* in, float4* out, int n) { __shared__ float4 s[2][128]; int t = threadIdx.x; __pipeline_memcpy_async(&s[0][t], in + t, 16); __pipeline_commit(); for (int i = 1; i < n; i++) { __pipeline_memcpy_async(&s[i & 1][t], in + i * 128 + t, 16); __pipeline_commit(); __pipeline_wait_prior(1); out[(i - 1) * 128 + t] = s[(i - 1) & 1][127 - t]; } __pipeline_wait_prior(0); }
//GT o_ptx: @0:R @1:W @2:R @3:A
K o_ptx(const int* a, int* b, const int* c, int* d) { int v, w; asm volatile("ld.volatile.global.s32 %0,[%1];" : "=r"(v) : "l"(a + TID)); asm volatile("ld.relaxed.sys.global.s32 %0,[%1];" : "=r"(w) : "l"(c + TID)); asm volatile("st.release.sys.global.s32 [%0],%1;" ::"l"(b + TID), "r"(v + w) : "memory"); asm volatile("red.release.gpu.global.add.s32 [%0],%1;" ::"l"(d + TID), "r"(v) : "memory"); }
__constant__ int offsets[64];
//GT o_constant: @0:R @1:W
K o_constant(const float* in, float* out) { out[TID] = in[offsets[threadIdx.x & 63]] * offsets[3]; }
//GT o_surface: T@0:R T@1:W T@2:R @3:W
K o_surface(cudaSurfaceObject_t in, cudaSurfaceObject_t out, cudaTextureObject_t tex, float* o) { float v; surf2Dread(&v, in, threadIdx.x * 4, blockIdx.x); surf2Dwrite(v, out, threadIdx.x * 4, blockIdx.x); o[TID] = v + tex1Dfetch<float>(tex, TID); }
//GT o_shared_only: -
K o_shared_only(int n) { extern __shared__ int s[]; s[threadIdx.x] = n; __syncthreads(); atomicAdd(s, s[threadIdx.x ^ 1]); }
//GT o_swapped: @0:RW @1:RW
K o_swapped(float* a, float* b, int n) { for (int i = 0; i < n; i++) { b[TID] = a[TID ^ 1] * 2; __syncthreads(); float* t = a; a = b; b = t; } }
typedef float (*Op)(const float*, int);
__device__ float first_of(const float* p, int i) { return p[i]; }
__device__ float last_of(const float* p, int i) { return p[-i]; }
__device__ Op ops[2] = {first_of, last_of};
//GT o_function: @0:R @1:W Gops:R
K o_function(const float* in, float* out, int which) { out[TID] = ops[which](in, TID); }
//GT o_number: @0:R @1:W
K o_number(unsigned long long from, unsigned long long to) { ((float*)to)[TID] = ((const float*)from)[TID]; }
//GT o_two_words: @0:R @1:W
K o_two_words(uint2 from, uint2 to) { float* in = (float*)((unsigned long long)from.y << 32 | from.x); float* out = (float*)((unsigned long long)to.y << 32 | to.x); out[TID] = in[TID]; }
//GT o_shared_table: @0:R @1:R @2:W
K o_shared_table(const float* a, const float* b, float* c) { __shared__ const float* p[2]; if (threadIdx.x == 0) { p[0] = a; p[1] = b; } __syncthreads(); c[TID] = p[threadIdx.x & 1][TID]; }
struct Deep { struct { struct { float* p; int n; } in[2]; } mid; const float* src; };
//GT o_deep: D0-32/16:W @0+32:R
K o_deep(const __grid_constant__ Deep d, int i) { if (TID < d.mid.in[i & 1].n) d.mid.in[i & 1].p[TID] = d.src[TID]; }
struct Node { Node* next; float value; };
//GT o_tree: @0:R *@0:RW
//BYTES o_tree: @0=0-8
K o_tree(Node* n) { for (Node* at = n->next; at; at = at->next) at->value += 1; }
struct Shape { __device__ virtual float area(const float* p) const; };
//GT o_virtual: @0:R *@0:R @1:R @2:W
K o_virtual(const Shape* s, const float* in, float* out) { out[TID] = s->area(in + TID); }
__device__ float Shape::area(const float* p) const { return *p; }
//GT o_packed: @0:R @1:W
K o_packed(const unsigned char* in, uint64_t* out) { uint64_t v = 0; for (int i = 0; i < 8; i++) v |= (uint64_t)in[TID * 8 + i] << (8 * i); out[TID] = v; }
//GT o_device_copy: @0:W @1:R
K o_device_copy(char* d, const char* s, size_t n) { memcpy(d + TID * n, s + TID * n, n); }
//GT o_wmma: @0:R @1:R @2:RW
#include <mma.h>
K o_wmma(const __half* a, const __half* b, float* c) { using namespace nvcuda::wmma; fragment<matrix_a, 16, 16, 16, __half, row_major> x; fragment<matrix_b, 16, 16, 16, __half, col_major> y; fragment<accumulator, 16, 16, 16, float> z; load_matrix_sync(x, a + blockIdx.x * 256, 16); load_matrix_sync(y, b, 16); load_matrix_sync(z, c + blockIdx.x * 256, 16, mem_row_major); mma_sync(z, x, y, z); store_matrix_sync(c + blockIdx.x * 256, z, 16, mem_row_major); }
//GT o_grid_sync: @0:RW
K o_grid_sync(float* p, int n) { cg::grid_group g = cg::this_grid(); for (int i = 0; i < n; i++) { p[TID] = p[TID ^ 32] + 1; g.sync(); } }
//GT o_spin: @0:A @1:W
//BYTES o_spin: @0=0-4
K o_spin(unsigned* gate, float* out) { while (atomicAdd(gate, 0u) == 0) {} out[TID] = 1; }
//GT o_switch: @0:W @1:W @2:W @3:W
K o_switch(int* a, int* b, int* c, int* d, int w) { int* p; switch (w) { case 0: p = a; break; case 1: p = b + 4; break; case 2: p = c + TID; break; default: p = d; } *p = 1; }
//GT o_union: @0:R @1:W
union Bits { const float* p; uint32_t w[2]; };
K o_union(Bits in, float* out, int lane) { uint32_t lo = __shfl_sync(~0u, in.w[0], lane), hi = __shfl_sync(~0u, in.w[1], lane); Bits b; b.w[0] = lo; b.w[1] = hi; out[TID] = b.p[TID]; }
//GT o_prefetch: @0:- @1:W
K o_prefetch(const float* p, float* q) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p + TID)); asm volatile("prefetch.global.L1 [%0];" ::"l"(p + TID * 2)); q[TID] = 1; }
//GT o_xor: @1:W
K o_xor(unsigned long long mixed, float* out, unsigned long long key) { out[TID] = ((const float*)(mixed ^ key))[TID]; }
//GT o_scaled_back: @0:R @1:W
K o_scaled_back(const float* in, float* out) { unsigned long long at = (unsigned long long)in / 4; out[TID] = *(const float*)((at + TID) * 4); }
//GT o_difference: @0:R @1:W
K o_difference(const float* in, float* out, const float* end) { long n = end - in; for (long i = TID; i < n; i += 1024) out[i] = in[n - 1 - i]; }
//GT o_block_table: @0:R *@0:W
K o_block_table(float** list) { float* mine = list[blockIdx.x]; if (mine) mine[threadIdx.x] = 0; }
