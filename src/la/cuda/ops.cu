/* ops.cu - kernels on a card of NVIDIA: the tables fab_ops of the plug-in libfabayes_cuda.so.
 *
 * Rows are cut into chunks of whole blocks of 512 that depend on n and on the count of sums alone; a chunk leaves its sums
 * in its own place, and places are added in order, in double: the same bits on every card and every time.  Up to rank
 * FAST a warp takes a chunk and a lane a row, in registers:
 *
 *     ring of three tiles of rows in shared memory, filled by cp.async, two ahead
 *     a row is read from its tile, changed, put back; the tile is stored in one run
 *     sums of a lane over 16 of its rows in the type of F; then over 32 lanes by halving; then into double
 *
 * Beyond, and where arrays lie otherwise, a block takes a chunk and tiles of rows stand in shared memory for all threads.
 * Vectors have the type of F, the mean is double.  Whatever CUDA refuses is remembered and said at the next sum.
 *
 * SPDX-License-Identifier: MIT */
#include <cuda_runtime.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
extern "C" {
#include "base/rows.h"
#include "la/cuda/cuda.h"
#include "la/ops.h"
}

namespace {

enum { BLOCK_ROWS = 512, FAST = 10, WARPS = 4, STAGES = 3, SEGMENTS = 128, THREADS = 256 };
enum { FEW_SUMS = 128, MANY_CHUNKS = 8192, CHUNKS = 512, TILE_BYTES = 96 << 10 };

int device = 0;
fab_memory heap; /* of the host: the library's own */
char trouble[256]; /* the first thing that went wrong; empty: nothing */
double *landing;   /* pinned: sums on their way to the host */
size_t landing_count;

void heed(cudaError_t e, const char *what)
{
    if (e == cudaSuccess) return;
    cudaGetLastError(); /* what can be forgotten is: the next call is not to blame */
    if (trouble[0]) return;
    snprintf(trouble, sizeof trouble, "the card %d: %s: %s", device, what, cudaGetErrorString(e));
}

/* Whichever thread it is, its calls are of this card. */
void bind()
{
    static thread_local int bound = -1;
    if (bound == device) return;
    heed(cudaSetDevice(device), "taking the card");
    bound = device;
}

void launched(const char *what)
{
    heed(cudaGetLastError(), what);
}

const char *fault(void)
{
    static char said[sizeof trouble];
    if (!trouble[0]) return NULL;
    memcpy(said, trouble, sizeof said);
    trouble[0] = 0;
    return said;
}

/* ---- memory --------------------------------------------------------------------------------------- */

void *far_alloc(size_t bytes)
{
    void *p = NULL;
    bind();
    if (cudaMalloc(&p, bytes ? bytes : 1) != cudaSuccess) {
        cudaGetLastError(); /* it is said by whoever asked */
        return NULL;
    }
    heed(cudaMemset(p, 0, bytes ? bytes : 1), "clearing memory");
    return p;
}

void far_release(void *p)
{
    cudaFree(p);
}

const fab_memory memory = {far_alloc, far_release};

/* ---- chunks and workspace -------------------------------------------------------------------------- */

int64_t round_up(int64_t n, int64_t unit)
{
    return (n + unit - 1) / unit * unit;
}

int64_t chunk_rows(int64_t n, int64_t count)
{
    const int64_t most = count <= FEW_SUMS ? MANY_CHUNKS : CHUNKS;
    const int64_t rows = round_up((n + most - 1) / most, BLOCK_ROWS);
    return rows > BLOCK_ROWS ? rows : BLOCK_ROWS;
}

int64_t chunk_count(int64_t n, int64_t count)
{
    return n > 0 ? (n + chunk_rows(n, count) - 1) / chunk_rows(n, count) : 1;
}

size_t work(int64_t n, int64_t rows, int64_t cols, int threads)
{
    (void)threads;
    const int64_t side = rows > cols ? rows : cols, small = side * side + 64;
    const int64_t count = 4 * small + 64;
    int64_t chunks = chunk_count(n, count);
    const int64_t few = count < FEW_SUMS ? count : FEW_SUMS;
    int64_t sums = chunks * count;
    if (chunk_count(n, few) * few > sums) sums = chunk_count(n, few) * few;
    return (size_t)(round_up(n * 8, 256) + (sums + (SEGMENTS + 1) * count + 6 * small) * 8 + 4096);
}

/* The workspace of one call: a row on its way, then whatever is placed. */
struct Room {
    char *p;
    template <class A> A *take(int64_t count)
    {
        A *at = (A *)p;
        p += round_up(count * (int64_t)sizeof(A), 256);
        return at;
    }
};

Room room_of(const fab_run *r, int64_t n)
{
    bind();
    Room room = {(char *)r->work};
    room.take<double>(n);
    return room;
}

/* A small matrix of the host, on the card, in T. */
template <class T> const T *small(Room *room, const double *M, int64_t count)
{
    if (!M || count == 0) return NULL;
    T *at = room->take<T>(count), *typed = (T *)heap.alloc((size_t)count * sizeof(T));
    if (!typed) {
        heed(cudaErrorMemoryAllocation, "a small matrix");
        return at;
    }
    for (int64_t e = 0; e < count; e++) typed[e] = (T)M[e];
    heed(cudaMemcpy(at, typed, (size_t)count * sizeof(T), cudaMemcpyHostToDevice), "a small matrix");
    heap.release(typed);
    return at;
}

/* ---- sums of chunks --------------------------------------------------------------------------------- */

/* parts: chunks x count -> out: segments x count; segment s takes its share of the chunks, in order. */
__global__ void add_chunks(const double *parts, int64_t chunks, int64_t count, int64_t each, double *out)
{
    const int64_t col = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, first = blockIdx.y * each;
    if (col >= count) return;
    const int64_t last = first + each < chunks ? first + each : chunks;
    double s = 0;
#pragma unroll 8
    for (int64_t c = first; c < last; c++) s += parts[c * count + col];
    out[blockIdx.y * count + col] = s;
}

/* The sums of all chunks, on the host. */
const double *collect(Room *room, const double *parts, int64_t chunks, int64_t count)
{
    if ((size_t)count > landing_count) {
        if (landing) cudaFreeHost(landing);
        landing = NULL;
        landing_count = (size_t)count;
        heed(cudaMallocHost((void **)&landing, landing_count * sizeof *landing), "pinned memory");
        if (!landing) landing_count = 0;
    }
    static double none[1];
    if (!landing) return none;
    const unsigned wide = (unsigned)((count + 63) / 64);
    if (chunks > SEGMENTS) {
        double *segments = room->take<double>(SEGMENTS * count);
        const int64_t each = (chunks + SEGMENTS - 1) / SEGMENTS;
        add_chunks<<<dim3(wide, SEGMENTS), 64>>>(parts, chunks, count, each, segments);
        parts = segments;
        chunks = SEGMENTS;
    }
    add_chunks<<<dim3(wide, 1), 64>>>(parts, chunks, count, chunks, landing); /* straight to the host */
    launched("adding sums");
    heed(cudaStreamSynchronize(0), "sums");
    if (trouble[0])
        for (int64_t e = 0; e < count; e++) landing[e] = NAN;
    return landing;
}

/* ---- rows in registers ------------------------------------------------------------------------------ */

enum Product { AS_IT_IS, SCALED, UPPER, FULL };

/* What a pass over rows needs; small matrices are operands of the arithmetic, from the constant bank. */
template <class T, int K> struct Pass {
    int64_t n, chunk;
    const T *w;
    T *out;
    const T *x, *next;       /* n each, or NULL */
    const T *psi, *d2;       /* n each, where c0, c3 are not 0 */
    const T *weight;         /* in place of 1 / psi', or NULL */
    T *psi_out, *base_out;
    double *parts;
    T R[K * K], C[K], Q[K * (K + 1) / 2];
    T r0, c0, c2, c3, floor;
};

template <class T> struct Tile { enum { ROWS = sizeof(T) == 4 ? 64 : 32, EACH = ROWS / 32 }; };

__device__ __forceinline__ void copy16(void *to, const void *from)
{
    const unsigned at = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(at), "l"(from));
}

__device__ __forceinline__ void copies_end()
{
    asm volatile("cp.async.commit_group;\n");
}

template <int LEFT> __device__ __forceinline__ void copies_wait()
{
    asm volatile("cp.async.wait_group %0;\n" ::"n"(LEFT));
}

/* Rows first .. first + ROWS - 1 of w, those below n, into a tile. */
template <class T, int K> __device__ __forceinline__ void fetch_tile(const Pass<T, K> &a, int64_t first, T *tile)
{
    enum { ROWS = Tile<T>::ROWS, PIECES = ROWS * K * sizeof(T) / 16 };
    const int lane = threadIdx.x & 31;
    const T *from = a.w + first * K;
    if (first + ROWS <= a.n) {
#pragma unroll
        for (int p = 0; p < (PIECES + 31) / 32; p++)
            if (PIECES % 32 == 0 || p * 32 + lane < PIECES)
                copy16((char *)tile + (p * 32 + lane) * 16, (const char *)from + (p * 32 + lane) * 16);
    } else if (first < a.n) {
        const int64_t left = (a.n - first) * K;
        for (int64_t e = lane; e < left; e += 32) tile[e] = from[e];
    }
}

template <class T, int K> __device__ __forceinline__ void store_tile(const Pass<T, K> &a, int64_t first, const T *tile)
{
    enum { ROWS = Tile<T>::ROWS, PIECES = ROWS * K * sizeof(T) / 16 };
    const int lane = threadIdx.x & 31;
    T *to = a.out + first * K;
    if (first + ROWS <= a.n) {
#pragma unroll
        for (int p = 0; p < (PIECES + 31) / 32; p++)
            if (PIECES % 32 == 0 || p * 32 + lane < PIECES)
                __stcs((float4 *)to + p * 32 + lane, ((const float4 *)tile)[p * 32 + lane]);
    } else {
        const int64_t left = (a.n - first) * K;
        for (int64_t e = lane; e < left; e += 32) to[e] = tile[e];
    }
}

/* Sums of a lane, of a warp, of its chunk. */
template <class T, int N> struct Sums {
    enum { REST = N % 32, SPREAD = REST > 4 ? N - REST + 32 : N - REST, ALONE = REST > 4 ? 0 : REST, SLOTS = SPREAD / 32 };
    T s[SPREAD + ALONE];
    double spread[SLOTS > 0 ? SLOTS : 1], alone[ALONE > 0 ? ALONE : 1];
    __device__ __forceinline__ void clear()
    {
#pragma unroll
        for (int i = 0; i < SPREAD + ALONE; i++) s[i] = 0;
    }
    __device__ __forceinline__ void begin()
    {
        clear();
#pragma unroll
        for (int i = 0; i < SLOTS; i++) spread[i] = 0;
#pragma unroll
        for (int i = 0; i < ALONE; i++) alone[i] = 0;
    }
    /* Lane l ends with sums l SLOTS .. l SLOTS + SLOTS - 1 of those spread; all lanes have those alone. */
    __device__ __forceinline__ void flush(int lane)
    {
#pragma unroll
        for (int w = 16, m = SPREAD / 2; w >= 1; w >>= 1, m >>= 1) {
            const bool up = lane & w;
#pragma unroll
            for (int i = 0; i < SPREAD / 2; i++)
                if (i < m) {
                    const T send = up ? s[i] : s[i + m], keep = up ? s[i + m] : s[i];
                    s[i] = keep + __shfl_xor_sync(~0u, send, w);
                }
        }
#pragma unroll
        for (int i = 0; i < SLOTS; i++) spread[i] += (double)s[i];
#pragma unroll
        for (int i = 0; i < ALONE; i++) {
            T v = s[SPREAD + i];
#pragma unroll
            for (int w = 16; w >= 1; w >>= 1) v += __shfl_xor_sync(~0u, v, w);
            alone[i] += (double)v;
        }
        clear();
    }
    __device__ __forceinline__ void leave(double *to, int lane) const
    {
#pragma unroll
        for (int i = 0; i < SLOTS; i++)
            if (lane * SLOTS + i < N) to[lane * SLOTS + i] = spread[i];
#pragma unroll
        for (int i = 0; i < ALONE; i++)
            if (lane == 0) to[SPREAD + i] = alone[i];
    }
};

template <class T> struct Numbers { T x, next, psi, d2, weight; };

template <class T, int K>
__device__ __forceinline__ Numbers<T> read_numbers(const Pass<T, K> &a, int64_t i)
{
    Numbers<T> v = {0, 0, 0, 0, 0};
    if (i >= a.n) return v;
    if (a.x) v.x = __ldcs(a.x + i);
    if (a.next) v.next = __ldcs(a.next + i);
    if (a.psi) v.psi = __ldcs(a.psi + i);
    if (a.d2) v.d2 = __ldcs(a.d2 + i);
    if (a.weight) v.weight = __ldcs(a.weight + i);
    return v;
}

