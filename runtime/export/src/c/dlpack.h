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
