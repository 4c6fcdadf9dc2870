"""A product in Triton, whose operands come and whose result goes by TMA: c = a · bᵀ."""
import triton
import triton.language as tl


@triton.jit
def product(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    sums = tl.zeros((BM, BN), tl.float32)
    for k in tl.range(0, K, BK):
        sums = tl.dot(a.load([row, k]), b.load([column, k]).T, sums)
    c.store([row, column], sums.to(tl.bfloat16))
