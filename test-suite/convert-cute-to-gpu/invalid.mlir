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

// -----

gpu.module @packed {
  gpu.func @between_bytes() kernel {
    %atom = cute.static : !cute_nvgpu.atom.universal_copy<i4, 8 b>
    %t = cute.memref.alloca() : () -> !cute.memref<i4, rmem, align<16>, "(2,5):(1,3)">
    // expected-error@+1 {{i4 is moved in whole bytes of 2 elements, but (2,5):(1,3) does not consist of them}}
    cute.copy(%atom, %t, %t) : !cute_nvgpu.atom.universal_copy<i4, 8 b>, !cute.memref<i4, rmem, align<16>, "(2,5):(1,3)">, !cute.memref<i4, rmem, align<16>, "(2,5):(1,3)">
    gpu.return
  }
}

// -----

gpu.module @shifted {
  gpu.func @between_bytes() kernel {
    %s = cute.memref.alloca() : () -> !cute.memref<i4, rmem, align<16>, "(2,4,3):(1,2,1)">
    %c = cute.static : !cute.coord<"(_,_,1)">
    %a = cute.slice(%s, %c) : !cute.memref<i4, rmem, align<16>, "(2,4,3):(1,2,1)">, !cute.coord<"(_,_,1)">
    %atom = cute.static : !cute_nvgpu.atom.universal_copy<i4, 8 b>
    // expected-error@+1 {{begins 1 element of i4 behind its base; expected a multiple of 2 elements, to be seen as i8}}
    cute.copy(%atom, %a, %a) : !cute_nvgpu.atom.universal_copy<i4, 8 b>, !cute.memref<i4, rmem, align<1>, "(2,4):(1,2)">, !cute.memref<i4, rmem, align<1>, "(2,4):(1,2)">
    gpu.return
  }
}

// -----

gpu.module @level {
  gpu.func @tiles(%a: !cute.ptr<f32, gmem, align<16>>, %i: i32) kernel {
    %layout = cute.static : !cute.layout<"(64,64):(64,1)">
    %v = cute.make_view(%a, %layout) : (!cute.ptr<f32, gmem, align<16>>, !cute.layout<"(64,64):(64,1)">) -> !cute.memref<f32, gmem, align<16>, "(64,64):(64,1)">
    // expected-error@+1 {{`tile.load` uses a value of `cute`, which only operations of `cute` can}}
    %x = tile.load %v[%i, %i] : !cute.memref<f32, gmem, align<16>, "(64,64):(64,1)">, i32, i32 -> tensor<64x64xf32>
    gpu.return
  }
}

// -----

gpu.module @blocks {
  gpu.func @branching(%a: !cute.ptr<f32, gmem, align<16>>) kernel {
    %layout = cute.static : !cute.layout<"4:1">
    cf.br ^next
  ^next:
    // expected-error@+1 {{expects operations of `cute` in the first block of a kernel, with `scf` as control flow}}
    %v = cute.make_view(%a, %layout) : (!cute.ptr<f32, gmem, align<16>>, !cute.layout<"4:1">) -> !cute.memref<f32, gmem, align<16>, "4:1">
    gpu.return
  }
}