__device__ __forceinline__ float inverse_root(float v) { return rsqrtf(v); }
__device__ __forceinline__ double inverse_root(double v) { return 1 / sqrt(v); }

/* a_i' = a_i R + x_i C, the triangle from the right in place. */
template <class T, int K, int PRODUCT>
__device__ __forceinline__ void new_row(const Pass<T, K> &a, T x, T row[K])
{
    if (PRODUCT == SCALED) {
#pragma unroll
        for (int j = 0; j < K; j++) row[j] = fma(a.r0, row[j], x * a.C[j]);
    }
    if (PRODUCT == UPPER) {
#pragma unroll
        for (int j = K - 1; j >= 0; j--) {
            T s = x * a.C[j];
#pragma unroll
            for (int i = 0; i <= j; i++) s = fma(row[i], a.R[i + j * K], s);
            row[j] = s;
        }
    }
    if (PRODUCT == FULL) {
        T old[K];
#pragma unroll
        for (int j = 0; j < K; j++) old[j] = row[j];
#pragma unroll
        for (int j = 0; j < K; j++) {
            T s = x * a.C[j];
#pragma unroll
            for (int i = 0; i < K; i++) s = fma(old[i], a.R[i + j * K], s);
            row[j] = s;
        }
    }
}

/* The pass over the rows of a chunk: w' = w R + x C, psi', and G, N.  PRODUCT AS_IT_IS: nothing is stored.  Two blocks a
 * multiprocessor leave registers for all sums; with four the sums were spilled, and a step took twice as long. */
template <class T, int K, int PRODUCT, bool Q, bool SUM>
__global__ void __launch_bounds__(WARPS * 32, 2) pass_rows(const __grid_constant__ Pass<T, K> a)
{
    enum { ROWS = Tile<T>::ROWS, EACH = Tile<T>::EACH, GRAM = K * (K + 1) / 2, COUNT = GRAM + K };
    extern __shared__ __align__(16) char shared[];
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    const int64_t c = (int64_t)blockIdx.x * WARPS + warp, first = c * a.chunk;
    if (first >= a.n) return;
    const int64_t last = first + a.chunk < a.n ? first + a.chunk : a.n;
    T *ring = (T *)shared + warp * STAGES * ROWS * K;
    Sums<T, COUNT> sums;
    int floored = 0;
    if (SUM) sums.begin();
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) {
        if (first + s * ROWS < last) fetch_tile(a, first + s * ROWS, ring + s * ROWS * K);
        copies_end();
    }
    Numbers<T> ahead[EACH];
#pragma unroll
    for (int e = 0; e < EACH; e++) ahead[e] = read_numbers(a, first + e * 32 + lane);
    int slot = 0;
    for (int64_t r = first; r < last; r += ROWS) {
        copies_wait<STAGES - 2>();
        __syncwarp();
        T *tile = ring + slot * ROWS * K;
        {
            int free = slot + STAGES - 1;
            if (free >= STAGES) free -= STAGES;
            const int64_t f = r + (STAGES - 1) * ROWS;
            if (f < last) fetch_tile(a, f, ring + free * ROWS * K);
            copies_end();
        }
        Numbers<T> now[EACH];
#pragma unroll
        for (int e = 0; e < EACH; e++) now[e] = ahead[e];
        if (r + ROWS < last)
#pragma unroll
            for (int e = 0; e < EACH; e++) ahead[e] = read_numbers(a, r + ROWS + e * 32 + lane);
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            const int64_t i = r + e * 32 + lane;
            const bool there = i < last;
            const Numbers<T> v = now[e];
            T row[K], h = 0;
            T *at = tile + (e * 32 + lane) * K;
#pragma unroll
            for (int j = 0; j < K; j++) row[j] = there ? at[j] : (T)0;
            new_row<T, K, PRODUCT>(a, v.x, row);
            if (PRODUCT != AS_IT_IS) {
                const T base = a.c0 * v.psi + a.c2 * v.x * v.x + a.c3 * v.d2;
                T quad = 0;
                if (Q) {
#pragma unroll
                    for (int j = 0, q = 0; j < K; j++) {
                        T s = 0;
#pragma unroll
                        for (int k = 0; k <= j; k++, q++) s = fma(row[k], a.Q[q], s);
                        quad = fma(s, row[j], quad);
                    }
                } else {
#pragma unroll
                    for (int j = 0; j < K; j++) quad = fma(row[j], row[j], quad);
                }
                const T left = base - quad, least = a.floor * base, psi = left < least ? least : left;
                if (there) {
                    floored += left < least;
                    if (a.psi_out) __stcs(a.psi_out + i, psi);
                    if (a.base_out) __stcs(a.base_out + i, base);
#pragma unroll
                    for (int j = 0; j < K; j++) at[j] = row[j];
                    h = inverse_root(psi);
                }
            } else if (there)
                h = a.weight ? sqrt(v.weight) : (T)1;
            if (SUM) {
                const T nh = v.next * h;
                T p[K];
#pragma unroll
                for (int j = 0; j < K; j++) p[j] = row[j] * h;
#pragma unroll
                for (int j = 0, q = 0; j < K; j++)
#pragma unroll
                    for (int k = 0; k <= j; k++, q++) sums.s[q] = fma(p[k], p[j], sums.s[q]);
#pragma unroll
                for (int j = 0; j < K; j++) sums.s[GRAM + j] = fma(p[j], nh, sums.s[GRAM + j]);
            }
        }
        if (PRODUCT != AS_IT_IS) {
            __syncwarp();
            store_tile(a, r, tile);
            __syncwarp();
        }
        if (++slot == STAGES) slot = 0;
        if (SUM && ((r + ROWS - first) % BLOCK_ROWS == 0 || r + ROWS >= last)) sums.flush(lane);
    }
    double *to = a.parts + c * (COUNT + 1);
    if (SUM) sums.leave(to, lane);
    for (int w = 16; w >= 1; w >>= 1) floored += __shfl_xor_sync(~0u, floored, w);
    if (lane == 0) to[COUNT] = floored;
}

template <class T, int K, int PRODUCT, bool Q, bool SUM> void launch_pass(const Pass<T, K> &a)
{
    const size_t bytes = (size_t)WARPS * STAGES * Tile<T>::ROWS * K * sizeof(T);
    static bool raised;
    if (!raised && bytes > 48 << 10)
        heed(cudaFuncSetAttribute(pass_rows<T, K, PRODUCT, Q, SUM>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  (int)bytes),
             "shared memory");
    raised = true;
    const int64_t chunks = (a.n + a.chunk - 1) / a.chunk;
    pass_rows<T, K, PRODUCT, Q, SUM><<<(unsigned)((chunks + WARPS - 1) / WARPS), WARPS * 32, bytes>>>(a);
    launched("a pass over rows");
}

bool by_rows(const fab_long *A)
{
    return A->cs == 1 && A->rs == A->k && ((uintptr_t)A->p & 15) == 0;
}

/* G (or NULL) and N (or NULL) of the sums of a pass. */
void spread(const double *sums, int K, double *G, double *N)
{
    for (int j = 0, q = 0; j < K; j++)
        for (int k = 0; k <= j; k++, q++)
            if (G) G[k + j * K] = G[j + k * K] = sums[q];
    for (int j = 0; j < K && N; j++) N[j] = sums[K * (K + 1) / 2 + j];
}

template <class T, int K> void gram_of(const fab_run *r, const fab_long *A, const void *w, const void *next, double *G, double *N)
{
    enum { COUNT = K * (K + 3) / 2 + 1 };
    Room room = room_of(r, A->n);
    Pass<T, K> a = {};
    a.n = A->n, a.w = (const T *)A->p, a.weight = (const T *)w, a.next = (const T *)next;
    a.chunk = chunk_rows(a.n, COUNT);
    const int64_t chunks = chunk_count(a.n, COUNT);
    a.parts = room.take<double>(chunks * COUNT);
    launch_pass<T, K, AS_IT_IS, false, true>(a);
    spread(collect(&room, a.parts, chunks, COUNT), K, G, N);
}

bool is_upper(const double *R, int64_t K)
{
    for (int64_t j = 0; j < K; j++)
        for (int64_t i = j + 1; i < K; i++)
            if (R[i + j * K] != 0) return false;
    return true;
}

template <class T, int K, int PRODUCT> void launch_sweep(const Pass<T, K> &a, bool Q, bool sum)
{
    if (Q && sum) launch_pass<T, K, PRODUCT, true, true>(a);
    if (Q && !sum) launch_pass<T, K, PRODUCT, true, false>(a);
    if (!Q && sum) launch_pass<T, K, PRODUCT, false, true>(a);
    if (!Q && !sum) launch_pass<T, K, PRODUCT, false, false>(a);
}

template <class T, int K> void sweep_of(const fab_run *r, fab_sweep *s)
{
    enum { COUNT = K * (K + 3) / 2 + 1 };
    Room room = room_of(r, s->n);
    Pass<T, K> a = {};
    a.n = s->n, a.w = (const T *)s->w.p, a.out = (T *)s->out.p;
    if (s->x.k) a.x = (const T *)s->x.p;
    if (s->N) a.next = (const T *)s->next.p;
    if (s->c0 != 0) a.psi = (const T *)s->psi;
    if (s->c3 != 0) a.d2 = (const T *)s->d2;
    a.psi_out = (T *)s->psi_out, a.base_out = (T *)s->base_out;
    for (int e = 0; e < K * K && s->R; e++) a.R[e] = (T)s->R[e];
    for (int e = 0; e < K && s->x.k; e++) a.C[e] = (T)s->C[e];
    for (int j = 0, q = 0; j < K && s->Q; j++)
        for (int i = 0; i <= j; i++, q++) a.Q[q] = (T)((i < j ? 2 : 1) * s->Q[i + j * K]);
    a.r0 = (T)s->r0, a.c0 = (T)s->c0, a.c2 = (T)s->c2, a.c3 = (T)s->c3, a.floor = (T)s->floor;
    a.chunk = chunk_rows(a.n, COUNT);
    const int64_t chunks = chunk_count(a.n, COUNT);
    a.parts = room.take<double>(chunks * COUNT);
    const bool Q = s->Q != NULL, sum = s->G || s->N;
    if (!s->R)
        launch_sweep<T, K, SCALED>(a, Q, sum);
    else if (is_upper(s->R, K))
        launch_sweep<T, K, UPPER>(a, Q, sum);
    else
        launch_sweep<T, K, FULL>(a, Q, sum);
    const double *sums = collect(&room, a.parts, chunks, COUNT);
    spread(sums, K, s->G, s->N);
    s->floored = isfinite(sums[COUNT - 1]) ? (int64_t)sums[COUNT - 1] : 0;
}

/* Is there an instance for it: rows of the one rank, at most one column beside them, no more than G and N? */
bool is_narrow(const fab_sweep *s)
{
    return s->K <= FAST && s->w.k == s->K && s->u.k == 0 && s->x.k <= 1 && s->next.k <= 1 && !s->E && !s->H &&
           s->c1 == 0 && s->psi_out && by_rows(&s->w) && by_rows(&s->out) && (s->x.k == 0 || s->x.rs == 1) &&
           (!s->N || s->next.rs == 1);
}

#define BY_RANK(K, call)                                                                                   \
    switch (K) {                                                                                           \
    case 1: call(1); break;                                                                                \
    case 2: call(2); break;                                                                                \
    case 3: call(3); break;                                                                                \
    case 4: call(4); break;                                                                                \
    case 5: call(5); break;                                                                                \
    case 6: call(6); break;                                                                                \
    case 7: call(7); break;                                                                                \
    case 8: call(8); break;                                                                                \
    case 9: call(9); break;                                                                                \
    default: call(10); break;                                                                              \
    }

/* ---- rows in shared memory: any rank, any layout ------------------------------------------------------ */

template <class T> struct View {
    T *p;
    int64_t k, rs, cs;
    __device__ T &at(int64_t i, int64_t j) const { return p[i * rs + j * cs]; }
};

template <class T> View<T> view(const fab_long *A)
{
    View<T> v = {(T *)A->p, A->k, A->rs, A->cs};
    return v;
}

/* Rows first .. first + m - 1, one after the other. */
template <class T> __device__ void read_rows(const View<T> &A, int64_t first, int m, T *to)
{
    const int k = (int)A.k;
    for (int e = threadIdx.x; e < m * k; e += blockDim.x) {
        const int i = A.cs == 1 ? e / k : e % m, j = A.cs == 1 ? e % k : e / m;
        to[i * k + j] = A.at(first + i, j);
    }
}

