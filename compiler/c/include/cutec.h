/* libcutec: compiles .cute kernels, and launches them on GPUs and in a simulator. docs/c.md is the guide.
 *
 * Every function that can fail returns a number of enum cutec_status and hands out what was wrong by its last argument, which may be
 * NULL; the error is the caller's, who gives it back by cutec_error_free. Texts are UTF-8 and belong to the object that they are
 * asked of. Any thread may call anything, as long as nobody frees what another one uses.
 *
 * Made by cbindgen: do not edit. */

#ifndef CUTEC_H
#define CUTEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__has_include)
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#endif
#endif
#if !defined(DLPACK_DLPACK_H_) && !defined(CUTEC_DLPACK_DEFINED)
#define CUTEC_DLPACK_DEFINED
/* As in dlpack.h (github.com/dmlc/dlpack), which is taken where it can be included. */
typedef enum {
    kDLCPU = 1,
    kDLCUDA = 2,
    kDLCUDAHost = 3,
    kDLCUDAManaged = 13
} DLDeviceType;
typedef enum {
    kDLInt = 0,
    kDLUInt = 1,
    kDLFloat = 2,
    kDLBfloat = 4,
    kDLBool = 6,
    kDLFloat8_e4m3fn = 10,
    kDLFloat8_e5m2 = 12
} DLDataTypeCode;
typedef struct {
    DLDeviceType device_type;
    int32_t device_id;
} DLDevice;
typedef struct {
    uint8_t code; /* of DLDataTypeCode */
    uint8_t bits;
    uint16_t lanes; /* 1 */
} DLDataType;
typedef struct {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides; /* in elements; NULL: compact, the last mode fastest */
    uint64_t byte_offset;
} DLTensor;
#endif

/* What calls return; the numbers never change. */
#ifndef CUTEC_STATUS_DEFINED
#define CUTEC_STATUS_DEFINED
enum cutec_status {
    CUTEC_OK = 0, /* done */
    CUTEC_UNKNOWN_KERNEL = 1, /* no kernel of this name */
    CUTEC_COUNT = 2, /* too few or too many arguments */
    CUTEC_KIND = 3, /* a tensor where a number is expected, or the other way round */
    CUTEC_DTYPE = 4, /* another element type */
    CUTEC_RANK = 5, /* another number of modes */
    CUTEC_MALFORMED = 6, /* shape and strides differ in number */
    CUTEC_NEGATIVE_EXTENT = 7, /* a negative extent */
    CUTEC_TOO_LARGE = 8, /* a tensor beyond 64-bit addresses */
    CUTEC_STATIC_EXTENT = 9, /* another extent than the one the kernel was compiled for */
    CUTEC_COMPUTED_EXTENT = 10, /* another extent than the signature computes */
    CUTEC_TIED_EXTENT = 11, /* extents that must be equal differ */
    CUTEC_STRIDE = 12, /* a stride is not what the layout says */
    CUTEC_DIVISIBILITY = 13, /* a number is not the multiple that the kernel relies on */
    CUTEC_RANGE = 14, /* a number above its bound, or beyond its type */
    CUTEC_ALIGN = 15, /* the base address is not aligned */
    CUTEC_READ_ONLY = 16, /* a read-only tensor where the kernel writes */
    CUTEC_TENSOR_MAP = 17, /* no tensor map can be made of a tensor */
    CUTEC_PROMISE = 18, /* a condition behind `where` does not hold */
    CUTEC_EXPR = 19, /* an expression of the signature has no value */
    CUTEC_GEOMETRY = 20, /* grid or block beyond what a launch can have */
    CUTEC_CLUSTER = 21, /* a grid that is not made of whole clusters */
    CUTEC_BLOCK_SIZE = 22, /* more threads in a block than there can be */
    CUTEC_INCONSISTENT = 23, /* the kernel's description contradicts itself */
    CUTEC_NULL = 24, /* a null pointer */
    CUTEC_DEVICE = 25, /* tensors that are not all on one device, or not on a GPU */
    CUTEC_NO_CUDA = 40, /* no driver, or no GPU of this number */
    CUTEC_CUDA = 41, /* a call of the CUDA driver failed */
    CUTEC_LOAD = 42, /* the driver refused the code */
    CUTEC_SHARED_MEMORY = 43, /* more shared memory than a block can have */
    CUTEC_TARGET = 44, /* compiled for other GPUs */
    CUTEC_OUT_OF_MEMORY = 45, /* not enough memory */
    CUTEC_UNSUPPORTED = 46, /* the device cannot do what the kernel needs */
    CUTEC_FAULT = 47, /* the simulator found that the kernel does what it must not */
    CUTEC_OTHER_DEVICE = 48, /* another error of a device */
    CUTEC_COMPILE = 60, /* the source does not compile */
    CUTEC_FILE = 61, /* a file cannot be read or written */
    CUTEC_OPTION = 62, /* an unknown option, or a value that it does not have */
    CUTEC_PANIC = 63, /* a bug of cutec */
};
#endif


