// Lanes: one register of doubles, one path per lane.
//
// Every translation unit that includes this header is compiled for one instruction set and says so
// by defining PM_ISA (the namespace its symbols live in) and PM_LANES (doubles per register). GCC's
// vector extensions give + - * / and comparisons; only what they lack is written out below. Compilers without them
// (or with PM_PORTABLE defined) take the same operators from portable_lanes.hpp.
// Keeping all code of an instruction set inside its own namespace matters: otherwise the linker may
// pick the AVX-512 copy of an inline function and run it on a machine without AVX-512.
#pragma once

#include <cmath>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#ifndef PM_ISA
#error "PM_ISA and PM_LANES must be defined before including the core headers"
#endif

#if !defined(__GNUC__) || defined(PM_PORTABLE)
#include "portable_lanes.hpp"
#endif

namespace PM_ISA {

constexpr int kLanes = PM_LANES;

#if defined(__GNUC__) && !defined(PM_PORTABLE)
typedef double Lanes __attribute__((vector_size(PM_LANES * 8)));
typedef long long Mask __attribute__((vector_size(PM_LANES * 8)));  // all ones or all zeros per lane

inline Lanes broadcast(double value) { return value - Lanes{}; }
inline Lanes select(Mask mask, Lanes yes, Lanes no) { return mask ? yes : no; }
inline Lanes larger(Lanes a, Lanes b) { return a > b ? a : b; }
inline Lanes smaller(Lanes a, Lanes b) { return a < b ? a : b; }
inline Lanes absolute(Lanes a) { return a < 0.0 ? -a : a; }
#endif

inline Mask no_lane() { return Mask{}; }
inline Mask every_lane() { return ~Mask{}; }

// While one of these lives, numbers below 1e-307 count as zero. Imaginary parts of real solutions shrink that far under Newton's
// method, and an operation on such a number takes a hundred times as long as any other.
class TinyIsZero {
 public:
#if defined(__x86_64__)
  TinyIsZero() : before_(_mm_getcsr()) { _mm_setcsr(before_ | 0x8040); }
  ~TinyIsZero() { _mm_setcsr(before_); }

 private:
  unsigned before_;
#endif
};

// Loops over an array that is to live in registers must be unrolled whole.
#if defined(__clang__)
#define PM_UNROLL _Pragma("unroll")
#elif !defined(__GNUC__)
#define PM_UNROLL
#else
#define PM_UNROLL _Pragma("GCC unroll 16")
#endif

// a*b + c with one rounding where the hardware has it. Contraction is off in the build (double-double
// arithmetic needs to know what is rounded), so this is the only way a fused operation comes about.
#if PM_LANES == 8 && defined(__AVX512F__)
inline Lanes fused(Lanes a, Lanes b, Lanes c) { return (Lanes)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c); }
inline Lanes fused_negated(Lanes a, Lanes b, Lanes c) { return (Lanes)_mm512_fnmadd_pd((__m512d)a, (__m512d)b, (__m512d)c); }
inline Lanes square_root(Lanes a) { return (Lanes)_mm512_maskz_sqrt_pd(0xff, (__m512d)a); }
inline bool any(Mask mask) { return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask) != 0; }
constexpr bool kFusedIsExact = true;
constexpr int kVectorRegisters = 32;
#elif PM_LANES == 4 && defined(__FMA__)
inline Lanes fused(Lanes a, Lanes b, Lanes c) { return (Lanes)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c); }
inline Lanes fused_negated(Lanes a, Lanes b, Lanes c) { return (Lanes)_mm256_fnmadd_pd((__m256d)a, (__m256d)b, (__m256d)c); }
inline Lanes square_root(Lanes a) { return (Lanes)_mm256_sqrt_pd((__m256d)a); }
inline bool any(Mask mask) { return _mm256_movemask_pd((__m256d)mask) != 0; }
constexpr bool kFusedIsExact = true;
constexpr int kVectorRegisters = 16;
#else
inline Lanes fused(Lanes a, Lanes b, Lanes c) { return a * b + c; }
inline Lanes fused_negated(Lanes a, Lanes b, Lanes c) { return c - a * b; }
inline Lanes square_root(Lanes a) {
  Lanes root{};
  for (int lane = 0; lane < kLanes; ++lane) root[lane] = std::sqrt(a[lane]);
  return root;
}
inline bool any(Mask mask) {
  long long found = 0;
  for (int lane = 0; lane < kLanes; ++lane) found |= mask[lane];
  return found != 0;
}
constexpr bool kFusedIsExact = false;
constexpr int kVectorRegisters = 16;
#endif

}  // namespace PM_ISA
