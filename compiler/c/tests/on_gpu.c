/* libcutec's launches on a GPU, beside a driver that only listens (test-suite/tests/export/libcuda.c): what is launched the first time and
   again, what is refused although the same shapes were launched before, plans, and threads. `scripts/capi.sh --test` builds and runs it. */
#include <cutec.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the mock. */
const char *mock_log(void);
void mock_clear(void);
int mock_loads(void);
void mock_fail_launch(int code);
void mock_fail_init(int code);
void mock_set_capability(int device, int major, int minor);
void mock_declare(const char *entry, int count, const int *sizes);
int cuCtxGetCurrent(void **context);
int cuCtxSetCurrent(void *context);

static const char TEXT[] =
    "kernel axpy<threads = 128>(alpha: f32, x: tensor<f32, n>, y: mut tensor<f32, n>)\n"
    "launch grid(ceil_div(n, threads)), block(threads)\n"
    "{ let i = block_idx.x * threads + thread_idx.x; if i < n { y[i] = alpha * x[i] + y[i]; } }\n"
    "kernel fill(count: i32, y: mut tensor<f32, n>) launch grid(ceil_div(count, 32)), block(32)\n"
    "{ let i = block_idx.x * 32 + thread_idx.x; if i < count && i < n { y[i] = 1.0; } }\n";

static const char PLAN[] =
    "{\"cutec_plan\": 1, \"cutec\": \"\", \"file\": \"a.cute\", \"bench\": \"b\",\n"
    " \"device\": {\"name\": \"simulator\", \"driver\": 0, \"arch\": \"sm_80\"},\n"
    " \"kernels\": [{\"kernel\": \"axpy\", \"source\": \"\", \"symbols\": [\"n\"], \"configurations\": 3, \"sizes\": [\n"
    "  {\"extents\": [256], \"chosen\": {\"threads\": \"32\"}, \"speedup\": 1.0, \"unit\": \"seconds\", \"measured\": []},\n"
    "  {\"extents\": [65536], \"chosen\": {\"threads\": \"256\"}, \"speedup\": 1.0, \"unit\": \"seconds\", \"measured\": []}]}]}\n";

static int failed;
static cutec_error *error;

