/* libcutec on this machine's GPU: compiles for it, loads, launches in given streams, checks results, and says what a launch costs.
   Built and run by libcutec.sh:  libcutec GEMM.cute GEMM_SM90.cute [PLAN]  */
#include <cutec.h>

#include "device.h"

#include <pthread.h>

static int wrong;
static cutec_error *error;

static void expect(bool right, const char *what)
{
    if (!right) {
        printf("WRONG: %s: %s\n", what, cutec_error_message(error));
        wrong = 1;
    }
}

/* Ends the program where a call fails that must not. */
static void must(int32_t status, const char *what)
{
    if (status != CUTEC_OK) {
        printf("WRONG: %s: %d: %s\n", what, status, cutec_error_message(error));
        exit(1);
    }
}
#define MUST(call) must(call, #call)

static const char AXPY[] = "kernel axpy(alpha: f32, x: tensor<f32, n>, y: mut tensor<f32, n>)\n"
                           "launch grid(ceil_div(n, 128)), block(128)\n"
                           "{ let i = block_idx.x * 128 + thread_idx.x; if i < n { y[i] = alpha * x[i] + y[i]; } }\n";

static DLTensor floats(CUdeviceptr address, int64_t *shape)
{
    DLTensor tensor = {(void *)(uintptr_t)address, {kDLCUDA, 0}, 1, {kDLFloat, 32, 1}, shape, NULL, 0};
    return tensor;
}

static CUdeviceptr constant(int64_t count, float value)
{
    float *values = malloc(4 * (size_t)count);
    CUdeviceptr address;
    for (int64_t i = 0; i < count; i++)
        values[i] = value;
    CUDA(cuMemAlloc_v2(&address, 4 * (size_t)count));
    CUDA(cuMemcpyHtoD_v2(address, values, 4 * (size_t)count));
    free(values);
    return address;
}

/* Whether all of `count` numbers are `value`. */
static bool are(CUdeviceptr address, int64_t count, float value)
{
    float *values = malloc(4 * (size_t)count);
    bool all = true;
    CUDA(cuMemcpyDtoH_v2(values, address, 4 * (size_t)count));
    for (int64_t i = 0; i < count; i++)
        all &= values[i] == value;
    free(values);
    return all;
}

static cutec_options *native(const char *kernel, const char *plan)
{
    cutec_options *options = cutec_options_new();
    MUST(cutec_options_set(options, "arch", "native", &error));
    if (kernel)
        MUST(cutec_options_set(options, "kernel", kernel, &error));
    if (plan)
        MUST(cutec_options_set(options, "plan", plan, &error));
    return options;
}

/* What a launch costs the host in microseconds, the least of 20 rounds. */
static double cost(cutec_loaded *loaded, const char *kernel, const cutec_argument *args, size_t count, struct CUstream_st *stream)
{
    double best = 1e9;
    for (int round = 0; round < 20; round++) {
        double begin = now(), each;
        for (int i = 0; i < 100; i++)
            MUST(cutec_launch(loaded, kernel, args, count, stream, &error));
        each = 1e3 * (now() - begin) / 100;
        best = each < best ? each : best;
        CUDA(cuStreamSynchronize(stream));
    }
    return best;
}

struct work {
    cutec_loaded *loaded;
    int64_t count;
};

/* Launches in a stream of its own. */
static void *launch_many(void *given)
{
    struct work *work = given;
    struct CUstream_st *stream;
    void *context;
    int device;
    int64_t shape[] = {work->count};
    CUDA(cuDeviceGet(&device, 0));
    CUDA(cuDevicePrimaryCtxRetain(&context, device));
    CUDA(cuCtxSetCurrent(context));
    CUDA(cuStreamCreate(&stream, 1));
    CUdeviceptr x = constant(work->count, 1), y = constant(work->count, 0);
    DLTensor tx = floats(x, shape), ty = floats(y, shape);
    cutec_argument args[] = {cutec_number(2), cutec_tensor(&tx), cutec_tensor(&ty)};
    cutec_error *failed = NULL;
    for (int i = 0; i < 500; i++)
        if (cutec_launch(work->loaded, "axpy", args, 3, stream, &failed) != CUTEC_OK) {
            printf("WRONG: a thread: %s\n", cutec_error_message(failed));
            wrong = 1;
            return NULL;
        }
    CUDA(cuStreamSynchronize(stream));
    if (!are(y, work->count, 1000)) {
        printf("WRONG: results of a thread\n");
        wrong = 1;
    }
    return NULL;
}

