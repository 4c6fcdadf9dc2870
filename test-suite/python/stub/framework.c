/* A framework with DLPack's table of functions (`DLPackExchangeAPI` of dlpack.h, 1.3), as PyTorch has one: objects that the
   tests have made tensors of, and a current stream. */
#include <stdint.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))
#define MOST 64
#define MOST_RANK 4

struct Tensor {
  uint64_t data;
  int32_t device_kind, device;
  int32_t rank;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};

struct Managed {
  uint32_t major, minor;
  void *context;
  void (*deleter)(struct Managed *);
  uint64_t flags;
  struct Tensor tensor;
};

static struct {
  void *object;
  struct Tensor tensor;
  int64_t shape[MOST_RANK], strides[MOST_RANK];
} table[MOST];
static int count;

EXPORT uint64_t framework_stream;
/* Managed tensors that nobody has given back. */
EXPORT int32_t framework_managed;

EXPORT void framework_add(void *object, uint64_t data, int32_t device_kind, int32_t device, int32_t rank, const int64_t *shape,
                          const int64_t *strides) {
  int at = count++ % MOST;
  table[at].object = object;
  for (int mode = 0; mode < rank; mode++) {
    table[at].shape[mode] = shape[mode];
    table[at].strides[mode] = strides[mode];
  }
  table[at].tensor = (struct Tensor){data, device_kind, device, rank, 2, 32, 1, table[at].shape, table[at].strides, 0};
}

static int describe(void *object, struct Tensor *out) {
  for (int at = 0; at < MOST; at++)
    if (table[at].object == object)
      return *out = table[at].tensor, 0;
  abort();
}

static void give_back(struct Managed *managed) {
  framework_managed--;
  free(managed);
}

static int manage(void *object, struct Managed **out) {
  *out = calloc(1, sizeof **out);
  (*out)->major = 1;
  (*out)->deleter = give_back;
  framework_managed++;
  return describe(object, &(*out)->tensor);
}

static int current_stream(int32_t kind, int32_t device, uint64_t *stream) { return *stream = framework_stream, 0; }

struct Api {
  uint32_t major, minor;
  const struct Api *previous;
  void *allocate, *managed_from_object, *managed_to_object, *tensor_from_object, *current_stream;
};

EXPORT const struct Api framework_api = {1, 3, 0, 0, manage, 0, describe, current_stream};
/* A consumer of version 1 looks past what comes after it. */
EXPORT const struct Api framework_later_api = {2, 0, &framework_api, 0, 0, 0, 0, 0};
/* Without what is optional. */
EXPORT const struct Api framework_managed_api = {1, 2, 0, 0, manage, 0, 0, current_stream};
