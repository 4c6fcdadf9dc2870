/* Launches an exported product, c = a · bᵀ in bf16, from C: its result, what loading and a launch cost. Built by export.py:
   -DHEADER='"gemm.h"' -DNAME='"gemm"' -DLOAD=gemm_load -DLAUNCH=gemm_launch -DERROR=gemm_last_error */
#include HEADER

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The CUDA driver, without its header and opened as the export opens it. */
typedef unsigned long long CUdeviceptr;
static int (*cuInit)(unsigned);
static int (*cuDeviceGet)(int *, int);
static int (*cuDevicePrimaryCtxRetain)(void **, int);
static int (*cuCtxSetCurrent)(void *);
static int (*cuCtxGetCurrent)(void **);
static int (*cuCtxSynchronize)(void);
static int (*cuMemAlloc_v2)(CUdeviceptr *, size_t);
static int (*cuMemFree_v2)(CUdeviceptr);
static int (*cuMemcpyHtoD_v2)(CUdeviceptr, const void *, size_t);
static int (*cuMemcpyDtoH_v2)(void *, CUdeviceptr, size_t);
static int (*cuStreamCreate)(struct CUstream_st **, unsigned);
static int (*cuStreamSynchronize)(struct CUstream_st *);

static void open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (!library) {
        fprintf(stderr, "no driver: %s\n", dlerror());
        exit(1);
    }
#define FIND(name) *(void **)&name = dlsym(library, #name)
    FIND(cuInit);
    FIND(cuDeviceGet);
    FIND(cuDevicePrimaryCtxRetain);
    FIND(cuCtxSetCurrent);
    FIND(cuCtxGetCurrent);
    FIND(cuCtxSynchronize);
    FIND(cuMemAlloc_v2);
    FIND(cuMemFree_v2);
    FIND(cuMemcpyHtoD_v2);
    FIND(cuMemcpyDtoH_v2);
    FIND(cuStreamCreate);
    FIND(cuStreamSynchronize);
}

static void check(int result, const char *what)
{
    if (result != 0) {
        fprintf(stderr, "%s: CUDA error %d\n", what, result);
        exit(1);
    }
}
#define CUDA(call) check(call, #call)

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e3 * (double)time.tv_sec + 1e-6 * (double)time.tv_nsec;
}

static float of_bf16(uint16_t bits)
{
    uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

/* Values from -1 to 1, cut to bf16. */
static uint16_t *random_matrix(size_t count, uint32_t seed)
{
    uint16_t *values = malloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++) {
        float value;
        uint32_t word;
        seed = seed * 1664525u + 1013904223u;
        value = (float)(int32_t)seed / 2147483648.0f;
        memcpy(&word, &value, sizeof word);
        values[i] = (uint16_t)(word >> 16);
    }
    return values;
}

static CUdeviceptr to_device(const uint16_t *values, size_t count)
{
    CUdeviceptr address;
    CUDA(cuMemAlloc_v2(&address, 2 * count));
    CUDA(cuMemcpyHtoD_v2(address, values, 2 * count));
    return address;
}

static DLTensor matrix(CUdeviceptr address, int64_t *shape)
{
    DLTensor tensor = {(void *)(uintptr_t)address, {kDLCUDA, 0}, 2, {kDLBfloat, 16, 1}, shape, NULL, 0};
    return tensor;
}

static int wrong;

