/* ---- What every export has: checks of tensors, the CUDA driver, images on devices ---- */

#define API __attribute__((visibility("default")))
#define MOST_DEVICES 64

/* The text of the last error of each thread. */
static _Thread_local char last_error[2048];

/* Keeps the text of an error, and returns its number. */
__attribute__((format(printf, 2, 3))) static int32_t fail(int32_t status, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(last_error, sizeof last_error, format, values);
    va_end(values);
    return status;
}

/* -- Tensors -- */

/* A tensor whose rank has been checked. */
struct view {
    uint64_t address;
    int64_t shape[MOST_MODES];
    int64_t strides[MOST_MODES];
};

static inline bool has_type(const DLTensor *tensor, uint8_t code, uint8_t bits)
{
    return tensor->dtype.code == code && tensor->dtype.bits == bits && tensor->dtype.lanes == 1;
}

static inline const char *type_name(const DLTensor *tensor, char *text, size_t size)
{
    for (size_t i = 0; i < sizeof element_types / sizeof element_types[0]; i++)
        if (has_type(tensor, element_types[i].code, element_types[i].bits))
            return element_types[i].name;
    snprintf(text, size, "DLPack's type %d of %d bits, %d lanes", tensor->dtype.code, tensor->dtype.bits,
             tensor->dtype.lanes);
    return text;
}
#define TYPE_NAME(tensor) type_name(tensor, (char[64]){0}, 64)

/* Numbers as `[1, 2, 3]`. */
static inline const char *list(const int64_t *numbers, int count, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "[");
    for (int i = 0; i < count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, i ? ", %lld" : "%lld", (long long)numbers[i]);
    if (used < size)
        snprintf(text + used, size - used, "]");
    return text;
}
#define LIST(numbers, count) list(numbers, count, (char[512]){0}, 512)

/* A tensor without strides is compact, its last mode the fastest. */
static inline void look_at(const DLTensor *tensor, int rank, struct view *view)
{
    int64_t compact = 1;
    view->address = (uint64_t)(uintptr_t)tensor->data + tensor->byte_offset;
    for (int mode = rank; mode-- > 0;) {
        view->shape[mode] = tensor->shape[mode];
        view->strides[mode] = tensor->strides ? tensor->strides[mode] : compact;
        if (view->shape[mode] > 1 && __builtin_mul_overflow(compact, view->shape[mode], &compact))
            compact = INT64_MAX;
    }
}

/* The first mode of a negative extent, or -1. */
static inline int negative_mode(const struct view *view, int rank)
{
    for (int mode = 0; mode < rank; mode++)
        if (view->shape[mode] < 0)
            return mode;
    return -1;
}

static inline bool is_empty(const struct view *view, int rank)
{
    for (int mode = 0; mode < rank; mode++)
        if (view->shape[mode] == 0)
            return true;
    return false;
}

/* Whether every element has an address, at or behind the first one. */
static inline bool has_span(const struct view *view, int rank, int64_t bytes)
{
    int64_t last = 0, reach;
    if (is_empty(view, rank))
        return true;
    for (int mode = 0; mode < rank; mode++) {
        if (view->shape[mode] <= 1)
            continue;
        if (view->strides[mode] < 0 || __builtin_mul_overflow(view->shape[mode] - 1, view->strides[mode], &reach) ||
            __builtin_add_overflow(last, reach, &last))
            return false;
    }
    return !__builtin_add_overflow(last, 1, &last) && !__builtin_mul_overflow(last, bytes, &last);
}

/* What an address is a multiple of; of none, what a device's memory is a multiple of. */
static inline uint64_t alignment(uint64_t address)
{
    return address ? address & (~address + 1) : 256;
}

/* The stride of a mode of extent 1 moves nothing: the next multiple that the kernel accepts. */
static inline int64_t free_stride(int64_t stride, int64_t divisor)
{
    int64_t rest, next;
    if (stride < 0)
        stride = 0;
    rest = stride % divisor;
    if (rest == 0)
        return stride;
    return __builtin_add_overflow(stride, divisor - rest, &next) ? 0 : next;
}

/* -- Numbers -- */

static inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t larger(int64_t a, int64_t b) { return a < b ? b : a; }