/* C(k, j) of parts += sum over m rows of h_i^2 a_ik b_ij. */
template <class T>
__device__ void add_products(const T *a, int ka, const T *b, int kb, const T *h, int m, double *parts)
{
    for (int o = threadIdx.x; o < ka * kb; o += blockDim.x) {
        const int k = o % ka, j = o / ka;
        T s = 0;
        for (int i = 0; i < m; i++) s = fma(h[i] * a[i * ka + k], h[i] * b[i * kb + j], s);
        parts[o] += (double)s;
    }
}

template <class T> struct Cross {
    int64_t n, chunk;
    int rows, squares; /* of a tile; squares: q_j = sum a_ij^2 alone */
    View<T> A, B;
    const T *w;
    double *parts;
};

template <class T> __global__ void cross_rows(const Cross<T> c)
{
    extern __shared__ __align__(16) char shared[];
    const int ka = (int)c.A.k, kb = (int)c.B.k;
    T *a = (T *)shared, *b = a + c.rows * ka, *h = b + c.rows * kb;
    const int64_t first = blockIdx.x * c.chunk, last = first + c.chunk < c.n ? first + c.chunk : c.n;
    const int count = c.squares ? ka : ka * kb;
    double *parts = c.parts + (int64_t)blockIdx.x * count;
    for (int o = threadIdx.x; o < count; o += blockDim.x) parts[o] = 0;
    for (int64_t r = first; r < last; r += c.rows) {
        const int m = last - r < c.rows ? (int)(last - r) : c.rows;
        __syncthreads();
        read_rows(c.A, r, m, a);
        if (!c.squares) read_rows(c.B, r, m, b);
        for (int i = threadIdx.x; i < m; i += blockDim.x) h[i] = c.w ? sqrt(c.w[r + i]) : (T)1;
        __syncthreads();
        if (!c.squares) add_products(a, ka, b, kb, h, m, parts);
        for (int j = threadIdx.x; j < ka && c.squares; j += blockDim.x) {
            T s = 0;
            for (int i = 0; i < m; i++) s = fma(h[i] * a[i * ka + j], h[i] * a[i * ka + j], s);
            parts[j] += (double)s;
        }
    }
}

/* Rows of a tile of `numbers` numbers each. */
template <class T> int tile_rows(int64_t numbers)
{
    const int64_t fit = TILE_BYTES / (int64_t)sizeof(T) / (numbers > 0 ? numbers : 1);
    if (fit < 1) heed(cudaErrorInvalidConfiguration, "rows wider than shared memory");
    return fit > 32 ? 32 : fit > 1 ? (int)fit : 1;
}

template <class F> size_t allow_bytes(F *kernel, size_t bytes)
{
    if (bytes > 48 << 10)
        heed(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes), "shared memory");
    return bytes;
}

template <class T> void cross_of(const fab_run *r, const fab_long *A, const void *w, const fab_long *B, int squares, double *C)
{
    Room room = room_of(r, A->n);
    const int64_t count = squares ? A->k : A->k * B->k, numbers = A->k + B->k + 1;
    Cross<T> c = {A->n, chunk_rows(A->n, count), tile_rows<T>(numbers), squares, view<T>(A), view<T>(B), (const T *)w, NULL};
    const int64_t chunks = chunk_count(A->n, count);
    c.parts = room.take<double>(chunks * count);
    const size_t bytes = allow_bytes(cross_rows<T>, (size_t)(c.rows * numbers) * sizeof(T));
    cross_rows<T><<<(unsigned)chunks, THREADS, bytes>>>(c);
    launched("a cross product");
    memcpy(C, collect(&room, c.parts, chunks, count), (size_t)count * sizeof *C);
}

template <class T> void cross(const fab_run *r, const fab_long *A, const void *w, const fab_long *B, double *C)
{
    if (A->k <= FAST && by_rows(A) && B->k == 1 && B->rs == 1) {
#define CALL(K) gram_of<T, K>(r, A, w, B->p, NULL, C)
        BY_RANK(A->k, CALL)
#undef CALL
    } else
        cross_of<T>(r, A, w, B, 0, C);
}

template <class T> void gram(const fab_run *r, const fab_long *A, const void *w, double *G)
{
    if (A->k <= FAST && by_rows(A)) {
#define CALL(K) gram_of<T, K>(r, A, w, NULL, G, NULL)
        BY_RANK(A->k, CALL)
#undef CALL
    } else
        cross_of<T>(r, A, w, A, 0, G);
}


/* B = s A M + beta B, or q_i = |a_i M|^2 + beta q_i */
template <class T> struct Product_ {
    int64_t n;
    int rows, cols;
    View<T> A, B;
    const T *s, *M;
    T beta, *q;
};

template <class T> __global__ void times_rows(const Product_<T> c)
{
    extern __shared__ __align__(16) char shared[];
    const int k = (int)c.A.k, cols = c.cols;
    T *a = (T *)shared, *b = a + c.rows * k;
    const int64_t first = (int64_t)blockIdx.x * c.rows;
    const int m = c.n - first < c.rows ? (int)(c.n - first) : c.rows;
    read_rows(c.A, first, m, a);
    __syncthreads();
    for (int o = threadIdx.x; o < m * cols; o += blockDim.x) {
        const bool along = c.q || c.B.cs == 1;
        const int i = along ? o / cols : o % m, j = along ? o % cols : o / m;
        T s = 0;
        if (c.M)
            for (int l = 0; l < k; l++) s = fma(a[i * k + l], c.M[l + j * k], s);
        else
            s = a[i * k + j];
        if (c.q) {
            b[i * cols + j] = s;
            continue;
        }
        if (c.s) s *= c.s[first + i];
        T &to = c.B.at(first + i, j);
        to = c.beta != 0 ? fma(c.beta, to, s) : s;
    }
    if (!c.q) return;
    __syncthreads();
    for (int i = threadIdx.x; i < m; i += blockDim.x) {
        T s = 0;
        for (int j = 0; j < cols; j++) s = fma(b[i * cols + j], b[i * cols + j], s);
        T &to = c.q[first + i];
        to = c.beta != 0 ? fma(c.beta, to, s) : s;
    }
}

/* The same of one column and one column: nothing to share. */
template <class T> __global__ void times_number(int64_t n, View<T> A, const T *s, T M, T beta, View<T> B, T *q)
{
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
        T v = M * A.at(i, 0);
        if (s) v *= s[i];
        if (q) v *= v;
        T &to = q ? q[i] : B.at(i, 0);
        to = beta != 0 ? fma(beta, to, v) : v;
    }
}

unsigned blocks_of(int64_t n)
{
    const int64_t blocks = (n + THREADS - 1) / THREADS;
    return (unsigned)(blocks < 1 ? 1 : blocks < 1 << 20 ? blocks : 1 << 20);
}

template <class T>
void times(const fab_run *r, const void *s, const fab_long *A, const double *M, int64_t cols, double beta, const fab_long *B, void *q)
{
    const int64_t n = A->n;
    if (A->k == 1 && cols == 1) {
        bind();
        times_number<T><<<blocks_of(n), THREADS>>>(n, view<T>(A), (const T *)s, M ? (T)M[0] : (T)1, (T)beta,
                                                   B ? view<T>(B) : View<T>(), (T *)q);
        launched("a product");
        return;
    }
    Room room = room_of(r, n);
    const int64_t numbers = A->k + (q ? cols : 0);
    Product_<T> c = {n, tile_rows<T>(numbers), (int)cols, view<T>(A), B ? view<T>(B) : View<T>(), (const T *)s,
                     small<T>(&room, M, A->k * cols), (T)beta, (T *)q};
    const size_t bytes = allow_bytes(times_rows<T>, (size_t)(c.rows * numbers) * sizeof(T));
    times_rows<T><<<(unsigned)((n + c.rows - 1) / c.rows), THREADS, bytes>>>(c);
    launched("a product");
}

template <class T> void mult(const fab_run *r, const void *s, const fab_long *A, const double *M, double beta, const fab_long *B)
{
    times<T>(r, s, A, M, B->k, beta, B, NULL);
}

template <class T> void rowquad(const fab_run *r, const fab_long *A, const double *M, int64_t cols, double beta, void *q)
{
    times<T>(r, NULL, A, M, M ? cols : A->k, beta, NULL, q);
}

template <class T> __global__ void dot_rows(int64_t n, View<T> A, View<T> B, T beta, T *q)
{
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) {
        T s = beta != 0 ? beta * q[i] : (T)0;
        for (int64_t j = 0; j < A.k; j++) s = fma(A.at(i, j), B.at(i, j), s);
        q[i] = s;
    }
}

template <class T> void rowdot(const fab_run *, const fab_long *A, const fab_long *B, double beta, void *q)
{
    dot_rows<T><<<blocks_of(A->n), THREADS>>>(A->n, view<T>(A), view<T>(B), (T)beta, (T *)q);
    launched("dot products");
}

template <class T> __global__ void add_scaled(int64_t n, View<T> A, const T *s, T beta, View<T> B)
{
    for (int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; e < n * A.k; e += (int64_t)gridDim.x * blockDim.x) {
        const int64_t i = A.cs == 1 ? e / A.k : e % n, j = A.cs == 1 ? e % A.k : e / n;
        const T v = A.at(i, j) * (s ? s[i] : (T)1);
        T &to = B.at(i, j);
        to = beta != 0 ? fma(beta, to, v) : v;
    }
}

template <class T> void axpy(const fab_run *, const void *s, const fab_long *A, double beta, const fab_long *B)
{
    bind();
    add_scaled<T><<<blocks_of(A->n * A->k), THREADS>>>(A->n, view<T>(A), (const T *)s, (T)beta, view<T>(B));
    launched("a sum");
}

/* ---- the sweep, any rank ------------------------------------------------------------------------------ */

template <class T> struct Sweep {
    int64_t n, chunk, count;
    int rows, K;
    View<T> w, u, x, out, next;
    const T *R, *Tm, *C, *Q;
    const T *num, *den, *psi, *d2, *psi0;
    T *psi_out, *base_out;
    int G, E, H, N;
    T r0, c0, c1, c2, c3, floor;
    double *parts;
};

template <class T> __device__ T norm2(const T *v, int k)
{
    T s = 0;
    for (int j = 0; j < k; j++) s = fma(v[j], v[j], s);
    return s;
}

template <class T> __global__ void sweep_rows(const Sweep<T> s)
{
    extern __shared__ __align__(16) char shared[];
    const int K = s.K, wk = (int)s.w.k, uk = (int)s.u.k, xk = (int)s.x.k, nk = s.N ? (int)s.next.k : 0;
    T *w = (T *)shared, *u = w + s.rows * wk, *x = u + s.rows * uk, *out = x + s.rows * xk, *next = out + s.rows * K,
      *h = next + s.rows * nk, *e = h + s.rows;
    const int64_t first = blockIdx.x * s.chunk, last = first + s.chunk < s.n ? first + s.chunk : s.n;
    double *parts = s.parts + blockIdx.x * s.count;
    for (int64_t o = threadIdx.x; o < s.count; o += blockDim.x) parts[o] = 0;
    for (int64_t r = first; r < last; r += s.rows) {
        const int m = last - r < s.rows ? (int)(last - r) : s.rows;
        __syncthreads();
        read_rows(s.w, r, m, w);
        read_rows(s.u, r, m, u);
        read_rows(s.x, r, m, x);
        if (nk) read_rows(s.next, r, m, next);
        __syncthreads();
        for (int o = threadIdx.x; o < m * K; o += blockDim.x) {
            const int i = o / K, j = o % K;
            const double ratio = s.den ? (s.num ? (double)s.num[r + i] : 1.0) / (double)s.den[r + i] : 1.0;
            T v = 0, uv = 0;
            for (int k = 0; k < xk; k++) v = fma(x[i * xk + k], s.C[k + j * xk], v);
            for (int k = 0; k < uk; k++) uv = fma(u[i * uk + k], s.Tm[k + j * uk], uv);
            if (uk) v = fma((T)ratio, uv, v);
            if (s.R)
                for (int k = 0; k < wk; k++) v = fma(w[i * wk + k], s.R[k + j * wk], v);
            else if (j < wk)
                v = fma(s.r0, w[i * wk + j], v);
            out[i * K + j] = v;
        }
        __syncthreads();
        for (int i = threadIdx.x; i < m; i += blockDim.x) {
            T psi = s.psi && !s.psi_out ? s.psi[r + i] : (T)1;
            if (s.psi_out || s.base_out) {
                T base = 0;
                if (s.c0 != 0) base += s.c0 * s.psi[r + i];
                if (s.c1 != 0) base += s.c1 * norm2(w + i * wk, wk);
                if (s.c2 != 0) base += s.c2 * norm2(x + i * xk, xk);
                if (s.c3 != 0) base += s.c3 * s.d2[r + i];
                if (s.base_out) s.base_out[r + i] = base;
                if (s.psi_out) {
                    T quad = 0;
                    if (s.Q)
                        for (int j = 0; j < K; j++) {
                            T v = 0;
                            for (int k = 0; k < K; k++) v = fma(out[i * K + k], s.Q[k + j * K], v);
                            quad = fma(v, out[i * K + j], quad);
                        }
                    else
                        quad = norm2(out + i * K, K);
                    const T left = base - quad, least = s.floor * base;
                    psi = left < least ? least : left;
                    s.psi_out[r + i] = psi;
                    e[i] = left < least;
                }
            }
            h[i] = inverse_root(psi);
        }
        __syncthreads();
        if (threadIdx.x == 0 && s.psi_out)
            for (int i = 0; i < m; i++) parts[s.count - 1] += (double)e[i];
        for (int o = threadIdx.x; o < m * K; o += blockDim.x) {
            const int i = s.out.cs == 1 ? o / K : o % m, j = s.out.cs == 1 ? o % K : o / m;
            if (s.out.p) s.out.at(r + i, j) = out[i * K + j];
        }
        double *to = parts;
        if (s.G) add_products(out, K, out, K, h, m, to), to += K * K;
        if (s.H) add_products(w, wk, out, K, h, m, to), to += wk * K;
        if (s.N) add_products(out, K, next, nk, h, m, to), to += K * nk;
        if (s.E) {
            __syncthreads();
            for (int i = threadIdx.x; i < m; i += blockDim.x) e[i] = sqrt(s.psi0[r + i]) * h[i] * h[i];
            __syncthreads();
            add_products(out, K, out, K, e, m, to);
        }
    }
}

