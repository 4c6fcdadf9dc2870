/* libcutec from C: compiles a kernel from a text, runs it in the simulator on the program's own memory, and shows what is said of
   wrong arguments, wrong kernels and wrong texts. `scripts/capi.sh --test` builds and runs it. */
#include <cutec.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const TEXT =
    "/// y = alpha * x + y\n"
    "kernel axpy(alpha: f32, x: tensor<f32, n>, y: mut tensor<f32, n>)\n"
    "launch grid(ceil_div(n, 128)), block(128)\n"
    "{\n"
    "    let i = block_idx.x * 128 + thread_idx.x;\n"
    "    if i < n { y[i] = alpha * x[i] + y[i]; }\n"
    "}\n";

/* What was wrong with the last call. */
static cutec_error *error;

/* Ends the program where a call failed that must not. */
static void check(int32_t status)
{
    if (status == CUTEC_OK)
        return;
    fprintf(stderr, "%s\n", cutec_error_message(error));
    exit(1);
}

/* Ends the program where a call has not failed as it must. */
static void expect(int32_t status, int32_t expected)
{
    if (status != expected || cutec_error_status(error) != expected) {
        fprintf(stderr, "expected status %d, found %d: %s\n", expected, status, cutec_error_message(error));
        exit(1);
    }
    printf("%d: %s\n", status, cutec_error_message(error));
    cutec_error_free(error);
}

int main(void)
{
    enum { COUNT = 300 };
    cutec_module *module = NULL;
    cutec_loaded *loaded = NULL;
    cutec_options *options = cutec_options_new();
    float x[COUNT], y[COUNT];
    int64_t shape[] = {COUNT}, short_shape[] = {COUNT - 1};
    DLTensor of_x = {x, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, NULL, 0};
    DLTensor of_y = {y, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, NULL, 0};
    cutec_argument args[3];

    check(cutec_options_set(options, "arch", "sm_80", &error));
    check(cutec_options_set(options, "races", "true", &error));
    check(cutec_compile("axpy.cute", TEXT, strlen(TEXT), options, &module, &error));
    printf("cutec %s: %zu kernel, `%s`; its signature: %.40s...\n", cutec_version(), cutec_module_kernel_count(module),
           cutec_module_kernel_name(module, 0), cutec_module_abi(module));
    check(cutec_load(module, CUTEC_SIMULATOR, options, &loaded, &error));
    cutec_module_free(module);

    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)i;
        y[i] = 1;
    }
    args[0] = cutec_number(0.5);
    args[1] = cutec_tensor(&of_x);
    args[2] = cutec_tensor(&of_y);
    check(cutec_launch(loaded, "axpy", args, 3, NULL, &error));
    for (int i = 0; i < COUNT; i++) {
        if (y[i] != 0.5f * (float)i + 1) {
            fprintf(stderr, "y[%d] is %f\n", i, y[i]);
            return 1;
        }
    }
    printf("y = 0.5 * x + 1, as expected\n");

    /* Arguments that do not fit: nothing is run. */
    of_x.shape = short_shape;
    expect(cutec_launch(loaded, "axpy", args, 3, NULL, &error), CUTEC_TIED_EXTENT);
    of_x.shape = shape;
    of_x.device.device_type = kDLCUDA;
    expect(cutec_launch(loaded, "axpy", args, 3, NULL, &error), CUTEC_DEVICE);
    of_x.device.device_type = kDLCPU;
    expect(cutec_launch(loaded, "axpy", args, 2, NULL, &error), CUTEC_COUNT);
    expect(cutec_launch(loaded, "axpi", args, 3, NULL, &error), CUTEC_UNKNOWN_KERNEL);
    expect(cutec_launch(NULL, "axpy", args, 3, NULL, &error), CUTEC_NULL);
    cutec_loaded_free(loaded);

    /* A kernel that writes past the end: the simulator says where, and the memory is as it was. */
    {
        const char *text = "kernel wrong(y: mut tensor<f32, n>) launch grid(1), block(32) { y[n + thread_idx.x] = 0.0; }";
        check(cutec_compile("wrong.cute", text, strlen(text), NULL, &module, &error));
        check(cutec_load(module, CUTEC_SIMULATOR, NULL, &loaded, &error));
        int32_t status = cutec_launch(loaded, "wrong", &args[2], 1, NULL, &error);
        if (cutec_error_diagnostic_count(error) != 1 || cutec_error_diagnostic(error, 0)->line != 1) {
            fprintf(stderr, "expected a place in the source\n");
            return 1;
        }
        expect(status, CUTEC_FAULT);
        cutec_module_free(module);
        cutec_loaded_free(loaded);
    }

    /* A text that does not compile: its errors as data. */
    {
        const char *text = "kernel k(x: mut tensor<f32, n>) launch grid(1), block(32) {\n    x[0] = zero;\n}";
        int32_t status = cutec_compile("k.cute", text, strlen(text), options, &module, &error);
        const cutec_diagnostic *first = cutec_error_diagnostic(error, 0);
        if (!first || strcmp(first->code, "E0101") != 0 || first->line != 2 || first->column != 12 || module != NULL) {
            fprintf(stderr, "expected E0101 at 2:12\n");
            return 1;
        }
        printf("%s:%u:%u: %s: %s [%s]\n", first->file, first->line, first->column, first->severity, first->message, first->code);
        expect(status, CUTEC_COMPILE);
    }
    expect(cutec_options_set(options, "arch", "sm_1", &error), CUTEC_OPTION);
    expect(cutec_compile_file("none.cute", options, &module, &error), CUTEC_FILE);
    cutec_options_free(options);
    cutec_error_free(NULL);
    return 0;
}
