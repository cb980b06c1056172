// Complex numbers, and the few operations that a device and a host spell differently.
//
// Every file in this folder is C++ between the braces: nvcc and NVRTC compile it for a GPU, g++ for the host (host.hpp), where
// the same lines are tested on machines without a GPU. PM_DEVICE marks functions of the inner loop.

#if defined(__CUDACC__)
#define PM_DEVICE __device__ __forceinline__
#define PM_UNROLL _Pragma("unroll")
#define PM_KEEP_LOOP _Pragma("unroll 1")
#define PM_TABLE __device__ const
#define PM_WHOLE alignas(16)
// Loads stay on their side: kept in registers across long stretches, numbers would push out what is needed more.
#define PM_FENCE asm volatile("" ::: "memory");
// The same for the assembler too, which otherwise keeps what it has read before: all lanes are here.
#define PM_FORGET __syncwarp();
// Says that the pointer leads to global memory, which the compiler cannot see when it was read from somewhere.
#define PM_GLOBAL(pointer) __builtin_assume(__isGlobal(pointer))
// A number that the compiler does not know: a loop with so many rounds has its body once.
#define PM_UNKNOWN(number) asm volatile("" : "+r"(number));
#else
#include "host.hpp"
#endif

struct PM_WHOLE Complex {
  double re, im;
};
struct PM_WHOLE Pair {
  double first, second;
};

#if defined(__CUDACC__)
PM_DEVICE double fused(double a, double b, double c) { return fma(a, b, c); }
// About twenty bits: enough to steer by, and the start of a reciprocal.
PM_DEVICE double rough_reciprocal(double a) {
  double result;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(result) : "d"(a));
  return result;
}
PM_DEVICE double rough_inverse_root(double a) {
  double result;
  asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(result) : "d"(a));
  return result;
}
PM_DEVICE double root(double a) { return sqrt(a); }
PM_DEVICE double infinite() { return __longlong_as_double(0x7ff0000000000000ll); }
PM_DEVICE unsigned add_to(unsigned* sum, unsigned more) { return atomicAdd(sum, more); }
PM_DEVICE void block_barrier() { __syncthreads(); }
#endif

// Squares below 1e-300 have no root that anybody asks for; NaN stays NaN.
PM_DEVICE double rough_root(double a) { return a <= 1e-300 ? 0.0 : a * rough_inverse_root(a); }
PM_DEVICE double larger(double a, double b) { return a > b ? a : b; }
PM_DEVICE double smaller(double a, double b) { return a < b ? a : b; }
// The larger one, or NaN if either is.
PM_DEVICE double largest_or_nan(double a, double b) { return b <= a || a != a ? a : b; }

PM_DEVICE Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
PM_DEVICE Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
PM_DEVICE Complex operator*(Complex a, Complex b) {
  return {fused(-a.im, b.im, a.re * b.re), fused(a.im, b.re, a.re * b.im)};
}
PM_DEVICE Complex multiply_add(Complex a, Complex b, Complex c) {
  return {fused(-a.im, b.im, fused(a.re, b.re, c.re)), fused(a.im, b.re, fused(a.re, b.im, c.im))};
}
PM_DEVICE Complex multiply_subtract(Complex a, Complex b, Complex c) {
  return {fused(a.im, b.im, fused(-a.re, b.re, c.re)), fused(-a.im, b.re, fused(-a.re, b.im, c.im))};
}
PM_DEVICE Complex squared(Complex a) {
  const double cross = a.re * a.im;
  return {(a.re + a.im) * (a.re - a.im), cross + cross};
}
PM_DEVICE Complex scaled(double factor, Complex a) { return {factor * a.re, factor * a.im}; }
PM_DEVICE Complex add_scaled(double factor, Complex a, Complex sum) {
  return {fused(factor, a.re, sum.re), fused(factor, a.im, sum.im)};
}
PM_DEVICE double magnitude_squared(Complex a) { return fused(a.re, a.re, a.im * a.im); }

// 1 / a by two of Newton's iterations: no branch for numbers so small or large that a pivot test stops them anyway.
PM_DEVICE double reciprocal(double a) {
  double result = rough_reciprocal(a);
  result = fused(result, fused(-a, result, 1.0), result);
  return fused(result, fused(-a, result, 1.0), result);
}
PM_DEVICE Complex reciprocal(Complex a) {
  const double scale = reciprocal(magnitude_squared(a));
  return {a.re * scale, -a.im * scale};
}
