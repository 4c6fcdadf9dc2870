//! cuBLAS, the peer and, in f64, the reference of matrix products.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use cudarc::cublas::sys::{
    self, cublasComputeType_t, cublasGemmAlgo_t, cublasOperation_t, cudaDataType,
};
use cutec_runtime::cuda::CudaDevice;
use cutec_runtime::device::Buffer;
use cutec_runtime::{DType, Tensor};

use super::Failure;

/// A handle of cuBLAS, in the device's stream.
#[derive(Debug)]
pub struct Cublas {
    handle: sys::cublasHandle_t,
}

/// A matrix in device memory: where, and which of its strides is 1.
#[derive(Clone, Copy, Debug)]
pub struct Matrix {
    address: u64,
    dtype: DType,
    rows: i64,
    cols: i64,
    row_stride: i64,
    col_stride: i64,
}

impl Matrix {
    /// The matrix that `tensor`, of rank 2, is, in `buffer`.
    pub fn new(tensor: &Tensor, buffer: &Buffer) -> Result<Matrix, Failure> {
        let ([rows, cols], [row_stride, col_stride]) = (tensor.shape(), tensor.strides()) else {
            return Err(format!("expected a matrix, found shape {:?}", tensor.shape()).into());
        };
        Ok(Matrix {
            address: buffer.address(),
            dtype: tensor.dtype(),
            rows: *rows,
            cols: *cols,
            row_stride: *row_stride,
            col_stride: *col_stride,
        })
    }

    /// The same memory, rows for columns.
    pub fn transposed(self) -> Matrix {
        Matrix {
            rows: self.cols,
            cols: self.rows,
            row_stride: self.col_stride,
            col_stride: self.row_stride,
            ..self
        }
    }

    /// How cuBLAS, whose matrices are column-major, is told of it: operation and leading dimension.
    fn operand(self) -> Result<(cublasOperation_t, i32), Failure> {
        let (operation, leading, least) = if self.row_stride == 1 {
            (cublasOperation_t::CUBLAS_OP_N, self.col_stride, self.rows)
        } else if self.col_stride == 1 {
            (cublasOperation_t::CUBLAS_OP_T, self.row_stride, self.cols)
        } else {
            return Err("cuBLAS takes matrices of which one stride is 1".into());
        };
        Ok((operation, i32::try_from(leading.max(least).max(1))?))
    }

    fn data_type(self) -> Result<cudaDataType, Failure> {
        match self.dtype {
            DType::F16 => Ok(cudaDataType::CUDA_R_16F),
            DType::BF16 => Ok(cudaDataType::CUDA_R_16BF),
            DType::F32 | DType::TF32 => Ok(cudaDataType::CUDA_R_32F),
            DType::F64 => Ok(cudaDataType::CUDA_R_64F),
            other => Err(format!("no cuBLAS product of {other} here").into()),
        }
    }
}

impl Cublas {
    /// Opens cuBLAS on a device.
    pub fn open(device: &CudaDevice) -> Result<Cublas, Failure> {
        // SAFETY: loading the library runs its initializers, as every CUDA program does.
        if !unsafe { sys::is_culib_present() } {
            return Err("no cuBLAS: libcublas is not on this machine's library path".into());
        }
        device.make_current()?;
        let mut handle = ptr::null_mut();
        // The library is found by name; one that lacks a function makes cudarc panic.
        let created = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the pointer is to a local; a context is current.
            unsafe { sys::cublasCreate_v2(&mut handle) }
        }));
        check(
            "cublasCreate",
            created.map_err(|_| "this libcublas is of no use")?,
        )?;
        let cublas = Cublas { handle };
        // SAFETY: handle and stream are alive.
        check("cublasSetStream", unsafe {
            sys::cublasSetStream_v2(handle, device.stream().cast())
        })?;
        Ok(cublas)
    }

    /// Version, such as 130100.
    pub fn version(&self) -> i32 {
        let mut version = 0;
        // SAFETY: the handle is alive; the pointer is to a local. On failure 0 stays.
        unsafe { sys::cublasGetVersion_v2(self.handle, &mut version) };
        version
    }

    /// `c = a · b`, accumulated in f32 (in f64 for f64), all three in device memory.
    ///
    /// f32 is not rounded to tf32 unless `tf32` says so.
    pub fn product(&self, a: Matrix, b: Matrix, c: Matrix, tf32: bool) -> Result<(), Failure> {
        if (a.rows, a.cols, b.cols) != (c.rows, b.rows, c.cols) {
            return Err(format!("no product of {a:?} and {b:?} is {c:?}").into());
        }
        if c.row_stride != 1 {
            // Column-major results are all that cuBLAS writes: cᵀ = bᵀ · aᵀ.
            if c.col_stride != 1 {
                return Err("cuBLAS writes matrices of which one stride is 1".into());
            }
            return self.product(b.transposed(), a.transposed(), c.transposed(), tf32);
        }
        let ((a_op, a_leading), (b_op, b_leading)) = (a.operand()?, b.operand()?);
        let c_leading = c.operand()?.1;
        let double = c.dtype == DType::F64;
        let compute = match (double, tf32) {
            (true, _) => cublasComputeType_t::CUBLAS_COMPUTE_64F,
            (false, true) => cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32,
            (false, false) => cublasComputeType_t::CUBLAS_COMPUTE_32F,
        };
        let (one, zero) = ([1f32, 0.0], [1f64, 0.0]);
        let scale = |index: usize| -> *const c_void {
            if double {
                ptr::from_ref(&zero[index]).cast()
            } else {
                ptr::from_ref(&one[index]).cast()
            }
        };
        // SAFETY: the matrices are device memory of at least their extent, which `Matrix::new` took
        // from the tensors that were uploaded; scales are read during the call.
        check("cublasGemmEx", unsafe {
            sys::cublasGemmEx(
                self.handle,
                a_op,
                b_op,
                i32::try_from(c.rows)?,
                i32::try_from(c.cols)?,
                i32::try_from(a.cols)?,
                scale(0),
                address(a),
                a.data_type()?,
                a_leading,
                address(b),
                b.data_type()?,
                b_leading,
                scale(1),
                address(c),
                c.data_type()?,
                c_leading,
                compute,
                cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT,
            )
        })
    }
}

impl Drop for Cublas {
    fn drop(&mut self) {
        // SAFETY: the handle was created by `open` and is used by nobody after this.
        unsafe { sys::cublasDestroy_v2(self.handle) };
    }
}

fn address(matrix: Matrix) -> *mut c_void {
    ptr::without_provenance_mut(matrix.address as usize)
}

fn check(call: &str, status: sys::cublasStatus_t) -> Result<(), Failure> {
    match status {
        sys::cublasStatus_t::CUBLAS_STATUS_SUCCESS => Ok(()),
        other => Err(format!("{call}: {other:?}").into()),
    }
}