/* The quotient rounded up, of a divisor that is neither 0 nor -1. */
static inline int64_t ceil_div(int64_t a, int64_t b)
{
    int64_t rest = a % b;
    return a / b + (rest != 0 && (rest < 0) == (b < 0));
}

static inline bool add(int64_t a, int64_t b, int64_t *sum) { return !__builtin_add_overflow(a, b, sum); }
static inline bool sub(int64_t a, int64_t b, int64_t *difference) { return !__builtin_sub_overflow(a, b, difference); }
static inline bool mul(int64_t a, int64_t b, int64_t *product) { return !__builtin_mul_overflow(a, b, product); }

/* -- The CUDA driver, as far as it is called -- */

typedef int CUresult;
typedef int CUdevice;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;

/* `CUtensorMap` */
struct tensor_map {
    alignas(64) unsigned char bytes[128];
};

/* `CUlaunchAttribute` */
struct launch_attribute {
    int id;
    char padding[4];
    union {
        char padding[64];
        int value;
    } value;
};

/* `CUlaunchConfig` */
struct launch_config {
    unsigned grid[3], block[3], shared;
    CUstream stream;
    struct launch_attribute *attributes;
    unsigned attribute_count;
};

static struct {
    CUresult (*init)(unsigned);
    CUresult (*get_device)(CUdevice *, int);
    CUresult (*get_device_count)(int *);
    CUresult (*get_device_attribute)(int *, int, CUdevice);
    CUresult (*get_error_name)(CUresult, const char **);
    CUresult (*get_error_string)(CUresult, const char **);
    CUresult (*retain_primary_context)(CUcontext *, CUdevice);
    CUresult (*get_current_context)(CUcontext *);
    CUresult (*set_current_context)(CUcontext);
    CUresult (*get_current_device)(CUdevice *);
    CUresult (*load_module)(CUmodule *, const void *, unsigned, int *, void **);
    CUresult (*get_function)(CUfunction *, CUmodule, const char *);
    CUresult (*get_function_attribute)(int *, int, CUfunction);
    CUresult (*set_function_attribute)(CUfunction, int, int);
    CUresult (*resident_blocks)(int *, CUfunction, int, size_t);
    CUresult (*resident_clusters)(int *, CUfunction, const struct launch_config *);
    CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **,
                       void **);
    CUresult (*launch_with)(const struct launch_config *, CUfunction, void **, void **);
    CUresult (*allocate)(uint64_t *, size_t);
    CUresult (*fill)(uint64_t, unsigned char, size_t);
    CUresult (*encode_tiled)(struct tensor_map *, int, uint32_t, void *, const uint64_t *, const uint64_t *,
                             const uint32_t *, const uint32_t *, int, int, int, int);
    CUresult (*encode_im2col)(struct tensor_map *, int, uint32_t, void *, const uint64_t *, const uint64_t *, const int *,
                              const int *, uint32_t, uint32_t, const uint32_t *, int, int, int, int);
} cuda;

static int32_t cuda_failed(const char *call, CUresult result)
{
    const char *name = 0, *text = 0;
    if (cuda.get_error_name(result, &name) != 0 || !name)
        name = "an unknown error";
    if (cuda.get_error_string(result, &text) != 0 || !text)
        text = "";
    return fail(CUTEC_CUDA, "%s: %s: %s", call, name, text);
}

