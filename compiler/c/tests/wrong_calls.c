/* Calls of libcutec that are wrong: none ends the process, and each error has a status and a text. Needs no GPU.
   `scripts/capi.sh --test` builds it and runs it with a folder that it may write to. */
#include <cutec.h>

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failed;

/* A call whose status is to be as expected, with a text that has `part` in it. */
static void check(int line, int32_t status, int32_t expected, cutec_error **error, const char *part)
{
    const char *text = cutec_error_message(*error);
    bool wrong = status != expected || cutec_error_status(*error) != expected;
    /* What failed says why. */
    wrong |= expected != CUTEC_OK && (!text[0] || !strstr(text, part));
    wrong |= expected == CUTEC_OK && *error != NULL;
    if (wrong) {
        fprintf(stderr, "wrong_calls.c:%d: expected %d with \"%s\", found %d: %s\n", line, expected, part, status, text);
        failed = 1;
    }
    cutec_error_free(*error);
    *error = NULL;
}
#define EXPECT(expected, part, call) (error = NULL, status = (call), check(__LINE__, status, (expected), &error, (part)))
#define MUST(condition) ((condition) ? (void)0 : (fprintf(stderr, "wrong_calls.c:%d: %s\n", __LINE__, #condition), (void)(failed = 1)))

static const char TEXT[] =
    "kernel add<step = 1>(x: tensor<f32, n>, y: mut tensor<f32, n>, by: i32)\n"
    "launch grid(ceil_div(n, 64)), block(64)\n"
    "{ let i = block_idx.x * 64 + thread_idx.x; if i < n { y[i] = x[i] + f32(by) * step; } }\n"
    "kernel beyond(x: tensor<f32, n>, y: mut tensor<f32, n>) launch grid(1), block(64)\n"
    "{ y[thread_idx.x + n] = x[thread_idx.x]; }\n"
    "fn put(y, i, v) { y[i] = v; }\n"
    "kernel calls(x: tensor<f32, n>, y: mut tensor<f32, n>) launch grid(1), block(64)\n"
    "{ put(y, thread_idx.x + n, 1.0); }\n";

static void nothing_at_all(void)
{
    cutec_error *error;
    cutec_module *module = (cutec_module *)1;
    cutec_loaded *loaded = (cutec_loaded *)1;
    cutec_options *options = cutec_options_new();
    size_t length = 7;
    int32_t status;
    /* Without a place for the error as well. */
    MUST(cutec_compile(NULL, NULL, 0, NULL, NULL, NULL) == CUTEC_NULL);
    MUST(cutec_compile("a.cute", NULL, 5, NULL, &module, NULL) == CUTEC_NULL);
    MUST(cutec_compile_file(NULL, NULL, NULL, NULL) == CUTEC_NULL);
    MUST(cutec_load(NULL, 0, NULL, NULL, NULL) == CUTEC_NULL);
    MUST(cutec_launch(NULL, NULL, NULL, 0, NULL, NULL) == CUTEC_NULL);
    MUST(cutec_options_set(NULL, NULL, NULL, NULL) == CUTEC_NULL);
    MUST(cutec_options_define(NULL, NULL, NULL, NULL) == CUTEC_NULL);
    EXPECT(CUTEC_NULL, "name", cutec_compile(NULL, TEXT, sizeof TEXT - 1, NULL, &module, &error));
    EXPECT(CUTEC_NULL, "module", cutec_compile("a.cute", TEXT, sizeof TEXT - 1, NULL, NULL, &error));
    EXPECT(CUTEC_NULL, "path", cutec_compile_file(NULL, NULL, &module, &error));
    EXPECT(CUTEC_NULL, "module", cutec_load(NULL, 0, NULL, &loaded, &error));
    EXPECT(CUTEC_NULL, "loaded", cutec_launch(NULL, "add", NULL, 0, NULL, &error));
    EXPECT(CUTEC_NULL, "name", cutec_options_set(options, NULL, "x", &error));
    EXPECT(CUTEC_NULL, "value", cutec_options_set(options, "arch", NULL, &error));
    EXPECT(CUTEC_NULL, "value", cutec_options_define(options, "x", NULL, &error));
    MUST(cutec_error_status(NULL) == CUTEC_OK && cutec_error_message(NULL)[0] == 0);
    MUST(cutec_error_diagnostic_count(NULL) == 0 && cutec_error_diagnostic(NULL, 0) == NULL);
    MUST(cutec_module_code(NULL, &length) == NULL && length == 0 && cutec_module_code(NULL, NULL) == NULL);
    MUST(cutec_module_abi(NULL) == NULL && cutec_module_kernel_count(NULL) == 0 && cutec_module_kernel_name(NULL, 0) == NULL);
    MUST(cutec_module_notice_count(NULL) == 0 && cutec_module_notice(NULL, 0) == NULL);
    cutec_error_free(NULL), cutec_module_free(NULL), cutec_loaded_free(NULL), cutec_options_free(NULL);
    cutec_options_free(options);
}