#define MUST(condition) \
    ((condition) ? (void)0 \
                 : (fprintf(stderr, "on_gpu.c:%d: %s: %s\n%s", __LINE__, #condition, cutec_error_message(error), mock_log()), (void)(failed = 1)))
#define REFUSED(expected, call) \
    (error = NULL, mock_clear(), MUST((call) == (expected) && cutec_error_message(error)[0] && !mock_log()[0]), cutec_error_free(error), \
     error = NULL)

static DLTensor floats(uintptr_t address, int64_t *shape, int device)
{
    DLTensor tensor = {(void *)address, {kDLCUDA, device}, 1, {kDLFloat, 32, 1}, shape, NULL, 0};
    return tensor;
}

/* Whether the driver was told this, and nothing else. */
static bool told(const char *expected) { return strcmp(mock_log(), expected) == 0; }

/* How often a text is in the log. */
static int times(const char *text)
{
    int count = 0;
    for (const char *at = mock_log(); (at = strstr(at, text)); at++)
        count++;
    return count;
}

/* Tensor maps are made anew for other memory, and not for the same. */
static void tensor_maps(const char *path)
{
    const int sizes[] = {8, 8, 4, 4, 128, 128};
    cutec_options *options = cutec_options_new();
    cutec_module *module = NULL;
    cutec_loaded *loaded = NULL;
    mock_declare("copy_tma", sizeof sizes / sizeof sizes[0], sizes);
    MUST(cutec_options_set(options, "arch", "sm_90a", &error) == CUTEC_OK);
    MUST(cutec_options_set(options, "kernel", "copy_tma", &error) == CUTEC_OK);
    MUST(cutec_compile_file(path, options, &module, &error) == CUTEC_OK);
    MUST(cutec_load(module, 1, NULL, &loaded, &error) == CUTEC_OK);
    int64_t shape[] = {100, 512};
    DLTensor x = floats(0x1000, shape, 1), y = floats(0x20000, shape, 1);
    x.ndim = y.ndim = 2;
    cutec_argument args[] = {cutec_tensor(&x), cutec_tensor(&y)};
    for (int round = 0; round < 4; round++) {
        /* The same memory, then another result, and the first again. */
        y.data = (void *)(uintptr_t)(round == 2 ? 0x40000 : 0x20000);
        mock_clear();
        MUST(cutec_launch(loaded, "copy_tma", args, 2, NULL, &error) == CUTEC_OK);
        MUST(times("launch copy_tma") == 1);
        MUST(times("tiled type") == (round == 0 ? 2 : round == 2 ? 1 : 0));
        MUST(round != 2 || times("at 0x40000 ") == 1);
    }
    x.data = (void *)0x1004;
    REFUSED(CUTEC_ALIGN, cutec_launch(loaded, "copy_tma", args, 2, NULL, &error));
    cutec_loaded_free(loaded), cutec_module_free(module), cutec_options_free(options);
}

struct work {
    cutec_loaded *loaded;
    int number;
};

static void *work(void *given)
{
    struct work *work = given;
    cutec_error *wrong = NULL;
    for (int64_t round = 0; round < 200; round++) {
        int64_t shape[] = {1 + round % 7 + 100 * work->number};
        DLTensor x = floats(0x1000, shape, 0), y = floats(0x2000, shape, 0);
        cutec_argument args[] = {cutec_number(1), cutec_tensor(&x), cutec_tensor(&y)};
        if (cutec_launch(work->loaded, "axpy", args, 3, NULL, &wrong) != CUTEC_OK) {
            fprintf(stderr, "on_gpu.c: a thread: %s\n", cutec_error_message(wrong));
            failed = 1;
            cutec_error_free(wrong);
            break;
        }
    }
    return NULL;
}

int main(int count, char **arguments)
{
    /* Pointers, run-time integers, numbers. */
    const int sizes[] = {8, 8, 4, 4}, of_fill[] = {8, 4, 4};
    char path[4096];
    cutec_module *module = NULL, *none = NULL;
    cutec_loaded *loaded = NULL, *second = NULL;
    cutec_options *options = cutec_options_new();
    void *current = NULL;
    if (count != 3) {
        fprintf(stderr, "usage: on_gpu FOLDER COPY_TMA.cute\n");
        return 2;
    }
    mock_declare("axpy", 4, sizes);
    mock_declare("fill", 3, of_fill);

    /* For the GPU that is there, or none. */
    MUST(cutec_options_set(options, "arch", "native", &error) == CUTEC_OK);
    mock_fail_init(100);
    REFUSED(CUTEC_NO_CUDA, cutec_compile("a.cute", TEXT, sizeof TEXT - 1, options, &none, &error));
    mock_fail_init(0);
    mock_set_capability(0, 7, 5);
    REFUSED(CUTEC_TARGET, cutec_compile("a.cute", TEXT, sizeof TEXT - 1, options, &none, &error));
    mock_set_capability(0, 8, 6);
    MUST(cutec_compile("a.cute", TEXT, sizeof TEXT - 1, options, &module, &error) == CUTEC_OK);
    MUST(strstr(cutec_module_code(module, NULL), ".target sm_86"));
    mock_set_capability(0, 8, 0);
    REFUSED(CUTEC_TARGET, cutec_load(module, 0, NULL, &loaded, &error));
    mock_set_capability(0, 8, 6);
    REFUSED(CUTEC_NO_CUDA, cutec_load(module, 2, NULL, &loaded, &error));
    MUST(cutec_load(module, 0, NULL, &loaded, &error) == CUTEC_OK);
    MUST(cutec_load(module, 1, NULL, &second, &error) == CUTEC_OK);
    MUST(cuCtxGetCurrent(&current) == 0 && !current);
    cutec_module_free(module);

    /* The first time and again, with other memory and another number. */
    int64_t shape[] = {300}, other[] = {200}, empty[] = {0};
    DLTensor x = floats(0x1000, shape, 0), y = floats(0x2000, shape, 0), z = floats(0x3010, shape, 0);
    cutec_argument args[] = {cutec_number(1), cutec_tensor(&x), cutec_tensor(&y)};
    for (int round = 0; round < 3; round++) {
        mock_clear();
        MUST(cutec_launch(loaded, "axpy", args, 3, (void *)0x50, &error) == CUTEC_OK);
        MUST(told("launch axpy grid 3 1 1 block 128 1 1 shared 0 allowed 0 stream 0x50 overlaps 0 device 0:"
                  " 0010000000000000 0020000000000000 2c010000 0000803f\n"));
    }
    args[0] = cutec_number(2), args[2] = cutec_tensor(&z);
    mock_clear();
    MUST(cutec_launch(loaded, "axpy", args, 3, NULL, &error) == CUTEC_OK);
    MUST(told("launch axpy grid 3 1 1 block 128 1 1 shared 0 allowed 0 stream (nil) overlaps 0 device 0:"
              " 0010000000000000 1030000000000000 2c010000 00000040\n"));
    MUST(cuCtxGetCurrent(&current) == 0 && !current);
    /* Another context is current, afterwards as before. */
    MUST(cuCtxSetCurrent((void *)0x70) == 0 && cutec_launch(loaded, "axpy", args, 3, NULL, &error) == CUTEC_OK);
    MUST(cuCtxGetCurrent(&current) == 0 && current == (void *)0x70 && cuCtxSetCurrent(NULL) == 0);

    /* What was checked for these shapes says nothing of other addresses, types and devices. */
    z.data = (void *)0x3004;
    REFUSED(CUTEC_ALIGN, cutec_launch(loaded, "axpy", args, 3, NULL, &error));
    z.data = NULL;
    REFUSED(CUTEC_NULL, cutec_launch(loaded, "axpy", args, 3, NULL, &error));
    z = y, z.shape = other;
    REFUSED(CUTEC_TIED_EXTENT, cutec_launch(loaded, "axpy", args, 3, NULL, &error));
    z = y, z.dtype.code = kDLInt;
    REFUSED(CUTEC_DTYPE, cutec_launch(loaded, "axpy", args, 3, NULL, &error));
    z = y, z.device.device_id = 1;
    REFUSED(CUTEC_DEVICE, cutec_launch(loaded, "axpy", args, 3, NULL, &error));
    z = y, z.device.device_type = kDLCPU;
    REFUSED(CUTEC_DEVICE, cutec_launch(loaded, "axpy", args, 3, NULL, &error));
    z = y;
    DLTensor nothing = floats(0, empty, 0);
    cutec_argument to_nothing[] = {cutec_number(1), cutec_tensor(&nothing), cutec_tensor(&nothing)};
    mock_clear();
    MUST(cutec_launch(loaded, "axpy", to_nothing, 3, NULL, &error) == CUTEC_OK && told(""));
    mock_fail_launch(700);
    REFUSED(CUTEC_CUDA, cutec_launch(loaded, "axpy", args, 3, NULL, &error));
    mock_fail_launch(0);

    /* A number that decides the grid. */
    cutec_argument fill[] = {cutec_number(64), cutec_tensor(&y)};
    for (int blocks = 2; blocks < 5; blocks++) {
        char start[64];
        snprintf(start, sizeof start, "launch fill grid %d 1 1 ", blocks);
        fill[0] = cutec_number(32 * blocks);
        mock_clear();
        MUST(cutec_launch(loaded, "fill", fill, 2, NULL, &error) == CUTEC_OK && strstr(mock_log(), start) == mock_log());
    }

    /* The other GPU. */
    DLTensor there = floats(0x4000, shape, 1);
    cutec_argument on_second[] = {cutec_number(1), cutec_tensor(&there), cutec_tensor(&there)};
    mock_clear();
    MUST(cutec_launch(second, "axpy", on_second, 3, NULL, &error) == CUTEC_OK && strstr(mock_log(), "device 1:"));

    pthread_t threads[4];
    struct work works[4];
    int loads = mock_loads();
    for (int i = 0; i < 4; i++) {
        works[i] = (struct work){loaded, i};
        MUST(pthread_create(&threads[i], NULL, work, &works[i]) == 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    MUST(mock_loads() == loads);
    cutec_loaded_free(loaded), cutec_loaded_free(second);
    cutec_options_free(options);

    /* A plan: for its target, and by extents. */
    snprintf(path, sizeof path, "%s/plan.json", arguments[1]);
    FILE *file = fopen(path, "w");
    MUST(file && fputs(PLAN, file) >= 0 && fclose(file) == 0);
    options = cutec_options_new();
    MUST(cutec_options_set(options, "plan", path, &error) == CUTEC_OK);
    MUST(cutec_compile("a.cute", TEXT, sizeof TEXT - 1, options, &module, &error) == CUTEC_OK);
    MUST(strstr(cutec_module_code(module, NULL), ".target sm_80"));
    loads = mock_loads();
    MUST(cutec_load(module, 0, NULL, &loaded, &error) == CUTEC_OK && mock_loads() == loads + 3);
    for (int64_t n = 1; n < 1 << 20; n *= 4) {
        int64_t extent[] = {n};
        DLTensor tensors[] = {floats(0x1000, extent, 0), floats(0x2000, extent, 0)};
        cutec_argument planned[] = {cutec_number(1), cutec_tensor(&tensors[0]), cutec_tensor(&tensors[1])};
        /* 4096 is as far from 256 as from 65536: the first. */
        const char *block = n <= 4096 ? " block 32 1 1 " : " block 256 1 1 ";
        mock_clear();
        MUST(cutec_launch(loaded, "axpy", planned, 3, NULL, &error) == CUTEC_OK && strstr(mock_log(), block));
    }
    cutec_loaded_free(loaded), cutec_module_free(module), cutec_options_free(options);
    tensor_maps(arguments[2]);
    puts(failed ? "on a GPU: FAILED" : "on a GPU: launched as it should be");
    return failed;
}
