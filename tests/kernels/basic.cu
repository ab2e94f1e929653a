// Ground truth lines:  //GT <kernel>: <items>
// item: <paramoff>:<R|W|A...>  direct pointer word;  *<off>:<modes> pointer loaded from memory reached from word <off>
//  D<off>:<modes> dynamically indexed pointer table starting at param offset;  G<sym>:<modes> module global; C<sym> pointer in __constant__
#include <cstdio>
#include <cstdint>
#include <cooperative_groups.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;
#define K extern "C" __global__ void
//GT saxpy: 8:R 16:RW
K saxpy(int n, float a, const float* x, float* y){ int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<n) y[i]=a*x[i]+y[i]; }
//GT copy4: 0:R 8:W
K copy4(const float4* __restrict__ s, float4* __restrict__ d, size_t n){ size_t i=blockIdx.x*(size_t)blockDim.x+threadIdx.x; if(i<n) d[i]=s[i]; }
//GT reduce_atomic: 0:R 8:A
K reduce_atomic(const float* in, float* out, int n){ __shared__ float s[256]; float v=0; for(int i=blockIdx.x*blockDim.x+threadIdx.x;i<n;i+=gridDim.x*blockDim.x) v+=in[i]; s[threadIdx.x]=v; __syncthreads(); for(int k=128;k;k>>=1){ if(threadIdx.x<k) s[threadIdx.x]+=s[threadIdx.x+k]; __syncthreads(); } if(!threadIdx.x) atomicAdd(out,s[0]); }
struct S1{ float* a; int n; const float* b; const float* c; float* unused; double sc; };
//GT struct_val: 0:W 16:R 24:R
K struct_val(S1 s){ int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<s.n) s.a[i]=s.b[i]*s.c[i]*s.sc; }
struct PA{ float* p[8]; int n[8]; };
//GT ptr_array_dyn: D0-64:RW
K ptr_array_dyn(PA a){ int t=blockIdx.y; int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<a.n[t]) a.p[t][i]*=2.f; }
struct TL{ void* addr[3][32]; int numel[32]; unsigned char b2t[320]; int b2c[320]; };
//GT mta: D0-256:R D256-512:R D512-768:RW
K mta(TL t, float w){ int tl=t.b2t[blockIdx.x]; int ch=t.b2c[blockIdx.x]; float*a=(float*)t.addr[0][tl]+ch*65536; float*b=(float*)t.addr[1][tl]+ch*65536; float*c=(float*)t.addr[2][tl]+ch*65536; int n=t.numel[tl]-ch*65536; for(int i=threadIdx.x;i<n&&i<65536;i+=blockDim.x) c[i]+=a[i]*w*b[i]; }
struct Ent{ const float* in; float* out; int n; int pad; };
struct EA{ Ent e[16]; };
//GT struct_array_dyn: D0-384/24:R D8-384/24:W
K struct_array_dyn(EA a){ Ent e=a.e[blockIdx.y]; int i=blockIdx.x*blockDim.x+threadIdx.x; if(i<e.n) e.out[i]=e.in[i]+1; }
//GT gridstride: 0:R 8:W
K gridstride(const double* a, double* b, long n){ for(long i=blockIdx.x*(long)blockDim.x+threadIdx.x;i<n;i+=(long)gridDim.x*blockDim.x) b[i]=a[i]*a[i]; }
//GT ptr_select: 0:R 8:R 16:W
K ptr_select(const float* a, const float* b, float* o, const int m){ const float* p = (threadIdx.x&1)? a:b; int i=blockIdx.x*blockDim.x+threadIdx.x; o[i]=p[i*m]; }
//GT ptr_select_w: 0:W 8:W 16:R
K ptr_select_w(float* a, float* b, const float* s, int m){ float* p = m>3? a:b+17; int i=blockIdx.x*blockDim.x+threadIdx.x; p[i]=s[i]; }
//GT blk_stride: 0:R 16:W
K blk_stride(const float* p, long long stride, float* q, long long qs){ q[blockIdx.x*qs+threadIdx.x]=p[blockIdx.x*stride+threadIdx.x]; }
//GT byte_off64: 0:R 16:W
K byte_off64(const char* base, long long off, char* o, unsigned long long ooff){ *(float*)(o+ooff+4*threadIdx.x) = *(const float*)(base+off+4*threadIdx.x); }
//GT byte_off32: 0:R 16:W
K byte_off32(const char* base, unsigned off, int off2, char* o){ *(float*)(o+off2+4*threadIdx.x) = *(const float*)(base+off+4*threadIdx.x); }
//GT neg_off: 0:R 8:W
K neg_off(const int* p, int* q, int n){ int i=threadIdx.x; q[n-i]=p[-i-5]; }
//GT neg_off64: 0:R 8:W
K neg_off64(const int* p, int* q, long n){ long i=threadIdx.x; (q-n)[i]=(p-3*n)[-i-5]; }
//GT rev: 0:RW
K rev(int* p, long n){ long i=blockIdx.x*256l+threadIdx.x; if(i<n/2){ int t=p[i]; p[i]=p[n-1-i]; p[n-1-i]=t; } }
//GT cpasync: 0:R 8:W
K cpasync(const float4* a, float4* o, int n){ __shared__ float4 s[256]; int i=blockIdx.x*blockDim.x+threadIdx.x; unsigned sa=(unsigned)__cvta_generic_to_shared(&s[threadIdx.x]); asm volatile("cp.async.cg.shared.global [%0],[%1],16;\n cp.async.commit_group;\n cp.async.wait_group 0;"::"r"(sa),"l"(a+i)); __syncthreads(); o[i]=s[255-threadIdx.x]; }
//GT dbl_indir: 0:R *0:W
K dbl_indir(float** pp, int n){ float* p=pp[blockIdx.x]; for(int i=threadIdx.x;i<n;i+=blockDim.x) p[i]=1.f; }
//GT dbl_indir2: 0:R *0:R 8:R *8:W
K dbl_indir2(const float* const* pp, float* const* qq, int n){ const float* p=pp[blockIdx.x]; float*q=qq[blockIdx.x]; for(int i=threadIdx.x;i<n;i+=blockDim.x) q[i]=p[i]; }
struct Node{ Node* next; float v; };
//GT list: 0:R *0:R 8:W
K list(const Node* h, float* out){ float s=0; while(h){ s+=h->v; h=h->next; } *out=s; }
struct Params{ const float* x; float* y; int n; };
//GT param_in_gmem: 0:R *0:RW
K param_in_gmem(const Params* p){ int i=threadIdx.x; if(i<p->n) p->y[i]=p->x[i]; }
//GT constcast: 0:W 8:R
K constcast(const float* x, const float* y){ const_cast<float*>(x)[threadIdx.x]=y[threadIdx.x]; }
__noinline__ __device__ float ldf(const float* p, int i){ return p[i]; }
__noinline__ __device__ void stf(float* p, int i, float v){ p[i]=v; }
//GT noinline1: 0:R 8:W
K noinline1(const float* a, float* b){ stf(b,threadIdx.x,ldf(a,threadIdx.x*3)); }
//GT noinline2: 0:R 8:W 16:R 24:W
K noinline2(const float* a, float* b, const float* c, float* d){ stf(b,threadIdx.x,ldf(a,threadIdx.x*3)); stf(d,threadIdx.x,ldf(c,threadIdx.x*5)); }
//GT printf_k: 0:R 8:W
K printf_k(const int* a, int* b){ int v=a[threadIdx.x]; if(v==7) printf("v %d %p\n",v,(void*)b); b[threadIdx.x]=v; }
//GT local_arr: 0:R 8:R 16:R 24:R 32:W
K local_arr(const float* a,const float* b,const float* c,const float* d,float* o,int k){ const float* t[4]={a,b,c,d}; float s=0; for(int i=0;i<k;i++) s+=t[(i*7+threadIdx.x)&3][i]; o[threadIdx.x]=s; }
//GT coop: 0:RW
K coop(float* a, int n){ auto g=cg::this_grid(); int i=g.thread_rank(); a[i]=i; g.sync(); a[i]=a[n-1-i]; }
//GT tiles: 0:R 8:A
K tiles(const int* a, int* o){ auto b=cg::this_thread_block(); auto w=cg::tiled_partition<32>(b); int v=a[b.thread_rank()]; for(int k=16;k;k>>=1) v+=w.shfl_down(v,k); if(!w.thread_rank()) atomicAdd(o,v); }
//GT vec_mixed: 0:R 8:R 16:W
K vec_mixed(const int4* a, const double2* b, char* o){ int i=threadIdx.x; int4 v=a[i]; double2 d=b[i+3]; ((short4*)(o+4096))[i]=make_short4(v.x,v.y,d.x,d.y); o[i]=v.z; }
//GT ptx_st: 0:W 8:R 16:A 24:R
K ptx_st(float* p, const float* q, unsigned* r, unsigned* z){ float v; asm volatile("ld.volatile.global.f32 %0,[%1];":"=f"(v):"l"(q+threadIdx.x)); asm volatile("st.global.f32 [%0],%1;"::"l"(p+threadIdx.x),"f"(v):"memory"); unsigned u; asm volatile("ld.acquire.gpu.global.u32 %0,[%1];":"=r"(u):"l"(z)); asm volatile("red.global.add.u32 [%0],%1;"::"l"(r),"r"(u):"memory"); }
//GT ptx_generic: 0:W 8:R 16:A
K ptx_generic(unsigned* p, const unsigned* q, unsigned* r){ unsigned v; asm volatile("ld.u32 %0,[%1];":"=r"(v):"l"(q+threadIdx.x)); asm volatile("st.u32 [%0],%1;"::"l"(p+threadIdx.x),"r"(v):"memory"); asm volatile("red.add.u32 [%0],%1;"::"l"(r),"r"(v):"memory"); unsigned o; asm volatile("atom.exch.b32 %0,[%1],%2;":"=r"(o):"l"(r+5),"r"(v):"memory"); p[o]=3; }
//GT atomics: 0:A 8:A 16:A 24:A 32:A
K atomics(double* a, unsigned long long* b, int* c, __half2* d, float* e){ atomicAdd(a,1.0); atomicMax(b,(unsigned long long)threadIdx.x); int o=atomicCAS(c,1,2); atomicAdd(d,__float2half2_rn(1.f)); int* ei=(int*)e; int old=__float_as_int(1.f),as; do{ as=old; old=atomicCAS(ei,as,__float_as_int(__int_as_float(as)*o)); }while(as!=old); }
//GT smem_ptr: 0:R 8:R 16:W
K smem_ptr(const float* a,const float* b,float* o){ __shared__ const float* sp[2]; if(threadIdx.x==0){ sp[0]=a; sp[1]=b+5; } __syncthreads(); o[threadIdx.x]=sp[threadIdx.x&1][threadIdx.x]; }
//GT shfl_ptr: 0:R 8:R 16:W
K shfl_ptr(const float* a,const float* b,float* o){ const float* p=(threadIdx.x&1)?a:b; p=(const float*)__shfl_sync(~0u,(unsigned long long)p,threadIdx.x^1); o[threadIdx.x]=*p; }
__device__ int gtab[1024]; __device__ int gcount; __device__ float* gptr;
//GT devglob: 0:W Ggtab:R Ggcount:A
K devglob(int* o){ int c=atomicAdd(&gcount,1); o[threadIdx.x]=gtab[threadIdx.x+c]; }
//GT devglob_ptr: Ggptr:R *Ggptr:W
K devglob_ptr(float v){ gptr[threadIdx.x]=v; }
__constant__ float* cptr; __constant__ float ccoef[16];
//GT const_ptr: Ccptr:W
K const_ptr(int n){ cptr[threadIdx.x]=ccoef[n&15]; }
typedef float(*fn_t)(float*,int);
__device__ float f_rd(float* p,int i){ return p[i]; }
__device__ float f_wr(float* p,int i){ p[i]=3.f; return 1.f; }
__device__ fn_t ftab[2]={f_rd,f_wr};
//GT fnptr: 0:RW 8:W Gftab:R
K fnptr(float* p, float* o, int w){ o[threadIdx.x]=ftab[w](p,threadIdx.x); }
//GT tagged: 0:R 8:W
K tagged(uintptr_t p, float* o){ const float* q=(const float*)(p&~(uintptr_t)7); int f=p&7; o[threadIdx.x+f]=q[threadIdx.x]; }
//GT switch_k: 0:RW 8:RW 16:RW 24:RW 32:RW Ggcount:A
K switch_k(int* a,int* b,int* c,int* d,int* e,int m){ int* p; int s=0; switch(m){ case 0: p=a; s=*b; break; case 1: p=b; s=c[1]*c[2]; break; case 2: p=c; s=d[9]; break; case 3: p=d; s=e[3]+7; break; case 4: p=e; s=a[1]; break; case 5: p=a+5; s=b[4]; atomicExch(&gcount,s); break; default: return; } p[threadIdx.x]=s; }
//GT recur: 0:RW
__device__ __noinline__ int rec(int* p, int d){ if(d==0) return p[0]; p[d]=d; return rec(p+1,d-1)+rec(p+2,d-1); }
K recur(int* p,int d){ p[0]=rec(p,d); }
//GT memcpy_k: 0:W 8:R
K memcpy_k(char* d,const char* s,size_t n){ memcpy(d+threadIdx.x*n,s+threadIdx.x*n,n); }
//GT memset_k: 0:W
K memset_k(char* d,size_t n){ memset(d+threadIdx.x*n,0,n); }
//GT ptrdiff: 0:- 8:- 16:W
K ptrdiff(const float* a,const float* b,float* o){ o[b-a]=1.f; }
//GT ptrdiff2: 0:- 8:R 16:W
K ptrdiff2(const float* a,const float* b,float* o){ long d=b-a; o[threadIdx.x]=a[d+threadIdx.x]; }
//GT pingpong: 0:RW 8:RW
K pingpong(float* a,float* b,int it){ for(int k=0;k<it;k++){ b[threadIdx.x]=a[threadIdx.x^1]+1; float* t=a;a=b;b=t; __syncthreads(); } }
//GT dead: 0:- 8:- 16:- 24:W
K dead(const float* a,float* unused,const void* cmp,float* o){ o[threadIdx.x]= cmp? 1.f: (float)((size_t)a&15); }
//GT escape: 0:- 8:W
K escape(float* a, float** slot){ slot[threadIdx.x]=a+threadIdx.x; }
//GT packed64: 0:R 16:W
struct PK{ unsigned long long p; long long n; unsigned long long q; };
K packed64(PK k){ ((float*)k.q)[threadIdx.x]=((float*)k.p)[k.n-threadIdx.x]; }
struct Big{ float* p[6]; long st[6]; int n; };
__noinline__ __device__ float useBig(const Big& b,int i){ return b.p[i%6][b.st[i%6]]; }
//GT struct_by_ref: 0:R 8:R 16:R 24:R 32:R 40:R 104:W
K struct_by_ref(Big b, float* o){ o[threadIdx.x]=useBig(b,threadIdx.x); }
//GT gridconst: D0-48:R 104:W
K gridconst(const __grid_constant__ Big b, float* o){ const Big* q=&b; o[threadIdx.x]=useBig(*q,threadIdx.x); }
//GT texsurf: T0:R T8:W 16:W
K texsurf(cudaTextureObject_t t, cudaSurfaceObject_t s, float* o){ float v=tex2D<float>(t,threadIdx.x,blockIdx.x); surf2Dwrite(v,s,threadIdx.x*4,blockIdx.x); o[threadIdx.x]=tex1Dfetch<float>(t,threadIdx.x); }
//GT heap: 0:W
K heap(int* o,int n){ int* p=(int*)malloc(n*4); if(!p) return; for(int i=0;i<n;i++) p[i]=i*i; o[threadIdx.x]=p[n/2]; free(p); }
//GT volatile_k: 0:R 8:W POLL
K volatile_k(volatile int* f, volatile int* d){ while(*f==0){} *d=1; }
//GT ldg_restrict: 0:R 8:R 16:W
K ldg_restrict(const float* __restrict__ a,const int* __restrict__ idx,float* __restrict__ o){ int i=threadIdx.x; o[i]=__ldg(a+idx[i]); }
//GT scatter: 0:R 8:R 16:W 24:A
K scatter(const float* s,const long* idx,float* d,int* cnt){ int i=threadIdx.x; long k=idx[i]; d[k]=s[i]; atomicAdd(cnt+(k&31),1); }
//GT strided4d: 0:R 48:W
struct Str{ long s[4]; };
K strided4d(const float* in, Str is, long ofs, float* out, Str os, int n){ long i=blockIdx.x*256+threadIdx.x; long a=i%7,b=i/7%5,c=i/35; out[a*os.s[0]+b*os.s[1]+c*os.s[2]]=in[ofs+a*is.s[0]+b*is.s[1]+c*is.s[2]]; }
//GT matmul: 0:R 8:R 16:W
K matmul(const float* A,const float* B,float* C,int n){ __shared__ float as[16][16],bs[16][16]; int r=blockIdx.y*16+threadIdx.y,c=blockIdx.x*16+threadIdx.x; float s=0; for(int k=0;k<n;k+=16){ as[threadIdx.y][threadIdx.x]=A[r*n+k+threadIdx.x]; bs[threadIdx.y][threadIdx.x]=B[(k+threadIdx.y)*n+c]; __syncthreads(); for(int j=0;j<16;j++) s+=as[threadIdx.y][j]*bs[j][threadIdx.x]; __syncthreads(); } C[r*n+c]=s; }
//GT prefetch_k: 0:- 8:W
K prefetch_k(const float* a,float* o){ asm volatile("prefetch.global.L2 [%0];"::"l"(a+threadIdx.x)); o[threadIdx.x]=1; }
//GT assert_k: 0:R 8:W
#include <cassert>
K assert_k(const int* a,int* o){ assert(a[threadIdx.x]>0); o[threadIdx.x]=a[1]; }
//GT optnull: 0:R 8:R 16:W
K optnull(const float* a,const float* bias,float* o){ float v=a[threadIdx.x]; if(bias) v+=bias[threadIdx.x]; o[threadIdx.x]=v; }