/* Looks for the driver, once; the lock is held. */
static int32_t open_driver(void)
{
    static bool opened;
    static const struct {
        const char *name;
        void *place;
        bool needed;
    } symbols[] = {
        {"cuInit", &cuda.init, true},
        {"cuDeviceGet", &cuda.get_device, true},
        {"cuDeviceGetCount", &cuda.get_device_count, true},
        {"cuDeviceGetAttribute", &cuda.get_device_attribute, true},
        {"cuGetErrorName", &cuda.get_error_name, true},
        {"cuGetErrorString", &cuda.get_error_string, true},
        {"cuDevicePrimaryCtxRetain", &cuda.retain_primary_context, true},
        {"cuCtxGetCurrent", &cuda.get_current_context, true},
        {"cuCtxSetCurrent", &cuda.set_current_context, true},
        {"cuCtxGetDevice", &cuda.get_current_device, true},
        {"cuModuleLoadDataEx", &cuda.load_module, true},
        {"cuModuleGetFunction", &cuda.get_function, true},
        {"cuFuncGetAttribute", &cuda.get_function_attribute, true},
        {"cuFuncSetAttribute", &cuda.set_function_attribute, true},
        {"cuOccupancyMaxActiveBlocksPerMultiprocessor", &cuda.resident_blocks, true},
        {"cuLaunchKernel", &cuda.launch, true},
        {"cuMemAlloc_v2", &cuda.allocate, true},
        {"cuMemsetD8_v2", &cuda.fill, true},
        /* CUDA 11.8 and later, as are the kernels that need them. */
        {"cuOccupancyMaxActiveClusters", &cuda.resident_clusters, false},
        {"cuLaunchKernelEx", &cuda.launch_with, false},
        {"cuTensorMapEncodeTiled", &cuda.encode_tiled, false},
        {"cuTensorMapEncodeIm2col", &cuda.encode_im2col, false},
    };
    void *library;
    CUresult result;
    if (opened)
        return CUTEC_OK;
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        library = dlopen("libcuda.so", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return fail(CUTEC_NO_CUDA, "no CUDA device: the driver's library libcuda is not on this machine");
    for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
        void *found = dlsym(library, symbols[i].name);
        if (!found && symbols[i].needed)
            return fail(CUTEC_NO_CUDA, "no CUDA device: the driver has no %s", symbols[i].name);
        memcpy(symbols[i].place, &found, sizeof found);
    }
    result = cuda.init(0);
    if (result != 0) {
        const char *name = 0;
        if (cuda.get_error_name(result, &name) != 0 || !name)
            name = "an unknown error";
        return fail(CUTEC_NO_CUDA, "no CUDA device: %s", name);
    }
    opened = true;
    return CUTEC_OK;
}

/* -- Devices, and the images on them -- */

/* Code for one target: a cubin, or PTX, which later GPUs take too. The first part has all kernels with their defaults, each other part
   one kernel in another configuration. */
struct image {
    const void *parts[PARTS];
    const char *target;
    int major, minor;
    /* 0, 'a' (this GPU alone) or 'f' (its generation) */
    char suffix;
    bool is_ptx;
    /* Which of the kernels' signatures holds for it. */
    int build;
};

/* A kernel on a device. */
struct function {
    atomic_bool ready;
    CUfunction handle;
    /* The threads of a block for which the resident blocks were counted, and these; of persistent kernels. */
    atomic_uint_fast64_t resident;
};

struct device {
    int32_t ordinal;
    CUcontext context;
    const struct image *image;
    int shared_limit, multiprocessors;
    /* What tensor maps of no elements access, once there are any; the lock is held where it is made. */
    uint64_t nowhere;
    /* Null until they are first needed; the lock is held. */
    CUmodule modules[PARTS];
    /* Those of the first part, then one of each other part. */
    struct function functions[FUNCTIONS];
};

static const struct image images[IMAGES];
static struct device all_devices[MOST_DEVICES];
/* Those that are ready; an entry is written once. */
static _Atomic(struct device *) devices[MOST_DEVICES];
static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

/* Whether code runs on a GPU: PTX on the same or a later one, a cubin on later ones of the same generation. */
static bool runs_on(const struct image *image, int major, int minor)
{
    bool same_generation = major == image->major && minor >= image->minor;
    switch (image->suffix) {
    case 'a':
        return major == image->major && minor == image->minor;
    case 'f':
        return same_generation;
    default:
        return image->is_ptx ? 100 * major + minor >= 100 * image->major + image->minor : same_generation;
    }
}

/* The image for a GPU: machine code before PTX, then what was compiled for the latest GPU. */
static const struct image *image_for(int major, int minor)
{
    const struct image *best = 0;
    int best_rank = -1;
    for (size_t i = 0; i < IMAGES; i++) {
        const struct image *image = &images[i];
        int suffix = image->suffix == 'a' ? 2 : image->suffix == 'f' ? 1 : 0;
        int rank = (image->is_ptx ? 0 : 1000000) + 1000 * image->major + 10 * image->minor + suffix;
        if (rank > best_rank && runs_on(image, major, minor)) {
            best = image;
            best_rank = rank;
        }
    }
    return best;
}

