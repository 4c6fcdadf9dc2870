/* ---- Kernels with several configurations: which one a launch takes ---- */

/* The binary logarithm of an extent with 24 binary digits behind the point; an extent below 1 counts as 1. The digits come by
   squaring: the square of a number from 1 to 2 is 2 or more where the next digit of its logarithm is 1. */
static inline int64_t logarithm(int64_t extent)
{
    uint64_t number = extent < 1 ? 1 : (uint64_t)extent, rest;
    int whole = 63 - __builtin_clzll(number);
    int64_t result = whole;
    /* From 1 to 2, with 31 digits behind the point. */
    rest = number << (63 - whole) >> 32;
    for (int digits = 0; digits < 24; digits++) {
        rest = rest * rest >> 31;
        result = result << 1 | (int64_t)(rest >> 32);
        rest >>= rest >> 32;
    }
    return result;
}

/* The nearest of the sizes that were measured, which are `count` logarithms each: by the sum of squares of the differences, and the
   first one of those that are as near. */
static inline int nearest(const int64_t *extents, int count, const int32_t *sizes, int size_count)
{
    int64_t wanted[MOST_SYMBOLS];
    uint64_t least = UINT64_MAX;
    int best = 0;
    for (int i = 0; i < count; i++)
        wanted[i] = logarithm(extents[i]);
    for (int size = 0; size < size_count; size++) {
        uint64_t distance = 0;
        for (int i = 0; i < count; i++) {
            int64_t difference = sizes[size * count + i] - wanted[i];
            if (__builtin_add_overflow(distance, (uint64_t)(difference * difference), &distance))
                distance = UINT64_MAX;
        }
        if (distance < least) {
            least = distance;
            best = size;
        }
    }
    return best;
}

/* Whether a configuration was refused before anything was launched: by its arguments, or by what a GPU has room for. */
static inline bool is_refused(int32_t status)
{
    return status != CUTEC_OK && (status < CUTEC_NO_CUDA || status == CUTEC_SHARED_MEMORY || status == CUTEC_UNSUPPORTED);
}