const double *give(const double *from, double *to, int64_t count)
{
    if (!to) return from;
    memcpy(to, from, (size_t)count * sizeof *to);
    return from + count;
}

template <class T> void sweep_any(const fab_run *r, fab_sweep *s)
{
    Room room = room_of(r, s->n);
    const int64_t K = s->K, wk = s->w.k, uk = s->u.k, xk = s->x.k, nk = s->N ? s->next.k : 0;
    const int64_t numbers = wk + uk + xk + K + nk + 2;
    Sweep<T> a = {};
    a.n = s->n, a.K = (int)K, a.rows = tile_rows<T>(numbers);
    a.w = view<T>(&s->w), a.u = view<T>(&s->u), a.x = view<T>(&s->x), a.out = view<T>(&s->out), a.next = view<T>(&s->next);
    a.R = small<T>(&room, s->R, wk * K), a.Tm = small<T>(&room, uk ? s->T : NULL, uk * K);
    a.C = small<T>(&room, xk ? s->C : NULL, xk * K), a.Q = small<T>(&room, s->Q, K * K);
    a.num = (const T *)s->s_num, a.den = (const T *)s->s_den, a.psi = (const T *)s->psi, a.d2 = (const T *)s->d2;
    a.psi0 = (const T *)s->psi0, a.psi_out = (T *)s->psi_out, a.base_out = (T *)s->base_out;
    a.G = s->G != NULL, a.E = s->E != NULL, a.H = s->H != NULL, a.N = s->N != NULL;
    a.r0 = (T)s->r0, a.c0 = (T)s->c0, a.c1 = (T)s->c1, a.c2 = (T)s->c2, a.c3 = (T)s->c3, a.floor = (T)s->floor;
    a.count = (a.G + a.E) * K * K + a.H * wk * K + a.N * K * nk + 1;
    a.chunk = chunk_rows(a.n, a.count);
    const int64_t chunks = chunk_count(a.n, a.count);
    a.parts = room.take<double>(chunks * a.count);
    const size_t bytes = allow_bytes(sweep_rows<T>, (size_t)(a.rows * numbers) * sizeof(T));
    sweep_rows<T><<<(unsigned)chunks, THREADS, bytes>>>(a);
    launched("a sweep");
    const double *sums = collect(&room, a.parts, chunks, a.count), *at = sums;
    at = give(at, s->G, K * K);
    at = give(at, s->H, wk * K);
    at = give(at, s->N, K * nk);
    give(at, s->E, K * K);
    const double floored = sums[a.count - 1];
    s->floored = isfinite(floored) ? (int64_t)floored : 0;
}

template <class T> void sweep(const fab_run *r, fab_sweep *s)
{
    if (s->terms || s->ratio_out || !s->out.k) { /* of methods that work in the host's memory */
        if (!trouble[0]) snprintf(trouble, sizeof trouble, "the card %d: a sweep of further terms is not made there", device);
        return;
    }
    if (is_narrow(s)) {
#define CALL(K) sweep_of<T, K>(r, s)
        BY_RANK(s->K, CALL)
#undef CALL
    } else
        sweep_any<T>(r, s);
}

/* ---- in and out --------------------------------------------------------------------------------------- */

/* Vector j of the rows where the card reads it, elements of x->type; rows on the card stay where they are. */
const void *upload(const fab_run *r, const fab_rows *x, int64_t j, int64_t n)
{
    bind();
    const size_t size = x->type == FAB_F64 ? 8 : 4;
    cudaPointerAttributes where = {};
    const int64_t stride = x->stride ? x->stride : 1;
    if (!x->start && stride == 1) {
        const char *from = (const char *)x->p + (size_t)(j * x->ld) * size;
        if (cudaPointerGetAttributes(&where, from) == cudaSuccess && where.type == cudaMemoryTypeDevice) return from;
        cudaGetLastError();
        heed(cudaMemcpy(r->work, from, (size_t)n * size, cudaMemcpyHostToDevice), "a row");
        return r->work;
    }
    char *dense = (char *)heap.alloc((size_t)n * size);
    if (!dense) {
        heed(cudaErrorMemoryAllocation, "a row");
        return r->work;
    }
    memset(dense, 0, (size_t)n * size);
    if (x->start)
        for (int64_t e = x->start[j]; e < x->start[j + 1]; e++)
            memcpy(dense + (size_t)x->index[e] * size, (const char *)x->p + (size_t)e * size, size);
    else
        for (int64_t i = 0; i < n; i++)
            memcpy(dense + (size_t)i * size, (const char *)x->p + (size_t)(j * x->ld + i * stride) * size, size);
    heed(cudaMemcpy(r->work, dense, (size_t)n * size, cudaMemcpyHostToDevice), "a row");
    heap.release(dense);
    return r->work;
}

template <class T, class X> __global__ void load_row(int64_t n, const X *x, const double *mu, T *to, int64_t rs)
{
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x)
        to[i * rs] = (T)((double)x[i] - (mu ? mu[i] : 0));
}

template <class T> void load(const fab_run *r, const fab_rows *x, const void *mu, const fab_long *X)
{
    for (int64_t j = 0; j < x->n; j++) {
        const void *from = upload(r, x, j, X->n);
        T *to = (T *)X->p + j * X->cs;
        if (x->type == FAB_F64)
            load_row<<<blocks_of(X->n), THREADS>>>(X->n, (const double *)from, (const double *)mu, to, X->rs);
        else
            load_row<<<blocks_of(X->n), THREADS>>>(X->n, (const float *)from, (const double *)mu, to, X->rs);
        launched("loading a row");
    }
}

/* The elements between the first and the last of A, on the host and back. */
template <class T> T *span_of(const fab_long *A, size_t *bytes)
{
    bind();
    *bytes = A->n > 0 && A->k > 0 ? (size_t)((A->n - 1) * A->rs + (A->k - 1) * A->cs + 1) * sizeof(T) : 0;
    T *span = (T *)heap.alloc(*bytes ? *bytes : 1);
    if (!span)
        heed(cudaErrorMemoryAllocation, "an array on its way");
    else
        heed(cudaMemcpy(span, A->p, *bytes, cudaMemcpyDeviceToHost), "an array on its way");
    return span;
}

template <class T> void get(const fab_run *, const fab_long *A, double *out)
{
    size_t bytes;
    T *span = span_of<T>(A, &bytes);
    if (!span) return;
    for (int64_t i = 0; i < A->n; i++)
        for (int64_t j = 0; j < A->k; j++) out[i * A->k + j] = (double)span[i * A->rs + j * A->cs];
    heap.release(span);
}

template <class T> void put(const fab_run *, const double *in, const fab_long *A)
{
    size_t bytes;
    T *span = span_of<T>(A, &bytes);
    if (!span) return;
    for (int64_t i = 0; i < A->n; i++)
        for (int64_t j = 0; j < A->k; j++) span[i * A->rs + j * A->cs] = (T)in[i * A->k + j];
    heed(cudaMemcpy(A->p, span, bytes, cudaMemcpyHostToDevice), "an array on its way");
    heap.release(span);
}

template <class T> __global__ void clear_array(int64_t n, View<T> A)
{
    for (int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; e < n * A.k; e += (int64_t)gridDim.x * blockDim.x)
        A.at(A.cs == 1 ? e / A.k : e % n, A.cs == 1 ? e % A.k : e / n) = 0;
}

template <class T> void zero(const fab_run *, const fab_long *A)
{
    clear_array<T><<<blocks_of(A->n * A->k), THREADS>>>(A->n, view<T>(A));
    launched("zeros");
}

/* ---- random numbers (base/random.c) --------------------------------------------------------------------- */

struct Address { uint64_t seed, stream; uint32_t purpose; };

__device__ void philox(const Address &a, uint64_t block, uint32_t x[4])
{
    uint32_t k0 = (uint32_t)a.seed, k1 = (uint32_t)(a.seed >> 32);
    x[0] = (uint32_t)block, x[1] = a.purpose << 16 | (uint32_t)(block >> 32 & 0xffff);
    x[2] = (uint32_t)a.stream, x[3] = (uint32_t)(a.stream >> 32);
    for (int round = 0; round < 10; round++) {
        const uint64_t p = (uint64_t)x[0] * 0xD2511F53u, q = (uint64_t)x[2] * 0xCD9E8D57u;
        x[0] = (uint32_t)(q >> 32) ^ x[1] ^ k0;
        x[1] = (uint32_t)q;
        x[2] = (uint32_t)(p >> 32) ^ x[3] ^ k1;
        x[3] = (uint32_t)p;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
}

__device__ double unit(uint32_t low, uint32_t high)
{
    const uint64_t bits = (uint64_t)high << 32 | low;
    return ((double)(bits >> 12) + 0.5) * 0x1p-52;
}

__device__ double half_pair(double u1, double u2, int which)
{
    const double r = sqrt(-2 * log(u1)), angle = 6.283185307179586477 * u2;
    return which ? r * sin(angle) : r * cos(angle);
}

__device__ double normal(const Address &a, uint64_t index, double)
{
    uint32_t x[4];
    philox(a, index / 2, x);
    return half_pair(unit(x[0], x[1]), unit(x[2], x[3]), (int)(index % 2));
}

__device__ float normal(const Address &a, uint64_t index, float)
{
    uint32_t x[4];
    philox(a, index / 4, x);
    const int j = (int)(index % 4) & 2;
    const uint32_t radius = j ? x[2] : x[0], angle = j ? x[3] : x[1];
    return (float)half_pair(((double)radius + 0.5) * 0x1p-32, ((double)(angle >> 9) + 0.5) * 0x1p-23, (int)(index % 2));
}

/* LIKE: the stream of doubles or of floats. */
template <class T, class LIKE> __global__ void normal_array(int64_t n, int64_t first, Address a, View<T> A)
{
    for (int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; e < n * A.k; e += (int64_t)gridDim.x * blockDim.x) {
        const int64_t i = e / A.k, j = e % A.k;
        A.at(i, j) = (T)normal(a, (uint64_t)((first + i) * A.k + j), (LIKE)0);
    }
}

template <class T> void randn(const fab_run *r, uint64_t seed, fab_purpose purpose, uint64_t stream, const fab_long *A)
{
    bind();
    const Address a = {seed, stream, (uint32_t)purpose};
    normal_array<T, T><<<blocks_of(A->n * A->k), THREADS>>>(A->n, r->comm.first_row, a, view<T>(A));
    launched("normals");
}

/* ---- vectors -------------------------------------------------------------------------------------------- */

template <class F> __global__ void for_each(int64_t n, F f)
{
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (int64_t)gridDim.x * blockDim.x) f(i);
}

template <class F> void each(int64_t n, F f)
{
    bind();
    for_each<<<blocks_of(n), THREADS>>>(n, f);
    launched("a vector");
}

enum { REDUCED = 1 << 16 }; /* numbers that one block reduces */

/* Sums (or the largest) of runs of REDUCED numbers, each in a fixed order. */
template <class F> __global__ void reduce_runs(int64_t n, bool most, F f, double *parts)
{
    __shared__ double s[THREADS];
    const int64_t first = (int64_t)blockIdx.x * REDUCED, last = first + REDUCED < n ? first + REDUCED : n;
    double v = 0;
    for (int64_t i = first + threadIdx.x; i < last; i += THREADS) v = most ? fmax(v, f(i)) : v + f(i);
    s[threadIdx.x] = v;
    for (int half = THREADS / 2; half >= 1; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half)
            s[threadIdx.x] = most ? fmax(s[threadIdx.x], s[threadIdx.x + half]) : s[threadIdx.x] + s[threadIdx.x + half];
    }
    if (threadIdx.x == 0) parts[blockIdx.x] = s[0];
}

