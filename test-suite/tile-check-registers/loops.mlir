// What is live in a thread at a loop, a product or a reduction has to fit its registers, as many as blocks leave it.
// RUN: %cute-opt --tile-check-registers --split-input-file --verify-diagnostics %s

!small = tensor<64x64xf32, #tile.tv<"(128,32):(1,128)">>
!large = tensor<256x128xf32, #tile.tv<"(128,256):(1,128)">>
gpu.module @kernels {
  gpu.func @fits(%a: !small, %b: !small, %n: i32) attributes {known_block_size = array<i32: 128, 1, 1>} {
    %0 = arith.constant 0 : i32
    %1 = arith.constant 1 : i32
    %2:2 = scf.for %i = %0 to %n step %1 iter_args(%c = %a, %d = %b) -> (!small, !small) : i32 {
      scf.yield %d, %c : !small, !small
    }
    gpu.return
  }
  gpu.func @large(%a: !large, %n: i32) attributes {known_block_size = array<i32: 128, 1, 1>} {
    %0 = arith.constant 0 : i32
    %1 = arith.constant 1 : i32
    // expected-warning@+1 {{the tiles that this loop carries take 256 registers of each of 128 threads, which has 255; what does not fit goes to local memory}}
    %2 = scf.for %i = %0 to %n step %1 iter_args(%c = %a) -> (!large) : i32 {
      scf.yield %c : !large
    }
    gpu.return
  }
  // Tiles that are used behind a loop are held across it; one of one number is not, nor one that only stands before it.
  gpu.func @across(%a: !large, %b: !small, %n: i32, %x: f32) attributes {known_block_size = array<i32: 128, 1, 1>} {
    %0 = arith.constant 0 : i32
    %1 = arith.constant 1 : i32
    %f = tile.splat %x : f32 -> !large
    %g = tile.map (%b) {
    ^bb0(%e: f32):
      tile.yield %e : f32
    } : (!small) -> !small
    %h = tile.map (%a, %f) {
    ^bb0(%e: f32, %d: f32):
      tile.yield %e : f32
    } : (!large, !large) -> !large
    // expected-warning@+1 {{the tiles that this loop carries take 32, other tiles 256, together 288 registers of each of 128 threads}}
    %2 = scf.for %i = %0 to %n step %1 iter_args(%c = %g) -> (!small) : i32 {
      scf.yield %c : !small
    }
    %s = tile.map (%h, %f) {
    ^bb0(%e: f32, %d: f32):
      tile.yield %e : f32
    } : (!large, !large) -> !large
    gpu.return
  }
  // What a loop reads that stands in front of it is held to its end.
  gpu.func @read_in_loop(%a: !large, %b: !small, %n: i32) attributes {known_block_size = array<i32: 128, 1, 1>} {
    %0 = arith.constant 0 : i32
    %1 = arith.constant 1 : i32
    %h = tile.map (%a) {
    ^bb0(%e: f32):
      tile.yield %e : f32
    } : (!large) -> !large
    // expected-warning@+1 {{other tiles 256, together 288 registers}}
    %2 = scf.for %i = %0 to %n step %1 iter_args(%c = %b) -> (!small) : i32 {
      %s = tile.map (%h) {
      ^bb0(%e: f32):
        tile.yield %e : f32
      } : (!large) -> !large
      scf.yield %c : !small
    }
    gpu.return
  }
  gpu.func @blocks(%a: !small, %b: !small, %n: i32)
      attributes {known_block_size = array<i32: 128, 1, 1>, nvvm.minctasm = 9 : i32} {
    %0 = arith.constant 0 : i32
    %1 = arith.constant 1 : i32
    // expected-warning@+1 {{take 64 registers of each of 128 threads, which has 56}}
    %2:2 = scf.for %i = %0 to %n step %1 iter_args(%c = %a, %d = %b) -> (!small, !small) : i32 {
      scf.yield %d, %c : !small, !small
    }
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @early(%a: tensor<4xf32>, %n: i32) attributes {known_block_size = array<i32: 32, 1, 1>} {
    %0 = arith.constant 0 : i32
    %1 = arith.constant 1 : i32
    // expected-error@+1 {{tensor<4xf32> has no layout; run tile-assign-layouts first}}
    %2 = scf.for %i = %0 to %n step %1 iter_args(%c = %a) -> (tensor<4xf32>) : i32 {
      scf.yield %c : tensor<4xf32>
    }
    gpu.return
  }
}