/* Makes the device's context current where another one is, which `leave` makes current again. */
static int32_t enter(const struct device *device, CUcontext *outer)
{
    CUresult result = cuda.get_current_context(outer);
    if (result != 0)
        return cuda_failed("cuCtxGetCurrent", result);
    if (*outer != device->context) {
        result = cuda.set_current_context(device->context);
        if (result != 0)
            return cuda_failed("cuCtxSetCurrent", result);
    }
    return CUTEC_OK;
}

static void leave(const struct device *device, CUcontext outer)
{
    if (outer != device->context)
        cuda.set_current_context(outer);
}

/* Loads a part of the image for a device, once; the context is current, and the lock is held. */
static int32_t load_part(struct device *device, int part)
{
    /* CU_JIT_ERROR_LOG_BUFFER and its size, which is passed in the place of a pointer. */
    int options[] = {5, 6};
    char log[1024] = "";
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    const char *name = 0;
    CUmodule module;
    CUresult result;
    if (device->modules[part])
        return CUTEC_OK;
    result = cuda.load_module(&module, device->image->parts[part], 2, options, values);
    if (result == 0) {
        device->modules[part] = module;
        return CUTEC_OK;
    }
    if (cuda.get_error_name(result, &name) != 0 || !name)
        name = "an unknown error";
    return fail(CUTEC_LOAD, "the driver does not load the code: %s%s%s", name, log[0] ? "\n  " : "", log);
}

/* Loads all parts. */
static int32_t load_all(struct device *device)
{
    CUcontext outer;
    int32_t status = enter(device, &outer);
    if (status != CUTEC_OK)
        return status;
    pthread_mutex_lock(&loading);
    for (int part = 0; part < PARTS && status == CUTEC_OK; part++)
        status = load_part(device, part);
    pthread_mutex_unlock(&loading);
    leave(device, outer);
    return status;
}

static int32_t open_device_locked(int32_t ordinal)
{
    struct device *device = &all_devices[ordinal];
    int count = 0, major = 0, minor = 0;
    CUdevice handle;
    CUresult result;
    int32_t status = open_driver();
    if (status != CUTEC_OK)
        return status;
    result = cuda.get_device_count(&count);
    if (result != 0)
        return cuda_failed("cuDeviceGetCount", result);
    if (ordinal >= count)
        return fail(CUTEC_NO_CUDA, "no device cuda:%d: this machine has %d", ordinal, count);
    device->ordinal = ordinal;
    if ((result = cuda.get_device(&handle, ordinal)) != 0)
        return cuda_failed("cuDeviceGet", result);
    /* Compute capability, most shared memory of a block, multiprocessors */
    if ((result = cuda.get_device_attribute(&major, 75, handle)) != 0 ||
        (result = cuda.get_device_attribute(&minor, 76, handle)) != 0 ||
        (result = cuda.get_device_attribute(&device->shared_limit, 97, handle)) != 0 ||
        (result = cuda.get_device_attribute(&device->multiprocessors, 16, handle)) != 0)
        return cuda_failed("cuDeviceGetAttribute", result);
    device->image = image_for(major, minor);
    if (!device->image)
        return fail(CUTEC_TARGET, "`" LIBRARY "` was compiled for " TARGETS ": cuda:%d is sm_%d%d", ordinal, major, minor);
    /* Until the process ends: kernels may be under way at any time before. */
    if (!device->context && (result = cuda.retain_primary_context(&device->context, handle)) != 0)
        return cuda_failed("cuDevicePrimaryCtxRetain", result);
    atomic_store_explicit(&devices[ordinal], device, memory_order_release);
    return CUTEC_OK;
}

/* A device that there is code for, which is opened once. */
static int32_t open_device(int32_t ordinal, struct device **found)
{
    int32_t status = CUTEC_OK;
    if (ordinal < 0 || ordinal >= MOST_DEVICES)
        return fail(CUTEC_NO_CUDA, "no device cuda:%d", ordinal);
    *found = atomic_load_explicit(&devices[ordinal], memory_order_acquire);
    if (*found)
        return CUTEC_OK;
    pthread_mutex_lock(&loading);
    *found = atomic_load_explicit(&devices[ordinal], memory_order_acquire);
    if (!*found) {
        status = open_device_locked(ordinal);
        *found = &all_devices[ordinal];
    }
    pthread_mutex_unlock(&loading);
    return status;
}