template <class F> double reduce(const fab_run *r, int64_t n, bool most, F f)
{
    const int64_t runs = (n + REDUCED - 1) / REDUCED;
    double *parts = room_of(r, n).take<double>(runs), total = 0; /* after the row, which f may read */
    double *host = (double *)heap.alloc((size_t)(runs + 1) * sizeof *host);
    if (!host) {
        heed(cudaErrorMemoryAllocation, "a sum");
        return NAN;
    }
    if (runs) reduce_runs<<<(unsigned)runs, THREADS>>>(n, most, f, parts);
    launched("a sum");
    heed(cudaMemcpy(host, parts, (size_t)runs * sizeof *host, cudaMemcpyDeviceToHost), "a sum");
    for (int64_t i = 0; i < runs; i++) total = most ? fmax(total, host[i]) : total + host[i];
    heap.release(host);
    return trouble[0] ? NAN : total;
}

/* Of few columns by rows the Gram matrix costs no more; of one there is nothing to share. */
template <class T> void colquad(const fab_run *r, const fab_long *A, const void *w, double *q)
{
    const int64_t k = A->k;
    if (k == 1) {
        const T *x = (const T *)A->p, *by = (const T *)w;
        const int64_t rs = A->rs;
        *q = reduce(r, A->n, false, [=] __device__(int64_t i) {
            const double v = (double)x[i * rs];
            return by ? (double)by[i] * v * v : v * v;
        });
    } else if (k <= FAST && by_rows(A)) {
        double G[FAST * FAST];
        gram<T>(r, A, w, G);
        for (int64_t j = 0; j < k; j++) q[j] = G[j + j * k];
    } else
        cross_of<T>(r, A, w, A, 1, q);
}

int64_t whole(double v)
{
    return isfinite(v) ? (int64_t)v : 0;
}

template <class T> void get_vector(const fab_run *r, int64_t n, const void *v, double *out)
{
    const fab_long A = {(void *)(uintptr_t)v, n, 1, 1, n};
    get<T>(r, &A, out);
}

template <class T> void put_vector(const fab_run *r, int64_t n, const double *in, void *v)
{
    const fab_long A = {v, n, 1, 1, n};
    put<T>(r, in, &A);
}

void get_flags(const fab_run *, int64_t n, const void *flags, int64_t *out)
{
    uint8_t *marks = (uint8_t *)heap.alloc((size_t)n + 1);
    if (!marks) {
        heed(cudaErrorMemoryAllocation, "flags");
        return;
    }
    heed(cudaMemcpy(marks, flags, (size_t)n, cudaMemcpyDeviceToHost), "flags");
    for (int64_t i = 0; i < n; i++) out[i] = marks[i];
    heap.release(marks);
}

void put_flags(const fab_run *, int64_t n, const int64_t *in, void *flags)
{
    uint8_t *marks = (uint8_t *)heap.alloc((size_t)n + 1);
    if (!marks) {
        heed(cudaErrorMemoryAllocation, "flags");
        return;
    }
    for (int64_t i = 0; i < n; i++) marks[i] = in[i] != 0;
    heed(cudaMemcpy(flags, marks, (size_t)n, cudaMemcpyHostToDevice), "flags");
    heap.release(marks);
}

void fetch(const fab_run *, size_t bytes, const void *from, void *host)
{
    bind();
    heed(cudaMemcpy(host, from, bytes, cudaMemcpyDeviceToHost), "an array");
}

void store(const fab_run *, size_t bytes, const void *host, void *to)
{
    bind();
    heed(cudaMemcpy(to, host, bytes, cudaMemcpyHostToDevice), "an array");
}

template <class T> double sum(const fab_run *r, int64_t n, const void *v, double over)
{
    const T *x = (const T *)v;
    return reduce(r, n, false, [=] __device__(int64_t i) { return (double)x[i] / over; });
}

template <class T> double largest(const fab_run *r, int64_t n, const void *v)
{
    const T *x = (const T *)v;
    return reduce(r, n, true, [=] __device__(int64_t i) { return (double)x[i]; });
}

int64_t unmarked(const fab_run *r, int64_t n, const void *flags)
{
    const uint8_t *f = (const uint8_t *)flags;
    return whole(reduce(r, n, false, [=] __device__(int64_t i) { return f[i] ? 0.0 : 1.0; }));
}

template <class T> void fill(const fab_run *, int64_t n, double a, void *v)
{
    T *x = (T *)v;
    each(n, [=] __device__(int64_t i) { x[i] = (T)a; });
}

template <class T> void copy(const fab_run *, int64_t n, const void *from, void *to)
{
    bind();
    heed(cudaMemcpy(to, from, (size_t)n * sizeof(T), cudaMemcpyDeviceToDevice), "a copy");
}

template <class T> void map(const fab_run *, int64_t n, fab_map how, double a, double b, const void *v, void *out)
{
    const T *x = (const T *)v;
    T *y = (T *)out;
    each(n, [=] __device__(int64_t i) {
        if (how == FAB_MAP_INVERSE) y[i] = 1 / x[i];
        if (how == FAB_MAP_ROOT) y[i] = sqrt(x[i]);
        if (how == FAB_MAP_INVERSE_ROOT) y[i] = x[i] > 0 ? 1 / sqrt(x[i]) : (T)0;
        if (how == FAB_MAP_AT_LEAST) y[i] = (T)fmax(a * (double)x[i], b);
    });
}

template <class T> void blend(const fab_run *, int64_t n, double a, const void *x, double b, void *y)
{
    const T *from = (const T *)x;
    T *to = (T *)y;
    each(n, [=] __device__(int64_t i) {
        const T v = (T)a * from[i];
        to[i] = b != 0 ? fma((T)b, to[i], v) : v;
    });
}

template <class T> void choose(const fab_run *, int64_t n, const void *flags, const void *v, double c, void *out)
{
    const uint8_t *f = (const uint8_t *)flags;
    const T *x = (const T *)v;
    T *y = (T *)out;
    each(n, [=] __device__(int64_t i) { y[i] = f[i] ? x[i] : (T)c; });
}

template <class T> void round_to(const fab_run *, const void *v, const fab_long *A)
{
    const T *x = (const T *)v;
    T *to = (T *)A->p;
    const int64_t rs = A->rs;
    each(A->n, [=] __device__(int64_t i) { to[i * rs] = x[i]; });
}

template <class T> void normals(const fab_run *r, int64_t n, uint64_t seed, fab_purpose purpose, uint64_t stream, void *v)
{
    const Address a = {seed, stream, (uint32_t)purpose};
    const fab_long A = {v, n, 1, 1, n};
    normal_array<T, double><<<blocks_of(n), THREADS>>>(n, r->comm.first_row, a, view<T>(&A));
    launched("normals");
}

template <class T> int64_t floor_of(const fab_run *r, int64_t n, double share, const void *d2, double c, void *psi)
{
    const T *d = (const T *)d2;
    T *p = (T *)psi;
    return whole(reduce(r, n, false, [=] __device__(int64_t i) {
        const T least = (T)(share * (d[i] > 0 ? (double)d[i] : c));
        if (p[i] > least) return 0.0;
        p[i] = least;
        return 1.0;
    }));
}

template <class T>
double ascend(const fab_run *r, int64_t n, double a, const void *v, const void *inverse, const void *least, double most, void *psi)
{
    const T *x = (const T *)v, *y = (const T *)inverse, *lo = (const T *)least;
    T *p = (T *)psi;
    return reduce(r, n, false, [=] __device__(int64_t i) {
        const T step = (T)(0.5 * a) * (x[i] * y[i] - 1), to = p[i] * exp(step);
        p[i] = fmax(to, lo[i]);
        return to <= (T)most ? 0.0 : 1.0;
    });
}

template <class T, class X> int64_t centre_row(const fab_run *r, int64_t n, const X *x, double g, double *mu, T *to, int64_t rs, uint8_t *f)
{
    auto move = [=] __device__(int64_t i) {
        const double m = mu[i], d = (double)x[i] - m;
        mu[i] = fma(g, d, m);
        to[i * rs] = (T)d;
        return d;
    };
    if (!f) {
        each(n, [=] __device__(int64_t i) { move(i); });
        return 0;
    }
    return whole(reduce(r, n, false, [=] __device__(int64_t i) {
        const bool varied = move(i) != 0 || f[i];
        f[i] = varied;
        return varied ? 0.0 : 1.0;
    }));
}

template <class T>
int64_t centre(const fab_run *r, const fab_rows *row, double g, void *mu, const fab_long *X, void *flags, void *)
{
    const void *from = upload(r, row, 0, X->n);
    if (row->type == FAB_F64)
        return centre_row(r, X->n, (const double *)from, g, (double *)mu, (T *)X->p, X->rs, (uint8_t *)flags);
    return centre_row(r, X->n, (const float *)from, g, (double *)mu, (T *)X->p, X->rs, (uint8_t *)flags);
}

template <class T>
void welford(const fab_run *, int64_t n, double t, void *x, void *mean, void *squares, const fab_long *X)
{
    double *v = (double *)x, *m = (double *)mean;
    T *s = (T *)squares, *to = X->k > 0 ? (T *)X->p : NULL;
    const int64_t rs = X->rs;
    each(n, [=] __device__(int64_t i) {
        const double d = v[i] - m[i], moved = m[i] + d / t;
        if (s) s[i] = (T)((double)s[i] + d * (v[i] - moved));
        m[i] = moved;
        v[i] = d;
        if (to) to[i * rs] = (T)d;
    });
}

/* ---- draws of a Gaussian, and its steps (ref/steps.c) --------------------------------------------------------- */

enum { MOST_DRAWS = 8 }; /* of a pass with everything in registers */

/* Normals 2 b and 2 b + 1 of an address, in double; and in float from the same bits, to its rounding. */
__device__ __forceinline__ void normal_pair(const Address &a, uint64_t b, double z[2])
{
    uint32_t x[4];
    philox(a, b, x);
    const double u1 = unit(x[0], x[1]), u2 = unit(x[2], x[3]);
    z[0] = half_pair(u1, u2, 0);
    z[1] = half_pair(u1, u2, 1);
}

/* -log of (b + 1/2) / 2^52, b the upper 52 bits of high, low: of 1 less what is missing where that is at most a quarter, else of
 * a number on [3/4, 3/2) and a power of 2.  log(1 + f) = f + f^2 p(f), p of degree 8 fitted on [-1/4, 1/2]: 5e-9. */
__device__ __forceinline__ float minus_log(uint32_t high, uint32_t low)
{
    const bool near = high >= 0xC0000000u;
    const uint32_t h = near ? ~high : high, l = ((near ? ~low : low) | 0xfffu) ^ 0x7ffu;
    const float v = fmaf((float)h, 4294967296.0f, (float)l); /* times 2^-64 */
    const int bits = __float_as_int(v), power = (bits - 0x3f400000) & (int)0xff800000;
    const float f = near ? -v * 0x1p-64f : __int_as_float(bits - power) - 1;
    const float e = near ? 0.0f : (float)((power >> 23) - 64);
    float p = -0.0485763493f;
    p = fmaf(p, f, 0.107485697f);
    p = fmaf(p, f, -0.131447426f);
    p = fmaf(p, f, 0.144267047f);
    p = fmaf(p, f, -0.166444671f);
    p = fmaf(p, f, 0.199939087f);
    p = fmaf(p, f, -0.250002449f);
    p = fmaf(p, f, 0.33333393f);
    p = fmaf(p, f, -0.499999994f);
    return -fmaf(e, 0.693147181f, fmaf(f * f, p, f));
}

/* The angle is so many quarters of a turn and what is left of one, x turns of half: sin pi x and cos pi x by polynomials fitted
 * on [-1/4, 1/4] to 2e-9 and 5e-11. */
__device__ __forceinline__ void normal_pair(const Address &a, uint64_t block, float z[2])
{
    uint32_t w[4];
    philox(a, block, w);
    const uint32_t quarter = (w[3] + 0x20000000u) >> 30;
    const float x = ((float)(int)(w[3] - (quarter << 30)) + 0.5f) * 0x1p-31f, square = x * x;
    float s = -0.589076877f, c = 0.23132925f;
    s = fmaf(s, square, 2.54976713f);
    s = fmaf(s, square, -5.16770783f);
    s = fmaf(s, square, 3.14159264f) * x;
    c = fmaf(c, square, -1.33504451f);
    c = fmaf(c, square, 4.05870726f);
    c = fmaf(c, square, -4.93480216f);
    c = fmaf(c, square, 1.0f);
    const float half = minus_log(w[1], w[0]) * 2, r = half * rsqrtf(half);
    const float cosine = quarter & 1 ? s : c, sine = quarter & 1 ? c : s;
    z[0] = r * ((quarter + 1) & 2 ? -cosine : cosine);
    z[1] = r * (quarter & 2 ? -sine : sine);
}

