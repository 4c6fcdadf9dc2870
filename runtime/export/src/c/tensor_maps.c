
/* ---- Tensor maps: what the tensor memory accelerator is told of a tensor ---- */

/* A map that a kernel is passed. */
struct map {
    int type;
    int64_t bytes;
    /* Whether the kernel may write through it. */
    bool is_mutable;
    int rank, order[5];
    uint32_t box[5];
    /* In im2col mode: the corners and steps of the pixels, between channels and images. */
    bool im2col;
    int lower[3], upper[3];
    uint32_t steps[5];
    int swizzle, promotion, fill;
    /* What is wrong with a tensor. */
    const char *inner_stride, *stride, *extent, *align;
};

/* A map of a tensor that is there. */
struct described_map {
    bool empty;
    uint64_t address, extents[5], strides[5];
};

/* Checks what the hardware demands of a tensor; a mode of extent 1 may have any stride, as may all of a tensor without elements. */
static int32_t describe_map(const struct map *map, const struct view *view, struct described_map *described)
{
    /* What a mode of extent 1 gets: anything legal. Of a tensor without elements nothing is accessed: its strides are any. */
    const bool empty = is_empty(view, map->rank);
    const uint64_t align = 16, most_stride = (uint64_t)1 << 40;
    uint64_t span = align;
    described->address = view->address;
    described->empty = empty;
    if (alignment(view->address) % align != 0)
        return fail(CUTEC_TENSOR_MAP, map->align, (unsigned long long)alignment(view->address));
    for (int i = 0; i < map->rank; i++) {
        int mode = map->order[i];
        int64_t stride = view->strides[mode];
        uint64_t extent = empty ? 1 : (uint64_t)view->shape[mode], bytes, reach;
        if (extent > (uint64_t)1 << 32)
            return fail(CUTEC_TENSOR_MAP, map->extent, (long long)mode, (long long)view->shape[mode]);
        if (extent == 1) {
            bytes = span;
        } else if (stride < 0 || __builtin_mul_overflow((uint64_t)stride, (uint64_t)map->bytes, &bytes)) {
            int64_t found;
            if (__builtin_mul_overflow(stride, map->bytes, &found))
                found = stride < 0 ? INT64_MIN : INT64_MAX;
            return fail(CUTEC_TENSOR_MAP, map->stride, (long long)mode, (long long)found);
        }
        if (i == 0 && extent > 1 && stride != 1)
            return fail(CUTEC_TENSOR_MAP, map->inner_stride, (long long)mode, (long long)stride);
        if (i > 0) {
            if (bytes % align != 0 || bytes >= most_stride)
                return fail(CUTEC_TENSOR_MAP, map->stride, (long long)mode,
                            (long long)(bytes > INT64_MAX ? INT64_MAX : bytes));
            described->strides[i - 1] = bytes;
        }
        if (__builtin_mul_overflow(bytes, extent, &reach) || reach > most_stride - align)
            reach = most_stride - align;
        reach = (reach + align - 1) / align * align;
        span = span > reach ? span : reach;
        described->extents[i] = extent;
    }
    return CUTEC_OK;
}

/* What a map of no elements accesses, as the driver makes none without: zeros, or where what is written may go. */
static int32_t nowhere(struct device *device, bool is_mutable, uint64_t *address)
{
    const uint64_t bytes = 256;
    CUresult result = 0;
    pthread_mutex_lock(&loading);
    if (!device->nowhere) {
        uint64_t made = 0;
        result = cuda.allocate(&made, 2 * bytes);
        if (result == 0 && (result = cuda.fill(made, 0, 2 * bytes)) == 0)
            device->nowhere = made;
    }
    *address = device->nowhere + (is_mutable ? bytes : 0);
    pthread_mutex_unlock(&loading);
    return result == 0 ? CUTEC_OK : cuda_failed("cuMemAlloc", result);
}

static int32_t encode_map_here(struct device *device, const struct map *map, const struct described_map *described,
                               struct tensor_map *encoded)
{
    uint64_t first = described->address;
    int32_t status = described->empty ? nowhere(device, map->is_mutable, &first) : CUTEC_OK;
    void *address = (void *)(uintptr_t)first;
    uint32_t rank = (uint32_t)map->rank;
    CUresult result;
    if (status != CUTEC_OK)
        return status;
    if (map->im2col) {
        if (!cuda.encode_im2col)
            return fail(CUTEC_UNSUPPORTED, "the driver has no tensor maps, which the kernel needs");
        result = cuda.encode_im2col(encoded, map->type, rank, address, described->extents, described->strides, map->lower,
                                    map->upper, map->box[0], map->box[1], map->steps, 0, map->swizzle, map->promotion,
                                    map->fill);
        return result == 0 ? CUTEC_OK : cuda_failed("cuTensorMapEncodeIm2col", result);
    }
    if (!cuda.encode_tiled)
        return fail(CUTEC_UNSUPPORTED, "the driver has no tensor maps, which the kernel needs");
    result = cuda.encode_tiled(encoded, map->type, rank, address, described->extents, described->strides, map->box,
                               map->steps, 0, map->swizzle, map->promotion, map->fill);
    return result == 0 ? CUTEC_OK : cuda_failed("cuTensorMapEncodeTiled", result);
}

/* The driver encodes maps in a context alone. */
static int32_t encode_map(struct device *device, const struct map *map, const struct described_map *described,
                          struct tensor_map *encoded)
{
    CUcontext outer;
    int32_t status = enter(device, &outer);
    if (status != CUTEC_OK)
        return status;
    status = encode_map_here(device, map, described, encoded);
    leave(device, outer);
    return status;
}