/**
 * The simulator, in the place of a GPU's number.
 */
#define CUTEC_SIMULATOR -1

/**
 * What an argument is.
 */
typedef enum cutec_argument_kind {
  /**
   * A tensor: `tensor`.
   */
  CUTEC_ARGUMENT_KIND_TENSOR = 0,
  /**
   * An integer, for parameters of any type: `integer`.
   */
  CUTEC_ARGUMENT_KIND_INTEGER = 1,
  /**
   * A number of floating point: `number`.
   */
  CUTEC_ARGUMENT_KIND_NUMBER = 2,
} cutec_argument_kind;

/**
 * What was wrong with a call.
 */
typedef struct cutec_error cutec_error;

/**
 * A module on a device.
 */
typedef struct cutec_loaded cutec_loaded;

/**
 * Compiled kernels, or what was asked for in their place.
 */
typedef struct cutec_module cutec_module;

/**
 * Options of compilations, and of simulators.
 */
typedef struct cutec_options cutec_options;

/**
 * A message about a place in a source. Its texts live as long as what it was asked of.
 */
typedef struct cutec_diagnostic {
  /**
   * `error`, `warning` or `remark`.
   */
  const char *severity;
  /**
   * The code, such as `E0101`: `cutec explain` says more about it.
   */
  const char *code;
  /**
   * One sentence: what was expected and what was found.
   */
  const char *message;
  /**
   * The file; "" where there is no place.
   */
  const char *file;
  /**
   * Where the place begins, both from 1; 0 where there is none.
   */
  uint32_t line;
  /**
   * Its column, in characters.
   */
  uint32_t column;
  /**
   * Where it ends: the line of the first character behind it.
   */
  uint32_t end_line;
  /**
   * And its column.
   */
  uint32_t end_column;
  /**
   * Facts that explain it.
   */
  const char *const *notes;
  /**
   * How many there are.
   */
  size_t note_count;
  /**
   * How to mend it; null where that is not known.
   */
  const char *help;
  /**
   * All of it as text, with the lines of the source.
   */
  const char *rendered;
} cutec_diagnostic;

/**
 * Its value.
 */
typedef union cutec_argument_value {
  /**
   * Of a tensor; DLPack's, as in `dlpack.h`.
   */
  const DLTensor *tensor;
  /**
   * Of an integer.
   */
  int64_t integer;
  /**
   * Of a number of floating point.
   */
  double number;
} cutec_argument_value;

/**
 * An argument of a launch.
 */
typedef struct cutec_argument {
  /**
   * What it is, of `enum cutec_argument_kind`.
   */
  int32_t kind;
  /**
   * Its value.
   */
  union cutec_argument_value value;
} cutec_argument;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The library's version, such as `0.1.0`.
 */
const char *cutec_version(void);

/**
 * The number of what was wrong.
 *
 * What it needs:
 * `error` comes from a call, and nobody frees it meanwhile; null is no error.
 */
int32_t cutec_error_status(const struct cutec_error *error);

/**
 * What was wrong, in words; of a source that does not compile all diagnostics, with its lines.
 *
 * What it needs:
 * As `cutec_error_status`.
 */
const char *cutec_error_message(const struct cutec_error *error);

/**
 * How many places of a source an error is about.
 *
 * What it needs:
 * As `cutec_error_status`.
 */
size_t cutec_error_diagnostic_count(const struct cutec_error *error);

/**
 * One of them; null beyond the last.
 *
 * What it needs:
 * As `cutec_error_status`.
 */
const struct cutec_diagnostic *cutec_error_diagnostic(const struct cutec_error *error, size_t index);

/**
 * Gives an error back.
 *
 * What it needs:
 * It comes from a call, and nobody uses it any more; or it is null.
 */
void cutec_error_free(struct cutec_error *error);

/**
 * Loads a module onto a GPU by its number, or for `CUTEC_SIMULATOR`. Of `options`, which may be null, those of the simulator count.
 *
 * What it needs:
 * `module` is a module, `options` and `error` are null or what they are called, and `loaded` may be written.
 */
int32_t cutec_load(const struct cutec_module *module,
                   int32_t device,
                   const struct cutec_options *options,
                   struct cutec_loaded **loaded,
                   struct cutec_error **error);

/**
 * Checks the arguments and launches a kernel. On a GPU it is put into `stream`, a `cudaStream_t` or `CUstream` of that GPU (null is
 * the default stream), and the current context of the thread stays what it was; tensors are there, and stay until the kernel is done.
 * The simulator takes tensors in memory of the host, and runs the kernel to its end before this returns; after an error they are
 * as they were.
 *
 * What it needs:
 * `loaded` comes from `cutec_load`, `args` are `count` arguments whose tensors are as DLPack says, and `error` is null or may be
 * written.
 */