template <class T> __device__ __forceinline__ T normal_at(const Address &a, int64_t i)
{
    T z[2];
    normal_pair(a, (uint64_t)i / 2, z);
    return i & 1 ? z[1] : z[0];
}

__device__ __forceinline__ float exponential(float x) { return expf(x); }
__device__ __forceinline__ double exponential(double x) { return exp(x); }

__device__ __forceinline__ float reciprocal(float x) { return __fdividef(1, x); }
__device__ __forceinline__ double reciprocal(double x) { return 1 / x; }

/* A row of a tile, by pairs of floats where it has them: the lanes of half a warp then meet no bank twice. */
template <class T, int K> __device__ __forceinline__ void load_row_of(const T *at, T *row)
{
    if (sizeof(T) == 4 && K % 2 == 0) {
#pragma unroll
        for (int k = 0; k < K; k += 2) {
            const float2 two = *(const float2 *)(at + k);
            row[k] = (T)two.x, row[k + 1] = (T)two.y;
        }
    } else {
#pragma unroll
        for (int k = 0; k < K; k++) row[k] = at[k];
    }
}

template <class T, int K> __device__ __forceinline__ void store_row_of(T *at, const T *row)
{
    if (sizeof(T) == 4 && K % 2 == 0) {
#pragma unroll
        for (int k = 0; k < K; k += 2) *(float2 *)(at + k) = make_float2((float)row[k], (float)row[k + 1]);
    } else {
#pragma unroll
        for (int k = 0; k < K; k++) at[k] = row[k];
    }
}

/* Rows first .. of n x K numbers into a tile, and back. */
template <class T, int K> __device__ __forceinline__ void fetch_rows(const T *w, int64_t n, int64_t first, T *tile)
{
    Pass<T, K> a; /* what fetch_tile reads of it */
    a.w = w, a.n = n;
    fetch_tile<T, K>(a, first, tile);
}

template <class T, int K> __device__ __forceinline__ void store_rows(T *w, int64_t n, int64_t first, const T *tile)
{
    Pass<T, K> a;
    a.out = w, a.n = n;
    store_tile<T, K>(a, first, tile);
}

/* The normals of a tile of rows in shared memory: a lane makes those of two rows that follow each other. */
template <class T> __device__ __forceinline__ void make_normals(const Address &a, int64_t first, T *z)
{
    enum { ROWS = Tile<T>::ROWS };
    const int lane = threadIdx.x & 31;
    if (lane < ROWS / 2) normal_pair(a, (uint64_t)first / 2 + lane, z + 2 * lane);
}

template <int K> struct Size { enum { ROW = K > 0 ? K : 1, SQUARE = K > 0 ? K * K : 1 }; };

template <class T, int K> struct DrawPass {
    int64_t n, chunk;
    const T *F, *c, *gamma;
    T *theta;
    Address z;
    T sign, h[Size<K>::ROW];
};

template <class T, int K> __global__ void __launch_bounds__(WARPS * 32) draw_rows(const __grid_constant__ DrawPass<T, K> a)
{
    enum { ROWS = Tile<T>::ROWS, EACH = Tile<T>::EACH };
    extern __shared__ __align__(16) char shared[];
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    const int64_t first = ((int64_t)blockIdx.x * WARPS + warp) * a.chunk;
    if (first >= a.n) return;
    const int64_t last = first + a.chunk < a.n ? first + a.chunk : a.n;
    T *ring = (T *)shared + warp * ROWS * (STAGES * K + 1), *z = ring + STAGES * ROWS * K;
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) {
        if (K > 0 && first + s * ROWS < last) fetch_rows<T, Size<K>::ROW>(a.F, a.n, first + s * ROWS, ring + s * ROWS * K);
        copies_end();
    }
    int slot = 0;
    for (int64_t r = first; r < last; r += ROWS) {
        T c[EACH], gamma[EACH];
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            const int64_t i = r + e * 32 + lane;
            c[e] = i < last ? __ldcs(a.c + i) : (T)0;
            gamma[e] = i < last ? __ldcs(a.gamma + i) : (T)0;
        }
        copies_wait<STAGES - 2>();
        __syncwarp();
        {
            int free = slot + STAGES - 1;
            if (free >= STAGES) free -= STAGES;
            const int64_t f = r + (STAGES - 1) * ROWS;
            if (K > 0 && f < last) fetch_rows<T, Size<K>::ROW>(a.F, a.n, f, ring + free * ROWS * K);
            copies_end();
        }
        make_normals<T>(a.z, r, z);
        __syncwarp();
        const T *tile = ring + slot * ROWS * K;
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            const int64_t i = r + e * 32 + lane;
            T row[Size<K>::ROW], s = a.sign * exponential(gamma[e] / 2) * z[e * 32 + lane] + c[e];
            load_row_of<T, K>(tile + (e * 32 + lane) * K, row);
#pragma unroll
            for (int k = 0; k < K; k++) s = fma(row[k], a.h[k], s);
            if (i < last) __stcs(a.theta + i, s);
        }
        if (++slot == STAGES) slot = 0;
    }
}

template <class F> size_t allow_once(F *kernel, size_t bytes, bool *raised)
{
    if (!*raised) allow_bytes(kernel, bytes);
    *raised = true;
    return bytes;
}

unsigned blocks_of_chunks(int64_t n, int64_t chunk)
{
    const int64_t chunks = (n + chunk - 1) / chunk;
    return (unsigned)((chunks + WARPS - 1) / WARPS);
}

Address address_of(const fab_draw *d)
{
    const Address a = {d->seed, d->stream, (uint32_t)FAB_PURPOSE_DRAW};
    return a;
}

template <class T, int K> void draw_of(const fab_far_gauss *q, const fab_draw *d, T *theta)
{
    static bool raised;
    DrawPass<T, K> a = {};
    bind();
    a.n = q->n, a.chunk = chunk_rows(a.n, 1);
    a.F = (const T *)q->F, a.c = (const T *)q->c, a.gamma = (const T *)q->gamma, a.theta = theta;
    a.z = address_of(d), a.sign = (T)d->sign;
    for (int k = 0; k < K; k++) a.h[k] = (T)d->h[k];
    const size_t bytes = allow_once(draw_rows<T, K>, (size_t)(WARPS * Tile<T>::ROWS * (STAGES * K + 1)) * sizeof(T), &raised);
    draw_rows<T, K><<<blocks_of_chunks(a.n, a.chunk), WARPS * 32, bytes>>>(a);
    launched("a draw");
}

template <class T> __device__ __forceinline__ T over_warp(T v)
{
    for (int w = 16; w >= 1; w >>= 1) v += __shfl_xor_sync(~0u, v, w);
    return v;
}

/* Any rank: a warp takes a row. */
template <class T>
__global__ void draw_any(int64_t n, int64_t K, const T *F, const T *c, const T *gamma, Address a, T sign, const T *h, T *theta)
{
    const int lane = threadIdx.x & 31;
    for (int64_t i = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32; i < n; i += (int64_t)gridDim.x * blockDim.x / 32) {
        T s = 0;
        for (int64_t k = lane; k < K; k += 32) s = fma(F[i * K + k], h[k], s);
        s = over_warp(s);
        if (lane == 0) theta[i] = c[i] + s + sign * exponential(gamma[i] / 2) * normal_at<T>(a, i);
    }
}

#define BY_RANK_0(K, call) \
    if ((K) == 0) {        \
        call(0);           \
    } else                 \
        BY_RANK(K, call)

template <class T> void draw(const fab_run *r, const fab_far_gauss *q, const fab_draw *d, void *theta)
{
    if (q->K <= FAST) {
#define CALL(K) draw_of<T, K>(q, d, (T *)theta)
        BY_RANK_0(q->K, CALL)
#undef CALL
        return;
    }
    Room room = room_of(r, q->n);
    const T *h = small<T>(&room, d->h, q->K);
    draw_any<T><<<blocks_of(q->n * 32), THREADS>>>(q->n, q->K, (const T *)q->F, (const T *)q->c, (const T *)q->gamma,
                                                   address_of(d), (T)d->sign, h, (T *)theta);
    launched("a draw");
}

template <class T> void project(const fab_run *r, const fab_far_gauss *q, const fab_draw *d, double *sums)
{
    const T *gamma = (const T *)q->gamma, sign = (T)d->sign;
    const Address a = address_of(d);
    const int64_t n = q->n;
    T *x = (T *)r->work; /* where a row would be */
    each((n + 1) / 2, [=] __device__(int64_t b) {
        T z[2];
        normal_pair(a, (uint64_t)b, z);
        x[2 * b] = sign * z[0] * exponential(-gamma[2 * b] / 2);
        if (2 * b + 1 < n) x[2 * b + 1] = sign * z[1] * exponential(-gamma[2 * b + 1] / 2);
    });
    const fab_long F = {q->F, n, q->K, q->K, 1}, X = {x, n, 1, 1, n};
    cross<T>(r, &F, NULL, &X, sums);
}

/* What moves of a row: its numbers, and those of Adam. */
template <class T> struct Moves {
    T *m, *v;
    T rate, by, root;
};

template <class T> Moves<T> moves(const fab_moves *a)
{
    Moves<T> m = {(T *)a->m, (T *)a->v, (T)a->rate, (T)a->by, (T)a->root};
    return m;
}

__device__ __forceinline__ float quotient(float a, float b) { return __fdividef(a, b); }
__device__ __forceinline__ double quotient(double a, double b) { return a / b; }

template <class T> struct Adam { T one, two, epsilon; };

template <class T, int HOW> __device__ __forceinline__ void move(const Adam<T> &o, const Moves<T> &a, T g, T &m, T &v, T &x)
{
    g *= a.by;
    if (HOW == FAB_STEP_PLAIN) {
        x -= a.rate * g;
        return;
    }
    m += o.one * (g - m);
    v += o.two * (g * g - v);
    x -= quotient(a.rate * m, a.root * sqrt(v) + o.epsilon);
}

template <class T, int K> struct StepPass {
    int64_t n, chunk;
    T *F, *c, *gamma;
    const T *V;
    double *parts;
    int L, path, spreads; /* spreads: gamma and F move */
    T weight, alpha, over_L, most;
    Moves<T> of_c, of_gamma, of_F;
    Adam<T> adam;
    uint64_t seed, stream[MOST_DRAWS];
    int place[MOST_DRAWS]; /* of the normals of a draw */
    T sign[MOST_DRAWS], scale[MOST_DRAWS], h[MOST_DRAWS][Size<K>::ROW], y[MOST_DRAWS][Size<K>::ROW];
    T Minv[Size<K>::SQUARE];
};

template <class T> struct RowNumbers { T c, gamma, v, second, m_c, v_c, m_gamma, v_gamma; };

template <class T, int K, int HOW>
__device__ __forceinline__ RowNumbers<T> read_row(const StepPass<T, K> &a, int64_t i)
{
    RowNumbers<T> x = {0, 0, 0, 0, 0, 0, 0, 0};
    if (i >= a.n) return x;
    x.c = __ldcs(a.c + i), x.gamma = __ldcs(a.gamma + i);
    if (HOW != FAB_STEP_NOTHING) x.v = __ldcs(a.V + i);
    if (HOW == FAB_STEP_ADAM) {
        x.m_c = __ldcs(a.of_c.m + i), x.v_c = __ldcs(a.of_c.v + i);
        x.m_gamma = __ldcs(a.of_gamma.m + i), x.v_gamma = __ldcs(a.of_gamma.v + i);
    }
    return x;
}

/* Gradients of a row; SEVERAL: there may be other draws than the first. */
template <class T, int K, bool SEVERAL>
__device__ __forceinline__ void slopes(const StepPass<T, K> &a, int64_t i, const RowNumbers<T> &x, const T *row, T sd, const T *z,
                                       T &gc, T &gg, T *of_F)
{
    enum { ROWS = Tile<T>::ROWS };
    const T inverse = reciprocal(sd);
    gc = gg = 0;
#pragma unroll
    for (int k = 0; k < K; k++) of_F[k] = 0;
    for (int l = 0; l < a.L; l++) {
        const T noise = a.sign[l] * z[a.place[l] * ROWS];
        T v = a.scale[l] * (l == 0 ? x.v : SEVERAL && l == 1 ? x.second : __ldcs(a.V + (int64_t)l * a.n + i));
        if (a.path) {
            T theta = fma(sd, noise, x.c), fy = 0;
#pragma unroll
            for (int k = 0; k < K; k++) theta = fma(row[k], a.h[l][k], theta), fy = fma(row[k], a.y[l][k], fy);
            v = fma(a.alpha, theta, v) - a.weight * inverse * fma(fy, inverse, noise);
        }
        v *= a.over_L;
        gc += v;
        gg = fma(v, noise, gg);
#pragma unroll
        for (int k = 0; k < K; k++) of_F[k] = fma(v, a.h[l][k], of_F[k]);
    }
    gg *= sd;
    if (!a.path) {
        const T by = a.weight * inverse * inverse;
        T quad = 0;
#pragma unroll
        for (int k = 0; k < K; k++) {
            T e = 0;
#pragma unroll
            for (int j = 0; j < K; j++) e = fma(a.Minv[j + k * K], row[j], e);
            quad = fma(row[k], e, quad);
            of_F[k] = fma(a.alpha, row[k], of_F[k]) - by * e;
        }
        gc = fma(a.alpha, x.c, gc);
        gg += a.alpha * sd * sd - a.weight + by * quad;
    }
    gg /= 2;
}