static void axpy(struct CUstream_st *stream, void *context)
{
    enum { COUNT = 5000 };
    cutec_module *module;
    cutec_loaded *loaded, *again;
    cutec_options *options = native(NULL, NULL);
    int64_t shape[] = {COUNT}, shorter[] = {COUNT - 1};
    double begin = now(), compiled, ready;
    MUST(cutec_compile("axpy.cute", AXPY, sizeof AXPY - 1, options, &module, &error));
    compiled = now();
    MUST(cutec_load(module, 0, NULL, &loaded, &error));
    ready = now();
    MUST(cutec_load(module, 0, NULL, &again, &error));
    cutec_module_free(module);
    cutec_options_free(options);

    CUdeviceptr x = constant(COUNT, 3), y = constant(COUNT, 1), z = constant(COUNT, 10);
    DLTensor tx = floats(x, shape), ty = floats(y, shape), tz = floats(z, shape), bad;
    cutec_argument args[] = {cutec_number(2), cutec_tensor(&tx), cutec_tensor(&ty)}, to_z[] = {cutec_number(-1), cutec_tensor(&tx), cutec_tensor(&tz)};
    double first = now();
    MUST(cutec_launch(loaded, "axpy", args, 3, stream, &error));
    first = now() - first;
    CUDA(cuStreamSynchronize(stream));
    expect(are(y, COUNT, 7), "y = 2 * 3 + 1");
    /* Seen before: other numbers and other memory. */
    MUST(cutec_launch(loaded, "axpy", to_z, 3, stream, &error));
    MUST(cutec_launch(again, "axpy", to_z, 3, NULL, &error));
    CUDA(cuCtxSynchronize());
    expect(are(z, COUNT, 4) && are(y, COUNT, 7), "z = 10 - 3 - 3");
    /* An empty tensor, and one element less. */
    int64_t none[] = {0};
    DLTensor ex = floats(0, none), ey = floats(0, none), sx = floats(x, shorter), sy = floats(y, shorter);
    cutec_argument empty[] = {cutec_number(2), cutec_tensor(&ex), cutec_tensor(&ey)}, fewer[] = {cutec_number(1), cutec_tensor(&sx), cutec_tensor(&sy)};
    MUST(cutec_launch(loaded, "axpy", empty, 3, stream, &error));
    MUST(cutec_launch(loaded, "axpy", fewer, 3, stream, &error));
    CUDA(cuStreamSynchronize(stream));
    expect(are(y, COUNT - 1, 10) && are(y + 4 * (COUNT - 1), 1, 7), "one element less");

    /* What is refused is so after a launch of the same shapes, too. */
#define REFUSED(expected, change) \
    (bad = tx, (void)(change), expect(cutec_launch(loaded, "axpy", refused, 3, stream, &error) == (expected), #change), \
     printf("  %s\n", cutec_error_message(error)), cutec_error_free(error), error = NULL)
    cutec_argument refused[] = {cutec_number(1), cutec_tensor(&bad), cutec_tensor(&ty)};
    REFUSED(CUTEC_ALIGN, bad.data = (char *)bad.data + 4);
    REFUSED(CUTEC_NULL, bad.data = NULL);
    REFUSED(CUTEC_TIED_EXTENT, bad.shape = shorter);
    REFUSED(CUTEC_DEVICE, bad.device.device_type = kDLCPU);
    REFUSED(CUTEC_DEVICE, bad.device.device_id = 7);
    REFUSED(CUTEC_DTYPE, bad.dtype.code = kDLInt);

    /* The current context: none, and another one. */
    void *current, *other;
    CUDA(cuCtxSetCurrent(NULL));
    MUST(cutec_launch(loaded, "axpy", args, 3, stream, &error));
    expect(cuCtxGetCurrent(&current) == 0 && !current, "no context is current, afterwards");
    if (cuCtxCreate_v2 && cuCtxCreate_v2(&other, 0, 0) == 0) {
        MUST(cutec_launch(loaded, "axpy", args, 3, stream, &error));
        expect(cuCtxGetCurrent(&current) == 0 && current == other, "another context is current, afterwards");
    }
    CUDA(cuCtxSetCurrent(context));
    CUDA(cuStreamSynchronize(stream));
    CUDA(cuMemcpyHtoD_v2(y, (float[]){0}, 4));

    /* A graph that is launched three times. */
    void *graph, *instance;
    CUdeviceptr w = constant(COUNT, 0);
    DLTensor tw = floats(w, shape);
    cutec_argument to_w[] = {cutec_number(1), cutec_tensor(&tx), cutec_tensor(&tw)};
    CUDA(cuStreamBeginCapture_v2(stream, 2));
    MUST(cutec_launch(loaded, "axpy", to_w, 3, stream, &error));
    CUDA(cuStreamEndCapture(stream, &graph));
    CUDA(cuGraphInstantiateWithFlags(&instance, graph, 0));
    for (int i = 0; i < 3; i++)
        CUDA(cuGraphLaunch(instance, stream));
    CUDA(cuStreamSynchronize(stream));
    expect(are(w, COUNT, 9), "a graph");

    pthread_t threads[4];
    struct work works[4];
    for (int i = 0; i < 4; i++) {
        works[i] = (struct work){loaded, 1000 + 100 * (i / 2)};
        pthread_create(&threads[i], NULL, launch_many, &works[i]);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("axpy: compiled in %.1f ms, loaded in %.1f ms, first launch %.1f us, a launch %.2f us", compiled - begin, ready - compiled,
           1e3 * first, cost(loaded, "axpy", args, 3, stream));
    /* Two sizes by turns. */
    double begun = now();
    for (int i = 0; i < 100; i++) {
        MUST(cutec_launch(loaded, "axpy", args, 3, stream, &error));
        MUST(cutec_launch(loaded, "axpy", fewer, 3, stream, &error));
    }
    printf(", two sizes by turns %.2f us\n", 1e3 * (now() - begun) / 200);
    CUDA(cuStreamSynchronize(stream));
    cutec_loaded_free(loaded);
    cutec_loaded_free(again);
}

static void product(cutec_loaded *loaded, const char *kernel, int64_t m, int64_t n, int64_t k, struct CUstream_st *stream)
{
    size_t of_a = (size_t)(m * k), of_b = (size_t)(n * k), of_c = (size_t)(m * n);
    uint16_t *a = random_matrix(of_a, 1), *b = random_matrix(of_b, 2), *c = malloc(2 * of_c);
    int64_t shape_a[] = {m, k}, shape_b[] = {n, k}, shape_c[] = {m, n};
    double worst;
    memset(c, 0xFF, 2 * of_c);
    CUdeviceptr da = to_device(a, of_a), db = to_device(b, of_b), dc = to_device(c, of_c);
    DLTensor ta = matrix(da, shape_a), tb = matrix(db, shape_b), tc = matrix(dc, shape_c);
    cutec_argument args[] = {cutec_tensor(&ta), cutec_tensor(&tb), cutec_tensor(&tc)};
    MUST(cutec_launch(loaded, kernel, args, 3, stream, &error));
    CUDA(cuStreamSynchronize(stream));
    CUDA(cuMemcpyDtoH_v2(c, dc, 2 * of_c));
    worst = product_error(a, b, c, m, n, k);
    wrong |= !(worst < PRODUCT_TOLERANCE);
    printf("%s %lld x %lld x %lld: largest error %.2e: %s\n", kernel, (long long)m, (long long)n, (long long)k, worst,
           worst < PRODUCT_TOLERANCE ? "ok" : "WRONG");
    CUDA(cuMemFree_v2(da)), CUDA(cuMemFree_v2(db)), CUDA(cuMemFree_v2(dc));
    free(a), free(b), free(c);
}

static void products(const char *path, const char *kernel, const char *plan, struct CUstream_st *stream)
{
    cutec_options *options = native(kernel, plan);
    cutec_module *module;
    cutec_loaded *loaded;
    double begin = now(), compiled, ready;
    int32_t status = cutec_compile_file(path, options, &module, &error);
    cutec_options_free(options);
    if (status == CUTEC_COMPILE) {
        /* A kernel of another generation. */
        printf("%s: left out: %.200s\n", kernel, cutec_error_message(error));
        cutec_error_free(error), error = NULL;
        return;
    }
    must(status, path);
    compiled = now();
    MUST(cutec_load(module, 0, NULL, &loaded, &error));
    ready = now();
    product(loaded, kernel, 128, 256, 64, stream);
    product(loaded, kernel, 104, 72, 40, stream);
    product(loaded, kernel, 1024, 1024, 1024, stream);
    product(loaded, kernel, 512, 512, 4096, stream);
    product(loaded, kernel, 16, 2048, 1024, stream);
    int64_t small_a[] = {128, 64}, small_b[] = {256, 64}, small_c[] = {128, 256};
    CUdeviceptr memory;
    CUDA(cuMemAlloc_v2(&memory, 1 << 20));
    DLTensor a = matrix(memory, small_a), b = matrix(memory + (1 << 16), small_b), c = matrix(memory + (1 << 18), small_c);
    cutec_argument args[] = {cutec_tensor(&a), cutec_tensor(&b), cutec_tensor(&c)};
    printf("%s%s: compiled in %.0f ms, loaded in %.1f ms, a launch %.2f us\n", kernel, plan ? " with a plan" : "", compiled - begin,
           ready - compiled, cost(loaded, kernel, args, 3, stream));
    CUDA(cuMemFree_v2(memory));
    cutec_loaded_free(loaded);
    cutec_module_free(module);
}

int main(int count, char **arguments)
{
    void *context;
    struct CUstream_st *stream;
    int device;
    if (count < 3) {
        fprintf(stderr, "usage: libcutec GEMM.cute GEMM_SM90.cute [GEMM.cute PLAN]\n");
        return 2;
    }
    open_driver();
    CUDA(cuInit(0));
    CUDA(cuDeviceGet(&device, 0));
    CUDA(cuDevicePrimaryCtxRetain(&context, device));
    CUDA(cuCtxSetCurrent(context));
    CUDA(cuStreamCreate(&stream, 1));
    axpy(stream, context);
    products(arguments[1], "gemm", NULL, stream);
    products(arguments[2], "gemm_sm90", NULL, stream);
    if (count > 4)
        products(arguments[3], "gemm", arguments[4], stream);
    puts(wrong ? "libcutec: WRONG" : "libcutec: all right");
    return wrong;
}
