/* What the programs here share that launch kernels from C: the CUDA driver, random matrices, and what a product is. A header that has
   DLPack's structures is included before. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The CUDA driver, without its header and opened as the export opens it. */
typedef unsigned long long CUdeviceptr;
struct CUstream_st;
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
static int (*cuStreamBeginCapture_v2)(struct CUstream_st *, int);
static int (*cuStreamEndCapture)(struct CUstream_st *, void **);
static int (*cuGraphInstantiateWithFlags)(void **, void *, unsigned long long);
static int (*cuGraphLaunch)(void *, struct CUstream_st *);
static int (*cuCtxCreate_v2)(void **, unsigned, int);

static inline void open_driver(void)
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
    FIND(cuStreamBeginCapture_v2);
    FIND(cuStreamEndCapture);
    FIND(cuGraphInstantiateWithFlags);
    FIND(cuGraphLaunch);
    FIND(cuCtxCreate_v2);
}

static inline void check(int result, const char *what)
{
    if (result != 0) {
        fprintf(stderr, "%s: CUDA error %d\n", what, result);
        exit(1);
    }
}
#define CUDA(call) check(call, #call)

static inline double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e3 * (double)time.tv_sec + 1e-6 * (double)time.tv_nsec;
}

static inline float of_bf16(uint16_t bits)
{
    uint32_t word = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

/* Values from -1 to 1, cut to bf16. */
static inline uint16_t *random_matrix(size_t count, uint32_t seed)
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

static inline CUdeviceptr to_device(const uint16_t *values, size_t count)
{
    CUdeviceptr address;
    CUDA(cuMemAlloc_v2(&address, 2 * count));
    CUDA(cuMemcpyHtoD_v2(address, values, 2 * count));
    return address;
}

static inline DLTensor matrix(CUdeviceptr address, int64_t *shape)
{
    DLTensor tensor = {(void *)(uintptr_t)address, {kDLCUDA, 0}, 2, {kDLBfloat, 16, 1}, shape, NULL, 0};
    return tensor;
}

/* The largest error of a product c = a · bᵀ in bf16 in some rows, against sums in f64, relative to them or to what an element is like. */
static inline double product_error(const uint16_t *a, const uint16_t *b, const uint16_t *c, int64_t m, int64_t n, int64_t k)
{
    double worst = 0;
    for (int64_t i = 0; i < m; i += m > 64 ? m / 16 : 1) {
        for (int64_t j = 0; j < n; j++) {
            double sum = 0, error;
            for (int64_t l = 0; l < k; l++)
                sum += (double)of_bf16(a[i * k + l]) * of_bf16(b[j * k + l]);
            error = fabs(of_bf16(c[i * n + j]) - sum) / fmax(fabs(sum), sqrt((double)k) / 3);
            worst = error <= worst ? worst : error;
        }
    }
    return worst;
}

/* One rounding to bf16, and sums in f32. */
#define PRODUCT_TOLERANCE (1.0 / 128)
