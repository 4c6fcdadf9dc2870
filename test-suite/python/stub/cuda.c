/* A driver without a GPU: two devices of compute capability 9.0 that load everything and run nothing. It writes down what is
   launched, for tests of what happens before a kernel runs. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define DEVICES 2
#define MOST_LAUNCHES 64
#define PARAMS 8

typedef int Result;
enum { SUCCESS = 0, INVALID_VALUE = 1, NOT_FOUND = 500 };

/* What the tests read, by ctypes. */
struct Launch {
  char entry[64];
  uint32_t grid[3], block[3], smem, device, pdl;
  uint64_t stream;
  /* Of each parameter the first bytes, eight at most. */
  uint64_t params[PARAMS];
};
EXPORT struct Launch stub_launches[MOST_LAUNCHES];
EXPORT uint32_t stub_count, stub_loads, stub_maps, stub_syncs;

/* The current context of the thread is the number of a device, from 1. */
static _Thread_local uintptr_t current;

/* A kernel, with the sizes of its parameters as the PTX declares them. */
struct Function {
  char entry[64];
  int params, sizes[PARAMS];
};

EXPORT Result cuInit(unsigned flags) { return SUCCESS; }
EXPORT Result cuDriverGetVersion(int *version) { return *version = 12000, SUCCESS; }
EXPORT Result cuDeviceGetCount(int *count) { return *count = DEVICES, SUCCESS; }
EXPORT Result cuDeviceGet(int *device, int number) { return *device = number, SUCCESS; }
EXPORT Result cuDeviceGetName(char *name, int length, int device) { return snprintf(name, length, "stub"), SUCCESS; }

EXPORT Result cuDeviceGetAttribute(int *value, int attribute, int device) {
  switch (attribute) {
  case 75: /* compute capability */
    return *value = 9, SUCCESS;
  case 76:
    return *value = 0, SUCCESS;
  case 97: /* shared memory of a block */
    return *value = 227 << 10, SUCCESS;
  case 16: /* multiprocessors */
    return *value = 132, SUCCESS;
  default:
    return *value = 0, SUCCESS;
  }
}

EXPORT Result cuDevicePrimaryCtxRetain(uintptr_t *context, int device) { return *context = device + 1, SUCCESS; }
EXPORT Result cuDevicePrimaryCtxRelease_v2(int device) { return SUCCESS; }
EXPORT Result cuCtxGetCurrent(uintptr_t *context) { return *context = current, SUCCESS; }
EXPORT Result cuCtxSetCurrent(uintptr_t context) { return current = context, SUCCESS; }
EXPORT Result cuStreamCreate(uintptr_t *stream, unsigned flags) { return *stream = 0x5000 + current, SUCCESS; }
EXPORT Result cuStreamDestroy_v2(uintptr_t stream) { return SUCCESS; }
EXPORT Result cuStreamSynchronize(uintptr_t stream) { return stub_syncs++, SUCCESS; }
EXPORT Result cuEventCreate(uintptr_t *event, unsigned flags) { return *event = 1, SUCCESS; }
EXPORT Result cuEventDestroy_v2(uintptr_t event) { return SUCCESS; }
EXPORT Result cuGetErrorName(Result error, const char **name) { return *name = "CUDA_ERROR_STUB", SUCCESS; }
EXPORT Result cuGetErrorString(Result error, const char **text) { return *text = "a stub", SUCCESS; }

EXPORT Result cuModuleLoadDataEx(uintptr_t *module, const char *image, unsigned options, int *names, void **values) {
  stub_loads++;
  *module = (uintptr_t)strdup(image);
  return SUCCESS;
}
EXPORT Result cuModuleUnload(uintptr_t module) { return free((void *)module), SUCCESS; }

EXPORT Result cuModuleGetFunction(uintptr_t *function, uintptr_t module, const char *name) {
  char line[128];
  snprintf(line, sizeof line, ".entry %s(", name);
  const char *entry = strstr((const char *)module, line);
  if (!entry)
    return NOT_FOUND;
  struct Function *found = calloc(1, sizeof *found);
  snprintf(found->entry, sizeof found->entry, "%s", name);
  const char *end = strchr(entry, '{');
  for (const char *at = entry; found->params < PARAMS && (at = strstr(at, ".param")) && at < end; at++)
    /* ".param .u64 .ptr …": bits of the type; of an array of bytes, as many as are kept. */
    found->sizes[found->params++] = strncmp(at, ".param .u32", 11) && strncmp(at, ".param .f32", 11) ? 8 : 4;
  *function = (uintptr_t)found;
  return SUCCESS;
}
EXPORT Result cuFuncGetAttribute(int *value, int attribute, uintptr_t function) { return *value = 0, SUCCESS; }
EXPORT Result cuFuncSetAttribute(uintptr_t function, int attribute, int value) { return SUCCESS; }
EXPORT Result cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, uintptr_t function, int threads, size_t smem) {
  return *blocks = 1, SUCCESS;
}

EXPORT Result cuTensorMapEncodeTiled(uint64_t *map, int type, uint32_t rank, uint64_t address, const uint64_t *extents,
                                     const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave,
                                     int swizzle, int promotion, int fill) {
  stub_maps++;
  memset(map, 0, 128);
  map[0] = address;
  return SUCCESS;
}

static Result launch(const struct Function *found, const uint32_t shape[7], uint32_t pdl, uint64_t stream, void **params) {
  if (!current)
    return INVALID_VALUE;
  struct Launch *launch = &stub_launches[stub_count++ % MOST_LAUNCHES];
  memset(launch, 0, sizeof *launch);
  memcpy(launch->entry, found->entry, sizeof launch->entry);
  memcpy(launch->grid, shape, sizeof launch->grid);
  memcpy(launch->block, shape + 3, sizeof launch->block);
  launch->smem = shape[6];
  launch->device = current - 1;
  launch->pdl = pdl;
  launch->stream = stream;
  for (int at = 0; at < found->params && at < PARAMS; at++)
    memcpy(&launch->params[at], params[at], found->sizes[at]);
  return SUCCESS;
}

EXPORT Result cuLaunchKernel(uintptr_t function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                             unsigned smem, uintptr_t stream, void **params, void **extra) {
  const uint32_t shape[7] = {gx, gy, gz, bx, by, bz, smem};
  return launch((const struct Function *)function, shape, 0, stream, params);
}

/* CUlaunchConfig */
struct Config {
  uint32_t shape[7];
  uintptr_t stream;
  const void *attributes;
  uint32_t count;
};

EXPORT Result cuLaunchKernelEx(const struct Config *config, uintptr_t function, void **params, void **extra) {
  return launch((const struct Function *)function, config->shape, config->count, config->stream, params);
}
