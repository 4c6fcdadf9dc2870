
/* ---- The kernels as functions of tvm-ffi (`TVMFFISafeCallType`) ---- */

/* `TVMFFIAny` */
struct any {
    int32_t type;
    uint32_t padding;
    union {
        int64_t integer;
        double number;
        const char *pointer;
    } value;
};

/* `kTVMFFIInt`, `kTVMFFIBool`, `kTVMFFIFloat`, `kTVMFFIDLTensorPtr`, `kTVMFFITensor` */
enum { IS_INT = 1, IS_BOOL = 2, IS_FLOAT = 3, IS_DLTENSOR = 7, IS_TENSOR = 70 };

/* A function of tvm-ffi's library, where the process has it. */
static void *of_tvm_ffi(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name), *library;
    if (!found && (library = dlopen("libtvm_ffi.so", RTLD_NOW | RTLD_NOLOAD)))
        found = dlsym(library, name);
    return found;
}

static inline const DLTensor *tensor_of(const struct any *value)
{
    switch (value->type) {
    case IS_DLTENSOR:
        return (const DLTensor *)value->value.pointer;
    case IS_TENSOR:
        /* It follows the object's head. */
        return (const DLTensor *)(value->value.pointer + 24);
    default:
        return 0;
    }
}

/* Tells tvm-ffi what went wrong. */
static int raised(const char *kernel, int32_t status)
{
    static _Atomic(void *) known;
    void *found = atomic_load_explicit(&known, memory_order_relaxed);
    char text[sizeof last_error + 128];
    if (status == CUTEC_OK)
        return 0;
    if (!found) {
        found = of_tvm_ffi("TVMFFIErrorSetRaisedFromCStr");
        atomic_store_explicit(&known, found, memory_order_relaxed);
    }
    snprintf(text, sizeof text, "`%s`: %s", kernel, last_error);
    if (found) {
        void (*raise)(const char *, const char *);
        memcpy(&raise, &found, sizeof found);
        raise(status < CUTEC_NO_CUDA ? "ValueError" : "RuntimeError", text);
    }
    return -1;
}

/* The stream that the caller works in; the default stream where nobody says. */
static CUstream stream_of(const DLTensor *tensor)
{
    static _Atomic(void *) known;
    void *found = atomic_load_explicit(&known, memory_order_relaxed);
    void *(*get)(int32_t, int32_t);
    if (!found) {
        found = of_tvm_ffi("TVMFFIEnvGetStream");
        if (!found)
            return 0;
        atomic_store_explicit(&known, found, memory_order_relaxed);
    }
    memcpy(&get, &found, sizeof found);
    return (CUstream)get(2, tensor ? tensor->device.device_id : 0);
}

static inline int32_t no_number(const char *name, const char *type, const struct any *value)
{
    return fail(CUTEC_KIND, "`%s`: expected a number for %s, found tvm-ffi's type %d", name, type, value->type);
}

static inline int32_t float_of(const struct any *value, const char *name, const char *type, double *number)
{
    switch (value->type) {
    case IS_FLOAT:
        *number = value->value.number;
        return CUTEC_OK;
    case IS_INT:
        *number = (double)value->value.integer;
        return CUTEC_OK;
    case IS_BOOL:
        *number = (value->value.integer & 255) != 0;
        return CUTEC_OK;
    default:
        return no_number(name, type, value);
    }
}

static inline int32_t integer_of(const struct any *value, const char *name, const char *type, int64_t least, int64_t most,
                                 int64_t *number)
{
    if (value->type != IS_INT && value->type != IS_BOOL)
        return no_number(name, type, value);
    *number = value->type == IS_BOOL ? (value->value.integer & 255) != 0 : value->value.integer;
    if (*number < least || *number > most)
        return fail(CUTEC_RANGE, "`%s`: %lld is beyond %s", name, (long long)*number, type);
    return CUTEC_OK;
}
