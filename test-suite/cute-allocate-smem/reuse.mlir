// Buffers share memory where all threads have met between the last use of one and the first of the other.
// RUN: %cute-opt --cute-allocate-smem --split-input-file %s | FileCheck %s

!a = !cute.memref<f32, smem, align<16>, "1024:1">
!large = !cute.memref<f32, smem, align<16>, "15360:1">
!r = !cute.memref<f32, rmem, align<16>, "4:1">
!s = !cute.memref<f32, smem, align<16>, "4:1">

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @met
  // CHECK-SAME: cute.smem_bytes = 4096
  // CHECK-COUNT-2: alloc_smem() {offset = 0 : i64}
  gpu.func @met() kernel {
    %a = cute.memref.alloc_smem() : () -> !a
    %b = cute.memref.alloc_smem() : () -> !a
    %i = cute.static : !cute.int_tuple<"0">
    %x = cute.memref.load(%a, %i) : (!a, !cute.int_tuple<"0">) -> f32
    nvvm.barrier0
    cute.memref.store(%x, %b, %i) : f32, !a, !cute.int_tuple<"0">
    gpu.return
  }

  // Nobody knows whether all have read.
  // CHECK-LABEL: gpu.func @alone
  // CHECK-SAME: cute.smem_bytes = 8192
  gpu.func @alone() kernel {
    %a = cute.memref.alloc_smem() : () -> !a
    %b = cute.memref.alloc_smem() : () -> !a
    %i = cute.static : !cute.int_tuple<"0">
    %x = cute.memref.load(%a, %i) : (!a, !cute.int_tuple<"0">) -> f32
    cute.memref.store(%x, %b, %i) : f32, !a, !cute.int_tuple<"0">
    nvvm.barrier0
    gpu.return
  }

  // Beside each other they leave room for one block on a multiprocessor of sm_80, with a barrier in between for two.
  // CHECK-LABEL: gpu.func @few
  // CHECK-SAME: cute.smem_bytes = 61440
  // CHECK: cute.memref.load
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: cute.memref.store
  gpu.func @few() kernel attributes {known_block_size = array<i32: 256, 1, 1>} {
    %a = cute.memref.alloc_smem() : () -> !large
    %b = cute.memref.alloc_smem() : () -> !large
    %i = cute.static : !cute.int_tuple<"0">
    %x = cute.memref.load(%a, %i) : (!large, !cute.int_tuple<"0">) -> f32
    cute.memref.store(%x, %b, %i) : f32, !large, !cute.int_tuple<"0">
    gpu.return
  }

  // A view is a use as well, and a loop is one use.
  // CHECK-LABEL: gpu.func @loop
  // CHECK-SAME: cute.smem_bytes = 8192
  gpu.func @loop(%n: i32) kernel {
    %a = cute.memref.alloc_smem() : () -> !a
    %b = cute.memref.alloc_smem() : () -> !a
    %i = cute.static : !cute.int_tuple<"0">
    %four = cute.static : !cute.layout<"4:1">
    %part = cute.composition(%a, %four) : (!a, !cute.layout<"4:1">) -> !s
    %x = cute.memref.load(%a, %i) : (!a, !cute.int_tuple<"0">) -> f32
    nvvm.barrier0
    scf.for %t = %n to %n step %n : i32 {
      cute.memref.store(%x, %b, %i) : f32, !a, !cute.int_tuple<"0">
      nvvm.barrier0
      cute.memref.store(%x, %part, %i) : f32, !s, !cute.int_tuple<"0">
    }
    gpu.return
  }
}

// -----

!a = !cute.memref<f32, smem, align<16>, "32768:1">

gpu.module @kernels {
  // Too much for the target side by side: a barrier makes room.
  // CHECK-LABEL: gpu.func @large
  // CHECK-SAME: cute.smem_bytes = 131072
  // CHECK: cute.memref.load
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: cute.memref.store
  gpu.func @large() kernel {
    %a = cute.memref.alloc_smem() : () -> !a
    %b = cute.memref.alloc_smem() : () -> !a
    %i = cute.static : !cute.int_tuple<"0">
    %x = cute.memref.load(%a, %i) : (!a, !cute.int_tuple<"0">) -> f32
    cute.memref.store(%x, %b, %i) : f32, !a, !cute.int_tuple<"0">
    gpu.return
  }
}

// -----

!a = !cute.memref<f32, smem, align<16>, "1024:1">
!g = !cute.memref<f32, gmem, align<16>, "4:1">
!r = !cute.memref<f32, rmem, align<16>, "4:1">
!s = !cute.memref<f32, smem, align<16>, "4:1">

