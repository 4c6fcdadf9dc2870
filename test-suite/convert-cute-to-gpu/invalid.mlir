// What cannot be lowered is an error at its operation.
// RUN: %cute-opt --split-input-file --verify-diagnostics --convert-cute-to-gpu %s

gpu.module @argument {
  // expected-error@+1 {{a kernel takes pointers to gmem}}
  gpu.func @shared(%a: !cute.ptr<f32, smem, align<16>>) kernel {
    gpu.return
  }
}

// -----

gpu.module @unknown {
  gpu.func @view(%a: !cute.memref<f32, gmem, align<16>, "4:1">) kernel {
    // expected-error@+1 {{uses a value of !cute.memref<f32, gmem, align<16>, "4:1"> that no operation of this kernel defines}}
    %v = cute.memref.load_vec(%a) : (!cute.memref<f32, gmem, align<16>, "4:1">) -> vector<4xf32>
    gpu.return
  }
}

// -----

gpu.module @unplaced {
  gpu.func @buffer() kernel {
    // expected-error@+1 {{has no offset; run cute-allocate-smem first}}
    %s = cute.memref.alloc_smem() : () -> !cute.memref<f32, smem, align<16>, "4:1">
    gpu.return
  }
}