int32_t cutec_launch(const struct cutec_loaded *loaded,
                     const char *kernel,
                     const struct cutec_argument *args,
                     size_t count,
                     void *stream,
                     struct cutec_error **error);

/**
 * Unloads a module; what was launched is waited for. The current context of the thread stays what it was.
 *
 * What it needs:
 * It comes from `cutec_load`, and nobody uses it any more; or it is null.
 */
void cutec_loaded_free(struct cutec_loaded *loaded);

/**
 * Compiles a text of `length` bytes. Its name is what messages show; imports are looked for beside it, and where it ends in
 * `.mlir` the text is MLIR. `options` may be null.
 *
 * What it needs:
 * The texts are texts, `text` of `length` bytes; `options` and `error` are null or what they are called, and `module` may be written.
 */
int32_t cutec_compile(const char *name,
                      const char *text,
                      size_t length,
                      const struct cutec_options *options,
                      struct cutec_module **module,
                      struct cutec_error **error);

/**
 * Compiles a file, `.cute` or `.mlir`. `options` may be null.
 *
 * What it needs:
 * As `cutec_compile`.
 */
int32_t cutec_compile_file(const char *path,
                           const struct cutec_options *options,
                           struct cutec_module **module,
                           struct cutec_error **error);

/**
 * What was compiled: PTX, or whatever `emit` asked for. A NUL is behind its last byte; `length`, which does not count it, may
 * be null.
 *
 * What it needs:
 * `module` is a module, or null; `length` is null or may be written.
 */
const char *cutec_module_code(const struct cutec_module *module,
                              size_t *length);

/**
 * The kernels' signatures as JSON (`docs/architecture.md`, "The kernel ABI"); null where compilation did not come as far as code.
 *
 * What it needs:
 * `module` is a module, or null.
 */
const char *cutec_module_abi(const struct cutec_module *module);

/**
 * How many kernels there are.
 *
 * What it needs:
 * `module` is a module, or null.
 */
size_t cutec_module_kernel_count(const struct cutec_module *module);

/**
 * The name of a kernel, in the order of the source; null beyond the last.
 *
 * What it needs:
 * `module` is a module, or null.
 */
const char *cutec_module_kernel_name(const struct cutec_module *module, size_t index);

/**
 * How many warnings and remarks there are.
 *
 * What it needs:
 * `module` is a module, or null.
 */
size_t cutec_module_notice_count(const struct cutec_module *module);

/**
 * One of them; null beyond the last.
 *
 * What it needs:
 * `module` is a module, or null.
 */
const struct cutec_diagnostic *cutec_module_notice(const struct cutec_module *module, size_t index);

/**
 * Gives a module back; what was loaded of it stays.
 *
 * What it needs:
 * It comes from a compilation, and nobody uses it any more; or it is null.
 */
void cutec_module_free(struct cutec_module *module);

/**
 * Options as they are where nothing is said: PTX for sm_80, fully optimised.
 */
struct cutec_options *cutec_options_new(void);

/**
 * Sets an option: `arch` (`sm_90a`; `native` for that of the first GPU), `kernel` (only this one), `level` (0 to 3), `emit` (`ptx`, `cubin`, … as the program `cutec` has
 * it), `remarks` (`true`: what each copy and gemm became), `threads` (of a compilation, 0 for one a processor), `plan` (a
 * file of `cutec tune`: all configurations that it chooses are compiled, and each launch takes one by its extents; without `arch` for
 * the plan's target), `cache` (a folder in which PTX is kept from run to run); and of the simulator `races` (`true`: look for them) and `schedule` (a number: one of the legal
 * orders).
 *
 * What it needs:
 * `options` comes from `cutec_options_new`, and no other thread uses it meanwhile; the texts are texts.
 */
int32_t cutec_options_set(struct cutec_options *options,
                          const char *name,
                          const char *value,
                          struct cutec_error **error);

/**
 * Sets a compile-time parameter of kernels, as `-D name=value` does.
 *
 * What it needs:
 * As `cutec_options_set`.
 */
int32_t cutec_options_define(struct cutec_options *options,
                             const char *name,
                             const char *value,
                             struct cutec_error **error);

/**
 * Gives options back.
 *
 * What it needs:
 * They come from `cutec_options_new`, and nobody uses them any more; or it is null.
 */
void cutec_options_free(struct cutec_options *options);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* CUTEC_H */

/** The arguments of a launch. */
static inline cutec_argument cutec_tensor(const DLTensor *tensor)
{
    cutec_argument argument = {CUTEC_ARGUMENT_KIND_TENSOR, {tensor}};
    return argument;
}

static inline cutec_argument cutec_integer(int64_t integer)
{
    cutec_argument argument = {CUTEC_ARGUMENT_KIND_INTEGER, {0}};
    argument.value.integer = integer;
    return argument;
}

static inline cutec_argument cutec_number(double number)
{
    cutec_argument argument = {CUTEC_ARGUMENT_KIND_NUMBER, {0}};
    argument.value.number = number;
    return argument;
}