gpu.module @kernels {
  // A copy may still be on its way: threads have to have waited for it before they meet.
  // CHECK-LABEL: gpu.func @flying
  // CHECK-SAME: cute.smem_bytes = 8192
  gpu.func @flying(%g: !g) kernel {
    %a = cute.memref.alloc_smem() : () -> !a
    %b = cute.memref.alloc_smem() : () -> !a
    %i = cute.static : !cute.int_tuple<"0">
    %four = cute.static : !cute.layout<"4:1">
    %part = cute.composition(%a, %four) : (!a, !cute.layout<"4:1">) -> !s
    %atom = cute.static : !cute_nvgpu.atom.simt_async_copy<f32, cache = global, 128 b>
    cute.copy(%atom, %g, %part) : !cute_nvgpu.atom.simt_async_copy<f32, cache = global, 128 b>, !g, !s
    nvvm.cp.async.commit.group
    nvvm.barrier0
    %x = arith.constant 0.0 : f32
    cute.memref.store(%x, %b, %i) : f32, !a, !cute.int_tuple<"0">
    gpu.return
  }

  // The same where nothing waits for it at all.
  // CHECK-LABEL: gpu.func @unwaited
  // CHECK-SAME: cute.smem_bytes = 8192
  gpu.func @unwaited(%g: !g) kernel {
    %a = cute.memref.alloc_smem() : () -> !a
    %b = cute.memref.alloc_smem() : () -> !a
    %i = cute.static : !cute.int_tuple<"0">
    %four = cute.static : !cute.layout<"4:1">
    %part = cute.composition(%a, %four) : (!a, !cute.layout<"4:1">) -> !s
    %atom = cute.static : !cute_nvgpu.atom.simt_async_copy<f32, cache = global, 128 b>
    cute.copy(%atom, %g, %part) : !cute_nvgpu.atom.simt_async_copy<f32, cache = global, 128 b>, !g, !s
    nvvm.barrier0
    %x = arith.constant 0.0 : f32
    cute.memref.store(%x, %b, %i) : f32, !a, !cute.int_tuple<"0">
    gpu.return
  }

  // CHECK-LABEL: gpu.func @landed
  // CHECK-SAME: cute.smem_bytes = 4096
  gpu.func @landed(%g: !g) kernel {
    %a = cute.memref.alloc_smem() : () -> !a
    %b = cute.memref.alloc_smem() : () -> !a
    %i = cute.static : !cute.int_tuple<"0">
    %four = cute.static : !cute.layout<"4:1">
    %part = cute.composition(%a, %four) : (!a, !cute.layout<"4:1">) -> !s
    %atom = cute.static : !cute_nvgpu.atom.simt_async_copy<f32, cache = global, 128 b>
    cute.copy(%atom, %g, %part) : !cute_nvgpu.atom.simt_async_copy<f32, cache = global, 128 b>, !g, !s
    nvvm.cp.async.commit.group
    nvvm.cp.async.wait.group 0
    nvvm.barrier0
    %x = arith.constant 0.0 : f32
    cute.memref.store(%x, %b, %i) : f32, !a, !cute.int_tuple<"0">
    gpu.return
  }

  // A round of a loop waits for what it copies, in its group.
  // CHECK-LABEL: gpu.func @landed_in_loop
  // CHECK-SAME: cute.smem_bytes = 4096
  gpu.func @landed_in_loop(%g: !g, %n: i32) kernel {
    %a = cute.memref.alloc_smem() : () -> !a
    %b = cute.memref.alloc_smem() : () -> !a
    %i = cute.static : !cute.int_tuple<"0">
    %four = cute.static : !cute.layout<"4:1">
    %part = cute.composition(%a, %four) : (!a, !cute.layout<"4:1">) -> !s
    %atom = cute.static : !cute_nvgpu.atom.simt_async_copy<f32, cache = global, 128 b>
    scf.for %t = %n to %n step %n : i32 {
      cute.copy(%atom, %g, %part) : !cute_nvgpu.atom.simt_async_copy<f32, cache = global, 128 b>, !g, !s
      nvvm.cp.async.commit.group
      nvvm.cp.async.wait.group 0
    }
    nvvm.barrier0
    %x = arith.constant 0.0 : f32
    cute.memref.store(%x, %b, %i) : f32, !a, !cute.int_tuple<"0">
    gpu.return
  }

  // Here a round waits for the one before; the last one nobody has waited for.
  // CHECK-LABEL: gpu.func @flying_in_loop
  // CHECK-SAME: cute.smem_bytes = 8192
  gpu.func @flying_in_loop(%g: !g, %n: i32) kernel {
    %a = cute.memref.alloc_smem() : () -> !a
    %b = cute.memref.alloc_smem() : () -> !a
    %i = cute.static : !cute.int_tuple<"0">
    %four = cute.static : !cute.layout<"4:1">
    %part = cute.composition(%a, %four) : (!a, !cute.layout<"4:1">) -> !s
    %atom = cute.static : !cute_nvgpu.atom.simt_async_copy<f32, cache = global, 128 b>
    scf.for %t = %n to %n step %n : i32 {
      cute.copy(%atom, %g, %part) : !cute_nvgpu.atom.simt_async_copy<f32, cache = global, 128 b>, !g, !s
      nvvm.cp.async.wait.group 0
      nvvm.cp.async.commit.group
    }
    nvvm.barrier0
    %x = arith.constant 0.0 : f32
    cute.memref.store(%x, %b, %i) : f32, !a, !cute.int_tuple<"0">
    gpu.return
  }

  // What a thread writes itself is there, whatever else is on its way.
  // CHECK-LABEL: gpu.func @written
  // CHECK-SAME: cute.smem_bytes = 4096
  gpu.func @written(%r: !r) kernel {
    %a = cute.memref.alloc_smem() : () -> !a
    %b = cute.memref.alloc_smem() : () -> !a
    %i = cute.static : !cute.int_tuple<"0">
    %four = cute.static : !cute.layout<"4:1">
    %part = cute.composition(%a, %four) : (!a, !cute.layout<"4:1">) -> !s
    %atom = cute.static : !cute_nvgpu.atom.universal_copy<f32, 128 b>
    nvvm.cp.async.commit.group
    cute.copy(%atom, %r, %part) : !cute_nvgpu.atom.universal_copy<f32, 128 b>, !r, !s
    nvvm.barrier0
    %x = arith.constant 0.0 : f32
    cute.memref.store(%x, %b, %i) : f32, !a, !cute.int_tuple<"0">
    gpu.return
  }
}

