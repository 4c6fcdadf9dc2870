// A loop whose counter may pass the largest number counts its iterations; others stay as they are.
// RUN: %cute-opt --expand-loop-steps %s | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @step
  // CHECK-SAME: %[[N:.*]]: i32
  // CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : i32
  // CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : i32
  // CHECK: %[[RUNS:.*]] = arith.cmpi slt
  // CHECK: %[[OTHERS:.*]] = arith.divui
  // CHECK: %[[SUM:.*]] = arith.addi %[[OTHERS]]
  // CHECK: %[[COUNT:.*]] = arith.select %[[RUNS]], %[[SUM]]
  // CHECK: scf.for unsigned %[[I:.*]] = %{{.*}} to %[[COUNT]] step
  // CHECK-NEXT: %[[DISTANCE:.*]] = arith.muli %[[I]]
  // CHECK-NEXT: %[[AT:.*]] = arith.addi %{{.*}}, %[[DISTANCE]]
  // CHECK-NEXT: gpu.printf "%d", %[[AT]]
  gpu.func @step(%n: i32) {
    %first = arith.constant 0 : i32
    %step = arith.constant 16 : i32
    scf.for %i = %first to %n step %step : i32 {
      gpu.printf "%d", %i : i32
    }
    gpu.return
  }

  // A step that may be less than 1 divides as 1.
  // CHECK-LABEL: gpu.func @any
  // CHECK: arith.maxsi
  // CHECK: scf.for unsigned
  gpu.func @any(%n: i32, %step: i32) {
    scf.for %i = %n to %n step %step : i32 {
      gpu.printf "%d", %i : i32
    }
    gpu.return
  }

  // By one no counter leaves its type, and neither does one of which the end is far from the largest number.
  // CHECK-LABEL: gpu.func @safe
  // CHECK-NOT: unsigned
  // CHECK: gpu.return
  gpu.func @safe(%n: i32, %m: i64) {
    %first = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %step = arith.constant 16 : i32
    %few = arith.divsi %n, %step : i32
    %one64 = arith.constant 1 : i64
    scf.for %i = %first to %n step %one : i32 {
      gpu.printf "%d", %i : i32
    }
    scf.for %i = %first to %few step %step : i32 {
      gpu.printf "%d", %i : i32
    }
    scf.for %i = %one64 to %m step %one64 : i64 {
      gpu.printf "%d", %i : i64
    }
    gpu.return
  }
}
