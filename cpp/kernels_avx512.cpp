// Eight lanes. Compiled with -mavx512f -mavx512dq, called only where the machine has both.
#define PM_ISA polymargin_avx512
#define PM_LANES 8
#include "kernels.inl"

namespace polymargin {
const Kernels& avx512_kernels() { return polymargin_avx512::table("avx512"); }
}  // namespace polymargin