static void product(int64_t m, int64_t n, int64_t k, struct CUstream_st *stream)
{
    size_t of_a = (size_t)(m * k), of_b = (size_t)(n * k), of_c = (size_t)(m * n);
    uint16_t *a = random_matrix(of_a, 1), *b = random_matrix(of_b, 2), *c = malloc(2 * of_c);
    int64_t shape_a[] = {m, k}, shape_b[] = {n, k}, shape_c[] = {m, n};
    double worst = 0;
    memset(c, 0xFF, 2 * of_c);
    CUdeviceptr da = to_device(a, of_a), db = to_device(b, of_b), dc = to_device(c, of_c);
    DLTensor ta = matrix(da, shape_a), tb = matrix(db, shape_b), tc = matrix(dc, shape_c);
    if (LAUNCH(&ta, &tb, &tc, stream) != CUTEC_OK) {
        printf(NAME ": %s\n", ERROR());
        exit(1);
    }
    CUDA(cuStreamSynchronize(stream));
    CUDA(cuMemcpyDtoH_v2(c, dc, 2 * of_c));
    /* Some rows, against sums in f64. */
    for (int64_t i = 0; i < m; i += m > 64 ? m / 16 : 1) {
        for (int64_t j = 0; j < n; j++) {
            double sum = 0, error;
            for (int64_t l = 0; l < k; l++)
                sum += (double)of_bf16(a[i * k + l]) * of_bf16(b[j * k + l]);
            error = fabs(of_bf16(c[i * n + j]) - sum) / fmax(fabs(sum), sqrt((double)k) / 3);
            worst = error <= worst ? worst : error;
        }
    }
    /* One rounding to bf16, and sums in f32. */
    if (!(worst < 1.0 / 128))
        wrong = 1;
    printf(NAME " %lld x %lld x %lld: largest error %.2e: %s\n", (long long)m, (long long)n, (long long)k, worst,
           worst < 1.0 / 128 ? "ok" : "WRONG");
    CUDA(cuMemFree_v2(da)), CUDA(cuMemFree_v2(db)), CUDA(cuMemFree_v2(dc));
    free(a), free(b), free(c);
}

int main(void)
{
    enum { LAUNCHES = 2000 };
    void *context, *current;
    struct CUstream_st *stream;
    int device;
    double start, loaded, first, again, best = 1e9;
    open_driver();
    CUDA(cuInit(0));
    CUDA(cuDeviceGet(&device, 0));
    CUDA(cuDevicePrimaryCtxRetain(&context, device));
    CUDA(cuCtxSetCurrent(context));
    CUDA(cuStreamCreate(&stream, 1));

    /* The context is there: what is left is the code. */
    start = now();
    if (LOAD(0) != CUTEC_OK) {
        printf(NAME ": %s\n", ERROR());
        return 1;
    }
    loaded = now();
    int64_t small_a[] = {128, 64}, small_b[] = {256, 64}, small_c[] = {128, 256};
    CUdeviceptr memory;
    CUDA(cuMemAlloc_v2(&memory, 1 << 20));
    DLTensor a = matrix(memory, small_a), b = matrix(memory + (1 << 16), small_b), c = matrix(memory + (1 << 18), small_c);
    double before = now();
    if (LAUNCH(&a, &b, &c, stream) != CUTEC_OK) {
        printf(NAME ": %s\n", ERROR());
        return 1;
    }
    first = now();
    CUDA(cuStreamSynchronize(stream));
    for (int round = 0; round < 20; round++) {
        double begin = now();
        for (int i = 0; i < LAUNCHES / 20; i++)
            LAUNCH(&a, &b, &c, stream);
        again = (now() - begin) / (LAUNCHES / 20);
        best = again < best ? again : best;
        CUDA(cuStreamSynchronize(stream));
    }
    printf(NAME ": load %.3f ms, first launch %.3f ms, a launch %.2f us\n", loaded - start, first - before, 1e3 * best);
    if (loaded - start + first - before >= 1.0)
        printf(NAME ": loading and the first launch take 1 ms or more: EXPECTED LESS\n");

    /* Arguments that are refused, without a launch. */
    small_b[1] = 72;
    if (LAUNCH(&a, &b, &c, stream) != CUTEC_TIED_EXTENT) {
        printf(NAME ": WRONG: extents that differ are not refused\n");
        wrong = 1;
    }
    printf(NAME ": %s\n", ERROR());
    small_b[1] = 64;

    /* No context is current, and none is made so. */
    CUDA(cuCtxSetCurrent(NULL));
    if (LAUNCH(&a, &b, &c, stream) != CUTEC_OK || cuCtxGetCurrent(&current) != 0 || current != NULL) {
        printf(NAME ": WRONG: without a current context: %s\n", ERROR());
        wrong = 1;
    }
    CUDA(cuCtxSetCurrent(context));
    CUDA(cuStreamSynchronize(stream));

    product(128, 256, 64, stream);
    product(100, 72, 40, stream);
    product(1, 8, 8, stream);
    product(1024, 1024, 1024, stream);
    product(2048, 512, 4096, stream);
    return wrong;
}