/* `tensors` end with a null pointer. */
static int32_t device_of(const DLTensor *const *tensors, const char *const *names, struct device **found)
{
    int32_t ordinal = 0;
    for (int i = 0; names[i]; i++) {
        const DLDevice *device;
        if (!tensors[i])
            return fail(CUTEC_NULL, "`%s`: a null pointer", names[i]);
        if (!tensors[i]->shape && tensors[i]->ndim > 0)
            return fail(CUTEC_NULL, "`%s`: a null pointer to its shape", names[i]);
        device = &tensors[i]->device;
        /* kDLCUDA, kDLCUDAManaged */
        if ((int)device->device_type != 2 && (int)device->device_type != 13)
            return fail(CUTEC_DEVICE, "`%s`: on a device of DLPack's kind %d: expected a CUDA GPU", names[i],
                        (int)device->device_type);
        if (i > 0 && device->device_id != ordinal)
            return fail(CUTEC_DEVICE, "`%s` is on cuda:%d, and `%s` on cuda:%d: expected all on one device", names[0], ordinal,
                        names[i], device->device_id);
        ordinal = device->device_id;
    }
    if (!names[0]) {
        /* Of the context that the caller works in. */
        int32_t status;
        CUdevice current;
        pthread_mutex_lock(&loading);
        status = open_driver();
        pthread_mutex_unlock(&loading);
        if (status != CUTEC_OK)
            return status;
        if (cuda.get_current_device(&current) == 0)
            ordinal = current;
    }
    return open_device(ordinal, found);
}

/* -- Launches -- */

/* What a launch has to say beside its parameters. */
struct launch {
    const char *entry;
    uint32_t grid[3], block[3], cluster[3], shared;
    /* At most as many blocks in x as the device holds at a time. */
    bool persistent;
    /* May begin before the launch ahead of it in the stream has ended. */
    bool overlaps;
    /* All blocks run at the same time. */
    bool cooperative;
};

/* How many clusters the device holds at a time. */
static CUresult count_clusters(const struct function *function, const struct launch *launch, int *clusters)
{
    const uint32_t *block = launch->block, *cluster = launch->cluster;
    struct launch_config config = {{cluster[0], cluster[1], cluster[2]}, {block[0], block[1], block[2]}, launch->shared, 0, 0, 0};
    return cuda.resident_clusters(clusters, function->handle, &config);
}

/* Looks a kernel up and allows it the shared memory that it needs; the context is current. */
static int32_t find_function(struct device *device, int number, const struct launch *launch)
{
    struct function *function = &device->functions[number];
    int32_t status;
    int part = number < KERNELS ? 0 : number - KERNELS + 1;
    pthread_mutex_lock(&loading);
    status = load_part(device, part);
    if (status == CUTEC_OK && !atomic_load_explicit(&function->ready, memory_order_acquire)) {
        int fixed = 0, clusters = 1;
        unsigned blocks = launch->cluster[0] * launch->cluster[1] * launch->cluster[2];
        CUresult result = cuda.get_function(&function->handle, device->modules[part], launch->entry);
        const char *call = "cuModuleGetFunction";
        if (result == 0) {
            call = "cuFuncGetAttribute";
            /* CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES */
            result = cuda.get_function_attribute(&fixed, 1, function->handle);
        }
        if (result == 0 && (uint64_t)fixed + launch->shared > (uint64_t)device->shared_limit) {
            status = fail(CUTEC_SHARED_MEMORY, "`%s` needs %llu bytes of shared memory a block: cuda:%d has %d",
                          launch->entry, (unsigned long long)fixed + launch->shared, device->ordinal,
                          device->shared_limit);
        } else {
            if (result == 0 && (uint64_t)fixed + launch->shared > 48 << 10) {
                call = "cuFuncSetAttribute";
                /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
                result = cuda.set_function_attribute(function->handle, 8, (int)launch->shared);
            }
            if (result == 0 && blocks > 8) {
                call = "cuFuncSetAttribute";
                /* CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED */
                result = cuda.set_function_attribute(function->handle, 14, 1);
                if (result == 0) {
                    call = "cuOccupancyMaxActiveClusters";
                    result = count_clusters(function, launch, &clusters);
                }
            }
            if (result == 0 && clusters > 0)
                atomic_store_explicit(&function->ready, true, memory_order_release);
            else if (result == 0)
                status = fail(CUTEC_UNSUPPORTED, "`%s` is launched in clusters of %u blocks: cuda:%d has room for none",
                              launch->entry, blocks, device->ordinal);
            else
                status = cuda_failed(call, result);
        }
    }
    pthread_mutex_unlock(&loading);
    return status;
}