/* Lines 4 - 10 of vifa.c for the rows of a chunk: rings and sums as in pass_rows; of Adam the moments of F ride along. */
template <class T, int K, int HOW, bool SEVERAL>
__global__ void __launch_bounds__(WARPS * 32, sizeof(T) == 4 ? 3 : 2) step_rows(const __grid_constant__ StepPass<T, K> a)
{
    enum { ROWS = Tile<T>::ROWS, EACH = Tile<T>::EACH, ROW = Size<K>::ROW, TILE = ROWS * K, GRAM = K * (K + 1) / 2 };
    enum { NORMS = HOW == FAB_STEP_NORMS, MOVES = HOW >= FAB_STEP_PLAIN, ADAM = HOW == FAB_STEP_ADAM };
    enum { COUNT = NORMS ? 3 : GRAM + 2, ARRAYS = ADAM ? 3 : 1 };
    extern __shared__ __align__(16) char shared[];
    const int lane = threadIdx.x & 31, warp = threadIdx.x / 32;
    const int64_t chunk = (int64_t)blockIdx.x * WARPS + warp, first = chunk * a.chunk;
    if (first >= a.n) return;
    const int64_t last = first + a.chunk < a.n ? first + a.chunk : a.n;
    T *ring = (T *)shared + warp * ROWS * (STAGES * ARRAYS * K + MOST_DRAWS), *z = ring + STAGES * ARRAYS * TILE;
    T *const array[3] = {a.F, a.of_F.m, a.of_F.v};
    Sums<T, COUNT> sums;
    int beyond = 0;
    sums.begin();
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) {
        if (K > 0 && first + s * ROWS < last)
#pragma unroll
            for (int b = 0; b < ARRAYS; b++) fetch_rows<T, ROW>(array[b], a.n, first + s * ROWS, ring + (s * ARRAYS + b) * TILE);
        copies_end();
    }
    RowNumbers<T> ahead[EACH];
#pragma unroll
    for (int e = 0; e < EACH; e++) ahead[e] = read_row<T, K, HOW>(a, first + e * 32 + lane);
    int slot = 0;
    for (int64_t r = first; r < last; r += ROWS) {
        copies_wait<STAGES - 2>();
        __syncwarp();
        T *tile = ring + slot * ARRAYS * TILE;
        {
            int free = slot + STAGES - 1;
            if (free >= STAGES) free -= STAGES;
            const int64_t f = r + (STAGES - 1) * ROWS;
            if (K > 0 && f < last)
#pragma unroll
                for (int b = 0; b < ARRAYS; b++) fetch_rows<T, ROW>(array[b], a.n, f, ring + (free * ARRAYS + b) * TILE);
            copies_end();
        }
        RowNumbers<T> now[EACH];
#pragma unroll
        for (int e = 0; e < EACH; e++) now[e] = ahead[e];
        if (r + ROWS < last)
#pragma unroll
            for (int e = 0; e < EACH; e++) ahead[e] = read_row<T, K, HOW>(a, r + ROWS + e * 32 + lane);
        if (SEVERAL) /* that of the second comes while normals are made */
#pragma unroll
            for (int e = 0; e < EACH; e++) {
                const int64_t i = r + e * 32 + lane;
                now[e].second = a.L > 1 && i < last ? __ldcs(a.V + a.n + i) : (T)0;
            }
        if (HOW != FAB_STEP_NOTHING) {
            for (int l = 0; l < a.L; l++) {
                if (l > 0 && a.place[l] == a.place[l - 1]) continue;
                const Address at = {a.seed, a.stream[l], (uint32_t)FAB_PURPOSE_DRAW};
                make_normals<T>(at, r, z + a.place[l] * ROWS);
            }
            __syncwarp();
        }
#pragma unroll
        for (int e = 0; e < EACH; e++) {
            const int64_t i = r + e * 32 + lane;
            const bool there = i < last;
            RowNumbers<T> x = now[e];
            T row[ROW], of_F[ROW], gc = 0, gg = 0, *at = tile + (e * 32 + lane) * K;
            load_row_of<T, K>(at, row); /* whatever stands behind the last is not used */
            if (!there)
#pragma unroll
                for (int k = 0; k < K; k++) row[k] = 0;
            if (HOW != FAB_STEP_NOTHING && there) {
                slopes<T, K, SEVERAL>(a, i, x, row, exponential(x.gamma / 2), z + e * 32 + lane, gc, gg, of_F);
                const bool finite = isfinite(gc * gc + gg * gg);
                if (MOVES && finite) {
                    move<T, HOW>(a.adam, a.of_c, gc, x.m_c, x.v_c, x.c);
                    __stcs(a.c + i, x.c);
                    if (ADAM) __stcs(a.of_c.m + i, x.m_c), __stcs(a.of_c.v + i, x.v_c);
                }
                if (MOVES && finite && a.spreads) {
                    move<T, HOW>(a.adam, a.of_gamma, gg, x.m_gamma, x.v_gamma, x.gamma);
                    __stcs(a.gamma + i, x.gamma);
                    if (ADAM) __stcs(a.of_gamma.m + i, x.m_gamma), __stcs(a.of_gamma.v + i, x.v_gamma);
                    T m[ROW], v[ROW];
                    if (ADAM) load_row_of<T, K>(at + TILE, m), load_row_of<T, K>(at + 2 * TILE, v);
#pragma unroll
                    for (int k = 0; k < K; k++) move<T, HOW>(a.adam, a.of_F, of_F[k], m[k], v[k], row[k]);
                    if (ADAM) store_row_of<T, K>(at + TILE, m), store_row_of<T, K>(at + 2 * TILE, v);
                    store_row_of<T, K>(at, row);
                }
            }
            beyond += there && !(fabs(x.gamma) <= a.most);
            if (NORMS) {
                T square = 0;
#pragma unroll
                for (int k = 0; k < K; k++) square = there ? fma(of_F[k], of_F[k], square) : (T)0;
                sums.s[0] = fma(gc, gc, sums.s[0]);
                sums.s[1] = fma(gg, gg, sums.s[1]);
                sums.s[NORMS ? 2 : 0] += square;
            } else {
                const T h = exponential(-x.gamma / 2);
                T p[ROW];
#pragma unroll
                for (int j = 0; j < K; j++) p[j] = row[j] * h;
#pragma unroll
                for (int j = 0, q = 0; j < K; j++)
#pragma unroll
                    for (int k = 0; k <= j; k++, q++) sums.s[q] = fma(p[k], p[j], sums.s[q]);
                sums.s[GRAM] = fma(gc, gc, sums.s[GRAM]);
                sums.s[GRAM + 1] = fma(gg, gg, sums.s[GRAM + 1]);
            }
        }
        if (K > 0 && MOVES && a.spreads) {
            __syncwarp();
#pragma unroll
            for (int b = 0; b < ARRAYS; b++) store_rows<T, ROW>(array[b], a.n, r, tile + b * TILE);
            __syncwarp();
        }
        if (++slot == STAGES) slot = 0;
        if ((r + ROWS - first) % BLOCK_ROWS == 0 || r + ROWS >= last) sums.flush(lane);
    }
    double *to = a.parts + chunk * (COUNT + 1);
    sums.leave(to, lane);
    for (int w = 16; w >= 1; w >>= 1) beyond += __shfl_xor_sync(~0u, beyond, w);
    if (lane == 0) to[COUNT] = beyond;
}

template <class T, int K, int HOW, bool SEVERAL> void launch_step(const fab_run *r, fab_step *s, StepPass<T, K> &a)
{
    enum { GRAM = K * (K + 1) / 2, NORMS = HOW == FAB_STEP_NORMS, COUNT = (NORMS ? 3 : GRAM + 2) + 1 };
    static bool raised;
    Room room = room_of(r, a.n);
    a.chunk = chunk_rows(a.n, COUNT);
    const int64_t chunks = chunk_count(a.n, COUNT);
    a.parts = room.take<double>(chunks * COUNT);
    const int arrays = HOW == FAB_STEP_ADAM ? 3 : 1;
    const size_t bytes = allow_once(step_rows<T, K, HOW, SEVERAL>,
                                    (size_t)(WARPS * Tile<T>::ROWS * (STAGES * arrays * K + MOST_DRAWS)) * sizeof(T), &raised);
    step_rows<T, K, HOW, SEVERAL><<<blocks_of_chunks(a.n, a.chunk), WARPS * 32, bytes>>>(a);
    launched("a step");
    const double *sums = collect(&room, a.parts, chunks, COUNT);
    const int at = NORMS ? 0 : GRAM;
    s->squares[0] = sums[at], s->squares[1] = sums[at + 1], s->squares[2] = NORMS ? sums[2] : 0;
    s->beyond = whole(sums[COUNT - 1]);
    if (!NORMS && s->G) spread(sums, K, s->G, NULL);
}

template <class T, int K> void step_of(const fab_run *r, fab_step *s)
{
    StepPass<T, K> a = {};
    a.n = s->q.n, a.F = (T *)s->q.F, a.c = (T *)s->q.c, a.gamma = (T *)s->q.gamma, a.V = (const T *)s->V;
    a.L = (int)s->L, a.path = s->path, a.spreads = s->weight > 0;
    a.weight = (T)s->weight, a.alpha = (T)s->alpha, a.over_L = s->L > 0 ? (T)(1 / (double)s->L) : (T)0, a.most = (T)s->most;
    a.of_c = moves<T>(&s->c), a.of_gamma = moves<T>(&s->gamma), a.of_F = moves<T>(&s->F);
    a.adam.one = (T)(1 - s->b1), a.adam.two = (T)(1 - s->b2), a.adam.epsilon = (T)s->epsilon;
    for (int l = 0; l < a.L; l++) {
        const fab_draw *d = &s->draw[l];
        a.seed = d->seed, a.stream[l] = d->stream, a.sign[l] = (T)d->sign, a.scale[l] = (T)d->scale;
        a.place[l] = l == 0 ? 0 : a.place[l - 1] + (d->stream != s->draw[l - 1].stream);
        for (int k = 0; k < K; k++) a.h[l][k] = (T)d->h[k], a.y[l][k] = s->path && s->weight > 0 ? (T)d->y[k] : (T)0;
    }
    for (int e = 0; e < K * K && s->Minv; e++) a.Minv[e] = (T)s->Minv[e];
    const bool several = a.L > 1; /* an instance of its own: one draw waits for less */
    switch (s->kind) {
    case FAB_STEP_NOTHING: launch_step<T, K, FAB_STEP_NOTHING, false>(r, s, a); break;
    case FAB_STEP_NORMS: launch_step<T, K, FAB_STEP_NORMS, false>(r, s, a); break;
    case FAB_STEP_PLAIN:
        if (several)
            launch_step<T, K, FAB_STEP_PLAIN, true>(r, s, a);
        else
            launch_step<T, K, FAB_STEP_PLAIN, false>(r, s, a);
        break;
    case FAB_STEP_ADAM:
        if (several)
            launch_step<T, K, FAB_STEP_ADAM, true>(r, s, a);
        else
            launch_step<T, K, FAB_STEP_ADAM, false>(r, s, a);
        break;
    }
}

/* Any rank and any number of draws: a block takes a chunk, tiles of rows stand in shared memory, a warp takes a row. */
template <class T> struct StepAny {
    int64_t n, chunk, count;
    int rows, K, L, how, path, spreads;
    T *F, *c, *gamma;
    const T *V, *h, *y, *Minv; /* h, y: K of each draw */
    const double *draw;        /* of each sign, scale, and its stream in two numbers */
    uint64_t seed;
    T weight, alpha, over_L, most;
    Moves<T> of_c, of_gamma, of_F;
    Adam<T> adam;
    double *parts;
};

template <class T> __device__ T dot_over_warp(int K, const T *a, const T *b)
{
    T s = 0;
    for (int k = threadIdx.x & 31; k < K; k += 32) s = fma(a[k], b[k], s);
    return over_warp(s);
}

