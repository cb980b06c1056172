// Two lanes: SSE2 on x86-64, NEON on AArch64, whatever the compiler's baseline is elsewhere.
#define PM_ISA polymargin_baseline
#define PM_LANES 2
#include "kernels.inl"

namespace polymargin {
const Kernels& baseline_kernels() { return polymargin_baseline::table("baseline"); }
}  // namespace polymargin