/* How many blocks the device holds at a time, whole clusters where there are any. */
static int32_t count_resident(const struct device *device, struct function *function, const struct launch *launch,
                              uint32_t *resident)
{
    const uint32_t *block = launch->block, *cluster = launch->cluster;
    uint32_t threads = block[0] * block[1] * block[2], of_cluster = cluster[0] * cluster[1] * cluster[2];
    uint64_t known = atomic_load_explicit(&function->resident, memory_order_relaxed);
    uint64_t blocks;
    int found = 0;
    CUresult result;
    if (known >> 32 == threads) {
        *resident = (uint32_t)known;
        return CUTEC_OK;
    }
    if (of_cluster > 1) {
        result = count_clusters(function, launch, &found);
        if (result != 0)
            return cuda_failed("cuOccupancyMaxActiveClusters", result);
        blocks = (uint64_t)found * of_cluster;
    } else {
        result = cuda.resident_blocks(&found, function->handle, (int)threads, launch->shared);
        if (result != 0)
            return cuda_failed("cuOccupancyMaxActiveBlocksPerMultiprocessor", result);
        blocks = (uint64_t)found * (uint64_t)device->multiprocessors;
    }
    *resident = blocks < UINT32_MAX ? (uint32_t)blocks : UINT32_MAX;
    atomic_store_explicit(&function->resident, (uint64_t)threads << 32 | *resident, memory_order_relaxed);
    return CUTEC_OK;
}

static int32_t enqueue_here(struct device *device, int number, const struct launch *launch, void **params, CUstream stream)
{
    struct function *function = &device->functions[number];
    const uint32_t *block = launch->block;
    uint32_t x = launch->grid[0], y = launch->grid[1], z = launch->grid[2];
    CUresult result;
    if (!atomic_load_explicit(&function->ready, memory_order_acquire)) {
        int32_t status = find_function(device, number, launch);
        if (status != CUTEC_OK)
            return status;
    }
    if (launch->persistent) {
        uint32_t resident = 0, clusters;
        int32_t status = count_resident(device, function, launch, &resident);
        if (status != CUTEC_OK)
            return status;
        clusters = resident / launch->cluster[0];
        resident = (clusters ? clusters : 1) * launch->cluster[0];
        if (x > resident)
            x = resident;
    }
    /* Parameters are passed one by one: in one block, a kernel faults at its first use of a tensor map (driver 580). */
    if (launch->cooperative) {
        uint32_t resident = 0;
        int32_t status = count_resident(device, function, launch, &resident);
        if (status != CUTEC_OK)
            return status;
        if ((uint64_t)x * y * z > resident)
            return fail(CUTEC_UNSUPPORTED, "the blocks wait for each other: %llu are launched, but the device holds %u at a time",
                        (unsigned long long)x * y * z, (unsigned)resident);
    }
    if (launch->overlaps || launch->cooperative) {
        /* CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, or CU_LAUNCH_ATTRIBUTE_COOPERATIVE */
        struct launch_attribute attribute = {.id = launch->overlaps ? 6 : 2, .value.value = 1};
        struct launch_config config = {{x, y, z}, {block[0], block[1], block[2]}, launch->shared, stream, &attribute, 1};
        result = cuda.launch_with(&config, function->handle, params, 0);
    } else {
        result = cuda.launch(function->handle, x, y, z, block[0], block[1], block[2], launch->shared, stream, params, 0);
    }
    return result == 0 ? CUTEC_OK : cuda_failed("cuLaunchKernel", result);
}

/* Puts a function into a stream. The current context of the thread is what it was, afterwards. */
static int32_t enqueue(struct device *device, int number, const struct launch *launch, void **params, CUstream stream)
{
    CUcontext outer;
    int32_t status = enter(device, &outer);
    if (status != CUTEC_OK)
        return status;
    status = enqueue_here(device, number, launch, params, stream);
    leave(device, outer);
    return status;
}
