/* Launches an exported product, c = a · bᵀ in bf16, from C: its result, what loading and a launch cost. Built by export.py:
   -DHEADER='"gemm.h"' -DNAME='"gemm"' -DLOAD=gemm_load -DLAUNCH=gemm_launch -DERROR=gemm_last_error */
#include HEADER

#include "device.h"

static int wrong;

static void product(int64_t m, int64_t n, int64_t k, struct CUstream_st *stream)
{
    size_t of_a = (size_t)(m * k), of_b = (size_t)(n * k), of_c = (size_t)(m * n);
    uint16_t *a = random_matrix(of_a, 1), *b = random_matrix(of_b, 2), *c = malloc(2 * of_c);
    int64_t shape_a[] = {m, k}, shape_b[] = {n, k}, shape_c[] = {m, n};
    double worst;
    memset(c, 0xFF, 2 * of_c);
    CUdeviceptr da = to_device(a, of_a), db = to_device(b, of_b), dc = to_device(c, of_c);
    DLTensor ta = matrix(da, shape_a), tb = matrix(db, shape_b), tc = matrix(dc, shape_c);
    if (LAUNCH(&ta, &tb, &tc, stream) != CUTEC_OK) {
        printf(NAME ": %s\n", ERROR());
        exit(1);
    }
    CUDA(cuStreamSynchronize(stream));
    CUDA(cuMemcpyDtoH_v2(c, dc, 2 * of_c));
    worst = product_error(a, b, c, m, n, k);
    if (!(worst < PRODUCT_TOLERANCE))
        wrong = 1;
    printf(NAME " %lld x %lld x %lld: largest error %.2e: %s\n", (long long)m, (long long)n, (long long)k, worst,
           worst < PRODUCT_TOLERANCE ? "ok" : "WRONG");
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
