// Quotients rounded up: by a power of two, by another number, by what is known at run time, and of vectors.
// RUN: %cute-opt --expand-ceil-div %s | FileCheck %s

// CHECK-LABEL: gpu.func @by_power_of_two(%{{.*}}: i32)
// CHECK-DAG: %[[LOW:.*]] = arith.andi %[[A:.*]], %c127_i32 : i32
// CHECK: %[[MORE:.*]] = arith.cmpi ne, %[[LOW]], %c0_i32 : i32
// CHECK: %[[DOWN:.*]] = arith.shrsi %[[A]], %c7_i32 : i32
// CHECK: %[[ONE:.*]] = arith.extui %[[MORE]] : i1 to i32
// CHECK: arith.addi %[[DOWN]], %[[ONE]] : i32
// CHECK-NOT: ceildivsi

// CHECK-LABEL: gpu.func @by_number(%{{.*}}: i64)
// CHECK: %[[REST:.*]] = arith.remsi %[[A:.*]], %[[BY:.*]] : i64
// CHECK: %[[MORE:.*]] = arith.cmpi sgt, %[[REST]],
// CHECK: %[[QUOTIENT:.*]] = arith.divsi %[[A]], %[[BY]] : i64
// CHECK: %[[ONE:.*]] = arith.extui %[[MORE]] : i1 to i64
// CHECK: arith.addi %[[QUOTIENT]], %[[ONE]] : i64

// CHECK-LABEL: gpu.func @by_negative_number
// CHECK: arith.cmpi slt

// CHECK-LABEL: gpu.func @at_run_time(%{{.*}}: i32, %{{.*}}: i32)
// CHECK: %[[REST:.*]] = arith.remsi %[[A:.*]], %[[B:.*]] : i32
// CHECK: %[[SIGNS:.*]] = arith.xori %[[REST]], %[[B]] : i32
// CHECK: %[[ALIKE:.*]] = arith.cmpi sge, %[[SIGNS]],
// CHECK: %[[SOME:.*]] = arith.cmpi ne, %[[REST]],
// CHECK: %[[MORE:.*]] = arith.andi %[[SOME]], %[[ALIKE]] : i1
// CHECK: %[[QUOTIENT:.*]] = arith.divsi %[[A]], %[[B]] : i32
// CHECK: %[[ONE:.*]] = arith.extui %[[MORE]] : i1 to i32
// CHECK: arith.addi %[[QUOTIENT]], %[[ONE]] : i32

// CHECK-LABEL: gpu.func @of_vectors
// CHECK: arith.constant dense<7> : vector<4xi32>
// CHECK: arith.cmpi ne, %{{.*}} : vector<4xi32>
// CHECK: arith.shrsi %{{.*}} : vector<4xi32>
// CHECK: arith.extui %{{.*}} : vector<4xi1> to vector<4xi32>

// CHECK-LABEL: gpu.func @inside_of_loops
// CHECK: scf.for
// CHECK: arith.shrsi
// CHECK-NOT: ceildivsi
gpu.module @kernels {
  gpu.func @by_power_of_two(%a: i32) kernel {
    %b = arith.constant 128 : i32
    %0 = arith.ceildivsi %a, %b : i32
    gpu.printf "%d", %0 : i32
    gpu.return
  }
  gpu.func @by_number(%a: i64) kernel {
    %b = arith.constant 6 : i64
    %0 = arith.ceildivsi %a, %b : i64
    gpu.printf "%ld", %0 : i64
    gpu.return
  }
  gpu.func @by_negative_number(%a: i32) kernel {
    %b = arith.constant -8 : i32
    %0 = arith.ceildivsi %a, %b : i32
    gpu.printf "%d", %0 : i32
    gpu.return
  }
  gpu.func @at_run_time(%a: i32, %b: i32) kernel {
    %0 = arith.ceildivsi %a, %b : i32
    gpu.printf "%d", %0 : i32
    gpu.return
  }
  gpu.func @of_vectors(%a: vector<4xi32>) kernel {
    %b = arith.constant dense<8> : vector<4xi32>
    %0 = arith.ceildivsi %a, %b : vector<4xi32>
    %1 = vector.extract %0[0] : i32 from vector<4xi32>
    gpu.printf "%d", %1 : i32
    gpu.return
  }
  gpu.func @inside_of_loops(%a: i32) kernel {
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %b = arith.constant 4 : i32
    scf.for %i = %zero to %a step %one : i32 {
      %0 = arith.ceildivsi %i, %b : i32
      gpu.printf "%d", %0 : i32
    }
    gpu.return
  }
}
