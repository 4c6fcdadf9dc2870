/* A driver without a GPU, for exported kernels and for libcutec: it keeps what it is told as lines of text. As much of tvm-ffi as exports
   call. */
#include <pthread.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
/* Of an image the first letters, which tests tell them apart by. */
struct module {
    char image[32];
};
struct function {
    char entry[256];
    int count, sizes[256], dynamic_shared[2];
    struct module *module;
};
struct context {
    int device;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char text[1 << 20];
static size_t used;
/* As they were declared; and as they were found in modules. */
static struct function functions[1024], found[2048];
static struct module modules[1024];
static int function_count, found_count, map_count, load_count;
static const char *launched = "";
static struct context contexts[2] = {{0}, {1}};
static _Thread_local struct context *current;
/* Compute capabilities of the two devices. */
static int capability[2][2] = {{8, 0}, {9, 0}};
static int fail_launch, fail_init, resident_clusters = 33;
static void *stream_of_environment;
static char raised[4096];

static void say(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    used += (size_t)vsnprintf(text + used, sizeof text - used, format, values);
    va_end(values);
}

/* What the tests call. */
const char *mock_log(void) { return text; }
const char *mock_raised(void) { return raised; }
int mock_loads(void) { return load_count; }
const char *mock_launched(void) { return launched; }
void mock_clear(void) { used = 0, map_count = 0, text[0] = 0, raised[0] = 0; }
void mock_set_capability(int device, int major, int minor) { capability[device][0] = major, capability[device][1] = minor; }
void mock_fail_launch(int code) { fail_launch = code; }
void mock_fail_init(int code) { fail_init = code; }
void mock_set_resident_clusters(int clusters) { resident_clusters = clusters; }
void mock_set_stream(void *stream) { stream_of_environment = stream; }
/* The parameters that a kernel has. */
void mock_declare(const char *entry, int count, const int *sizes)
{
    struct function *function = &functions[function_count++];
    snprintf(function->entry, sizeof function->entry, "%s", entry);
    function->count = count;
    memcpy(function->sizes, sizes, (size_t)count * sizeof *sizes);
}

CUresult cuInit(unsigned flags) { return (void)flags, fail_init; }
CUresult cuDeviceGetCount(int *count) { return *count = 2, 0; }
CUresult cuDeviceGet(int *device, int ordinal) { return *device = ordinal + 100, 0; }
CUresult cuDeviceGetAttribute(int *value, int attribute, int device)
{
    device -= 100;
    *value = attribute == 75   ? capability[device][0]
             : attribute == 76 ? capability[device][1]
             : attribute == 97 ? (capability[device][0] == 8 ? 163 << 10 : 227 << 10)
             : attribute == 16 ? 132
                               : 0;
    return 0;
}
CUresult cuGetErrorName(CUresult code, const char **name)
{
    return *name = code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : code == 100 ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR_UNKNOWN", 0;
}
CUresult cuGetErrorString(CUresult code, const char **string) { return *string = code == 700 ? "an illegal access" : "unknown", 0; }
CUresult cuDevicePrimaryCtxRetain(void **context, int device) { return *context = &contexts[device - 100], 0; }
CUresult cuCtxGetCurrent(void **context) { return *context = current, 0; }
CUresult cuCtxSetCurrent(void *context) { return current = context, 0; }
CUresult cuCtxGetDevice(int *device) { return current ? (*device = current->device, 0) : 201; }
CUresult cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *options, void **values)
{
    (void)count, (void)options, (void)values;
    struct module *loaded;
    pthread_mutex_lock(&lock);
    loaded = &modules[load_count++];
    snprintf(loaded->image, sizeof loaded->image, "%.*s", (int)strcspn(image, "\n"), (const char *)image);
    say("load %.5s on %d\n", (const char *)image, current->device);
    pthread_mutex_unlock(&lock);
    return *module = loaded, 0;
}
CUresult cuModuleGetFunction(void **function, void *module, const char *entry)
{
    for (int i = function_count; i-- > 0;)
        if (!strcmp(functions[i].entry, entry)) {
            struct function *of_module;
            pthread_mutex_lock(&lock);
            of_module = &found[found_count++];
            *of_module = functions[i];
            of_module->module = module;
            pthread_mutex_unlock(&lock);
            return *function = of_module, 0;
        }
    return 500;
}
CUresult cuFuncGetAttribute(int *value, int attribute, void *function) { return (void)attribute, (void)function, *value = 0, 0; }
CUresult cuFuncSetAttribute(void *function, int attribute, int value)
{
    if (attribute == 8)
        ((struct function *)function)->dynamic_shared[current->device] = value;
    return 0;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int threads, size_t shared)
{
    return (void)function, (void)threads, (void)shared, *blocks = 2, 0;
}
CUresult cuOccupancyMaxActiveClusters(int *clusters, void *function, const void *config)
{
    return (void)function, (void)config, *clusters = resident_clusters, 0;
}

