// Four lanes, fused multiply-add. Compiled with -mavx2 -mfma, called only where the machine has both.
#define PM_ISA polymargin_avx2
#define PM_LANES 4
#include "kernels.inl"

namespace polymargin {
const Kernels& avx2_kernels() { return polymargin_avx2::table("avx2"); }
}  // namespace polymargin