static void options_and_files(const char *folder)
{
    static const char *const wrong[][2] = {{"arch", ""},      {"arch", "sm_"},     {"level", "4"},  {"emit", "exe"},
                                           {"remarks", "yes"}, {"threads", "-1"}, {"races", "2"},  {"schedule", "x"},
                                           {"", ""},          {"Arch", "sm_80"},  {"level", "3 "}, {"threads", "99999999999999999999"}};
    char path[4096];
    cutec_error *error;
    cutec_module *module = NULL;
    cutec_options *options = cutec_options_new();
    FILE *file;
    int32_t status;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        EXPECT(CUTEC_OPTION, wrong[i][0], cutec_options_set(options, wrong[i][0], wrong[i][1], &error));
    EXPECT(CUTEC_OPTION, "UTF-8", cutec_options_set(options, "cache", "\xff\xfe", &error));
    EXPECT(CUTEC_OPTION, "UTF-8", cutec_options_set(options, "\xff", "1", &error));
    /* A kernel and a parameter that are not there, and a value that is none. */
    EXPECT(CUTEC_OK, "", cutec_options_set(options, "kernel", "none", &error));
    EXPECT(CUTEC_COMPILE, "none", cutec_compile("a.cute", TEXT, sizeof TEXT - 1, options, &module, &error));
    EXPECT(CUTEC_OK, "", cutec_options_set(options, "kernel", "", &error));
    EXPECT(CUTEC_OK, "", cutec_options_define(options, "speed", "11", &error));
    EXPECT(CUTEC_COMPILE, "speed", cutec_compile("a.cute", TEXT, sizeof TEXT - 1, options, &module, &error));
    cutec_options_free(options);
    options = cutec_options_new();
    EXPECT(CUTEC_OK, "", cutec_options_define(options, "step", "1 +", &error));
    EXPECT(CUTEC_COMPILE, "step", cutec_compile("a.cute", TEXT, sizeof TEXT - 1, options, &module, &error));
    EXPECT(CUTEC_OK, "", cutec_options_define(options, "step", "2", &error));
    /* Folders that cannot be written, files that cannot be read. */
    EXPECT(CUTEC_OK, "", cutec_options_set(options, "cache", "/proc/none/of/this", &error));
    EXPECT(CUTEC_FILE, "/proc/none", cutec_compile("a.cute", TEXT, sizeof TEXT - 1, options, &module, &error));
    snprintf(path, sizeof path, "%s/file", folder);
    file = fopen(path, "w");
    if (!file || fputs("no plan\n", file) < 0 || fclose(file) != 0)
        MUST(!"the folder is written to");
    EXPECT(CUTEC_OK, "", cutec_options_set(options, "cache", path, &error));
    EXPECT(CUTEC_FILE, path, cutec_compile("a.cute", TEXT, sizeof TEXT - 1, options, &module, &error));
    EXPECT(CUTEC_OK, "", cutec_options_set(options, "cache", "", &error));
    EXPECT(CUTEC_OK, "", cutec_options_set(options, "plan", path, &error));
    EXPECT(CUTEC_FILE, "is no plan", cutec_compile("a.cute", TEXT, sizeof TEXT - 1, options, &module, &error));
    EXPECT(CUTEC_OK, "", cutec_options_set(options, "plan", "none.json", &error));
    EXPECT(CUTEC_FILE, "none.json", cutec_compile("a.cute", TEXT, sizeof TEXT - 1, options, &module, &error));
    EXPECT(CUTEC_FILE, folder, cutec_compile_file(folder, NULL, &module, &error));
    EXPECT(CUTEC_FILE, "/dev/null", cutec_compile_file("/dev/null", NULL, &module, &error));
    EXPECT(CUTEC_FILE, "", cutec_compile_file("", NULL, &module, &error));
    EXPECT(CUTEC_FILE, "a.cute", cutec_compile("a.cute", "\xff\xff", 2, NULL, &module, &error));
    EXPECT(CUTEC_COMPILE, "none.cute",
           cutec_compile("a.cute", "import \"none.cute\";", 19, NULL, &module, &error));
    EXPECT(CUTEC_COMPILE, "a.cute", cutec_compile("a.cute", "\0\0\0", 3, NULL, &module, &error));
    EXPECT(CUTEC_COMPILE, "a.mlir", cutec_compile("a.mlir", TEXT, sizeof TEXT - 1, NULL, &module, &error));
    MUST(module == NULL);
    cutec_options_free(options);
}