static CUresult launch(struct function *function, const unsigned *grid, const unsigned *block, unsigned shared, void *stream,
                       int overlaps, void **params)
{
    if (fail_launch)
        return fail_launch;
    pthread_mutex_lock(&lock);
    launched = function->module->image;
    say("launch %s grid %u %u %u block %u %u %u shared %u allowed %d stream %p overlaps %d device %d:", function->entry, grid[0],
        grid[1], grid[2], block[0], block[1], block[2], shared, function->dynamic_shared[current->device], stream, overlaps, current->device);
    for (int i = 0; i < function->count; i++) {
        const unsigned char *bytes = params[i];
        if (function->sizes[i] == 128) {
            int map;
            memcpy(&map, bytes, sizeof map);
            say((uintptr_t)bytes % 64 ? " misaligned" : " map%d", map);
            continue;
        }
        say(" ");
        for (int at = 0; at < function->sizes[i]; at++)
            say("%02x", bytes[at]);
    }
    say("\n");
    pthread_mutex_unlock(&lock);
    return 0;
}

CUresult cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, void *stream, void **params, void **extra)
{
    unsigned grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
    return (void)extra, launch(function, grid, block, shared, stream, 0, params);
}

struct config {
    unsigned grid[3], block[3], shared;
    void *stream;
    struct {
        int id;
        char padding[4];
        int value;
    } * attributes;
    unsigned count;
};
CUresult cuLaunchKernelEx(const struct config *config, void *function, void **params, void **extra)
{
    int overlaps = config->count == 1 && config->attributes->id == 6 && config->attributes->value == 1;
    return (void)extra, launch(function, config->grid, config->block, config->shared, config->stream, overlaps, params);
}

/* What libcutec calls beside: a driver of CUDA 13, which knows parameters. */
CUresult cuDriverGetVersion(int *version) { return *version = 13000, 0; }
CUresult cuDeviceGetName(char *name, int size, int device) { return snprintf(name, (size_t)size, "mock %d", device - 100), 0; }
CUresult cuDevicePrimaryCtxRelease_v2(int device) { return (void)device, 0; }
CUresult cuStreamCreate(void **stream, unsigned flags) { return (void)flags, *stream = (void *)0x900, 0; }
CUresult cuStreamDestroy_v2(void *stream) { return (void)stream, 0; }
CUresult cuStreamSynchronize(void *stream) { return (void)stream, 0; }
CUresult cuEventCreate(void **event, unsigned flags) { return (void)flags, *event = (void *)0x901, 0; }
CUresult cuEventDestroy_v2(void *event) { return (void)event, 0; }
CUresult cuCtxSynchronize(void) { return current ? 0 : 201; }
CUresult cuModuleUnload(void *module) { return (void)module, 0; }
CUresult cuFuncGetParamInfo(void *function, size_t index, size_t *offset, size_t *size)
{
    struct function *of = function;
    if (index >= (size_t)of->count)
        return 1;
    return *offset = 0, *size = (size_t)of->sizes[index], 0;
}

static void list64(const char *name, const uint64_t *numbers, unsigned count)
{
    say(" %s", name);
    for (unsigned i = 0; i < count; i++)
        say(" %llu", (unsigned long long)numbers[i]);
}
static void list32(const char *name, const int32_t *numbers, unsigned count)
{
    say(" %s", name);
    for (unsigned i = 0; i < count; i++)
        say(" %d", numbers[i]);
}
static CUresult finish_map(void *map, int interleave, int swizzle, int promotion, int fill)
{
    say(" interleave %d swizzle %d promotion %d fill %d\n", interleave, swizzle, promotion, fill);
    memset(map, 0xEE, 128);
    memcpy(map, &map_count, sizeof map_count);
    map_count++;
    pthread_mutex_unlock(&lock);
    return (uintptr_t)map % 64 ? 1 : 0;
}
/* What maps of no elements access: the same place each time. */
CUresult cuMemAlloc_v2(uint64_t *address, size_t bytes)
{
    (void)bytes;
    return current ? (*address = 0xA000000000u, 0) : 201;
}
CUresult cuMemsetD8_v2(uint64_t address, unsigned char value, size_t bytes)
{
    return current && address == 0xA000000000u && value == 0 && bytes == 512 ? 0 : 1;
}
CUresult cuTensorMapEncodeTiled(void *map, int type, unsigned rank, void *address, const uint64_t *extents,
                                const uint64_t *strides, const int32_t *box, const int32_t *steps, int interleave, int swizzle,
                                int promotion, int fill)
{
    if (!current)
        return 201;
    pthread_mutex_lock(&lock);
    say("tiled type %d at %p", type, address);
    list64("extents", extents, rank);
    list64("strides", strides, rank - 1);
    list32("box", box, rank);
    list32("steps", steps, rank);
    return finish_map(map, interleave, swizzle, promotion, fill);
}
CUresult cuTensorMapEncodeIm2col(void *map, int type, unsigned rank, void *address, const uint64_t *extents,
                                 const uint64_t *strides, const int *lower, const int *upper, unsigned channels, unsigned pixels,
                                 const int32_t *steps, int interleave, int swizzle, int promotion, int fill)
{
    if (!current)
        return 201;
    pthread_mutex_lock(&lock);
    say("im2col type %d at %p", type, address);
    list64("extents", extents, rank);
    list64("strides", strides, rank - 1);
    list32("lower", lower, rank - 2);
    list32("upper", upper, rank - 2);
    say(" channels %u pixels %u", channels, pixels);
    list32("steps", steps, rank);
    return finish_map(map, interleave, swizzle, promotion, fill);
}

void *TVMFFIEnvGetStream(int kind, int device)
{
    return kind == 2 && stream_of_environment ? (char *)stream_of_environment + device : 0;
}
void TVMFFIErrorSetRaisedFromCStr(const char *kind, const char *message)
{
    snprintf(raised, sizeof raised, "%s: %s", kind, message);
}
