/* What the driver itself takes for a launch, in microseconds of the host: an empty kernel with two pointers and a number, in
   three kinds of streams, launched in four ways. No launch of a program can take less.
   gcc -O2 launch_cost.c -o launch_cost -I/usr/local/cuda/include -lcuda && ./launch_cost */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 50
/* Fewer than the driver queues: nothing waits for the GPU. */
#define BATCH 200

static const char code[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                           ".visible .entry empty(.param .u64 x, .param .u64 y, .param .u32 n) { ret; }\n";

static void check(CUresult result, const char *call)
{
    const char *name = "an unknown error";
    if (result == CUDA_SUCCESS)
        return;
    cuGetErrorName(result, &name);
    fprintf(stderr, "%s: %s\n", call, name);
    exit(1);
}
#define CHECK(call) check(call, #call)

static double microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e6 + now.tv_nsec * 1e-3;
}

static int smaller(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum way { PARAMETERS, BUFFER, CONFIGURATION, OVERLAPPING, WAYS };
static const char *const ways[WAYS] = {"cuLaunchKernel", "cuLaunchKernel, one buffer", "cuLaunchKernelEx",
                                       "cuLaunchKernelEx, programmatic dependent launch"};

static CUresult launch(CUfunction function, CUstream stream, enum way way, CUdeviceptr x, CUdeviceptr y, int n)
{
    struct {
        CUdeviceptr x, y;
        int n;
    } buffer = {x, y, n};
    size_t bytes = 20;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
    void *parameters[] = {&x, &y, &n};
    CUlaunchAttribute overlap = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
    CUlaunchConfig config = {1, 1, 1, 128, 1, 1, 0, stream, &overlap, way == OVERLAPPING};
    overlap.value.programmaticStreamSerializationAllowed = 1;
    switch (way) {
    case PARAMETERS:
        return cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, stream, parameters, 0);
    case BUFFER:
        return cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, stream, 0, extra);
    default:
        return cuLaunchKernelEx(&config, function, parameters, 0);
    }
}

int main(void)
{
    static const char *const kinds[] = {"default stream", "a stream", "a stream apart from the default one"};
    CUdevice device;
    CUcontext context;
    CUmodule module;
    CUfunction function;
    CUdeviceptr memory;
    CUstream streams[3] = {0};
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module, code));
    CHECK(cuModuleGetFunction(&function, module, "empty"));
    CHECK(cuMemAlloc(&memory, 8192));
    CHECK(cuStreamCreate(&streams[1], CU_STREAM_DEFAULT));
    CHECK(cuStreamCreate(&streams[2], CU_STREAM_NON_BLOCKING));
    for (int kind = 0; kind < 3; kind++)
        for (enum way way = PARAMETERS; way < WAYS; way++) {
            double times[ROUNDS];
            for (int round = 0; round < ROUNDS; round++) {
                CHECK(cuCtxSynchronize());
                double begin = microseconds();
                for (int i = 0; i < BATCH; i++)
                    CHECK(launch(function, streams[kind], way, memory, memory + 4096, 1024));
                times[round] = (microseconds() - begin) / BATCH;
            }
            qsort(times, ROUNDS, sizeof times[0], smaller);
            printf("%6.2f  %s, %s\n", times[ROUNDS / 2], kinds[kind], ways[way]);
        }
    return 0;
}