static void other_levels(void)
{
    cutec_error *error;
    cutec_module *module = NULL;
    cutec_loaded *loaded = NULL;
    cutec_options *options = cutec_options_new();
    int32_t status;
    EXPECT(CUTEC_OK, "", cutec_options_set(options, "emit", "cute", &error));
    EXPECT(CUTEC_OK, "", cutec_compile("a.cute", TEXT, sizeof TEXT - 1, options, &module, &error));
    EXPECT(CUTEC_OPTION, "emit", cutec_load(module, CUTEC_SIMULATOR, NULL, &loaded, &error));
    MUST(loaded == NULL);
    cutec_module_free(module);
    cutec_options_free(options);
}

enum { COUNT = 100 };

struct work {
    cutec_loaded *loaded;
    int number;
};

/* Launches on the same kernel, and compiles another one. */
static void *work(void *given)
{
    struct work *work = given;
    float x[COUNT], y[COUNT];
    int64_t shape[] = {COUNT};
    DLTensor tx = {x, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, NULL, 0}, ty = tx;
    cutec_module *module = NULL;
    cutec_error *error;
    int32_t status;
    ty.data = y;
    for (int round = 0; round < 5; round++) {
        cutec_argument args[] = {cutec_tensor(&tx), cutec_tensor(&ty), cutec_integer(work->number)};
        for (int i = 0; i < COUNT; i++)
            x[i] = (float)i, y[i] = -1;
        EXPECT(CUTEC_OK, "", cutec_launch(work->loaded, "add", args, 3, NULL, &error));
        for (int i = 0; i < COUNT; i++)
            MUST(y[i] == (float)(i + work->number));
        /* Errors of one thread are not those of another. */
        args[0].value.tensor = NULL;
        EXPECT(CUTEC_NULL, "`x`", cutec_launch(work->loaded, "add", args, 3, NULL, &error));
    }
    EXPECT(CUTEC_OK, "", cutec_compile("b.cute", TEXT, sizeof TEXT - 1, NULL, &module, &error));
    cutec_module_free(module);
    return NULL;
}