// -----

!a = !cute.memref<f32, smem, align<16>, "1024:1">
!m = !cute.memref<ui64, smem, align<16>, "1:1">

gpu.module @kernels {
  // What threads wait for at a barrier that counts ends in an order of its own.
  // CHECK-LABEL: gpu.func @counted
  // CHECK-SAME: cute.smem_bytes = 8{{[0-9]+}}
  gpu.func @counted() kernel {
    %a = cute.memref.alloc_smem() : () -> !a
    %b = cute.memref.alloc_smem() : () -> !a
    %m = cute.memref.alloc_smem() : () -> !m
    %i = cute.static : !cute.int_tuple<"0">
    cute.mbarrier.wait(%m, %i, %i) : !m, !cute.int_tuple<"0">, !cute.int_tuple<"0">
    %x = cute.memref.load(%a, %i) : (!a, !cute.int_tuple<"0">) -> f32
    nvvm.barrier0
    cute.memref.store(%x, %b, %i) : f32, !a, !cute.int_tuple<"0">
    gpu.return
  }
}

// -----

!a = !cute.memref<f32, smem, align<16>, "16384:1">

gpu.module @kernels {
  // One barrier makes room for all that is used behind it.
  // CHECK-LABEL: gpu.func @one_for_all
  // CHECK-SAME: cute.smem_bytes = 131072
  // CHECK: nvvm.barrier0
  // CHECK-NEXT: cute.memref.store
  // CHECK-NOT: nvvm.barrier0
  // CHECK: gpu.return
  gpu.func @one_for_all() kernel {
    %a = cute.memref.alloc_smem() : () -> !a
    %b = cute.memref.alloc_smem() : () -> !a
    %c = cute.memref.alloc_smem() : () -> !a
    %d = cute.memref.alloc_smem() : () -> !a
    %i = cute.static : !cute.int_tuple<"0">
    %x = cute.memref.load(%a, %i) : (!a, !cute.int_tuple<"0">) -> f32
    %y = cute.memref.load(%b, %i) : (!a, !cute.int_tuple<"0">) -> f32
    cute.memref.store(%x, %a, %i) : f32, !a, !cute.int_tuple<"0">
    cute.memref.store(%x, %c, %i) : f32, !a, !cute.int_tuple<"0">
    cute.memref.store(%y, %d, %i) : f32, !a, !cute.int_tuple<"0">
    %z = cute.memref.load(%c, %i) : (!a, !cute.int_tuple<"0">) -> f32
    gpu.return
  }

  // But not for what is read behind it.
  // CHECK-LABEL: gpu.func @not_for_all
  // CHECK-SAME: cute.smem_bytes = 131072
  // CHECK: nvvm.barrier0
  // CHECK-NEXT: cute.memref.store
  // CHECK-NEXT: cute.memref.load
  // CHECK-NEXT: nvvm.barrier0
  // CHECK-NEXT: cute.memref.store
  gpu.func @not_for_all() kernel {
    %a = cute.memref.alloc_smem() : () -> !a
    %b = cute.memref.alloc_smem() : () -> !a
    %c = cute.memref.alloc_smem() : () -> !a
    %d = cute.memref.alloc_smem() : () -> !a
    %i = cute.static : !cute.int_tuple<"0">
    %y = cute.memref.load(%b, %i) : (!a, !cute.int_tuple<"0">) -> f32
    %x = cute.memref.load(%a, %i) : (!a, !cute.int_tuple<"0">) -> f32
    cute.memref.store(%x, %c, %i) : f32, !a, !cute.int_tuple<"0">
    %z = cute.memref.load(%b, %i) : (!a, !cute.int_tuple<"0">) -> f32
    cute.memref.store(%z, %d, %i) : f32, !a, !cute.int_tuple<"0">
    %w = cute.memref.load(%c, %i) : (!a, !cute.int_tuple<"0">) -> f32
    gpu.return
  }
}