/* Row i from f; its gradient of F in g; squares and whether |gamma| is beyond. */
template <class T> __device__ void step_row(const StepAny<T> &s, int64_t i, T *f, T *g, double *out)
{
    const int lane = threadIdx.x & 31, K = s.K;
    T c = s.c[i], gamma = s.gamma[i], gc = 0, gg = 0, none_m = 0, none_v = 0;
    const T sd = exponential(gamma / 2), inverse = 1 / sd;
    for (int k = lane; k < K; k += 32) g[k] = 0;
    for (int l = 0; l < s.L; l++) {
        const double *d = s.draw + 4 * l;
        const Address at = {s.seed, (uint64_t)d[2] << 32 | (uint64_t)d[3], (uint32_t)FAB_PURPOSE_DRAW};
        const T noise = (T)d[0] * normal_at<T>(at, i);
        T v = (T)d[1] * s.V[(int64_t)l * s.n + i];
        if (s.path) {
            const T fh = dot_over_warp(K, f, s.h + l * K), fy = dot_over_warp(K, f, s.y + l * K);
            v = fma(s.alpha, fma(sd, noise, c) + fh, v) - s.weight * inverse * fma(fy, inverse, noise);
        }
        v *= s.over_L;
        gc += v;
        gg = fma(v, noise, gg);
        for (int k = lane; k < K; k += 32) g[k] = fma(v, s.h[l * K + k], g[k]);
    }
    gg *= sd;
    if (!s.path) {
        const T by = s.weight * inverse * inverse;
        T quad = 0;
        for (int k = lane; k < K; k += 32) {
            T e = 0;
            for (int j = 0; j < K; j++) e = fma(s.Minv[k + j * K], f[j], e);
            quad = fma(f[k], e, quad);
            g[k] = fma(s.alpha, f[k], g[k]) - by * e;
        }
        gc = fma(s.alpha, c, gc);
        gg += s.alpha * sd * sd - s.weight + by * over_warp(quad);
    }
    gg /= 2;
    const T square = dot_over_warp(K, g, g);
    __syncwarp(); /* all have read f */
    const bool adam = s.how == FAB_STEP_ADAM, stays = s.how < FAB_STEP_PLAIN || !isfinite(gc * gc + gg * gg);
    if (!stays && s.spreads)
        for (int k = lane; k < K; k += 32) {
            if (adam)
                move<T, FAB_STEP_ADAM>(s.adam, s.of_F, g[k], s.of_F.m[i * K + k], s.of_F.v[i * K + k], f[k]);
            else
                move<T, FAB_STEP_PLAIN>(s.adam, s.of_F, g[k], none_m, none_v, f[k]);
        }
    if (lane == 0 && !stays) {
        if (adam)
            move<T, FAB_STEP_ADAM>(s.adam, s.of_c, gc, s.of_c.m[i], s.of_c.v[i], c);
        else
            move<T, FAB_STEP_PLAIN>(s.adam, s.of_c, gc, none_m, none_v, c);
        s.c[i] = c;
        if (s.spreads) {
            if (adam)
                move<T, FAB_STEP_ADAM>(s.adam, s.of_gamma, gg, s.of_gamma.m[i], s.of_gamma.v[i], gamma);
            else
                move<T, FAB_STEP_PLAIN>(s.adam, s.of_gamma, gg, none_m, none_v, gamma);
            s.gamma[i] = gamma;
        }
    }
    if (lane == 0) out[0] = (double)gc * gc, out[1] = (double)gg * gg, out[2] = square;
}

template <class T> __global__ void step_any_rows(const StepAny<T> s)
{
    extern __shared__ __align__(16) char shared[];
    const int K = s.K, warp = threadIdx.x / 32, warps = blockDim.x / 32, lane = threadIdx.x & 31;
    double *out = (double *)shared; /* 4 of a row */
    T *f = (T *)(out + 4 * s.rows), *g = f + s.rows * K, *h = g + s.rows * K;
    const View<T> F = {s.F, K, K, 1};
    const int64_t first = blockIdx.x * s.chunk, last = first + s.chunk < s.n ? first + s.chunk : s.n;
    double *parts = s.parts + blockIdx.x * s.count;
    for (int64_t o = threadIdx.x; o < s.count; o += blockDim.x) parts[o] = 0;
    for (int64_t r = first; r < last; r += s.rows) {
        const int m = last - r < s.rows ? (int)(last - r) : s.rows;
        __syncthreads();
        read_rows(F, r, m, f);
        __syncthreads();
        for (int i = warp; i < m; i += warps) {
            if (lane == 0) out[4 * i] = out[4 * i + 1] = out[4 * i + 2] = 0;
            if (s.how != FAB_STEP_NOTHING) step_row(s, r + i, f + i * K, g + i * K, out + 4 * i);
            if (lane == 0) {
                const T gamma = s.gamma[r + i];
                out[4 * i + 3] = !(fabs(gamma) <= s.most);
                h[i] = exponential(-gamma / 2);
            }
        }
        __syncthreads();
        if (threadIdx.x < 4)
            for (int i = 0; i < m; i++) parts[K * K + threadIdx.x] += out[4 * i + threadIdx.x];
        if (s.how != FAB_STEP_NORMS) add_products(f, K, f, K, h, m, parts);
        for (int o = threadIdx.x; o < m * K && s.how >= FAB_STEP_PLAIN && s.spreads; o += blockDim.x) s.F[r * K + o] = f[o];
    }
}

template <class T> void step_any(const fab_run *r, fab_step *s)
{
    Room room = room_of(r, s->q.n);
    const int64_t K = s->q.K, L = s->L, numbers = 2 * K + 1 + 4 * (int64_t)(sizeof(double) / sizeof(T));
    StepAny<T> a = {};
    double *host = (double *)heap.alloc((size_t)(L * (2 * K + 4) + 1) * sizeof *host);
    if (!host) {
        heed(cudaErrorMemoryAllocation, "a step");
        return;
    }
    double *draws = host + 2 * L * K;
    for (int64_t l = 0; l < L; l++) {
        const fab_draw *d = &s->draw[l];
        for (int64_t k = 0; k < K; k++)
            host[l * K + k] = d->h[k], host[(L + l) * K + k] = s->path && s->weight > 0 ? d->y[k] : 0;
        draws[4 * l] = d->sign, draws[4 * l + 1] = d->scale;
        draws[4 * l + 2] = (double)(d->stream >> 32), draws[4 * l + 3] = (double)(d->stream & 0xffffffffu);
        a.seed = d->seed;
    }
    a.h = small<T>(&room, host, L * K), a.y = small<T>(&room, host + L * K, L * K), a.draw = small<double>(&room, draws, 4 * L);
    a.Minv = small<T>(&room, s->Minv, K * K);
    heap.release(host);
    a.n = s->q.n, a.F = (T *)s->q.F, a.c = (T *)s->q.c, a.gamma = (T *)s->q.gamma, a.V = (const T *)s->V;
    a.K = (int)K, a.L = (int)L, a.how = s->kind, a.path = s->path, a.spreads = s->weight > 0, a.rows = tile_rows<T>(numbers);
    a.weight = (T)s->weight, a.alpha = (T)s->alpha, a.over_L = L > 0 ? (T)(1 / (double)L) : (T)0, a.most = (T)s->most;
    a.of_c = moves<T>(&s->c), a.of_gamma = moves<T>(&s->gamma), a.of_F = moves<T>(&s->F);
    a.adam.one = (T)(1 - s->b1), a.adam.two = (T)(1 - s->b2), a.adam.epsilon = (T)s->epsilon;
    a.count = K * K + 4;
    a.chunk = chunk_rows(a.n, a.count);
    const int64_t chunks = chunk_count(a.n, a.count);
    a.parts = room.take<double>(chunks * a.count);
    const size_t bytes = allow_bytes(step_any_rows<T>, (size_t)(a.rows * numbers) * sizeof(T));
    step_any_rows<T><<<(unsigned)chunks, THREADS, bytes>>>(a);
    launched("a step");
    const double *sums = collect(&room, a.parts, chunks, a.count);
    for (int j = 0; j < 3; j++) s->squares[j] = sums[K * K + j];
    s->beyond = whole(sums[K * K + 3]);
    if (s->G && s->kind != FAB_STEP_NORMS) memcpy(s->G, sums, (size_t)(K * K) * sizeof *s->G);
}

template <class T> void step(const fab_run *r, fab_step *s)
{
    if (s->q.K <= FAST && s->L <= MOST_DRAWS) {
#define CALL(K) step_of<T, K>(r, s)
        BY_RANK_0(s->q.K, CALL)
#undef CALL
    } else
        step_any<T>(r, s);
}

template <class T> void gauss_sums(const fab_run *r, const fab_far_gauss *q, double *out)
{
    const T *c = (const T *)q->c, *gamma = (const T *)q->gamma;
    out[0] = reduce(r, q->n, false, [=] __device__(int64_t i) { return (double)c[i] * (double)c[i]; });
    out[1] = reduce(r, q->n, false, [=] __device__(int64_t i) { return (double)exponential(gamma[i]); });
    out[2] = reduce(r, q->n, false, [=] __device__(int64_t i) { return (double)gamma[i]; });
    out[3] = reduce(r, q->n, true, [=] __device__(int64_t i) { return fabs((double)gamma[i]); });
}

template <class T, class X> int64_t bring_row(const fab_run *r, int64_t n, const X *x, T *to, int64_t rs)
{
    return whole(reduce(r, n, false, [=] __device__(int64_t i) {
        const T v = (T)x[i];
        to[i * rs] = v;
        return isfinite(v) ? 0.0 : 1.0;
    }));
}

template <class T> int64_t bring(const fab_run *r, const fab_rows *row, const fab_long *X)
{
    const void *from = upload(r, row, 0, X->n);
    if (row->type == FAB_F64) return bring_row(r, X->n, (const double *)from, (T *)X->p, X->rs);
    return bring_row(r, X->n, (const float *)from, (T *)X->p, X->rs);
}

/* ---- the tables ------------------------------------------------------------------------------------------ */

template <class T> fab_vectors vectors_of()
{
    fab_vectors v = {};
    v.size = sizeof(T), v.flag = 1;
    v.get = get_vector<T>, v.put = put_vector<T>, v.get_flags = get_flags, v.put_flags = put_flags;
    v.fetch = fetch, v.store = store, v.sum = sum<T>, v.largest = largest<T>, v.unmarked = unmarked;
    v.fill = fill<T>, v.copy = copy<T>, v.map = map<T>, v.blend = blend<T>, v.choose = choose<T>;
    v.round = round_to<T>, v.normals = normals<T>, v.floor = floor_of<T>, v.ascend = ascend<T>, v.centre = centre<T>;
    v.welford = welford<T>, v.bring = bring<T>;
    v.draw = draw<T>, v.project = project<T>, v.step = step<T>, v.gauss_sums = gauss_sums<T>;
    return v;
}

template <class T> fab_ops table_of(fab_dtype type, const fab_ops *const *by_type, const fab_vectors *v)
{
    fab_ops o = {};
    o.backend = "cuda", o.type = type, o.size = sizeof(T), o.by_type = by_type, o.vectors = v, o.memory = &memory;
    o.fault = fault, o.work = work;
    o.gram = gram<T>, o.cross = cross<T>, o.colquad = colquad<T>, o.mult = mult<T>, o.rowquad = rowquad<T>;
    o.rowdot = rowdot<T>, o.axpy = axpy<T>, o.load = load<T>, o.get = get<T>, o.put = put<T>, o.zero = zero<T>;
    o.randn = randn<T>, o.sweep = sweep<T>;
    return o;
}

} // namespace

extern "C" int fab_cuda_open(int number, const fab_memory *host, const fab_ops *const **tables, char *why, size_t size)
{
    static fab_vectors vectors[2];
    static fab_ops ops[2];
    static const fab_ops *by_type[2];
    int count = 0;
    const cudaError_t e = cudaGetDeviceCount(&count);
    if (e != cudaSuccess || count == 0) {
        snprintf(why, size, "%s", e == cudaSuccess ? "there is no card" : cudaGetErrorString(e));
        return 0;
    }
    if (number >= count) {
        snprintf(why, size, "there is no card %d; %d %s here, counted from 0", number, count, count == 1 ? "is" : "are");
        return 0;
    }
    if (by_type[0] && number != device) {
        snprintf(why, size, "the card %d is in use, and one process works on one card", device);
        return 0;
    }
    device = number;
    heap = *host;
    if (cudaSetDevice(device) != cudaSuccess) {
        snprintf(why, size, "the card %d: %s", device, cudaGetErrorString(cudaGetLastError()));
        return 0;
    }
    vectors[0] = vectors_of<double>(), vectors[1] = vectors_of<float>();
    by_type[0] = &ops[0], by_type[1] = &ops[1];
    ops[0] = table_of<double>(FAB_F64, by_type, &vectors[0]);
    ops[1] = table_of<float>(FAB_F32, by_type, &vectors[1]);
    *tables = by_type;
    return 1;
}