static void launches(void)
{
    float x[COUNT] = {0}, y[COUNT];
    int64_t shape[] = {COUNT}, strides[] = {1}, negative[] = {-1}, huge[] = {INT64_MAX};
    DLTensor tx = {x, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, NULL, 0}, ty = tx, bad;
    cutec_argument good[] = {cutec_tensor(&tx), cutec_tensor(&ty), cutec_integer(1)}, args[3];
    cutec_error *error;
    cutec_module *module = NULL;
    cutec_loaded *loaded = NULL, *again = NULL, *nowhere = NULL;
    int32_t status;
    ty.data = y;
    EXPECT(CUTEC_OK, "", cutec_compile("a.cute", TEXT, sizeof TEXT - 1, NULL, &module, &error));
    MUST(cutec_module_kernel_count(module) == 3 && !strcmp(cutec_module_kernel_name(module, 0), "add"));
    MUST(cutec_module_kernel_name(module, 3) == NULL && cutec_module_kernel_name(module, SIZE_MAX) == NULL);
    EXPECT(CUTEC_DEVICE, "-2", cutec_load(module, -2, NULL, &nowhere, &error));
    EXPECT(CUTEC_DEVICE, "", cutec_load(module, INT32_MIN, NULL, &nowhere, &error));
    EXPECT(CUTEC_NO_CUDA, "no ", cutec_load(module, INT32_MAX, NULL, &nowhere, &error));
    MUST(nowhere == NULL);
    EXPECT(CUTEC_OK, "", cutec_load(module, CUTEC_SIMULATOR, NULL, &loaded, &error));
    EXPECT(CUTEC_OK, "", cutec_load(module, CUTEC_SIMULATOR, NULL, &again, &error));
    /* What was loaded stays, and knows its source. */
    cutec_module_free(module);

    EXPECT(CUTEC_OK, "", cutec_launch(loaded, "add", good, 3, NULL, &error));
    MUST(y[0] == 1 && y[COUNT - 1] == 1);
    EXPECT(CUTEC_NULL, "kernel", cutec_launch(loaded, NULL, good, 3, NULL, &error));
    EXPECT(CUTEC_UNKNOWN_KERNEL, "add", cutec_launch(loaded, "sub", good, 3, NULL, &error));
    EXPECT(CUTEC_OPTION, "UTF-8", cutec_launch(loaded, "\xff", good, 3, NULL, &error));
    EXPECT(CUTEC_COUNT, "found 2", cutec_launch(loaded, "add", good, 2, NULL, &error));
    EXPECT(CUTEC_COUNT, "found 0", cutec_launch(loaded, "add", NULL, 0, NULL, &error));
    EXPECT(CUTEC_NULL, "args", cutec_launch(loaded, "add", NULL, 3, NULL, &error));
#define SPOILED(expected, part, change) \
    (memcpy(args, good, sizeof args), bad = tx, args[0].value.tensor = &bad, (void)(change), \
     EXPECT(expected, part, cutec_launch(loaded, "add", args, 3, NULL, &error)))
    SPOILED(CUTEC_NULL, "`x`", args[0].value.tensor = NULL);
    SPOILED(CUTEC_NULL, "`x`", bad.data = NULL);
    SPOILED(CUTEC_NULL, "`x`: shape", bad.shape = NULL);
    SPOILED(CUTEC_OK, "", bad.strides = strides);
    SPOILED(CUTEC_RANK, "rank 1", bad.ndim = 0);
    SPOILED(CUTEC_RANK, "rank 1", bad.ndim = -5);
    SPOILED(CUTEC_NEGATIVE_EXTENT, "-1", bad.shape = negative);
    SPOILED(CUTEC_TOO_LARGE, "`x`", bad.shape = huge);
    SPOILED(CUTEC_DTYPE, "lanes", bad.dtype.lanes = 4);
    SPOILED(CUTEC_DTYPE, "f64", bad.dtype.bits = 64);
    SPOILED(CUTEC_DTYPE, "type 200", bad.dtype.code = 200);
    SPOILED(CUTEC_DEVICE, "cuda:0", bad.device.device_type = kDLCUDA);
    SPOILED(CUTEC_DEVICE, "kind 99", bad.device.device_type = (DLDeviceType)99);
    SPOILED(CUTEC_ALIGN, "16", bad.byte_offset = 4);
    SPOILED(CUTEC_KIND, "tensor", args[0] = cutec_integer(1));
    SPOILED(CUTEC_KIND, "no kind of argument is 77", args[0].kind = 77);
    SPOILED(CUTEC_KIND, "scalar", args[2] = cutec_tensor(&tx));
    SPOILED(CUTEC_RANGE, "i32", args[2] = cutec_integer(INT64_MAX));
    SPOILED(CUTEC_RANGE, "i32", args[2] = cutec_number(0.5));
    SPOILED(CUTEC_RANGE, "i32", args[2] = cutec_number(1e300));
    SPOILED(CUTEC_RANGE, "i32", args[2] = cutec_number(0.0 / 0.0 * (args[2].value.number = 0)));
    SPOILED(CUTEC_OK, "", args[2] = cutec_number(-3));
    MUST(y[0] == -3);
    /* What a kernel must not do; its tensors are as they were, and the next launch is as good as any. */
    EXPECT(CUTEC_FAULT, "a.cute:5", cutec_launch(loaded, "beyond", good, 2, NULL, &error));
    EXPECT(CUTEC_FAULT, "in this call of `put`", cutec_launch(loaded, "calls", good, 2, NULL, &error));
    MUST(y[0] == -3);
    EXPECT(CUTEC_OK, "", cutec_launch(again, "add", good, 3, NULL, &error));

    pthread_t threads[4];
    struct work works[4];
    for (int i = 0; i < 4; i++) {
        works[i] = (struct work){loaded, i};
        MUST(pthread_create(&threads[i], NULL, work, &works[i]) == 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    cutec_loaded_free(loaded);
    EXPECT(CUTEC_OK, "", cutec_launch(again, "add", good, 3, NULL, &error));
    cutec_loaded_free(again);
}

int main(int count, char **arguments)
{
    if (count != 2) {
        fprintf(stderr, "usage: wrong_calls FOLDER\n");
        return 2;
    }
    nothing_at_all();
    options_and_files(arguments[1]);
    other_levels();
    launches();
    puts(failed ? "wrong calls: FAILED" : "wrong calls: each was refused, with a text");
    return failed;
}
